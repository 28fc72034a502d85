package isolation

import "slices"

// Caveat is what is worth knowing before a run about a layer that can be held.
type Caveat struct {
	Mode  string // the mode that asks
	Layer string // the key, as "cgroup"
	Text  string
}

// Caveats lists them for a mode, in the order of its layers. Like [Check] it
// changes nothing; of layers that cannot be held Check tells.
func Caveats(m Mode) []Caveat {
	run := checkedRun(m)
	layers, _ := run.admit()
	run.shielded = slices.ContainsFunc(layers, func(l layer) bool { return l.key() == "shield" })
	var all []Caveat
	for _, l := range layers {
		c, ok := l.(interface{ caveat(r *applied) string })
		if !ok {
			continue
		}
		if text := c.caveat(run); text != "" {
			all = append(all, Caveat{m.Name, l.key(), text})
		}
	}
	return all
}

// caveat says who may run on the CPUs of the task's cpuset besides it; "": nobody,
// as far as it is known.
func (l *cgroupLayer) caveat(r *applied) string {
	switch {
	case !l.sets.unified && !r.shielded:
		return "others may run there: version 1 keeps nobody off without -shield"
	case l.sets.unified && (l.want == cgroupMember || l.asked == cgroupMember):
		return "others may run there: a member keeps nobody off"
	}
	return ""
}
