package host

import (
	"errors"
	"syscall"
)

// isNoDevice reports the other ways in which the kernel says that something is
// not there: a driver without it, a process that ended between open and read.
func isNoDevice(err error) bool {
	return errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EOPNOTSUPP) ||
		errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ESRCH)
}
