package vmtest

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// Unavailable is the typed error for a guest that cannot be had here.
type Unavailable struct {
	What string // "qemu-system-x86_64"
	Hint string // the way out
}

// Error names what is missing and the way out.
func (u *Unavailable) Error() string {
	return fmt.Sprintf("cannot boot a guest: no %s (%s)", u.What, u.Hint)
}

// need ends the test unless err is nil: it skips on an Unavailable where
// nobody promised guests, and fails on that in CI and on everything else.
func need(t testing.TB, err error) {
	t.Helper()
	var u *Unavailable
	switch {
	case err == nil:
	case errors.As(err, &u) && os.Getenv("CI") == "":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}
