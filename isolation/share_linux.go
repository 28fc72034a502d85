package isolation

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// sharing is what a session leaves in force between neighbouring runs.
type sharing struct {
	key    string
	layers []layer
	end    int // of their part of the journal
	// masks are those of the own threads before: CPUs that are offline drop
	// out of a mask that is set meanwhile.
	masks map[int]unix.CPUSetDynamic
}

// Share makes the layers of the whole machine (irqbalance, SMT, turbo,
// governor, frequency) stay in force from one run to the next while the runs
// ask for the same, or stops that.
func (s *Session) Share(on bool) {
	if s != nil {
		s.share = on
	}
}

// inForce lists what the run before left.
func (s *Session) inForce() []layer {
	if s == nil || s.shared == nil {
		return nil
	}
	return s.shared.layers
}

// base is the part of the journal that stays between runs.
func (s *Session) base() int {
	if s.shared == nil {
		return s.sheltered
	}
	return s.shared.end
}

// keep leaves the layers that can be shared in force after this run. end is
// where their part of the journal ends.
func (s *Session) keep(h *Held, key string, asked, end int) {
	layers := h.sharers()
	if s == nil || !s.share || s.shared != nil || key == "" || len(layers) == 0 || len(layers) != asked {
		return
	}
	s.shared = &sharing{key: key, layers: layers, end: end}
	if h.kept != nil {
		s.shared.masks = maps.Clone(h.kept.old)
	}
	h.mark = end
}

// leave undoes what runs shared, unless the next one has the same key.
func (s *Session) leave(key string) error {
	if s == nil || s.shared == nil || s.share && s.shared.key == key {
		return nil
	}
	masks := s.shared.masks
	s.shared = nil
	err := s.undo(s.sheltered)
	if err != nil {
		err = fmt.Errorf("cannot undo what the runs before shared: %w", err)
	}
	return errors.Join(err, (&Kept{old: masks}).Restore())
}

// unheld ends the sharing of layers that did not hold in a run.
func (s *Session) unheld() error {
	if s == nil || s.shared == nil || !slices.ContainsFunc(s.shared.layers, func(l layer) bool { return !l.state().Held }) {
		return nil
	}
	return s.leave("")
}
