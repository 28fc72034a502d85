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

// fromExec is state for what a child has from its exec on and cannot lose
// before it has ended. A child that ended before it could be read is taken to
// have had it: the exec would have failed otherwise.
func (r *readings) fromExec(layer, asked string) LayerState {
	if r.count > 0 {
		return r.state(layer, asked)
	}
	return LayerState{Layer: layer, Asked: asked, Achieved: asked, Held: true}.
		with("the process had ended before it could be read back; it is what its exec was given").with(r.note)
}
