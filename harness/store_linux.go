package harness

import (
	"errors"
	"os"
	"syscall"
)

// allocate asks the file system to set space aside beyond the end of f
// (fallocate(2) with FALLOC_FL_KEEP_SIZE). File systems that do not know how
// are left alone.
func allocate(f *os.File, from, length int64) error {
	const keepSize = 1
	for {
		err := syscall.Fallocate(int(f.Fd()), keepSize, from, length)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return nil
		}
		return err
	}
}
