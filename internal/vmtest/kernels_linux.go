package vmtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cacheDir is where scripts/guest-kernels and scripts/guest-image leave what
// they fetch.
func cacheDir(kind string) (string, error) {
	base := os.Getenv("XDG_CACHE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "goset", kind), nil
}

// kernel is an unpacked kernel package.
type kernel struct {
	image   string // .../boot/vmlinuz-6.1.0-50-cloud-amd64
	modules string // .../lib/modules/6.1.0-50-cloud-amd64
}

// findKernel looks up a fetched kernel whose release starts with version.
func findKernel(version string) (kernel, error) {
	dir, err := cacheDir("kernels")
	if err != nil {
		return kernel{}, err
	}
	images, err := filepath.Glob(filepath.Join(dir, "*", "boot", "vmlinuz-"+version+".*"))
	if err != nil {
		return kernel{}, err
	}
	if len(images) == 0 {
		return kernel{}, &Unavailable{"kernel " + version + " in " + dir, "run scripts/guest-kernels"}
	}
	image := images[len(images)-1]
	root := filepath.Dir(filepath.Dir(image))
	release := strings.TrimPrefix(filepath.Base(image), "vmlinuz-")
	for _, lib := range []string{"lib", "usr/lib"} {
		modules := filepath.Join(root, lib, "modules", release)
		if _, err := os.Stat(modules); err == nil {
			return kernel{image, modules}, nil
		}
	}
	return kernel{}, fmt.Errorf("cannot find the modules of %s below %s", release, root)
}

// module is one kernel module, uncompressed.
type module struct {
	name string
	data []byte
}

// load collects modules with what they depend on, dependencies first. What the
// kernel has built in has no file and needs no loading.
func (k kernel) load(names []string) ([]module, error) {
	files, err := k.moduleFiles()
	if err != nil {
		return nil, err
	}
	builtin, err := k.builtin()
	if err != nil {
		return nil, err
	}
	var loaded []module
	seen := map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		name = moduleName(name)
		if seen[name] || builtin[name] {
			return nil
		}
		seen[name] = true
		file, ok := files[name]
		if !ok {
			return fmt.Errorf("cannot find module %q below %s", name, k.modules)
		}
		data, err := readModule(file)
		if err != nil {
			return err
		}
		for _, dep := range dependencies(data) {
			if err := visit(dep); err != nil {
				return err
			}
		}
		loaded = append(loaded, module{name, data})
		return nil
	}
	for _, name := range names {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// moduleFiles maps the names of modules to their files.
func (k kernel) moduleFiles() (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(k.modules, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base, _, ok := strings.Cut(d.Name(), ".ko"); ok {
			files[moduleName(base)] = path
		}
		return nil
	})
	return files, err
}

// builtin lists the modules that the kernel has in it.
func (k kernel) builtin() (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(k.modules, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		names[moduleName(strings.TrimSuffix(filepath.Base(strings.TrimSpace(line)), ".ko"))] = true
	}
	return names, nil
}

// moduleName is the name as the kernel has it: files write a dash where they
// like.
func moduleName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// readModule reads a module and uncompresses it.
func readModule(file string) ([]byte, error) {
	tool := map[string]string{".xz": "xz", ".zst": "zstd", ".gz": "gzip"}[filepath.Ext(file)]
	if tool == "" {
		return os.ReadFile(file)
	}
	out, err := exec.Command(tool, "-dc", file).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot uncompress %s: %w", file, err)
	}
	return out, nil
}

// dependencies reads what a module says of itself: the word "depends=a,b" of
// its .modinfo section.
func dependencies(data []byte) []string {
	_, after, ok := bytes.Cut(data, []byte("\x00depends="))
	if !ok {
		return nil
	}
	list, _, _ := bytes.Cut(after, []byte{0})
	if len(list) == 0 {
		return nil
	}
	return strings.Split(string(list), ",")
}

// Fetched tells whether a kernel is in the cache, for the one whose suite the
// archive may have dropped: scripts/guest-kernels goes on without it.
func Fetched(version string) bool {
	_, err := findKernel(version)
	return err == nil
}
