package report

import (
	"fmt"
	"strings"

	"goset/stats"
)

// suites makes the claims over workloads: for each condition and each pair of
// rows that two or more workloads have, over the first metric of each.
func (b *maker) suites(tables []built) ([]SuiteClaim, error) {
	var order names
	members := map[string][]suiteMember{}
	for _, i := range firstTables(tables) {
		t := &tables[i]
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			if !c.judged() {
				continue
			}
			key := strings.Join([]string{t.Condition, c.X, c.Y}, "\x00")
			order.add(key)
			members[key] = append(members[key], suiteMember{t, c})
		}
	}
	var out []SuiteClaim
	for _, key := range order.list {
		if len(members[key]) < 2 || b.opts.Unblocked {
			continue
		}
		s, err := suiteOf(members[key], b.modes(members[key][0].table))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if err := adjustSuites(out); err != nil {
		return nil, err
	}
	for i := range out {
		out[i].words()
	}
	return out, nil
}

// adjustSuites corrects for the number of claims. Over the workloads of one
// claim there is nothing to correct: "on every one" needs each of its tests.
func adjustSuites(claims []SuiteClaim) error {
	for _, kind := range []func(*SuiteClaim) (p stats.Value, adj *stats.Value){
		func(s *SuiteClaim) (stats.Value, *stats.Value) { return s.Average.P, &s.AveragePAdj },
		func(s *SuiteClaim) (stats.Value, *stats.Value) { return s.EveryLower, &s.LowerPAdj },
		func(s *SuiteClaim) (stats.Value, *stats.Value) { return s.EveryHigher, &s.HigherPAdj },
	} {
		var ps []float64
		var to []*stats.Value
		for i := range claims {
			p, adj := kind(&claims[i])
			*adj = p
			if p.OK {
				ps, to = append(ps, p.V), append(to, adj)
			}
		}
		adjusted, err := stats.Holm(ps)
		if err != nil {
			return err
		}
		for i, p := range adjusted {
			to[i].V = p
		}
	}
	return nil
}

type suiteMember struct {
	table    *built
	contrast *Contrast
}

// firstTables are the tables of the first metric of each group.
func firstTables(tables []built) []int {
	var out []int
	for i := range tables {
		if i == 0 || tables[i].group != tables[i-1].group {
			out = append(out, i)
		}
	}
	return out
}

// modes counts the rows of a table that are alike when nothing has an effect:
// all but the control.
func (b *maker) modes(t *built) int {
	n := 0
	for i := range t.Rows {
		if !isControl(t.Rows[i].Mode, b.baseline) {
			n++
		}
	}
	return n
}

func suiteOf(ms []suiteMember, modes int) (SuiteClaim, error) {
	first := ms[0]
	s := SuiteClaim{Condition: first.table.Condition, X: first.contrast.X, Y: first.contrast.Y}
	pairs := make([]stats.Pair, len(ms))
	blocks := commonBlocks(ms)
	all := map[int]bool{}
	for i, m := range ms {
		name := m.table.Name() + ": " + m.table.Metric.Name
		s.Workloads = append(s.Workloads, name)
		if m.contrast.levelOpen() {
			s.levels = append(s.levels, name)
		}
		pairs[i] = stats.Pair{Name: name, X: m.table.sample(m.contrast.Row).in(blocks), Y: m.table.sample(m.contrast.Base).in(blocks)}
		for _, b := range m.table.sample(m.contrast.Row).blocks {
			all[b] = true
		}
	}
	s.Blocks, s.Dropped = len(blocks), len(all)-len(blocks)
	s.Lowest = lowestOnAll(ms)
	var err error
	if s.SuiteSpread, err = stats.CompareSuite(pairs, stats.Level, drawsFor(len(blocks))); err != nil {
		return SuiteClaim{}, fmt.Errorf("cannot compare %s with %s over workloads: %v", s.X, s.Y, err)
	}
	if s.Sweep, err = stats.CleanSweep(modes, len(ms)); err != nil {
		return SuiteClaim{}, err
	}
	return s, nil
}

