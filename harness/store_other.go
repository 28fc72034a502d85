//go:build !linux

package harness

import "os"

// allocate does nothing: there is no fallocate(2) here.
func allocate(*os.File, int64, int64) error { return nil }
