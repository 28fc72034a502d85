package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"goset/cpulist"
	"goset/host"
	"goset/isolation"
	"goset/rank"
)

// DefaultSample is how long "quietest" watches the machine unless told
// otherwise.
const DefaultSample = 500 * time.Millisecond

// maxRanked bounds the places of a ranking that a record keeps.
const maxRanked = 64

// QuietChooser is the Chooser that watches a machine's own counters.
type QuietChooser struct {
	FS host.FS
	// wait sleeps between the two readings; a test changes the files instead.
	wait func(context.Context, time.Duration) error
}

// NewChooser makes a Chooser for the machine whose files lie under root.
func NewChooser(root host.FS) *QuietChooser { return &QuietChooser{FS: root, wait: sleep} }

var _ Chooser = (*QuietChooser)(nil)

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Choose watches the machine for the mode's sample and takes the mode's n
// quietest CPUs. The error is a *rank.Refused when n is more than what is
// free, and the context's when it ends first.
func (c *QuietChooser) Choose(ctx context.Context, mode isolation.Mode) (cpulist.Set, *Choice, error) {
	opt, err := rankOptions(mode)
	if err != nil {
		return cpulist.Set{}, nil, fmt.Errorf("mode %q: %v", mode.Name, err)
	}
	ranking, err := c.rank(ctx, opt)
	if err != nil {
		return cpulist.Set{}, nil, err
	}
	selection, err := ranking.Take(max(mode.N, 1))
	choice := choiceOf(ranking, opt.Sample)
	if err != nil {
		return cpulist.Set{}, choice, fmt.Errorf("mode %q: %w", mode.Name, err)
	}
	return selection.Set, choice, nil
}

// Check says why no run of a mode with cpus = "quietest" could be given CPUs
// here; nil: nothing speaks against it. It reads everything once and watches
// nothing. Containers hide /proc/interrupts, and hardened kernels keep it to
// root.
func (c *QuietChooser) Check(mode isolation.Mode) error {
	opt, err := rankOptions(mode)
	if err != nil {
		return err
	}
	at, err := c.read()
	if err != nil {
		return err
	}
	cpus, err := c.placed()
	if err != nil {
		return err
	}
	if err := c.count(cpus, at, at); err != nil {
		return err
	}
	ranking := rank.Rank(cpus, opt)
	_, err = ranking.Take(max(mode.N, 1))
	return err
}

// Rank watches the machine for the mode's sample and orders all its CPUs.
func (c *QuietChooser) Rank(ctx context.Context, mode isolation.Mode) (rank.Ranking, error) {
	opt, err := rankOptions(mode)
	if err != nil {
		return rank.Ranking{}, err
	}
	return c.rank(ctx, opt)
}

func (c *QuietChooser) rank(ctx context.Context, opt rank.Options) (rank.Ranking, error) {
	cpus, err := c.Watch(ctx, opt.Sample)
	if err != nil {
		return rank.Ranking{}, err
	}
	return rank.Rank(cpus, opt), nil
}

// RankSinceBoot orders all CPUs by what they did since boot: what a machine
// that cannot be watched, or need not be, has to say.
func (c *QuietChooser) RankSinceBoot(mode isolation.Mode) (rank.Ranking, error) {
	mode.Sample = 0
	opt, err := rankOptions(mode)
	if err != nil {
		return rank.Ranking{}, err
	}
	now, err := c.read()
	if err != nil {
		return rank.Ranking{}, fmt.Errorf("cannot read what the CPUs did: %w", err)
	}
	opt.Sample = 0
	if now.stat != nil && now.stat.Boot != nil {
		opt.Sample = max(now.at.Sub(*now.stat.Boot), 0)
	}
	cpus, err := c.placed()
	if err != nil {
		return rank.Ranking{}, err
	}
	if err := c.count(cpus, atBoot(now), now); err != nil {
		return rank.Ranking{}, err
	}
	return rank.Rank(cpus, opt), nil
}

