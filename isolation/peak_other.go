//go:build !linux

package isolation

import "errors"

// DropPeak fails: only Linux has a peak that a child inherits.
func DropPeak() error { return errors.ErrUnsupported }
