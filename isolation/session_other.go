//go:build !linux

package isolation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"goset/cpulist"
	"goset/host"
)

// DefaultState and DefaultLock have no meaning on this system.
const (
	DefaultState = ""
	DefaultLock  = ""
)

// Options says how a session uses the machine.
type Options struct {
	State, Lock string
	Wait        time.Duration
	Guard       []string
	Say         func(string)
	Tool        string
}

// Session is one process's time on the machine. On this system it changes
// nothing.
type Session struct{}

// Open has nothing to lock on this system.
func Open(context.Context, Options) (*Session, error) { return &Session{}, nil }

// Close has nothing to undo.
func (s *Session) Close() error { return nil }

// Visit is the time on the machine of a command that changes nothing of it.
type Visit struct{}

// NewVisit has nothing to lock on this system.
func NewVisit(context.Context, Options) (*Visit, error) { return &Visit{}, nil }

// Close has nothing to free.
func (*Visit) Close() error { return nil }

// Restore finds nothing to undo.
func Restore(Options) (int, error) { return 0, nil }

// Leftovers finds none.
func Leftovers(string) ([]string, error) { return nil, nil }

// LockedBy fails: there is no lock.
func LockedBy(string) (string, error) { return "", noSession() }

// Guard fails: there is nothing to guard.
func Guard(string, string, io.Reader, io.Writer, func(string)) error { return noSession() }

func stateFault(string) error { return nil }

func noSession() error {
	return fmt.Errorf("%s has none of the layers that change the machine: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (s *Session) newRun(m Mode, cpus cpulist.Set) *applied {
	return &applied{mode: m, cpus: cpus, fenced: cpus, root: host.Local, unjournaled: noSession()}
}

func (s *Session) ready(*Held, []layer) error { return nil }
func (s *Session) mark() int                  { return 0 }
func (s *Session) undoTo(int) error           { return nil }