// atBoot is what the machine's counters were at boot: zero, where it has them.
// Its time is now's: no part of the time since then that was not accounted for
// is taken for busy, since CPUs can come online late.
func atBoot(now reading) reading {
	zero := reading{at: now.at}
	if now.stat != nil {
		zero.stat = &host.Stat{CPUs: map[int]host.CPUTime{}}
		for cpu, t := range now.stat.CPUs {
			at := host.CPUTime{}
			if t.Steal != nil {
				at.Steal = new(time.Duration)
			}
			zero.stat.CPUs[cpu] = at
		}
	}
	if now.queues != nil {
		zero.queues = &host.Schedstat{CPUs: map[int]host.RunQueue{}}
		for cpu := range now.queues.CPUs {
			zero.queues.CPUs[cpu] = host.RunQueue{}
		}
	}
	return zero
}

// rankOptions reads what a mode says about the choice.
func rankOptions(mode isolation.Mode) (rank.Options, error) {
	opt := rank.Options{Sample: mode.Sample, Steer: mode.Steer}
	var err error
	if opt.By, err = rank.ParseBy(mode.Rank); err != nil {
		return opt, err
	}
	if mode.Sample < 0 {
		return opt, fmt.Errorf("cannot watch for %v: sample must be 0 (%v) or more", mode.Sample, DefaultSample)
	}
	if mode.Sample == 0 {
		opt.Sample = DefaultSample
	}
	if mode.N < 0 {
		return opt, fmt.Errorf("cannot take %d CPUs: n must be 1 or more", mode.N)
	}
	if opt.Include, err = cpulist.Parse(mode.Include); err != nil {
		return opt, fmt.Errorf("include: %v", err)
	}
	if opt.Exclude, err = cpulist.Parse(mode.Exclude); err != nil {
		return opt, fmt.Errorf("exclude: %v", err)
	}
	switch mode.NUMA {
	case "":
	case "auto":
		opt.OneNode = true
	default:
		node, err := strconv.Atoi(mode.NUMA)
		if err != nil || node < 0 {
			return opt, fmt.Errorf("cannot take CPUs of node %q: numa must be a node's number or \"auto\"", mode.NUMA)
		}
		opt.Node = &node
	}
	return opt, nil
}

func choiceOf(r rank.Ranking, sample time.Duration) *Choice {
	choice := &Choice{Sample: sample}
	for i, p := range r.Places {
		if i == maxRanked {
			choice.Left = len(r.Places) - i
			break
		}
		choice.Ranking = append(choice.Ranking, Ranked{CPU: p.ID, Cost: p.Cost, Own: p.Own, Why: p.Reason})
	}
	return choice
}

// reading is all counters at one instant.
type reading struct {
	at         time.Time
	interrupts *host.Interrupts // nil: what was at boot
	stat       *host.Stat       // nil: another machine's files without it
	softirqs   *host.Interrupts // nil: this kernel does not have it
	queues     *host.Schedstat  // nil: as above
}

func (c *QuietChooser) read() (reading, error) {
	r := reading{at: time.Now()}
	var err error
	if r.interrupts, err = c.FS.Interrupts(); err != nil {
		return r, err
	}
	if r.stat, err = c.FS.Stat(); err != nil && (c.FS.IsLocal() || !errors.Is(err, fs.ErrNotExist)) {
		return r, err
	}
	if r.softirqs, err = c.FS.Softirqs(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if r.queues, err = c.FS.Schedstat(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	return r, nil
}

// Watch reads the counters twice, sample apart, and says of every CPU what it
// did in between.
func (c *QuietChooser) Watch(ctx context.Context, sample time.Duration) ([]rank.CPU, error) {
	before, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("cannot watch the CPUs: %w", err)
	}
	if err := c.wait(ctx, sample); err != nil {
		return nil, err
	}
	after, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("cannot watch the CPUs: %w", err)
	}
	// The topology is read last: a CPU that went offline meanwhile is offline.
	cpus, err := c.placed()
	if err != nil {
		return nil, err
	}
	return cpus, c.count(cpus, before, after)
}

// placed lists the CPUs with where they stand and without what they did.
func (c *QuietChooser) placed() ([]rank.CPU, error) {
	top, err := c.FS.Arrangement()
	if err != nil {
		return nil, fmt.Errorf("cannot rank the CPUs: %w", err)
	}
	allowed, err := c.allowed(top)
	if err != nil {
		return nil, err
	}
	return placeCPUs(top, allowed), nil
}

