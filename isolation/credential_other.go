//go:build !linux

package isolation

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// Credential fails for any user: layer "user" is Linux's.
func Credential(want string) (*syscall.Credential, error) {
	if want == "" {
		return nil, nil
	}
	return nil, fmt.Errorf("cannot become user %q on %s: %w", want, runtime.GOOS, errors.ErrUnsupported)
}
