package isolation

import (
	"errors"
	"fmt"

	"goset/cpulist"
)

// Held is what is held for one run: made before its child starts, asked while
// the child lives, released after.
//
// The order of calls is Apply, Start, ReadBack any number of times, States,
// Release. Held is not safe for concurrent use.
type Held struct {
	cpus   cpulist.Set // empty: unpinned
	pin    pin
	kept   *Kept // the own threads, moved off the task's CPUs
	waived []LayerState
	seen   readBacks
}

// readBacks is what the read-backs of a run found.
type readBacks struct {
	count     int         // threads whose mask was read
	achieved  cpulist.Set // every CPU that any of them could have used
	whole     bool        // some thread had just the mask that was asked for
	elsewhere string      // the first thread that could have run elsewhere
	narrowed  string      // the first thread that kept to a part of the CPUs
}

// Apply brings the machine into the state that the mode asks for, on the CPUs
// that were chosen for this run; no CPUs: unpinned. The error joins one
// *Unsupported for each layer that cannot be had and is not optional, and then
// nothing was changed. The threads of this process keep off the CPUs until
// Release.
func Apply(m Mode, cpus cpulist.Set) (*Held, error) {
	findings := m.missing()
	if !cpus.Empty() {
		if u := checkHeldCPUs(cpus); u != nil {
			findings = append(Findings{m.unsupported(layerCPUs, cpus.String(), u)}, findings...)
			cpus = cpulist.Set{}
		}
	}
	if err := findings.Err(); err != nil {
		return nil, err
	}
	h := &Held{cpus: cpus, waived: findings.states()}
	if cpus.Empty() {
		return h, nil
	}
	h.pin = newPin(cpus)
	kept, err := KeepOff(cpus)
	if err != nil {
		return nil, err
	}
	h.kept = kept
	return h, nil
}

// checkHeldCPUs asks again, before every run, what Check asked once: CPUs go
// offline and cpusets change while an experiment runs.
func checkHeldCPUs(cpus cpulist.Set) *Unsupported {
	allowed, err := Allowed()
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `leave "cpus" out`}
	}
	return checkList(cpus, allowed)
}

// Pinned is true when the run is held to CPUs, and so when ReadBack has
// something to find.
func (h *Held) Pinned() bool { return !h.cpus.Empty() }

// Start runs start, which creates the child, with the mask of the calling
// thread set to the run's CPUs, so that the child is born with it, and then
// gives the thread its own mask back. The caller has locked its goroutine to
// the thread. A pid with an error means that the child runs, but that the
// thread could not leave its CPUs.
func (h *Held) Start(start func() (pid int, err error)) (pid int, err error) {
	if !h.Pinned() {
		return start()
	}
	restore, err := h.pin.enter()
	if err != nil {
		return 0, fmt.Errorf("cannot set the affinity to %s: %w", h.cpus, err)
	}
	pid, err = start()
	if rerr := restore(); rerr != nil {
		err = errors.Join(err, fmt.Errorf("cannot take the starting thread off %s: %w", h.cpus, rerr))
	}
	return pid, err
}

// ReadBack asks the kernel for the mask of every thread of a live process, or
// of one that has ended and is not yet waited for, and adds what it finds to
// States. A thread that ends meanwhile is passed over.
func (h *Held) ReadBack(pid int) {
	if h.Pinned() {
		h.pin.readBack(pid, &h.seen)
	}
}

// States says what became of every layer that was asked for.
func (h *Held) States() []LayerState {
	var states []LayerState
	if h.Pinned() {
		states = append(states, h.cpuState())
	}
	return append(states, h.waived...)
}

// cpuState is the state of the run's affinity. A thread that keeps to a part of
// the CPUs is held: tasks bind their own threads within what they were given.
func (h *Held) cpuState() LayerState {
	s := LayerState{Layer: layerCPUs, Asked: h.cpus.String(), Achieved: h.seen.achieved.String(), Held: h.seen.count > 0 && h.seen.elsewhere == ""}
	switch {
	case h.seen.count == 0:
		s.Note = "no thread could be read back"
	case h.seen.elsewhere != "":
		s.Note = h.seen.elsewhere
	case h.seen.narrowed != "":
		s.Note = h.seen.narrowed
	}
	if note := h.kept.Note(); note != "" {
		if s.Note != "" {
			s.Note += "; "
		}
		s.Note += note
	}
	return s
}

// Release undoes what Apply did.
func (h *Held) Release() error { return h.kept.Restore() }
