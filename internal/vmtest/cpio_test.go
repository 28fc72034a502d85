package vmtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestArchive unpacks an archive with cpio itself.
func TestArchive(t *testing.T) {
	cpio, err := exec.LookPath("cpio")
	if err != nil {
		need(t, &Unavailable{"cpio", "apt-get install cpio"})
	}
	a := newArchive()
	a.dir("/empty")
	a.file("/a/b/odd", 0o640, []byte("12345"))
	a.file("/none", 0o755, nil)
	a.link("/a/link", "b/odd")
	var out bytes.Buffer
	if err := a.write(&out); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(cpio, "-i", "--quiet")
	cmd.Dir, cmd.Stdin = dir, &out
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a/link")); string(got) != "12345" {
		t.Errorf("through the link: %q, %v", got, err)
	}
	for name, mode := range map[string]os.FileMode{"empty": os.ModeDir | 0o755, "none": 0o755, "a/b/odd": 0o640} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode() != mode {
			t.Errorf("%s: %v, %v, want mode %v", name, st, err, mode)
		}
	}
}
