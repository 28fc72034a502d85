package isolation

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"goset/cpulist"
)

// Held is what is held for one run: made before its child starts, asked while
// the child lives, released after.
//
// The order of calls is Session.Apply, Start, ReadBack any number of times, Release,
// States. Held is not safe for concurrent use.
type Held struct {
	cpus    cpulist.Set // empty: unpinned
	pin     pin
	kept    *Kept // the own threads, moved off the task's CPUs
	waived  []LayerState
	seen    readBacks
	run     *applied
	layers  []layer // in force, in their order
	session *Session
	mark    int  // where the run's part of the journal begins
	placed  bool // the child gets its CPUs in the fork, not from its parent
	execed  bool // the child was seen past its exec
}

// readBacks is what the read-backs of a run found.
type readBacks struct {
	count     int         // threads whose mask was read
	achieved  cpulist.Set // every CPU that any of them could have used
	whole     bool        // some thread had just the mask that was asked for
	elsewhere string      // the first thread that could have run elsewhere, or CPUs that none could have
	narrowed  string      // the first thread that kept to a part of the CPUs
}

// Apply brings the machine into the state that the mode asks for, on the CPUs
// that were chosen for this run; no CPUs: unpinned. The error joins one
// *Unsupported for each layer that cannot be had and is not optional, and then
// nothing is changed. The threads of this process keep off the CPUs until
// Release. A nil Session is enough for modes whose layers change nothing but the
// child.
func (s *Session) Apply(m Mode, cpus cpulist.Set) (*Held, error) {
	key := sharedKey(m, cpus)
	if err := s.leave(key); err != nil {
		return nil, err
	}
	findings := m.missing()
	if !cpus.Empty() {
		if u := checkHeldCPUs(cpus); u != nil {
			findings = append(Findings{m.unsupported(layerCPUs, cpus.String(), u)}, findings...)
			cpus = cpulist.Set{}
		}
	} else if m.CPUs != "" && m.LetsGo(layerCPUs) {
		// Asked for and let go of: the record says so.
		if u := checkCPUs(m); u != nil {
			findings = append(Findings{m.unsupported(layerCPUs, m.CPUs, u)}, findings...)
		}
	}
	h := &Held{cpus: cpus, session: s, run: s.newRun(m, cpus)}
	h.run.chosen = true
	layers, refused := h.run.admit()
	findings = append(findings, refused...)
	if err := findings.Err(); err != nil {
		return nil, err
	}
	h.waived = findings.states()
	if !cpus.Empty() {
		h.pin = newPin(cpus)
		kept, err := KeepOff(cpus)
		if err != nil {
			return nil, err
		}
		h.kept = kept
	}
	if err := h.enforce(layers, key); err != nil {
		return nil, errors.Join(err, h.Release())
	}
	return h, nil
}

// enforce puts the layers in force, one after the other. One that is optional
// and refused is undone and left out.
func (h *Held) enforce(layers []layer, key string) error {
	unready := h.session.ready(h, layers)
	shareable, end := 0, 0
	layers = h.adopt(layers)
	for _, l := range layers {
		_, shares := l.(sharer)
		if shares {
			shareable++
		}
		mark := h.session.mark()
		err := unready
		if err == nil || !changesMachine(l) {
			err = l.enforce(h.run)
		}
		if err == nil {
			h.layers = append(h.layers, l)
			l.check(h.run, moment{phase: beforeRun})
			if shares {
				end = h.session.mark()
			}
			continue
		}
		err = h.run.mode.asError(l.key(), err)
		if uerr := h.session.undoTo(mark); uerr != nil {
			return errors.Join(err, uerr)
		}
		var u *Unsupported
		if !errors.As(err, &u) || !u.Optional {
			return err
		}
		h.waived = append(h.waived, LayerState{Layer: u.Layer, Asked: u.asked, Note: u.Reason, Optional: true})
	}
	h.session.keep(h, key, shareable, end)
	return nil
}

// asError makes whatever kept a layer from being in force an *Unsupported that
// names the layer.
func (m Mode) asError(key string, err error) error {
	var u *Unsupported
	if !errors.As(err, &u) {
		u = &Unsupported{Reason: err.Error(), Hint: fmt.Sprintf("leave %q out", key)}
		if m.Binding(key) == "" {
			u.Hint += ", or name it in optional to run without it"
		}
	}
	asked := ""
	for _, a := range m.asks() {
		if a.layer == key {
			asked = a.text
		}
	}
	return m.unsupported(key, asked, u)
}

// checkHeldCPUs asks again, before every run, what Check asked once: CPUs go
// offline and cpusets change while an experiment runs.
func checkHeldCPUs(cpus cpulist.Set) *Unsupported {
	allowed, err := usable()
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `leave "cpus" out`}
	}
	return checkList(cpus, allowed)
}

// Pinned is true when the run is held to CPUs, and so when ReadBack has
// something to find.
func (h *Held) Pinned() bool { return !h.cpus.Empty() }

// Watched is true when there is something to read back while the child lives.
func (h *Held) Watched() bool { return h.Pinned() || len(h.layers) > 0 }

