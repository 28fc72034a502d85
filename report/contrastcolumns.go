package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"goset/stats"
)

func contrastLegend(t *Table) string {
	const what = "Δmedian: Hodges–Lehmann %s with its interval; sd ratio with Bonett's interval by test inversion; p_adj after Holm over the comparisons of one metric in one table%s."
	control := ""
	for i := range t.Contrasts {
		if t.Contrasts[i].Control {
			control = "; for the repetition of the baseline, over those of all tables"
		}
	}
	for i := range t.Contrasts {
		if t.Contrasts[i].Blocked {
			return fmt.Sprintf(what, "ratio within rounds", control)
		}
	}
	return fmt.Sprintf(what, "ratio without rounds", control)
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
	head = append(head, "median_test", "median_verdict", "spread_test", "spread_verdict")
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
				field := ""
				if v := n.value(c); v.OK && !math.IsNaN(v.V) && !math.IsInf(v.V, 0) {
					field = exact(v.V)
				}
				line = append(line, field)
			}
			out.Write(append(line, c.Location.Method, c.Location.Verdict.Text, c.Spread.Method, c.Spread.Verdict.Text))
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
