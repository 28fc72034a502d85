package isolation

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// guardTime is how long a guard that lives is given to undo what its session
// left, before the next session calls it stale.
const guardTime = 2 * time.Second

// refuseStale finds journals whose writer is gone. A guard may be about to
// replay one.
func (s *Session) refuseStale() error {
	deadline := time.Now().Add(guardTime)
	said := map[string]bool{} // once, however often it is looked
	for {
		stale, err := s.stale(func(text string) {
			if !said[text] {
				said[text] = true
				s.options.Say(text)
			}
		})
		if err != nil || len(stale) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return &StaleError{stale, s.options.State, s.options.Tool}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// stale lists the journals whose writer is gone, but for those of another boot:
// these are dropped. say is told of those that cannot be read.
func (s *Session) stale(say func(string)) ([]string, error) {
	names, err := s.folder.journals()
	if err != nil {
		return nil, err
	}
	var stale []string
	for _, name := range names {
		pid, start := writerOf(name)
		if lives(s.kernel, pid, start) {
			continue
		}
		dropped, err := s.dropForeign(name)
		if err != nil {
			say(err.Error())
		}
		if !dropped {
			stale = append(stale, name)
		}
	}
	return stale, nil
}

// lives tells a writer that is there from one that has ended, reaped or not, and
// from another process with its number.
func lives(k kernel, pid int, start uint64) bool {
	now, err := startOf(k, pid)
	return err == nil && now == start && !ended(k, pid)
}

// dropForeign removes a journal of another boot.
func (s *Session) dropForeign(name string) (bool, error) {
	file, err := s.folder.open(name)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil // its guard was quicker
	}
	if errors.Is(err, os.ErrPermission) {
		return false, nil // root's
	}
	if err != nil {
		return false, err
	}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, file.Close()
	}
	boot, err := s.kernel.bootID()
	if err != nil {
		return false, errors.Join(err, file.Close())
	}
	entries, faults := parseJournal(file)
	for _, e := range entries {
		if e.Boot == boot {
			return false, file.Close()
		}
	}
	if len(faults) > 0 {
		return false, file.Close()
	}
	if len(entries) > 0 {
		s.options.Say(fmt.Sprintf("dropped journal %s of another boot: what it did ended with it (%s)", name, counted(len(entries), "change")))
	}
	return true, s.folder.remove(file)
}

// Restore undoes what sessions that are gone left behind, and leaves alone what
// is of sessions that are there. healed counts the journals.
func Restore(o Options) (healed int, err error) {
	if o.State == "" {
		o.State = DefaultState
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	f, err := openFolder(o.State, false)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if errors.Is(err, os.ErrPermission) {
		return 0, o.needsRoot(err)
	}
	if err != nil {
		return 0, err
	}
	defer f.close()
	names, err := f.journals()
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, name := range names {
		pid, start := writerOf(name)
		if lives(machine{}, pid, start) {
			o.Say(fmt.Sprintf("%s is in use by %s", name, describe(pid)))
			continue
		}
		file, err := f.open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if errors.Is(err, os.ErrPermission) {
			err = o.needsRoot(err)
		}
		if err == nil {
			err = heal(f, file, fmt.Sprintf("process %d", pid), o.Say)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		healed++
	}
	return healed, errors.Join(errs...)
}

// needsRoot says how to restore what is not this user's to restore.
func (o *Options) needsRoot(err error) error {
	return fmt.Errorf("%w; run it as root: %s", err, (&StaleError{State: o.State, Tool: o.Tool}).Undo())
}