// Start runs start, which creates the child. The child gets its CPUs as one of
// the calls of the Birth. Where it can make none, the calling thread, to which
// the caller has locked its goroutine, wears the run's mask meanwhile; a pid
// with an error then means that the child runs, but that the thread could not
// leave its CPUs.
func (h *Held) Start(start func(b Birth) (pid int, err error)) (pid int, err error) {
	b, err := h.birth()
	if err != nil {
		return 0, err
	}
	return h.entered(func() (int, error) { return h.pinned(b, start) })
}

// pinned runs start under the mask of the run.
func (h *Held) pinned(b Birth, start func(b Birth) (pid int, err error)) (pid int, err error) {
	if !h.Pinned() || h.placed {
		pid, err = start(b)
		return pid, h.named(err)
	}
	restore, err := h.pin.enter()
	if err != nil {
		return 0, fmt.Errorf("cannot set the affinity to %s: %w", h.cpus, err)
	}
	pid, err = start(b)
	err = h.named(err)
	if rerr := restore(); rerr != nil {
		err = errors.Join(err, fmt.Errorf("cannot take the starting thread off %s: %w", h.cpus, rerr))
	}
	return pid, err
}

// named completes the error of a layer that failed in the child.
func (h *Held) named(err error) error {
	var u *Unsupported
	if errors.As(err, &u) && u.Mode == "" {
		return h.run.mode.asError(u.Layer, u)
	}
	return err
}

// birth asks the layers what the child is to do.
func (h *Held) birth() (Birth, error) {
	b := Birth{Cgroup: -1}
	for _, l := range h.layers {
		c, ok := l.(childLayer)
		if !ok {
			continue
		}
		if err := c.birth(h.run, &b); err != nil {
			return b, h.run.mode.asError(l.key(), err)
		}
	}
	if b.placed || h.Pinned() && bornByCalls() {
		h.placed = true
		if h.Pinned() {
			b.Calls = append(h.pin.calls(), b.Calls...)
		}
		b.Calls = append(b.place, b.Calls...)
	}
	return b, nil
}

// bornByCalls is true where a child can make calls between its fork and its
// exec. A thread that wore the task's mask to hand it on would be on the task's
// CPU when the task starts, and waits there for its turn to leave.
func bornByCalls() bool { return runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" }

// ReadBack asks the kernel for the mask of every thread of a live process, or
// of one that has ended and is not yet waited for, and adds what it finds to
// States. A thread that ends meanwhile is passed over.
func (h *Held) ReadBack(pid int) {
	if h.Pinned() {
		h.pin.readBack(pid, &h.seen)
	}
}

// Check reads back every layer while the child lives, or while it has ended and
// is not yet waited for.
func (h *Held) Check(pid int) { h.check(pid, func(layer) bool { return true }) }

// Unread reports whether something that the child has from its exec on was not
// yet read back. Right after Start it may be in the middle of its exec.
func (h *Held) Unread() bool { return slices.ContainsFunc(h.layers, unread) }

// CheckExec reads back what is Unread.
func (h *Held) CheckExec(pid int) { h.check(pid, unread) }

func unread(l layer) bool {
	e, ok := l.(execLayer)
	return ok && e.unread()
}

// check reads back layers of a child, those of its exec once it is past that.
func (h *Held) check(pid int, which func(layer) bool) {
	at := moment{phase: duringRun, pid: pid}
	if h.Unread() {
		// One reading tells what else there is to read: who waits for a short
		// command meanwhile notices its end that much later.
		at.ended = h.look(pid)
	}
	for _, l := range h.layers {
		if _, ok := l.(execLayer); which(l) && (!ok || h.execed) {
			l.check(h.run, at)
		}
	}
}

// look finds out whether the memory of a child is its own by now, and whether it
// has ended. The kernel lets the parent go on a moment before the child has new
// memory (fs/exec.c: exec_mmap): who reads then, reads this process.
func (h *Held) look(pid int) (ended bool) {
	text, err := h.run.kernel.readFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	stat, err := parseTaskStat(text)
	if err != nil {
		return true
	}
	h.execed = h.execed || stat.flags&flagForkNoExec == 0
	return stat.ended
}

// States says what became of every layer that was asked for.
func (h *Held) States() []LayerState {
	var states []LayerState
	if h.Pinned() {
		states = append(states, h.cpuState())
	}
	for _, l := range h.layers {
		state := l.state()
		state.Optional = h.run.mode.LetsGo(l.key())
		states = append(states, state)
	}
	return append(states, h.waived...)
}

// cpuState is the state of the run's affinity. A thread that keeps to a part of
// the CPUs is held: tasks bind their own threads within what they were given. It
// is not where the kernel took the rest away.
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

// Release reads every layer back for the last time and undoes what Apply did.
// The own threads get their CPUs back last: a cpuset that goes away may change
// their masks.
func (h *Held) Release() error {
	for _, l := range h.layers {
		l.check(h.run, moment{phase: afterRun})
	}
	var errs []error
	for _, l := range h.layers {
		if c, ok := l.(interface{ close() error }); ok {
			errs = append(errs, c.close())
		}
	}
	errs = append(errs, h.session.undoTo(h.mark), h.kept.Restore(), h.session.unheld())
	return errors.Join(errs...)
}
