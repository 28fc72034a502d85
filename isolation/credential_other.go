//go:build !linux

package isolation

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// Credential fails for any user: layer "user" is Linux's.
func Credential(want string, env []string) (*syscall.Credential, []string, error) {
	if want == "" {
		return nil, env, nil
	}
	return nil, env, fmt.Errorf("cannot become user %q on %s: %w", want, runtime.GOOS, errors.ErrUnsupported)
}
