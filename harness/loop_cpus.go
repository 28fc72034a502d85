package harness

import (
	"context"
	"errors"
	"fmt"

	"goset/cpulist"
	"goset/isolation"
)

// cpuPlan gives each run its CPUs.
type cpuPlan struct {
	experiment *Experiment
	plan       *Plan
	chooser    Chooser
	allowed    []int
	bestEffort bool
	turns      map[int]int // by treatment: runs of it that went before, in the plan
	chosen     map[choiceKey]chosenCPUs
	lists      map[string]cpulist.Set
}

// choiceKey is what a choice of the quietest CPUs depends on.
type choiceKey struct {
	mode                         string
	n                            int
	include, exclude, numa, rank string
}

// chosenCPUs is a choice that may hold for more than one run.
type chosenCPUs struct {
	cpus  cpulist.Set
	block int
}

func newCPUPlan(s Session) cpuPlan {
	return cpuPlan{
		experiment: s.Experiment, plan: s.Plan, chooser: s.Chooser, allowed: s.Allowed.CPUs(), bestEffort: s.BestEffort,
		turns: map[int]int{}, chosen: map[choiceKey]chosenCPUs{}, lists: map[string]cpulist.Set{},
	}
}

// The words for CPUs that are picked for each run.
const (
	cpusRotate   = "rotate"
	cpusQuietest = "quietest"
)

// check refuses what no run could be given.
func (c *cpuPlan) check() error {
	var errs []error
	seen := map[string]bool{}
	for i := range c.plan.Treatments {
		m := c.plan.Treatments[i].Layers
		where := fmt.Sprintf("%s %s %d", m.Name, m.CPUs, m.N)
		if seen[where] {
			continue
		}
		seen[where] = true
		switch {
		case m.CPUs == "", c.waived(&m):
		case m.CPUs == cpusRotate:
			if n := max(1, m.N); n > len(c.allowed) {
				errs = append(errs, fmt.Errorf("cannot rotate %d CPUs in mode %q: %d are allowed", n, m.Name, len(c.allowed)))
			}
		case m.CPUs == cpusQuietest:
			if c.chooser == nil {
				errs = append(errs, fmt.Errorf("cannot choose the quietest CPUs for mode %q: there is nothing here to choose by", m.Name))
			}
		default:
			set, err := cpulist.Parse(m.CPUs)
			if err != nil {
				errs = append(errs, fmt.Errorf("cannot use cpus of mode %q: %v", m.Name, err))
			}
			c.lists[m.CPUs] = set
		}
	}
	return errors.Join(errs...)
}

// turn is where in the round of CPUs a run stands: its treatment's own runs
// before it in the plan, from a start that differs between treatments. Counted
// over the whole mode, a workload in a fixed order would meet the same CPU
// every time. It is to be called once for every run, in the order of the plan.
func (c *cpuPlan) turn(t *Treatment) int {
	if t.Layers.CPUs != cpusRotate {
		return 0
	}
	n := c.turns[t.Index]
	c.turns[t.Index]++
	return t.Index + n
}

// choose gives a run its CPUs; none when its mode does not pin. The choice is
// there when the CPUs were chosen for this very run.
func (c *cpuPlan) choose(ctx context.Context, t *Treatment, turn, block int) (cpulist.Set, *Choice, error) {
	m := &t.Layers
	switch {
	case m.CPUs == "", c.waived(m):
		return cpulist.Set{}, nil, nil
	case m.CPUs == cpusRotate:
		return c.rotate(turn, max(1, m.N)), nil, nil
	case m.CPUs == cpusQuietest:
		return c.quietest(ctx, m, block)
	}
	return c.lists[m.CPUs], nil, nil
}

// waived reports CPUs that a mode asks for and lets go of, where there are none
// to be had: no system but Linux says which ones a process may use.
func (c *cpuPlan) waived(m *isolation.Mode) bool {
	return len(c.allowed) == 0 && (c.bestEffort && m.BestEffort().LetsGo("cpus") || m.LetsGo("cpus"))
}

// rotate gives n allowed CPUs from the turn on, round and round.
func (c *cpuPlan) rotate(turn, n int) cpulist.Set {
	cpus := make([]int, n)
	for i := range cpus {
		cpus[i] = c.allowed[(turn+i)%len(c.allowed)]
	}
	return cpulist.Of(cpus...)
}

// quietest asks the chooser, or takes what it said before for this block or
// this experiment.
func (c *cpuPlan) quietest(ctx context.Context, m *isolation.Mode, block int) (cpulist.Set, *Choice, error) {
	key := keyOf(m)
	last, ok := c.chosen[key]
	if ok && (m.Choose == "experiment" || m.Choose == "block" && last.block == block) {
		return last.cpus, nil, nil
	}
	cpus, choice, err := c.chooser.Choose(ctx, *m)
	if err != nil {
		return cpulist.Set{}, nil, fmt.Errorf("cannot choose the quietest CPUs: %w", err)
	}
	c.chosen[key] = chosenCPUs{cpus, block}
	return cpus, choice, nil
}

func keyOf(m *isolation.Mode) choiceKey {
	return choiceKey{mode: m.Name, n: m.N, include: m.Include, exclude: m.Exclude, numa: m.NUMA, rank: m.Rank}
}

// recall takes in a record of an earlier session, so that a choice for the
// whole experiment or for a block holds after a resume.
func (c *cpuPlan) recall(r *Record) error {
	m := &c.plan.Treatments[r.Treatment].Layers
	if m.CPUs != cpusQuietest || r.CPUs == "" || m.Choose != "experiment" && m.Choose != "block" {
		return nil
	}
	cpus, err := cpulist.Parse(r.CPUs)
	if err != nil {
		return fmt.Errorf("cannot read \"cpus\" of run %d: %v", r.Run, err)
	}
	c.chosen[keyOf(m)] = chosenCPUs{cpus, r.Block}
	return nil
}
