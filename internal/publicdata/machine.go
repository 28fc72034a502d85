package publicdata

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Unpack writes an archive of another machine's /proc and /sys below a new
// folder, without the thousands of files of /proc/irq.
func Unpack(t testing.TB, archive string) (root string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	root = MemoryFolder(t)
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return root
		}
		if err == nil && !strings.Contains(h.Name, "/irq/") {
			err = extract(filepath.Join(root, filepath.Clean("/"+h.Name)), h, r)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatalf("cannot unpack %s: %v", archive, err)
		}
	}
}

// MemoryFolder is a temporary folder, in memory where there is a place: 45,000
// small files take a disk more than a minute.
func MemoryFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "goset-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func extract(path string, h *tar.Header, from io.Reader) error {
	switch h.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, 0o755)
	case tar.TypeSymlink:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.Symlink(h.Linkname, path)
	case tar.TypeReg:
		text, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644))
	}
	return nil
}