// allowed is what this process may use; of another machine, all its CPUs.
func (c *QuietChooser) allowed(top *host.Topology) (cpulist.Set, error) {
	if !c.FS.IsLocal() {
		return top.Online, nil
	}
	allowed, err := host.Affinity(os.Getpid())
	if err != nil {
		return cpulist.Set{}, err
	}
	return top.Reachable(allowed), nil
}

// placeCPUs lists the present CPUs with where they stand.
func placeCPUs(top *host.Topology, allowed cpulist.Set) []rank.CPU {
	known := top.Online
	if top.Present != nil {
		known = known.Union(*top.Present)
	}
	var cpus []rank.CPU
	cores := coreIndex(top)
	for id := range known.All() {
		cpu := rank.CPU{
			ID: id, Core: len(top.Cores) + id, Siblings: cpulist.Of(id),
			Online: top.Online.Contains(id), Allowed: allowed.Contains(id),
			Isolated: top.Isolated != nil && top.Isolated.Contains(id),
			NoHZFull: top.NoHZFull != nil && top.NoHZFull.Contains(id),
		}
		if i, ok := cores[id]; ok {
			core := &top.Cores[i]
			cpu.Core, cpu.Siblings, cpu.Package, cpu.Node, cpu.Kind = i, core.CPUs, core.Package, core.Node, core.Kind
		}
		for i, kind := range top.Kinds {
			if kind.Name == cpu.Kind {
				cpu.KindRank = i
			}
		}
		cpus = append(cpus, cpu)
	}
	return cpus
}

// coreIndex is the place of every CPU's core in top.Cores.
func coreIndex(top *host.Topology) map[int]int {
	index := map[int]int{}
	for i := range top.Cores {
		for cpu := range top.Cores[i].CPUs.All() {
			index[cpu] = i
		}
	}
	return index
}

// count fills in what every CPU did between two readings.
func (c *QuietChooser) count(cpus []rank.CPU, before, after reading) error {
	delta := after.interrupts.Since(before.interrupts)
	var failed error
	steerable, fixed := rank.Rows(delta, func(row *host.InterruptRow) host.Steering {
		s, err := c.FS.Steering(row)
		failed = errors.Join(failed, err)
		return s
	})
	if failed != nil {
		return fmt.Errorf("cannot tell steerable interrupts: %w", failed)
	}
	var softirqs map[int]uint64
	if after.softirqs != nil && (before.softirqs != nil || before.interrupts == nil) {
		_, softirqs = rank.Rows(after.softirqs.Since(before.softirqs), func(*host.InterruptRow) host.Steering { return host.PerCPU })
	}
	for i := range cpus {
		cpu := &cpus[i]
		cpu.Steerable, cpu.Fixed = steerable[cpu.ID], fixed[cpu.ID]
		if n, ok := softirqs[cpu.ID]; ok {
			cpu.SoftIRQs = &n
		}
		cpu.Busy, cpu.Steal = busyTime(cpu.ID, before, after)
		cpu.Waited = waited(cpu.ID, before, after)
	}
	return nil
}

// busyTime is how long a CPU was busy and how long the hypervisor had it. The
// tick, which accounts for busy time, misses what runs between two ticks;
// idle time is measured, and what is left of the sample cannot have been idle.
func busyTime(cpu int, before, after reading) (busy, steal *time.Duration) {
	if before.stat == nil || after.stat == nil {
		return nil, nil
	}
	was, ok1 := before.stat.CPUs[cpu]
	is, ok2 := after.stat.CPUs[cpu]
	if !ok1 || !ok2 {
		return nil, nil
	}
	d := is.Since(was)
	left := after.at.Sub(before.at) - d.Idle - d.IOWait
	if d.Steal != nil {
		left -= *d.Steal
	}
	b := max(d.Busy(), left)
	return &b, d.Steal
}

func waited(cpu int, before, after reading) *time.Duration {
	if before.queues == nil || after.queues == nil {
		return nil
	}
	was, ok1 := before.queues.CPUs[cpu]
	is, ok2 := after.queues.CPUs[cpu]
	if !ok1 || !ok2 {
		return nil
	}
	d := max(is.Waiting-was.Waiting, 0)
	return &d
}
