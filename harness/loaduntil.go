package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goset/internal/lazy"
)

// controlFrom is the number of blocks from which the baseline is run twice
// unless the plan says otherwise: below it a spread has next to no test.
const controlFrom = 10

// Controlled says whether the baseline is run a second time in every block.
// Where there is nothing to compare, nobody is misled by chance.
func (e *Experiment) Controlled() bool {
	if e.Plan.Control != nil {
		return *e.Plan.Control
	}
	return e.Plan.Runs >= controlFrom && len(e.Modes) > 1
}

// Blocks is the number of blocks that the plan has: with until, the most that
// there can be.
func (p *PlanSpec) Blocks() int {
	if p.Until != nil {
		return max(p.Runs, p.Until.Max)
	}
	return p.Runs
}

// until reads the condition for an early end.
func (l *loader) until(n *node) *Until {
	u := &Until{}
	l.table(n, []field{
		{"median", func(n *node) { u.Median = l.share(n) }},
		{"sd_ratio", func(n *node) { u.SDRatio = l.share(n) }},
		{"max", l.count(&u.Max, 1, maxRuns)},
	})
	if n.kind != tableNode {
		return nil
	}
	if n.kid("median") == nil && n.kid("sd_ratio") == nil {
		l.fail(n, "must name what is to be narrow: median, sd_ratio or both", `as until = { median = "1%", sd_ratio = "20%", max = 100 }`)
	}
	if n.kid("max") == nil {
		l.fail(n, "must have max, the number of rounds after which the plan ends anyway", `as until = { median = "1%", max = 100 }`)
	}
	return u
}

var percentShare = lazy.Regexp(`^(\d{1,4}(?:\.\d{1,6})?) ?%$`)

// share reads a percentage.
func (l *loader) share(n *node) float64 {
	text, _ := n.value.(string)
	m := percentShare().FindStringSubmatch(text)
	if m == nil {
		l.one(n, `must be a percentage above 0, as "1%"`)
		return 0
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil || v <= 0 {
		l.one(n, `must be a percentage above 0, as "1%"`)
		return 0
	}
	return v / 100
}

// pairs reads the declared contrasts; their names are checked when all modes
// are known.
func (l *loader) pairs(n *node) []ModePair {
	const hint = `as compare = [["goset", "unpinned"], ["goset", "taskset"]]`
	if n.kind != arrayNode {
		l.fail(n, "must be a list of pairs of modes", hint)
		return nil
	}
	var out []ModePair
	for _, e := range n.items {
		if e.kind != arrayNode || len(e.items) != 2 {
			l.fail(e, "must be two names of modes", hint)
			continue
		}
		x, okX := l.text(e.items[0])
		y, okY := l.text(e.items[1])
		if okX && okY {
			out = append(out, ModePair{X: x, Y: y})
		}
	}
	return out
}

// equivalence reads the range of sd ratios that counts as the same.
func (l *loader) equivalence(n *node) Range {
	const rule = "must be two numbers around 1, as [0.8, 1.25]"
	var out [2]float64
	if n.kind != arrayNode || len(n.items) != 2 {
		l.fail(n, rule, "")
		return Range{}
	}
	for i, e := range n.items {
		switch v := e.value.(type) {
		case float64:
			out[i] = v
		case int64:
			out[i] = float64(v)
		}
	}
	if !(out[0] > 0 && out[0] < 1 && out[1] > 1 && out[1] < 1e6) {
		l.fail(n, rule, "")
		return Range{}
	}
	return Range{Lo: out[0], Hi: out[1]}
}

// planFits checks what the plan says about modes and blocks.
func (l *loader) planFits(root *node) {
	p, names := &l.exp.Plan, l.modeNames()
	if n := planKey(root, "compare"); n != nil && n.kind == arrayNode {
		for _, e := range n.items {
			l.pairFits(e, names)
		}
	}
	n := planKey(root, "until")
	if n == nil || p.Until == nil {
		return
	}
	if p.Until.Max > 0 && p.Until.Max < p.Runs {
		l.fail(n, fmt.Sprintf("must have a max of at least plan.runs, %d", p.Runs), "runs is the least and max the most number of rounds")
	}
	if p.Order == OrderSequential {
		l.fail(n, "needs rounds: order must be shuffled or interleaved", "with order = \"sequential\" a treatment is finished before the next one begins")
	}
}

func (l *loader) pairFits(e *node, names []string) {
	if len(e.items) != 2 {
		return
	}
	for i, k := range e.items {
		text, ok := k.value.(string)
		if ok && len(names) > 0 && !slices.Contains(names, text) {
			l.fail(k, "must be the name of a mode", didYouMean(text, names))
		}
		if other, _ := e.items[0].value.(string); i == 1 && ok && text == other {
			l.fail(k, "must be another mode than the first", "")
		}
	}
}

// Words says what is asked for: "every median to ±1% and every sd ratio to
// ±20%".
func (u *Until) Words() string {
	var parts []string
	if u.Median > 0 {
		parts = append(parts, "every median to ±"+percentWords(u.Median))
	}
	if u.SDRatio > 0 {
		parts = append(parts, "every sd ratio to ±"+percentWords(u.SDRatio))
	}
	return strings.Join(parts, " and ")
}

func percentWords(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 6, 64) + "%"
}
