package isolation

import (
	"errors"
	"path/filepath"
)

// startGuard starts the guard of a journal, where there is to be one.
func (s *Session) startGuard(name string) error {
	if s.options.Guard == nil {
		return nil
	}
	g, err := startGuard(s.options.Guard, s.folder.path, name)
	s.guard = g
	return err
}

func (s *Session) dismissGuard() error {
	g := s.guard
	s.guard = nil
	if g == nil {
		return nil
	}
	return g.dismiss()
}

// shelterGuard makes the guard's cgroups, if they are not there, and moves it
// there.
func (s *Session) shelterGuard() error {
	if s.guard == nil {
		return nil
	}
	if s.shelters == nil {
		if s.journal.Mark() > s.sheltered {
			return errors.New("cannot go on: changes are in force and their guard has no cgroup")
		}
		id, err := newID()
		if err != nil {
			return err
		}
		dirs, err := shelters(s.journal, id)
		s.sheltered = s.journal.Mark()
		if err != nil {
			return err
		}
		s.shelters = dirs
	}
	err := s.guard.moveTo(s.kernel, s.shelters)
	s.moved = err == nil
	return err
}

// keepGuard starts another guard when it was killed: nothing is changed
// unguarded. It takes over the journal and the cgroups.
func (s *Session) keepGuard() error {
	if s.guard == nil && s.options.Guard == nil || s.guard != nil && s.guard.alive() && s.moved {
		return nil
	}
	if s.guard == nil || !s.guard.alive() {
		s.moved = false
		// It is gone, so this waits for nothing.
		if err := s.dismissGuard(); err != nil {
			return err
		}
		if err := s.startGuard(filepath.Base(s.journal.file.Name())); err != nil {
			return err
		}
	}
	return s.shelterGuard()
}
