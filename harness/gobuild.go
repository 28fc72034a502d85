package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Builder makes the test binaries of Go benchmarks before the first run.
type Builder interface {
	// Build builds every task once, in order. The error is of the first one
	// that cannot be built and names its ref.
	Build(ctx context.Context, tasks []GoTask) ([]Built, error)
}

// GoTask is what decides how a test binary comes out.
type GoTask struct {
	Package   string `json:"package"`
	Dir       string `json:"dir"` // absolute
	Ref       string `json:"ref"`
	Tags      string `json:"tags,omitempty"`
	GCFlags   string `json:"gcflags,omitempty"`
	LDFlags   string `json:"ldflags,omitempty"`
	Toolchain string `json:"toolchain,omitempty"`
	// Layout is the seed of the linker's -randlayout; 0: the usual order.
	Layout uint64 `json:"layout,omitempty"`
}

// label names a task in messages.
func (t *GoTask) label() string {
	return (&GoSpec{Package: t.Package, Ref: t.Ref}).goLabel()
}

// GoBuild is a task done.
type GoBuild struct {
	GoTask
	// Commit is the commit that Ref was; for the working tree the one it is
	// based on, "" outside of a git repository.
	Commit string `json:"commit,omitempty"`
	// Modified is true of a working tree that differs from its commit.
	Modified  bool   `json:"modified,omitempty"`
	Import    string `json:"import"`     // import path
	GoVersion string `json:"go_version"` // what the binary says it was built with
	SHA256    string `json:"sha256"`     // of the binary
	// Treatments are the indices of those that run it.
	Treatments []int `json:"treatments,omitempty"`
}

// Built is a build with where it lies, which only this session knows.
type Built struct {
	GoBuild
	Binary string // absolute path
	RunDir string // the package's folder
}

// GoBuilder is the Builder of real experiments. It works below a temporary
// folder of its own:
//
//   - The files of a ref, and of the submodules that the user's tree holds, are
//     read out of the object stores with an index of our own (git read-tree,
//     git checkout-index). The user's checkout, index,
//     stash, branches and list of worktrees are not touched.
//   - "." is built and run where it is: a copy would lack what git ignores.
//   - Paths are trimmed (-trimpath), or two equal sources would make two
//     binaries: the length of a folder's name would move their data.
//   - Everything is done as one user, see BuilderOptions.User: what go and git
//     run of a tree, as its -toolexec and its filters, is that user's, and so are
//     the caches that they fill.
//
// The folder is gone after Close. A small process of its own session removes it
// when this one vanishes, and the next GoBuilder what even that one left.
type GoBuilder struct {
	packs  fs.FS // see BuilderOptions.Bundled
	as     worker
	env    []string
	goTool string
	temp   *tempTree
	trees  map[string]goTree // by folder and ref
	count  int
}

// BuilderOptions is what a GoBuilder has to know.
type BuilderOptions struct {
	// Env is the environment of go and git.
	Env []string
	// User, named or numbered, is who runs go and git, with that user's HOME,
	// and who owns what they make; "": whoever runs this.
	User string
	// Sweeper is how this program is started as the process that removes the
	// folder when this one vanishes: see SweepBuilds.
	Sweeper []string
	// Bundled holds the packages that a dir of "bundled:NAME" stands for, each
	// in a folder of its name; nil: there are none.
	Bundled fs.FS
}

// NewGoBuilder returns a builder.
func NewGoBuilder(o BuilderOptions) (*GoBuilder, error) {
	as, env, err := newWorker(o.User, o.Env)
	if err != nil {
		return nil, fmt.Errorf("cannot build Go benchmarks: %w", err)
	}
	b := &GoBuilder{packs: o.Bundled, as: as, trees: map[string]goTree{}}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		// A hook of git sets these, and they would win over the folder.
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OPTIONAL_LOCKS":
		default:
			b.env = append(b.env, kv)
		}
	}
	// Not even the times in the user's index are brought up to date.
	b.env = append(b.env, "GIT_OPTIONAL_LOCKS=0")
	err = as.do(func() (err error) {
		b.goTool, err = as.lookUp("go", env)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot build Go benchmarks: %w", err)
	}
	if b.temp, err = newTempTree(as, o.Sweeper); err != nil {
		return nil, err
	}
	return b, nil
}

// Close removes all that was built and checked out.
func (b *GoBuilder) Close() error { return b.temp.remove() }

