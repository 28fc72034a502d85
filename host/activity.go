package host

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"time"
)

// Activity is what the machine did for a while.
type Activity struct {
	Over time.Duration
	// Busy is how many CPUs were busy on average, Listed how many of them by
	// processes that were there all the while or came and stayed: the rest is
	// by those that came and went, by interrupts, or by what cannot be seen
	// from a container.
	Busy, Listed float64
	// Steal is the share of the time of all CPUs that the hypervisor took; nil:
	// the kernel does not print it.
	Steal *float64
	// Busiest are the busiest processes, at most five, this one left out.
	Busiest []BusyProcess
}

// BusyProcess is a process with what it used.
type BusyProcess struct {
	PID    int
	Name   string
	CPUs   float64 // 0.5 is half a CPU
	Kernel bool    // a thread of the kernel
}

// mostBusy is how many processes an [Activity] names.
const mostBusy = 5

// Watch reads the counters of all CPUs and all processes twice. Their unit is
// [Tick]: over a second, a hundredth of a CPU is the least that is seen.
func (f FS) Watch(ctx context.Context, over time.Duration) (*Activity, error) {
	before, err := f.use()
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, over); err != nil {
		return nil, err
	}
	after, err := f.use()
	if err != nil {
		return nil, err
	}
	return after.since(before), nil
}

// usage is what was used of the CPUs until an instant.
type usage struct {
	at    time.Time
	stat  *Stat
	tasks map[taskKey]taskUse
	self  int
}

// taskKey names a process for good.
type taskKey struct {
	pid   int
	start time.Duration
}

type taskUse struct {
	name   string
	cpu    time.Duration
	kernel bool
}

func (f FS) use() (*usage, error) {
	u := &usage{at: time.Now(), tasks: map[taskKey]taskUse{}, self: os.Getpid()}
	var err error
	if u.stat, err = f.Stat(); err != nil {
		return nil, err
	}
	pids, err := f.pids()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		// What ends meanwhile is none of those that go on.
		text, err := f.read("proc", strconv.Itoa(pid), "stat")
		if err != nil {
			continue
		}
		p, err := parseProcessStat(string(text))
		if err != nil {
			return nil, err
		}
		u.tasks[taskKey{pid, p.Start}] = taskUse{p.Name, p.User + p.System, p.KernelThread()}
	}
	return u, nil
}

func (u *usage) since(before *usage) *Activity {
	a := &Activity{Over: u.at.Sub(before.at)}
	if a.Over <= 0 {
		return a
	}
	a.machine(u.stat, before.stat)
	for key, now := range u.tasks {
		d := now.cpu - before.tasks[key].cpu
		share := float64(d) / float64(a.Over)
		if d <= 0 {
			continue
		}
		a.Listed += share
		if key.pid != u.self {
			a.Busiest = append(a.Busiest, BusyProcess{PID: key.pid, Name: now.name, CPUs: share, Kernel: now.kernel})
		}
	}
	slices.SortFunc(a.Busiest, func(x, y BusyProcess) int {
		return cmp.Or(cmp.Compare(y.CPUs, x.CPUs), cmp.Compare(x.PID, y.PID))
	})
	a.Busiest = a.Busiest[:min(len(a.Busiest), mostBusy)]
	return a
}

// machine adds up the CPUs that were online at both readings.
func (a *Activity) machine(now, before *Stat) {
	for cpu, t := range now.CPUs {
		if old, ok := before.CPUs[cpu]; ok {
			a.Busy += float64(t.Since(old).Busy()) / float64(a.Over)
		}
	}
	a.Steal = now.StealSince(before, a.Over)
}

// StealSince is the share of the time of all CPUs that the hypervisor took
// between two readings so far apart; nil: the kernel does not print it.
func (s *Stat) StealSince(before *Stat, over time.Duration) *float64 {
	var steal time.Duration
	cpus := 0
	for cpu, t := range s.CPUs {
		if d := t.Since(before.CPUs[cpu]); d.Steal != nil {
			steal += *d.Steal
			cpus++
		}
	}
	if cpus == 0 || over <= 0 {
		return nil
	}
	return new(float64(steal) / float64(over) / float64(cpus))
}
