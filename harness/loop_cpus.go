package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"goset/cpulist"
	"goset/isolation"
)

// cpuPlan gives each run its CPUs.
type cpuPlan struct {
	experiment *Experiment
	plan       *Plan
	chooser    Chooser
	now        func() time.Time
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
	cpus   cpulist.Set
	choice *Choice // nil: a chooser, or a record, that does not say how
	block  int
}

// holdsFor says whether a run gets CPUs that were chosen for an earlier one.
func (c chosenCPUs) holdsFor(m *isolation.Mode, block int) bool {
	return m.Choose == "experiment" || m.Choose == "block" && c.block == block
}

func newCPUPlan(s Session, now func() time.Time) cpuPlan {
	return cpuPlan{
		experiment: s.Experiment, plan: s.Plan, chooser: s.Chooser, now: now, allowed: s.Allowed.CPUs(), bestEffort: s.BestEffort,
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

// choose gives the run of a record its CPUs; none when its mode does not pin.
// The choice is how they were picked, for this run or for an earlier one; nil:
// they were not picked by a ranking.
func (c *cpuPlan) choose(ctx context.Context, t *Treatment, turn int, r *Record) (cpulist.Set, *Choice, error) {
	m := &t.Layers
	switch {
	case m.CPUs == "", c.waived(m):
		return cpulist.Set{}, nil, nil
	case m.CPUs == cpusRotate:
		return c.rotate(turn, max(1, m.N)), nil, nil
	case m.CPUs == cpusQuietest:
		return c.quietest(ctx, m, r)
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
func (c *cpuPlan) quietest(ctx context.Context, m *isolation.Mode, r *Record) (cpulist.Set, *Choice, error) {
	key := keyOf(m)
	if last, ok := c.chosen[key]; ok && last.holdsFor(m, r.Block) {
		return last.cpus, last.choice, nil
	}
	cpus, choice, err := c.chooser.Choose(ctx, *m)
	if err != nil {
		return cpulist.Set{}, nil, fmt.Errorf("cannot choose the quietest CPUs: %w", err)
	}
	if choice != nil {
		choice.Run, choice.Attempt, choice.At = r.Run, r.Attempt, c.now().UTC()
	}
	c.chosen[key] = chosenCPUs{cpus, choice, r.Block}
	return cpus, choice, nil
}

func keyOf(m *isolation.Mode) choiceKey {
	return choiceKey{mode: m.Name, n: m.N, include: m.Include, exclude: m.Exclude, numa: m.NUMA, rank: m.Rank}
}

// recall takes in a record of an earlier session, so that a choice for the
// whole experiment or for a block holds after a resume, with its ranking. It
// does whatever the outcome: the runs after one that failed had its CPUs too.
func (c *cpuPlan) recall(r *Record) error {
	m := &c.plan.Treatments[r.Treatment].Layers
	if m.CPUs != cpusQuietest || r.CPUs == "" || m.Choose != "experiment" && m.Choose != "block" {
		return nil
	}
	cpus, err := cpulist.Parse(r.CPUs)
	if err != nil {
		return fmt.Errorf("cannot read \"cpus\" of run %d: %v", r.Run, err)
	}
	c.chosen[keyOf(m)] = chosenCPUs{cpus, r.Choice, r.Block}
	return nil
}

// heldOver says of every mode that takes over CPUs from an earlier session, in
// runs that are pending, which ones and how old the choice is: the machine may
// be another by now.
func (c *cpuPlan) heldOver(pending func(run int) bool) []string {
	var texts []string
	for i := range c.plan.Runs {
		run := &c.plan.Runs[i]
		m := &c.plan.Treatments[run.Treatment].Layers
		last, ok := c.chosen[keyOf(m)]
		if m.CPUs != cpusQuietest || !ok || !pending(i) || !last.holdsFor(m, int(run.Block)) {
			continue
		}
		text := fmt.Sprintf("mode %q goes on with CPUs %s (choose = %q)", m.Name, last.cpus, m.Choose)
		if last.choice != nil && !last.choice.At.IsZero() {
			text = fmt.Sprintf("mode %q goes on with CPUs %s, chosen for run %d at %s (choose = %q)",
				m.Name, last.cpus, last.choice.Run, last.choice.At.Format(time.RFC3339), m.Choose)
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