// Build implements Builder.
func (b *GoBuilder) Build(ctx context.Context, tasks []GoTask) ([]Built, error) {
	builds := make([]Built, len(tasks))
	err := b.as.do(func() error {
		for i, t := range tasks {
			var err error
			if builds[i], err = b.build(ctx, t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted while building: %w", ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	return builds, nil
}

func (b *GoBuilder) build(ctx context.Context, t GoTask) (Built, error) {
	tree, err := b.tree(ctx, t.Dir, t.Ref)
	if err != nil {
		return Built{}, err
	}
	out := Built{GoBuild: GoBuild{GoTask: t, Commit: tree.commit, Modified: tree.modified}}
	// Names of one length: argv[0] lies on the stack of the benchmark.
	out.Binary = filepath.Join(b.temp.dir, "bin", fmt.Sprintf("%05d.test", b.count))
	b.count++
	args := append([]string{"test", "-c", "-o", out.Binary}, b.buildFlags(&t)...)
	if err := b.goCommand(ctx, tree, &t, nil, append(args, t.Package)...); err != nil {
		return Built{}, err
	}
	if err := executable(out.Binary); err != nil {
		return Built{}, fmt.Errorf("cannot build %s: it has no test files", t.label())
	}
	var listed bytes.Buffer
	args = append([]string{"list", "-f", "{{.ImportPath}}\n{{.Dir}}"}, tagFlags(t.Tags)...)
	if err := b.goCommand(ctx, tree, &t, &listed, append(args, t.Package)...); err != nil {
		return Built{}, err
	}
	var ok bool
	if out.Import, out.RunDir, ok = strings.Cut(strings.TrimSuffix(listed.String(), "\n"), "\n"); !ok || strings.Contains(out.RunDir, "\n") {
		return Built{}, fmt.Errorf("cannot build %s: it is not one package but %q", t.label(), listed.String())
	}
	if err := out.examine(); err != nil {
		return Built{}, err
	}
	return out, nil
}

// examine reads back what was built.
func (o *Built) examine() error {
	info, err := buildinfo.ReadFile(o.Binary)
	if err != nil {
		return fmt.Errorf("cannot tell the toolchain of %s: %v", o.label(), err)
	}
	o.GoVersion = info.GoVersion
	version, _, _ := strings.Cut(info.GoVersion, " ") // experiments follow
	if want := o.Toolchain; strings.HasPrefix(want, "go") {
		if want, _, _ = strings.Cut(want, "+"); version != want {
			return fmt.Errorf("cannot use the binary of %s: toolchain must be %q, and it says that %q built it", o.label(), o.Toolchain, info.GoVersion)
		}
	}
	f, err := os.Open(o.Binary)
	if err != nil {
		return fmt.Errorf("cannot read the binary of %s: %v", o.label(), err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("cannot read the binary of %s: %v", o.label(), err)
	}
	o.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// buildFlags are the flags of go test -c.
func (b *GoBuilder) buildFlags(t *GoTask) []string {
	flags := []string{"-buildvcs=false"}
	if !strings.Contains(strings.Join(envValues(b.env, "GOFLAGS"), " "), "-trimpath") {
		flags = append(flags, "-trimpath")
	}
	flags = append(flags, tagFlags(t.Tags)...)
	if t.GCFlags != "" {
		flags = append(flags, "-gcflags="+t.GCFlags)
	}
	ld := t.LDFlags
	if t.Layout != 0 {
		ld = strings.TrimSpace(fmt.Sprintf("%s -randlayout=%d", ld, t.Layout))
	}
	if ld != "" {
		flags = append(flags, "-ldflags="+ld)
	}
	return flags
}

func tagFlags(tags string) []string {
	if tags == "" {
		return nil
	}
	return []string{"-tags=" + tags}
}

// envValues gives the values of a variable.
func envValues(env []string, name string) []string {
	var out []string
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			out = append(out, v)
		}
	}
	return out
}

// command prepares go or git in a folder.
func (b *GoBuilder) command(ctx context.Context, dir, file string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Dir, cmd.Env = dir, b.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: b.as.cred}
	return cmd
}

// goCommand runs go in the tree of a task; out takes its stdout.
func (b *GoBuilder) goCommand(ctx context.Context, tree goTree, t *GoTask, out io.Writer, args ...string) error {
	cmd := b.command(ctx, tree.dir, b.goTool, args...)
	if t.Toolchain != "" {
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "GOTOOLCHAIN="+t.Toolchain)
	}
	// PWD names the folder to go, which otherwise resolves links.
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "PWD="+tree.dir)
	var said bytes.Buffer
	if len(envValues(b.env, "GOTMPDIR")) == 0 {
		cmd.Env = append(cmd.Env, "GOTMPDIR="+filepath.Join(b.temp.dir, "work"))
	}
	cmd.Stdout, cmd.Stderr = out, &said
	if out == nil {
		cmd.Stdout = &said
	}
	if err := b.temp.run(cmd); err != nil {
		what := t.label()
		if t.Toolchain != "" {
			what += fmt.Sprintf(" with toolchain %q", t.Toolchain)
		}
		return fmt.Errorf("cannot build %s: go %s: %v\n%s", what, args[0], err, beginning(said.String()))
	}
	return nil
}

// beginning keeps the beginning of what a tool said: the first error causes the
// others.
func beginning(text string) string {
	const most = 16 << 10
	text = strings.TrimRight(text, "\n")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n… and %d bytes more", len(text)-most)
}
