package main

import (
	"errors"
	"fmt"

	"goset/cpulist"
	"goset/host"
	"goset/isolation"
)

// watch is the housekeeper: it polls while the task runs, from CPUs that are
// not the task's.
type watch struct {
	poller    *host.Poller
	keeper    int
	kept      *isolation.Kept
	telemetry *host.Telemetry
	scheduler *string
	failed    error
}

func (t *task) newWatch() (*watch, error) {
	p, err := host.Local.NewPoller(host.PollOptions{Task: t.selection.Set, Siblings: t.siblings, Interval: t.opt.interval, Proven: proven()})
	if err != nil {
		return nil, fmt.Errorf("cannot watch the task's CPUs: %w", err)
	}
	return &watch{poller: p, keeper: t.selection.Housekeeper}, nil
}

func (w *watch) close() {
	// Files of procfs lose nothing when they are closed.
	_ = w.poller.Close()
}

// started settles goset on the housekeeper's CPU. By then no thread of goset is
// on the task's CPUs or their siblings: the runner has seen to it.
func (w *watch) started(int) {
	if w.keeper < 0 {
		return
	}
	keeper := cpulist.Of(w.keeper)
	allowed, err := isolation.Allowed()
	if err != nil {
		w.failed = err
		return
	}
	if !allowed.Equal(keeper) && keeper.SubsetOf(allowed) {
		w.kept, w.failed = isolation.KeepTo(keeper)
	}
}

// ended reads for the last time.
func (w *watch) ended(pid int) {
	w.telemetry = w.poller.End(pid)
	if p, err := host.Local.Process(pid); err == nil {
		w.scheduler = scheduler(p)
	}
	w.failed = errors.Join(w.failed, w.kept.Restore())
}

// scheduler names a policy; nil where the kernel does not say it.
func scheduler(p *host.Process) *string {
	if p.Policy == nil {
		return nil
	}
	names := map[int]string{0: "SCHED_OTHER", 1: "SCHED_FIFO", 2: "SCHED_RR", 3: "SCHED_BATCH", 5: "SCHED_IDLE", 6: "SCHED_DEADLINE", 7: "SCHED_EXT"}
	name, ok := names[*p.Policy]
	if !ok {
		name = fmt.Sprintf("policy %d", *p.Policy)
	}
	if p.Priority != nil && *p.Priority > 0 {
		return new(fmt.Sprintf("%s, priority %d", name, *p.Priority))
	}
	return new(fmt.Sprintf("%s, nice %d", name, p.Nice))
}
