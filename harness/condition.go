package harness

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"goset/cpulist"
	"goset/internal/load"
)

// Condition is one [condition.NAME]: background load around the run, with
// lists left as factors.
type Condition struct {
	Name string
	// Keys holds every key but command in file order with its levels as text.
	Keys    []Param
	Command []string // may hold {factor}
	// Load is the condition with the first level of every key.
	Load LoadSpec
}

// LoadSpec is the background load of a treatment. The zero value is none.
type LoadSpec struct {
	// Spinners and Memory are how many processes: "" (none), "all" (one for
	// each CPU that the load may use), a number, or a CPU list such as "2-5",
	// for one on each of these CPUs.
	Spinners, Memory string
	// Interrupts is wake-ups by a timer per second on each CPU that the load
	// may use; 0: none.
	Interrupts int
	// Command is run as it is, once; nil: none.
	Command []string
	// Everywhere lets the load onto the CPUs of the task, and into the fence
	// around them, too.
	Everywhere bool
}

// None is true when there is nothing to start.
func (s *LoadSpec) None() bool {
	return s.Spinners == "" && s.Memory == "" && s.Interrupts == 0 && len(s.Command) == 0
}

// The kinds of load, as records name them.
const (
	LoadSpinners   = "spinners"
	LoadMemory     = "memory"
	LoadInterrupts = "interrupts"
	LoadCommand    = "command"
)

// maxLoad bounds the processes of one kind of load.
const maxLoad = 1024

// loadAll is the word for one process for each CPU.
const loadAll = "all"

// LoadProcess is one process of a load that is to be started.
type LoadProcess struct {
	Kind string `json:"kind"`
	// CPUs are those that it is held to; "": any.
	CPUs string   `json:"cpus,omitempty"`
	Rate int      `json:"rate,omitempty"` // wake-ups per second of LoadInterrupts
	Argv []string `json:"argv,omitempty"` // of LoadCommand
}

// Place says which processes a load has, and on which CPUs, given those that
// this process may use (none: this system does not tell) and those that are
// the task's. The error names what cannot be placed; a CPU of a list that is
// the task's is left out, and only when none is left that is an error.
func (s *LoadSpec) Place(allowed, task cpulist.Set) ([]LoadProcess, error) {
	usable := allowed
	if !s.Everywhere {
		usable = allowed.Minus(task)
	}
	if usable.Empty() && !allowed.Empty() && !s.None() {
		return nil, fmt.Errorf("no CPU is left beside those of the task, %s (everywhere = true lets the load share them)", task)
	}
	var out []LoadProcess
	var errs []error
	for _, kind := range []struct{ name, asked string }{{LoadSpinners, s.Spinners}, {LoadMemory, s.Memory}} {
		ps, err := placeKind(kind.name, kind.asked, allowed, usable)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s = %q: %w", kind.name, kind.asked, err))
		}
		out = append(out, ps...)
	}
	if s.Interrupts > 0 {
		out = append(out, onEach(LoadProcess{Kind: LoadInterrupts, Rate: s.Interrupts}, usable)...)
	}
	if len(s.Command) > 0 {
		out = append(out, LoadProcess{Kind: LoadCommand, CPUs: usable.String(), Argv: s.Command})
	}
	return out, errors.Join(errs...)
}

// LoadFits says whether the load of a treatment can be placed on a machine with
// these CPUs, as far as that is known before the run; nil: it can.
func (t *Treatment) LoadFits(allowed cpulist.Set) error {
	if t.Load.None() {
		return nil
	}
	var task cpulist.Set
	switch t.Layers.CPUs {
	case "":
	case cpusRotate, cpusQuietest:
		if n := max(1, t.Layers.N); !t.Load.Everywhere && !allowed.Empty() && n >= allowed.Len() {
			return fmt.Errorf("condition %q beside mode %q: the task takes all %d CPUs (everywhere = true lets the load share them)", t.Condition, t.Mode, allowed.Len())
		}
	default:
		set, err := cpulist.Parse(t.Layers.CPUs)
		if err != nil {
			return nil // its mode is refused
		}
		task = set
	}
	if _, err := t.Load.Place(allowed, task); err != nil {
		return fmt.Errorf("condition %q beside mode %q: %w", t.Condition, t.Mode, err)
	}
	return nil
}

