package isolation

import (
	"fmt"
	"time"
)

// Mode is what one mode of an experiment, or the flags of goset, ask for: a
// named, ordered set of layers. The zero Mode asks for nothing.
type Mode struct {
	Name string
	// CPUs is "" (unpinned), a CPU list, "rotate" (the next allowed CPU every
	// run) or "quietest" (chosen by rank).
	CPUs string
	// N is the number of CPUs that "quietest" and "rotate" take; 0 means 1.
	N int
	// Include and Exclude are CPU lists that bind the choice of "quietest".
	Include, Exclude string
	// NUMA is "", "auto" or a node number.
	NUMA string
	// Sample is how long "quietest" watches the machine before it chooses.
	Sample time.Duration
	// Rank is what "quietest" ranks by: "", "interrupts", "busy" or "all".
	Rank string
	// Choose says how often "quietest" chooses anew: "run" (and ""), "block"
	// or "experiment".
	Choose string

	Cgroup     string // "", "true", "member", "root", "isolated"
	Shield     bool
	Fence      bool
	Steer      bool
	Nice       *int
	FIFO       int // real-time priority 1 to 99; 0: none
	Governor   string
	Frequency  string
	Turbo, SMT *bool
	ASLR       *bool
	StableEnv  bool
	EnvSize    int // bytes; 0: as it comes
	THP        string
	Memory     string // limit of the job's cgroup, as "512MiB"
	CPUQuota   string
	Wrap       []string
	User       string

	// Optional names layers whose refusal is a recorded warning and not the
	// end of the run. Those that are Binding it cannot name.
	Optional []string
}

// ChangesMachine is true for a mode with a layer that reaches beyond the task
// itself: a Session has to be open for it. A fence is one: its siblings are
// nobody else's meanwhile.
func (m Mode) ChangesMachine() bool {
	return m.Cgroup != "" || m.Shield || m.Fence || m.Steer || m.Governor != "" || m.Frequency != "" ||
		m.Turbo != nil || m.SMT != nil || m.Memory != "" || m.CPUQuota != ""
}

// Unsupported is the typed error for a layer that cannot be had: because this
// machine, this kernel or this user lacks something, or because this version
// does not have the layer.
type Unsupported struct {
	Mode   string // the mode that asked
	Layer  string // the key, as "steer"
	Reason string // what is missing
	Hint   string // the way out
	// Optional is true when the mode lets go of the layer: a warning to record
	// and print, not the end of the run.
	Optional bool
	// Binding is true for what no mode lets go of; see [Mode.Binding].
	Binding bool

	// Room is how many CPUs there are to choose from, of a layer "cpus" that asks
	// for more; nil for all else.
	Room *int

	asked string // what the mode asked of the layer
}

// Error names the layer, the mode where it has a name, the cause and the way out.
func (e *Unsupported) Error() string {
	s := e.Reason
	switch {
	case e.Layer != "" && e.Mode != "":
		s = fmt.Sprintf("cannot hold layer %q of mode %q: %s", e.Layer, e.Mode, s)
	case e.Layer != "":
		s = fmt.Sprintf("cannot hold layer %q: %s", e.Layer, s)
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// LayerState is what became of one layer in one run: asked, and read back.
type LayerState struct {
	Layer    string `json:"layer"`
	Asked    string `json:"asked"`
	Achieved string `json:"achieved"`
	// Held is true when every read-back of the run found what was asked.
	Held bool `json:"held"`
	// Unread is true for a layer that held as far as can be told, and was read
	// back from nobody: the process had ended before, or may not be read.
	Unread bool `json:"unread,omitempty"`
	// Optional is true for a layer that the mode lets go of: when it does not
	// hold, the run still counts.
	Optional bool `json:"optional,omitempty"`
	// Note says why a layer did not hold, or what is worth knowing about it.
	Note string `json:"note,omitempty"`
	// Warning is a doubt that is to be told even though the layer held.
	Warning string `json:"warning,omitempty"`
}
