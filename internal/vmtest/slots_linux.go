package vmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// slot is the right to run one guest. `go test` runs packages side by side, so
// the count is kept across processes: one lock file per two cores.
type slot struct{ file *os.File }

// takeSlot waits until a guest may be booted.
func takeSlot() (*slot, error) {
	n := max(1, runtime.NumCPU()/2)
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("goset-guests-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for i := range n {
		if s, err := lockSlot(dir, i, syscall.LOCK_NB); err == nil {
			return s, nil
		}
	}
	return lockSlot(dir, os.Getpid()%n, 0)
}

// lockSlot locks the i-th file; the lock goes with its process.
func lockSlot(dir string, i, flags int) (*slot, error) {
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("slot%d", i)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|flags)
		if err == nil {
			return &slot{f}, nil
		}
		if err != syscall.EINTR {
			f.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", f.Name(), err)
		}
	}
}

func (s *slot) release() { s.file.Close() }
