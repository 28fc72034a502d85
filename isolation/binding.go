package isolation

import "slices"

// Binding says why a layer of the mode is never optional, whatever the mode names
// as that; "": it may be.
//
// Who asks for a user keeps rights from the task, and who names CPUs may have
// others at work on the rest: what runs as root, or elsewhere, is not the task
// that was asked for, and a misspelt word must not come to that.
func (m Mode) Binding(layer string) string {
	switch {
	case layer == layerUser:
		return "whom the task runs as is not optional"
	case layer == layerCPUs && m.namesCPUs():
		return "CPUs that are named are not optional"
	}
	return ""
}

// layerUser is the layer of whose rights the task has.
const layerUser = "user"

// namesCPUs is true for a mode with a CPU list, as against a word for a choice.
func (m Mode) namesCPUs() bool { return m.CPUs != "" && m.CPUs != "rotate" && m.CPUs != "quietest" }

// LetsGo reports whether a run of the mode goes on without a layer that does not
// hold.
func (m Mode) LetsGo(layer string) bool {
	return slices.Contains(m.Optional, layer) && m.Binding(layer) == ""
}

// BestEffort returns the mode with every layer that it asks for optional, but for
// those that are binding.
func (m Mode) BestEffort() Mode {
	m.Optional = nil
	for _, a := range m.asks() {
		if m.Binding(a.layer) == "" {
			m.Optional = append(m.Optional, a.layer)
		}
	}
	return m
}

// Waivable returns the refused findings that the mode could let go of.
func (f Findings) Waivable() Findings {
	return slices.DeleteFunc(f.Refused(), func(u *Unsupported) bool { return u.Binding })
}

// Binding returns the refused findings that no mode can let go of.
func (f Findings) Binding() Findings {
	return slices.DeleteFunc(f.Refused(), func(u *Unsupported) bool { return !u.Binding })
}

// Layers names the layers of the findings, each once.
func (f Findings) Layers() []string {
	var names []string
	for _, u := range f {
		if !slices.Contains(names, u.Layer) {
			names = append(names, u.Layer)
		}
	}
	return names
}
