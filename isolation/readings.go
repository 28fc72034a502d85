package isolation

import (
	"fmt"
	"slices"
	"strings"
)

// readings adds up what the checks of a layer found, for layers whose value is
// a word for each of several objects.
type readings struct {
	values []string // the different ones, in the order they were seen
	count  int
	bad    string // the first that was not as asked
	note   string
}

// add takes one reading. What cannot be read is not held.
func (r *readings) add(value string, err error, held bool, object string) {
	r.count++
	if err == nil && !slices.Contains(r.values, value) {
		r.values = append(r.values, value)
	}
	switch {
	case r.bad != "":
	case err != nil:
		r.bad = fmt.Sprintf("%s: %v", object, err)
	case !held:
		r.bad = fmt.Sprintf("%s was %s", object, value)
	}
}

// state is held when there were readings and all were as asked.
func (r *readings) state(layer, asked string) LayerState {
	s := LayerState{Layer: layer, Asked: asked, Achieved: strings.Join(r.values, ", "), Held: r.count > 0 && r.bad == ""}
	switch {
	case r.count == 0:
		s.Note = "nothing could be read back"
	case r.bad != "":
		s.Note = r.bad
	}
	return s.with(r.note)
}

// with adds a note to a state.
func (s LayerState) with(note string) LayerState {
	if note != "" && s.Note != "" {
		s.Note += "; "
	}
	s.Note += note
	return s
}

// execLayer is a layer of what a child has from its exec on. Before that it
// still has the memory of this process, and answers with what is this one's own.
type execLayer interface {
	layer
	unread() bool
}

// execReadings are the readings of an execLayer.
type execReadings struct {
	readings
	// refused is why the kernel did not let this process read; nil: it did, or
	// there was nothing left to read.
	refused error
}

// unread is true until something was read back.
func (r *execReadings) unread() bool { return r.readings.count == 0 }

// state is for what a child has from its exec on and cannot lose before it has
// ended. One that could not be read before that is taken to have it, since the
// kernel refuses an exec that it cannot give these; the state says so.
//
// A kernel keeps the memory of nobody who has ended. Stopping the child at its
// exec (PTRACE_TRACEME) would let all be read, and is not done: it costs the
// run a context switch and some 30 to 80 µs of wall time, and takes from set-uid
// programs what they are.
func (r *execReadings) state(layer, asked string) LayerState {
	if !r.unread() {
		return r.readings.state(layer, asked)
	}
	why := "the process had ended before it could be"
	if r.refused != nil {
		why = r.refused.Error()
	}
	s := LayerState{Layer: layer, Asked: asked, Achieved: asked, Held: true, Unread: true, Note: "not read back (" + why + "): it is what its exec was given"}
	return s.with(r.note)
}
