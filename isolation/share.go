package isolation

import (
	"fmt"
	"slices"
	"strings"

	"goset/cpulist"
)

// sharer is a layer of the whole machine that one run can leave in force for
// the next one, when that asks for the same. Sharers come first in the order of
// the stages, so that what they changed is the first part of the journal.
type sharer interface {
	layer
	// again forgets what was read back in the run before.
	again()
}

func (l *moversLayer) again()    { l.running = "" }
func (l *smtLayer) again()       { l.readings = readings{} }
func (l *turboLayer) again()     { l.readings = readings{} }
func (l *governorLayer) again()  { l.readings = readings{} }
func (l *frequencyLayer) again() { l.readings = readings{} }

// sharedKey is what a mode asks of the layers that can be shared, on these
// CPUs; "": nothing. Runs with the same key can have them in common.
func sharedKey(m Mode, cpus cpulist.Set) string {
	var parts []string
	add := func(asked bool, format string, args ...any) {
		if asked {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(m.Steer, "irqbalance held")
	add(m.SMT != nil, "smt %s around %s", text(m.SMT), cpus)
	add(m.Turbo != nil, "turbo %s", text(m.Turbo))
	add(m.Governor != "", "governor %s of %s", m.Governor, cpus)
	add(m.Frequency != "", "frequency %s of %s", m.Frequency, cpus)
	return strings.Join(parts, "; ")
}

// adopt takes over what the run before left in force and returns the layers
// that are still to be put in force.
func (h *Held) adopt(layers []layer) []layer {
	shared := h.session.inForce()
	if len(shared) == 0 {
		return layers
	}
	for _, l := range shared {
		l.(sharer).again()
		h.layers = append(h.layers, l)
		l.check(h.run, moment{phase: beforeRun})
	}
	return slices.DeleteFunc(slices.Clone(layers), func(l layer) bool { _, ok := l.(sharer); return ok })
}

// sharers are those of the layers in force that can be shared.
func (h *Held) sharers() []layer {
	return slices.DeleteFunc(slices.Clone(h.layers), func(l layer) bool { _, ok := l.(sharer); return !ok })
}