// lowestOnAll says that on every workload no other row has as low an sd.
func lowestOnAll(ms []suiteMember) bool {
	for _, m := range ms {
		own := m.table.Rows[m.contrast.Row].Summary.SD
		for i := range m.table.Rows {
			sd := m.table.Rows[i].Summary.SD
			if i != m.contrast.Row && (!own.OK || !sd.OK || sd.V <= own.V) {
				return false
			}
		}
	}
	return true
}

// commonBlocks are the blocks in which all members have both values, in time
// order.
func commonBlocks(ms []suiteMember) []int {
	count := map[int]int{}
	for _, m := range ms {
		for _, row := range []int{m.contrast.Row, m.contrast.Base} {
			for _, b := range m.table.sample(row).blocks {
				count[b]++
			}
		}
	}
	var out []int
	for _, b := range ms[0].table.sample(ms[0].contrast.Row).blocks {
		if count[b] == 2*len(ms) {
			out = append(out, b)
		}
	}
	return out
}

// in gives the values of those blocks, in their order.
func (s sample) in(blocks []int) []float64 {
	of := make(map[int]float64, len(s.blocks))
	for i, b := range s.blocks {
		of[b] = s.values[i]
	}
	out := make([]float64, len(blocks))
	for i, b := range blocks {
		out[i] = of[b]
	}
	return out
}

// words says what the two tests support.
func (s *SuiteClaim) words() {
	s.AverageText, s.AverageClaim = s.average()
	s.EveryText, s.EveryClaim = s.every()
	if s.Lowest && s.Blocks >= 6 && s.Sweep.OK {
		s.EveryText += fmt.Sprintf("; its sd is the lowest of all modes on every one: chance %s if all modes were alike and if this statistic and direction were fixed before looking",
			percent(s.Sweep))
	}
}

func (s *SuiteClaim) average() (string, bool) {
	const alpha = 1 - stats.Level
	ratio := "no geometric mean: " + s.GeomeanRatio.Why
	if s.GeomeanRatio.OK {
		ratio = "geometric mean of the sd ratios " + ratioOf(s.GeomeanRatio) + "×"
		if s.CI.OK {
			ratio += ", 95% " + ratiosOf(s.CI)
		}
	}
	p := s.AveragePAdj
	switch {
	case s.Blocks < 6:
		return fmt.Sprintf("no claim: %d common rounds, 6 or more needed (%s)", s.Blocks, ratio), false
	case !p.OK:
		return fmt.Sprintf("not resolved: %s (%s)", p.Why, ratio), false
	case p.V >= alpha:
		return fmt.Sprintf("on average over %d workloads: not resolved (%s, p_adj %s)", len(s.Workloads), ratio, stats.FormatP(p.V)), false
	}
	word := "higher"
	if s.Average.Less.OK && s.Average.Greater.OK && s.Average.Less.V < s.Average.Greater.V {
		word = "lower"
	}
	if s.GeomeanRatio.OK && (s.GeomeanRatio.V < 1) != (word == "lower") {
		return fmt.Sprintf("on average over %d workloads: not resolved (sd and |x − median| point in opposite directions; %s, p_adj %s)", len(s.Workloads), ratio, stats.FormatP(p.V)), false
	}
	return fmt.Sprintf("on average over %d workloads: %s spread (%s, p_adj %s)", len(s.Workloads), word, ratio, stats.FormatP(p.V)), true
}

func (s *SuiteClaim) every() (string, bool) {
	const alpha = 1 - stats.Level
	n := len(s.Workloads)
	switch lower, higher := s.LowerPAdj, s.HigherPAdj; {
	case s.Blocks < 6:
		return "on every workload: no claim", false
	case lower.OK && lower.V < alpha:
		return fmt.Sprintf("on every one of %d workloads: lower spread (largest one-sided p_adj %s)", n, stats.FormatP(lower.V)), true
	case higher.OK && higher.V < alpha:
		return fmt.Sprintf("on every one of %d workloads: higher spread (largest one-sided p_adj %s)", n, stats.FormatP(higher.V)), true
	case !lower.OK:
		return "on every workload: not resolved: " + lower.Why, false
	default:
		return fmt.Sprintf("on every one of %d workloads: not resolved (sd lower on %d of %d; largest one-sided p_adj for lower %s)", n, s.Lower, n, stats.FormatP(lower.V)), false
	}
}
