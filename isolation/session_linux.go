package isolation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"goset/cpulist"
	"goset/host"
)

// Options says how a session uses the machine. The zero value is the default
// of each, without a guard.
type Options struct {
	// State is the folder of the journals; "": DefaultState.
	State string
	// Lock is the file whose lock the session takes; "": DefaultLock.
	Lock string
	// Wait is how long to wait for the lock; 0: not at all.
	Wait time.Duration
	// Guard is the command that runs Guard with the folder and the name of the
	// journal as further arguments; nil: none.
	Guard []string
	// Say is told what a person should know; nil: nobody.
	Say func(string)
	// Tool is the command that has restore, for messages; "": goset-bench.
	Tool string
}

// Session is one process's time on the machine: the machine lock, and when
// something is to be changed, the journal and the guard. It is not safe for
// concurrent use.
type Session struct {
	options Options
	kernel  kernel
	lock    *machineLock
	folder  *folder
	journal *Journal
	guard   *guard
	// share says that neighbouring runs may have layers in common; shared is
	// what is in force for that.
	share  bool
	shared *sharing
	// unjournaled is why nothing can be journalled, and so nothing changed.
	unjournaled error
	sheltered   int      // entries of the journal that are the guard's
	moved       bool     // the guard is in its shelter
	shelters    []string // its cgroups; nil: not made yet
}

// Open takes the machine lock and refuses a machine that an earlier session
// left changed. The error is a *LockedError when somebody else has the lock,
// and a *StaleError when there is something to restore.
func Open(ctx context.Context, o Options) (*Session, error) {
	if o.State == "" {
		o.State = DefaultState
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	lock, err := o.lockMachine(ctx, lockAlone)
	if err != nil {
		return nil, err
	}
	s := &Session{options: o, kernel: machine{}, lock: lock}
	s.folder, err = openState(o.State)
	if err != nil {
		// Runs that change nothing need no journal.
		s.unjournaled = err
		return s, nil
	}
	if err := s.refuseStale(); err != nil {
		s.folder.close()
		return nil, errors.Join(err, lock.unlock())
	}
	if os.Geteuid() != 0 {
		s.unjournaled = errors.New("it needs root")
	}
	return s, nil
}

// openState opens the folder, and makes it when this user is root.
func openState(path string) (*folder, error) { return openFolder(path, os.Geteuid() == 0) }

// openJournal makes the journal of this session, when the first layer wants to
// write to it.
func (s *Session) openJournal() (*Journal, error) {
	if s.journal != nil {
		return s.journal, s.keepGuard()
	}
	if s.unjournaled != nil {
		return nil, s.unjournaled
	}
	boot, err := s.kernel.bootID()
	if err != nil {
		return nil, fmt.Errorf("cannot tell this boot: %w", err)
	}
	start, err := startOf(s.kernel, os.Getpid())
	if err != nil {
		return nil, err
	}
	// The guard before the journal: there is no moment at which something of
	// this session is there and nobody watches.
	name := fmt.Sprintf("journal-%d-%d", os.Getpid(), start)
	if err := s.startGuard(name); err != nil {
		return nil, err
	}
	file, err := s.folder.create(name)
	if err != nil {
		return nil, errors.Join(err, s.dismissGuard())
	}
	s.journal = newJournal(s.kernel, file, boot)
	return s.journal, s.shelterGuard()
}

// Close undoes what is still in force, dismisses the guard and frees the
// machine. A journal that could not be undone is kept for Restore.
func (s *Session) Close() error {
	if s == nil {
		return nil
	}
	errs := []error{s.closeJournal()}
	if s.folder != nil {
		s.folder.close()
	}
	return errors.Join(append(errs, s.lock.unlock())...)
}

func (s *Session) closeJournal() error {
	if s.journal == nil {
		return nil
	}
	errs := []error{s.leave(""), s.undo(s.sheltered)}
	file, g := s.journal.file, s.guard
	s.journal, s.guard = nil, nil
	name := filepath.Base(file.Name())
	// Its end is the guard's to make; where there is none, or it was killed,
	// it is made here.
	errs = append(errs, file.Close())
	if g != nil {
		errs = append(errs, g.dismiss())
	}
	file, err := s.folder.open(name)
	if errors.Is(err, os.ErrNotExist) {
		return errors.Join(errs...)
	}
	if err == nil {
		err = heal(s.folder, file, "this process", s.options.Say)
	}
	return errors.Join(append(errs, err)...)
}

// undo replays the journal back to a mark and says what was left.
func (s *Session) undo(mark int) error {
	u := s.journal.UndoTo(mark)
	for _, left := range u.Left {
		s.options.Say(left)
	}
	return u.Err
}

// newRun describes a run to its layers. Without a session nothing can be
// changed but the child.
func (s *Session) newRun(m Mode, cpus cpulist.Set) *applied {
	r := &applied{mode: m, cpus: cpus, fenced: cpus, kernel: machine{}, root: host.Local, unjournaled: errors.New("it needs root")}
	if m.Fence {
		// Siblings that are offline are no danger, and no cpuset takes them:
		// the kernel does not list them.
		cores, err := host.Local.Siblings(cpus)
		if err != nil {
			r.unknownCores = err
		}
		r.fenced = cpus.Union(cores)
	}
	if s != nil {
		r.kernel, r.unjournaled = s.kernel, s.unjournaled
	}
	return r
}

// ready opens the journal when a layer is going to change the machine.
func (s *Session) ready(h *Held, layers []layer) error {
	if !slices.ContainsFunc(layers, changesMachine) {
		h.mark = s.mark()
		return nil
	}
	j, err := s.openJournal()
	if err != nil {
		return err
	}
	// What the run before could not undo may be undone by now.
	if err := s.undo(s.base()); err != nil {
		return fmt.Errorf("cannot start a run: changes of the one before are still in force: %w", err)
	}
	h.run.journal, h.mark = j, j.Mark()
	return nil
}

// mark is where the journal ends.
func (s *Session) mark() int {
	if s == nil || s.journal == nil {
		return 0
	}
	return s.journal.Mark()
}

// undoTo replays the journal back to a mark.
func (s *Session) undoTo(mark int) error {
	if s == nil || s.journal == nil {
		return nil
	}
	return s.undo(max(mark, s.sheltered))
}
