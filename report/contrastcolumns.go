package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"goset/stats"
)

// changeName names what is estimated of the centre. Within rounds it is a change
// from run to run of the same round, and not from one median to the other.
func (c *Contrast) changeName() string { return changeName(c.Blocked) }

func changeName(blocked bool) string {
	if blocked {
		return "median change within rounds"
	}
	return "median change"
}

// contrastLegend says what the columns of contrastColumns are.
func contrastLegend(t *Table) string {
	resolves := ""
	if slices.ContainsFunc(t.Contrasts, func(c Contrast) bool { return c.Location.Verdict.Kind != stats.NoClaim }) {
		resolves = " What rounds resolve they find 4 times out of 5, if normal."
	}
	return changeLegend(t) + "; sd ratio with Bonett's interval by test inversion; " + holmLegend(t) + "." + resolves
}

// changeLegend says what the change of the median is.
func changeLegend(t *Table) string {
	how := "two-sample Hodges–Lehmann"
	if t.isBlocked() {
		how = "Hodges–Lehmann over the ratios of the runs of each round"
	}
	return capital(changeName(t.isBlocked())) + ": " + how + ", with its interval"
}

// holmLegend says over what p_adj is.
func holmLegend(t *Table) string {
	s := "p_adj after Holm over the comparisons of one metric in one table"
	if slices.ContainsFunc(t.Contrasts, func(c Contrast) bool { return c.Control }) {
		s += "; for the repetition of the baseline, over those of all tables"
	}
	return s
}

// capital begins a sentence.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// isBlocked says that the contrasts are within rounds.
func (t *Table) isBlocked() bool {
	return slices.ContainsFunc(t.Contrasts, func(c Contrast) bool { return c.Blocked })
}

// against says what the contrasts are against, in how many rounds, and what so
// many resolve: "against unpinned, 8 rounds, which resolve sd ratios ≤ 0.32 or ≥ 3.12".
func (t *Table) against() string {
	all := roundsOf(t.Contrasts)
	s := "against " + t.base() + ", " + all
	var fewest *Contrast
	for i := range t.Contrasts {
		if c := &t.Contrasts[i]; fewest == nil || min(c.N, c.M) < min(fewest.N, fewest.M) {
			fewest = c
		}
	}
	if r := fewest.Spread.Resolves; r.OK && r.V > 0 && fewest.Location.Verdict.Kind != stats.NoClaim {
		which := ", which"
		if of := roundsOf([]Contrast{*fewest}); of != all {
			which = "; " + of
		}
		s += fmt.Sprintf("%s resolve sd ratios ≤ %s or ≥ %s", which, stats.FormatRatio(r.V), stats.FormatRatio(1/r.V))
	}
	return s
}

// roundsOf counts the rounds of contrasts, or the runs of each side where they
// share none: "8 rounds", "6 to 8 rounds".
func roundsOf(contrasts []Contrast) string {
	least, most, noun := math.MaxInt, 0, "run"
	for i := range contrasts {
		c := &contrasts[i]
		least, most = min(least, c.N, c.M), max(most, c.N, c.M)
		if c.Blocked {
			noun = "round"
		}
	}
	if least >= most {
		return fmt.Sprintf("%d %s", most, plural(most, noun))
	}
	return fmt.Sprintf("%d to %d %s", least, most, plural(most, noun))
}

// label names a contrast in a table whose heading says what it is against.
func (c *Contrast) label(t *Table) string {
	if c.Y == t.base() {
		return c.X
	}
	return c.X + " against " + c.Y
}

// changeOf writes a change of the median in percent, or in the unit where there
// is no ratio.
func changeOf(c *Contrast, f format, v stats.Value) string {
	if !v.OK {
		return undefined
	}
	return f.change(c.Location.Difference, v.V, c.Location.CI)
}

// change writes a change with the digits that its interval supports, or in the
// unit.
func (f format) change(difference bool, v float64, ci stats.Interval) string {
	switch {
	case difference && f.named:
		return f.difference(v)
	case difference:
		return signed(f.number(v))
	}
	return stats.FormatChange(v, ci)
}

// difference writes a change in the unit, with it.
func (f format) difference(v float64) string {
	return strings.TrimRight(signed(f.number(v))+" "+f.unit, " ")
}

// changes writes the interval of a change.
func (f format) changes(difference bool, ci stats.Interval) string {
	return f.change(difference, ci.Lo, ci) + " to " + f.change(difference, ci.Hi, ci)
}

// signed gives a number its sign; zero has none.
func signed(s string) string {
	if s[0] == '-' || strings.Trim(s, "0.") == "" {
		return s
	}
	return "+" + s
}

func changeInterval(c *Contrast, f format) string {
	if !c.Location.CI.OK {
		return undefined
	}
	return f.changes(c.Location.Difference, c.Location.CI)
}

