package isolation

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"goset/cpulist"
)

// Foresee puts the layers of a mode in force on a rehearsal of this machine, on the
// CPUs of the run: the same code as a run, up to the start of the task. Nothing is
// changed, and no lock taken. Layers that [CheckIn] refuses are not in it.
func Foresee(state string, m Mode, cpus cpulist.Set) (Forecast, error) {
	run := (*Session)(nil).newRun(m, cpus)
	if os.Geteuid() == 0 {
		run.unjournaled = stateFault(cmp.Or(state, DefaultState))
	}
	return foresee(run)
}

// foresee rehearses a run on its own kernel.
func foresee(run *applied) (Forecast, error) {
	k := newRehearsal(run.kernel)
	run.kernel, run.chosen = k, true
	file, err := scratch()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	boot, err := k.bootID()
	if err != nil {
		return nil, fmt.Errorf("cannot tell this boot: %w", err)
	}
	run.journal = newJournal(k, file, boot)
	layers, _ := run.admit()
	var all Forecast
	if slices.ContainsFunc(layers, changesMachine) {
		f, err := run.rehearseGuard()
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	for _, l := range layers {
		f, err := run.rehearse(l)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// rehearseGuard makes the cgroups of the guard, before anything else is changed.
func (r *applied) rehearseGuard() (ForecastLayer, error) {
	id, err := newID()
	if err == nil {
		_, err = shelters(r.journal, id)
	}
	return ForecastLayer{Layer: "guard", Changes: changesOf(r.journal.entries)}, err
}

// rehearse puts one layer in force. One that is refused is undone, as in a run.
func (r *applied) rehearse(l layer) (ForecastLayer, error) {
	f := ForecastLayer{Layer: l.key()}
	if s := l.state(); s.Layer == "irqbalance" {
		f.Layer = s.Layer
	}
	mark := r.journal.Mark()
	if err := l.enforce(r); err != nil {
		var u *Unsupported
		if errors.As(r.mode.asError(l.key(), err), &u) {
			f.Refused = u.Reason
		}
		return f, r.journal.UndoTo(mark).Err
	}
	f.Changes = changesOf(r.journal.entries[mark:])
	f.Doubts = doubts(f.Changes)
	if c, ok := l.(childLayer); ok {
		b := Birth{Cgroup: -1}
		if err := c.birth(r, &b); err != nil {
			return f, err
		}
		for _, call := range append(b.place, b.Calls...) {
			f.Calls = append(f.Calls, call.What)
		}
	}
	if c, ok := l.(interface{ close() error }); ok {
		return f, c.close()
	}
	return f, nil
}

// scratch is a file that is nowhere.
func scratch() (*os.File, error) {
	fd, err := unix.MemfdCreate("journal", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot rehearse: %w", err)
	}
	return os.NewFile(uintptr(fd), "journal"), nil
}