// placeKind places spinners or memory hogs. Only a list holds each to a CPU of
// its own: others are free to move, as what runs on a machine by itself is.
func placeKind(kind, asked string, allowed, usable cpulist.Set) ([]LoadProcess, error) {
	p := LoadProcess{Kind: kind, CPUs: usable.String()}
	if asked == "" {
		return nil, nil
	}
	if asked == loadAll {
		return slices.Repeat([]LoadProcess{p}, min(maxLoad, cpusOr(usable))), nil
	}
	if n, err := strconv.Atoi(asked); err == nil {
		return slices.Repeat([]LoadProcess{p}, min(maxLoad, max(0, n))), nil
	}
	list, err := cpulist.Parse(asked)
	if err != nil {
		return nil, err
	}
	if allowed.Empty() {
		return nil, fmt.Errorf("%s has no CPU affinity for processes: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	if lacking := list.Minus(allowed); !lacking.Empty() {
		return nil, fmt.Errorf("%s cannot be used here (choose among %s)", cpusNamed(lacking), allowed)
	}
	if list = list.Intersect(usable); list.Empty() {
		return nil, errors.New("all of them are the task's (everywhere = true lets the load share them)")
	}
	return onEach(p, list), nil
}

// onEach is one process on each CPU; one for each of an unknown set.
func onEach(p LoadProcess, cpus cpulist.Set) []LoadProcess {
	if cpus.Empty() {
		return slices.Repeat([]LoadProcess{p}, cpusOr(cpus))
	}
	var out []LoadProcess
	for cpu := range cpus.All() {
		p.CPUs = strconv.Itoa(cpu)
		out = append(out, p)
	}
	return out
}

// cpusOr is the number of CPUs of a set, or of the machine where no set is
// known.
func cpusOr(cpus cpulist.Set) int {
	if cpus.Empty() {
		return runtime.NumCPU()
	}
	return cpus.Len()
}

func cpusNamed(s cpulist.Set) string {
	if s.Len() == 1 {
		return "CPU " + s.String()
	}
	return "CPUs " + s.String()
}

// asked is what the spec says of a kind.
func (s *LoadSpec) asked(kind string) string {
	switch kind {
	case LoadSpinners:
		return s.Spinners
	case LoadMemory:
		return s.Memory
	case LoadInterrupts:
		return strconv.Itoa(s.Interrupts)
	}
	return strings.Join(s.Command, " ")
}

// Words says what a load starts on a machine with these CPUs, beside a task
// that has none of its own: "2 spinners on CPUs 0-1, off those of the task".
func (s *LoadSpec) Words(allowed cpulist.Set) string {
	if s.None() {
		return "no load"
	}
	placed, err := s.Place(allowed, cpulist.Set{})
	if err != nil {
		return "cannot be started here: " + err.Error()
	}
	var parts []string
	for _, kind := range []string{LoadSpinners, LoadMemory, LoadInterrupts, LoadCommand} {
		if text := s.kindWords(kind, placed); text != "" {
			parts = append(parts, text)
		}
	}
	text := strings.Join(parts, "; ")
	switch {
	case allowed.Empty():
		return text + ", wherever the system puts them"
	case s.Everywhere:
		return text + ", the CPUs of the task included"
	}
	return text + ", never on the CPUs of the task"
}

// kindWords says what is started of a kind; "" for nothing.
func (s *LoadSpec) kindWords(kind string, placed []LoadProcess) string {
	var cpus cpulist.Set
	n, each := 0, false
	for _, p := range placed {
		if p.Kind != kind {
			continue
		}
		n++
		set, err := cpulist.Parse(p.CPUs)
		if err != nil || p.CPUs == "" {
			continue
		}
		each = each || !cpus.Empty() && !cpus.Equal(set)
		cpus = cpus.Union(set)
	}
	if n == 0 {
		return ""
	}
	nouns := map[string]string{LoadSpinners: "spinner", LoadMemory: "memory hog", LoadInterrupts: "timer"}
	var text string
	switch kind {
	case LoadCommand:
		text = fmt.Sprintf("%q", s.Command)
	default:
		text = fmt.Sprintf("%d %s", n, nouns[kind])
		if n != 1 {
			text += "s"
		}
	}
	if kind == LoadMemory {
		text += fmt.Sprintf(" of %d MiB", load.HogBytes>>20)
	}
	if kind == LoadInterrupts {
		text += fmt.Sprintf(" of %d wake-ups a second", s.Interrupts)
	}
	if cpus.Empty() {
		return text
	}
	if each {
		text += ", one each"
	}
	return text + " on " + cpusNamed(cpus)
}