func adjusted(p stats.Value) string {
	if !p.OK {
		return undefined
	}
	return stats.FormatP(p.V)
}

// ratioOf writes a ratio of spreads, or an end of its interval.
func ratioOf(v stats.Value) string {
	if !v.OK {
		return undefined
	}
	return stats.FormatRatio(v.V)
}

// ratiosOf writes an interval of ratios.
func ratiosOf(ci stats.Interval) string {
	if !ci.OK {
		return undefined
	}
	return stats.FormatRatios(ci)
}

// contrastColumn is one number of a contrast, for programs. The names are those
// of contrasts.csv, and stay.
type contrastColumn struct {
	name  string
	value func(*Contrast) stats.Value
}

func contrastNumbers() []contrastColumn {
	return []contrastColumn{
		{"n_x", func(c *Contrast) stats.Value { return whole(c.N) }},
		{"n_y", func(c *Contrast) stats.Value { return whole(c.M) }},
		{"blocks_dropped", func(c *Contrast) stats.Value { return whole(c.Dropped) }},
		{"change", func(c *Contrast) stats.Value { return c.Location.Change }},
		{"change_lo", func(c *Contrast) stats.Value { return bound(c.Location.CI, c.Location.CI.Lo) }},
		{"change_hi", func(c *Contrast) stats.Value { return bound(c.Location.CI, c.Location.CI.Hi) }},
		{"change_coverage", func(c *Contrast) stats.Value { return bound(c.Location.CI, c.Location.CI.Coverage) }},
		{"median_p", func(c *Contrast) stats.Value { return c.Location.P }},
		{"median_p_adj", func(c *Contrast) stats.Value { return c.Location.PAdj }},
		{"median_resolves", func(c *Contrast) stats.Value { return c.Location.Resolves }},
		{"median_needs", func(c *Contrast) stats.Value { return c.Location.Needs }},
		{"sd_ratio", func(c *Contrast) stats.Value { return c.Spread.Ratio }},
		{"sd_ratio_lo", func(c *Contrast) stats.Value { return bound(c.Spread.CI, c.Spread.CI.Lo) }},
		{"sd_ratio_hi", func(c *Contrast) stats.Value { return bound(c.Spread.CI, c.Spread.CI.Hi) }},
		{"spread_p", func(c *Contrast) stats.Value { return c.Spread.P }},
		{"spread_p_adj", func(c *Contrast) stats.Value { return c.Spread.PAdj }},
		{"spread_p_fligner", func(c *Contrast) stats.Value { return c.Spread.PFligner }},
		{"spread_resolves", func(c *Contrast) stats.Value { return c.Spread.Resolves }},
		{"spread_needs", func(c *Contrast) stats.Value { return c.Spread.Needs }},
		{"kurtosis", func(c *Contrast) stats.Value { return c.Spread.Kurtosis }},
		{"mann_whitney_p", func(c *Contrast) stats.Value { return c.MannWhitney.P }},
		{"benchstat_p", func(c *Contrast) stats.Value { return c.MannWhitney.PBenchstat }},
		{"cliff", func(c *Contrast) stats.Value { return c.MannWhitney.Cliff }},
		{"flagged", func(c *Contrast) stats.Value { return whole(len(c.FlaggedX) + len(c.FlaggedY)) }},
	}
}

// ContrastsCSV writes one line per contrast of every table, RFC 4180 with a
// header, in base units, with full digits. change is a fraction, or in the unit
// where change_scale is "difference".
func ContrastsCSV(w io.Writer, tables []Table) error {
	head := []string{"workload", "condition", "metric", "unit", "x", "y", "control", "change_scale"}
	numbers := contrastNumbers()
	for _, c := range numbers {
		head = append(head, c.name)
	}
	head = append(head, "median_test", "median_verdict", "spread_test", "spread_verdict", "friedman_x2", "friedman_p")
	out := csv.NewWriter(w)
	out.Write(head) // csv.Writer keeps its first error
	for i := range tables {
		t := &tables[i]
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			scale := "ratio"
			if c.Location.Difference {
				scale = "difference"
			}
			line := []string{label(t.Workload, t.Levels), t.Condition, t.Metric.Name, t.Metric.Unit, c.X, c.Y, strconv.FormatBool(c.Control), scale}
			for _, n := range numbers {
				line = append(line, field(n.value(c)))
			}
			out.Write(append(line, c.Location.Method, c.Location.Verdict.Text, c.Spread.Method, c.Spread.Verdict.Text, field(t.Friedman.X2), field(t.Friedman.P)))
		}
	}
	out.Flush()
	return out.Error()
}

// Name names what a suite claim is about: "goset against unpinned".
func (s *SuiteClaim) Name() string {
	name := s.X + " against " + s.Y
	if s.Condition != "" {
		name += ", condition " + s.Condition
	}
	return name
}
