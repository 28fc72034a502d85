package isolation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// moversLayer holds irqbalance for the run: it would move interrupts back, and
// when CPUs go offline or come online it places all of them anew. It is stopped
// before anything is steered, and started after every mask is put back, since
// it writes them all within its interval of 10 s.
//
// It stands in the record as "irqbalance" and is asked for by "steer" and by
// "smt".
type moversLayer struct {
	machineLayer
	asker   string // the key that asked
	found   int
	how     []string // what was done about it
	others  []string // names of other programs that move interrupts
	running string   // an irqbalance that ran although it was held
}

const irqbalanceUnit = "irqbalance.service"

// otherMovers are the programs that are known to move interrupts, tasks or
// governors besides irqbalance, by their first 15 bytes as the kernel keeps
// names. They are named and left alone: what they do else is not known here.
func otherMovers() []string {
	return []string{"irqd", "birq", "tuned", "numad", "ksmtuned", "ulatencyd", "thermald", "power-profiles-", "tlp", "auto-cpufreq", "kubelet", "crio", "google_guest_ag"}
}

func newMoversLayer(r *applied) layer {
	switch {
	case r.mode.Steer:
		return &moversLayer{asker: "steer"}
	case r.mode.SMT != nil && !*r.mode.SMT:
		return &moversLayer{asker: "smt"}
	}
	return nil
}

func (l *moversLayer) key() string { return l.asker }

func (l *moversLayer) probe(*applied) *Unsupported { return nil }

func (l *moversLayer) enforce(r *applied) error {
	if err := l.stopUnit(r); err != nil {
		return err
	}
	tasks, others, err := findMovers(r.kernel)
	if err != nil {
		return err
	}
	l.others = others
	for _, task := range tasks {
		// Of no unit, or of one that could not be started again.
		l.found++
		if err := r.journal.SetAs(KindProcess, task, valueStopped, "irqbalance"); err != nil && !isGone(err) {
			return fmt.Errorf("cannot hold irqbalance: %w", err)
		}
		l.how = append(l.how, "process "+task[:strings.IndexByte(task, ':')]+" stopped")
	}
	return nil
}

// stopUnit stops the service where systemd runs it and could start it again.
func (l *moversLayer) stopUnit(r *applied) error {
	if _, err := r.kernel.entries("/run/systemd/system"); err != nil {
		// Not booted by systemd (sd_booted(3)).
		return nil
	}
	state, err := settledUnit(r.kernel, irqbalanceUnit)
	if err != nil {
		return &Unsupported{Reason: fmt.Sprintf("it cannot be told whether irqbalance runs, which would undo the steering (%v)", err), Hint: "stop it by hand, and leave systemctl where it can be found"}
	}
	// A unit that was masked while it ran could not be started again. What
	// has failed or was never started does not run.
	if state["ActiveState"] != valueActive || state["LoadState"] != "loaded" {
		return nil
	}
	err = r.journal.Set(KindUnit, irqbalanceUnit, valueInactive)
	if err != nil {
		return fmt.Errorf("cannot hold irqbalance: %w", err)
	}
	l.found++
	l.how = append(l.how, irqbalanceUnit+" stopped")
	return nil
}

// settledUnit reads what systemd says about a unit, once it is in a state that
// lasts.
func settledUnit(k kernel, unit string) (map[string]string, error) {
	deadline := time.Now().Add(patience)
	for {
		text, err := k.systemctl("show", "--property=LoadState,ActiveState", unit)
		if err != nil {
			return nil, err
		}
		state := parseProperties(text)
		if slices.Contains([]string{valueActive, valueInactive, "failed"}, state["ActiveState"]) {
			return state, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s is %q and does not become anything else", unit, state["ActiveState"])
		}
		time.Sleep(patience / 30)
	}
}

// parseProperties reads lines of NAME=VALUE.
func parseProperties(text string) map[string]string {
	properties := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "="); ok {
			properties[name] = value
		}
	}
	return properties
}

// findMovers looks for irqbalance processes that are not stopped, and for the
// names of other programs that move interrupts.
func findMovers(k kernel) (tasks, others []string, err error) {
	pids, err := k.entries("/proc")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range pids {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		comm, err := k.readFile("/proc/" + name + "/comm")
		if err != nil {
			continue
		}
		if slices.Contains(otherMovers(), comm) && !slices.Contains(others, comm) {
			others = append(others, comm)
		}
		if comm != "irqbalance" {
			continue
		}
		start, err := startOf(k, pid)
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if state, err := readStopped(k, taskObject(pid, start)); err == nil && state == valueRunning {
			tasks = append(tasks, taskObject(pid, start))
		} else if err != nil && !isGone(err) {
			return nil, nil, err
		}
	}
	return tasks, others, nil
}

func (l *moversLayer) check(r *applied, at moment) {
	if at.phase != afterRun || l.running != "" {
		return
	}
	tasks, _, err := findMovers(r.kernel)
	switch {
	case err != nil:
		l.running = err.Error()
	case len(tasks) > 0:
		l.running = "somebody started irqbalance during the run"
	}
}

func (l *moversLayer) state() LayerState {
	s := LayerState{Layer: "irqbalance", Asked: "held", Achieved: "held", Held: l.running == "", Note: l.running}
	if l.found == 0 {
		s.Achieved = "absent"
	}
	if l.running != "" {
		s.Achieved = "running"
	}
	s = s.with(strings.Join(l.how, ", "))
	if len(l.others) > 0 {
		s = s.with("these run here too and may move interrupts or change governors: " + strings.Join(l.others, ", "))
	}
	return s
}
