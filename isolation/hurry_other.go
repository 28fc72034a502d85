//go:build !linux

package isolation

import (
	"errors"
	"fmt"
	"runtime"
)

// Hurry fails: only Linux has priorities of threads.
func Hurry() (leave func() error, err error) {
	return nil, fmt.Errorf("cannot raise the own priority on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
