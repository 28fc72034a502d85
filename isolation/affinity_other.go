//go:build !linux

package isolation

import (
	"errors"
	"fmt"
	"runtime"

	"goset/cpulist"
)

// Allowed fails: no other system tells which CPUs a process may use.
func Allowed() (cpulist.Set, error) { return cpulist.Set{}, noAffinity() }

// usable fails as Allowed does.
func usable() (cpulist.Set, error) { return Allowed() }

// noAffinity is the error of everything that needs affinity.
func noAffinity() error {
	return fmt.Errorf("%s has no CPU affinity for processes: %w", runtime.GOOS, errors.ErrUnsupported)
}

// whyLacking is never reached, since Allowed fails first.
func whyLacking(lacking cpulist.Set) string { return named(lacking) + " cannot be asked for here" }

// pin stands in for the affinity that this system does not have; Apply refuses
// before one is used.
type pin struct{}

func newPin(cpulist.Set) pin { return pin{} }

func (*pin) enter() (restore func() error, err error) { return nil, noAffinity() }

func (*pin) readBack(int, *readBacks) {}

func (*pin) calls() []Call { return nil }

// Kept keeps nothing on this system.
type Kept struct{}

// KeepOff fails: see Allowed.
func KeepOff(cpulist.Set) (*Kept, error) { return nil, noAffinity() }

// KeepTo fails: see Allowed.
func KeepTo(cpulist.Set) (*Kept, error) { return nil, noAffinity() }

// Note says nothing.
func (*Kept) Note() string { return "" }

// Restore has nothing to do.
func (*Kept) Restore() error { return nil }
