package isolation

import (
	"slices"

	"goset/internal/lazy"
)

// Forecast is what a run would do to this machine, layer by layer in the order in
// which they are put in force.
type Forecast []ForecastLayer

// ForecastLayer is one layer of a forecast.
type ForecastLayer struct {
	Layer string `json:"layer"`
	// Refused is why the layer is not put in force after all; "": it is.
	Refused string `json:"refused,omitempty"`
	// Changes are made before the task starts, in this order, and undone
	// backwards after it.
	Changes []Change `json:"changes,omitempty"`
	// Calls are what the task's process does before its exec.
	Calls []string `json:"calls,omitempty"`
	// Doubts are what cannot be known before it is done.
	Doubts []string `json:"doubts,omitempty"`
}

// Change is one entry that the journal would have.
type Change struct {
	Kind   Kind   `json:"kind"`
	Object string `json:"object"`
	Label  string `json:"label,omitempty"`
	Old    string `json:"old"`
	New    string `json:"new"`
	// Remembered is true for what is not written: something that the kernel is
	// going to change by the way, of which New is what may come.
	Remembered bool `json:"remembered,omitempty"`
}

// anyOwn finds the names of cgroups that are drawn for every run.
var anyOwn = lazy.Regexp(`goset-[0-9a-f]{16}`)

// changesOf turns entries of a journal into a forecast. What is drawn at random
// stands as a star.
func changesOf(entries []Entry) []Change {
	star := func(text string) string { return anyOwn().ReplaceAllString(text, "goset-*") }
	var changes []Change
	for _, e := range entries {
		changes = append(changes, Change{
			Kind: e.Kind, Object: star(e.Object), Label: e.Label, Old: star(e.Old), New: star(e.New),
			Remembered: slices.Contains([]Kind{KindBystander, KindStranded, KindKthread, KindSpread, KindFloor}, e.Kind),
		})
	}
	return changes
}

// doubts say of changes what only making them can tell.
func doubts(changes []Change) []string {
	var all []string
	for _, c := range changes {
		if text := doubt(c); text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

func doubt(c Change) string {
	switch c.Kind {
	case KindPartition:
		return "whether the kernel makes the partition of these CPUs; where it does not, the layer is refused, or goes on to a weaker one and moves the kernel's threads and workqueues itself"
	case KindIRQ:
		return "which interrupts are managed or per-CPU: they refuse, and stay where they are; those that are set up during the run are steered, too"
	case KindAffinity, KindMember:
		return "which threads of the kernel refuse to leave: they stay"
	case KindBystander:
		return "what CPUs the kernel gives to threads whose masks it overwrites; its own that come onto the task's are moved off, and all get theirs back"
	case KindClock:
		return "what the driver rounds the frequency to"
	case KindUnit, KindProcess:
		return "whether somebody starts irqbalance again meanwhile"
	}
	if c.Kind == KindWords && c.New == "0" && offlineFile().MatchString(c.Object) {
		return "whether the kernel lets go of the CPUs: where it does not, the layer is refused; and where it lets interrupts go that went there"
	}
	return ""
}

// offlineFile is the switch of a CPU.
var offlineFile = lazy.Regexp(`^/sys/devices/system/cpu/cpu\d+/online$`)
