//go:build !linux

package isolation

import (
	"errors"
	"fmt"
	"runtime"
)

// AsUser runs do, and fails for any user: layer "user" is Linux's.
func AsUser(want string, do func() error) error {
	if want == "" {
		return do()
	}
	return fmt.Errorf("cannot have the access of user %q to files on %s: %w", want, runtime.GOOS, errors.ErrUnsupported)
}
