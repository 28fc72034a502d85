//go:build !linux

package isolation

// Share has nothing to share on this system.
func (s *Session) Share(bool) {}

func (s *Session) inForce() []layer             { return nil }
func (s *Session) keep(*Held, string, int, int) {}
func (s *Session) leave(string) error           { return nil }
func (s *Session) unheld() error                { return nil }
