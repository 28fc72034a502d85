package harness

import (
	"fmt"
	"math"
	"time"

	"goset/isolation"
)

// The bounds of a plan. More runs than maxRuns would take years; the bound
// keeps every product of levels and runs far from overflow.
const (
	maxRuns       = 10_000_000
	MaxTreatments = 100_000
)

const longest = 7 * 24 * time.Hour // of any duration in a plan

func defaultPlan() PlanSpec {
	return PlanSpec{Runs: 10, Warmup: 1, Order: OrderShuffled, Output: 16 << 20}
}

// plan reads [plan].
func (l *loader) plan(n *node) {
	p := defaultPlan()
	l.table(n, []field{
		{"runs", l.count(&p.Runs, 1, maxRuns)},
		{"warmup", l.count(&p.Warmup, 0, 1000)},
		{"idle", func(n *node) { l.idle(n, &p.Idle) }},
		{"order", func(n *node) {
			if w, ok := l.word(n, []string{OrderShuffled, OrderInterleaved, OrderSequential}); ok {
				p.Order = w
			}
		}},
		{"seed", func(n *node) {
			if v, ok := l.integer(n, 0, math.MaxInt64); ok {
				seed := uint64(v)
				p.Seed = &seed
			}
		}},
		{"timeout", l.span(&p.Timeout, 0)},
		{"retries", l.count(&p.Retries, 0, 10)},
		{"output", func(n *node) { l.output(n, &p.Output) }},
		{"baseline", func(n *node) { p.Baseline, _ = l.text(n) }},
		{"sticky", func(n *node) { p.Sticky = l.boolean(n) }},
		{"skip", func(n *node) { l.skips(n, &p.Skip) }},
		{"control", func(n *node) {
			if v, ok := n.value.(bool); ok {
				p.Control = &v
			} else {
				l.one(n, "must be true or false")
			}
		}},
		{"until", func(n *node) { p.Until = l.until(n) }},
		{"compare", func(n *node) { p.Compare = l.pairs(n) }},
		{"equivalence", func(n *node) { p.Equivalence = l.equivalence(n) }},
	})
	l.exp.Plan = p
}

func (l *loader) count(into *int, least, most int64) func(*node) {
	return func(n *node) {
		if v, ok := l.integer(n, least, most); ok {
			*into = int(v)
		}
	}
}

func (l *loader) span(into *time.Duration, least time.Duration) func(*node) {
	return func(n *node) {
		if d, ok := l.duration(n, least, longest); ok {
			*into = d
		}
	}
}

// idle reads the gap before a run. Waiting until the CPU is cool is a table.
func (l *loader) idle(n *node, into *time.Duration) {
	if n.kind == tableNode {
		l.unavailable(n)
		return
	}
	l.span(into, 0)(n)
}

func (l *loader) output(n *node, into *int64) {
	text, is := levelText(n)
	v, err := isolation.ParseSize(text)
	if is&(aString|anInteger) == 0 || err != nil || v < 1<<10 || v > 1<<30 {
		l.one(n, `must be a size from 1KiB to 1GiB, as "16MiB"`)
		return
	}
	*into = v
}

// skips reads the combinations that are left out. Whether they name factors
// and levels is checked when those are known.
func (l *loader) skips(n *node, into *[]map[string]string) {
	if n.kind != arrayNode {
		l.fail(n, "must be a list of tables", `as skip = [{ workload = "stream", n = 4 }]`)
		return
	}
	for _, e := range n.items {
		if e.kind != tableNode {
			l.fail(e, "must be a table", `as { workload = "stream", n = 4 }`)
			continue
		}
		if len(e.kids) == 0 {
			l.fail(e, "must name a workload, a mode or a level; an empty one would skip everything", "")
			continue
		}
		if entry, ok := l.skipEntry(e); ok {
			*into = append(*into, entry)
			l.skip = append(l.skip, e)
		}
	}
}

func (l *loader) skipEntry(e *node) (map[string]string, bool) {
	entry, ok := map[string]string{}, true
	for _, k := range e.kids {
		text, is := levelText(k)
		if is == 0 {
			l.fail(k, "must be one level", fmt.Sprintf("of several levels of %s, each has an entry of its own", k.key))
			ok = false
		}
		entry[k.key] = text
	}
	return entry, ok
}

// SeedOr is the seed of the file, or else the drawn one cut to 63 bits: what
// a TOML integer holds, so that plan.seed can repeat any plan.
func (p PlanSpec) SeedOr(drawn uint64) uint64 {
	if p.Seed != nil {
		return *p.Seed
	}
	return drawn & math.MaxInt64
}
