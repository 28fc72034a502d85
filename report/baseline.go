package report

import (
	"cmp"
	"slices"

	"goset/harness"
	"goset/stats"
)

// compareRows sets every row's ratios to its baseline row.
// and, within that mode, to the row of the first levels of sides.
func compareRows(rows []Row, baseline string, sides []string) {
	for i := range rows {
		r := &rows[i]
		at, why := baseOf(rows, i, baseline)
		if at == i {
			at = firstSide(rows, i, sides)
		}
		if at < 0 {
			none := stats.Value{Why: why}
			r.MedianRatio, r.SDRatio = none, none
			continue
		}
		b := &rows[at]
		r.Base = at == i
		r.MedianRatio = ratio(r.Summary.Median, b.Summary.Median, "median")
		r.SDRatio = ratio(r.Summary.SD, b.Summary.SD, "sd")
	}
}

// firstSide finds the row that differs from a row in having the first level of
// every side; the row itself where there is none.
func firstSide(rows []Row, row int, sides []string) int {
	for i := range rows {
		if rows[i].Mode == rows[row].Mode && len(rows[i].Levels) == len(rows[row].Levels) &&
			agreeBut(rows[i].Levels, rows[row].Levels, sides) {
			return i // rows are in the order of the plan, first levels first
		}
	}
	return row
}

// agreeBut says whether levels agree on every factor but those.
func agreeBut(a, b []harness.Level, but []string) bool {
	keep := func(levels []harness.Level) []harness.Level {
		return slices.DeleteFunc(slices.Clone(levels), func(l harness.Level) bool { return slices.Contains(but, l.Factor) })
	}
	return agree(keep(a), keep(b))
}

// baseOf finds the row of the baseline mode that row is compared with: the one
// that agrees with it on every factor both have; -1 where there is none.
func baseOf(rows []Row, row int, baseline string) (int, string) {
	if baseline == "" {
		return -1, "no baseline"
	}
	r := &rows[row]
	if r.Mode == baseline {
		return row, ""
	}
	base := -1
	for i := range rows {
		if rows[i].Mode != baseline || !agree(rows[i].Levels, r.Levels) {
			continue
		}
		if base >= 0 {
			return -1, "more than one baseline row"
		}
		base = i
	}
	if base < 0 {
		return -1, "no baseline row at these levels"
	}
	return base, ""
}

func agree(a, b []harness.Level) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Factor == y.Factor && x.Value != y.Value {
				return false
			}
		}
	}
	return true
}

// ratio is a/b where both are defined and b is positive: a ratio to zero or to
// a negative number says nothing.
func ratio(a, b stats.Value, what string) stats.Value {
	switch {
	case !a.OK:
		return stats.Value{Why: cmp.Or(a.Why, what+" undefined")}
	case !b.OK:
		return stats.Value{Why: "baseline: " + cmp.Or(b.Why, what+" undefined")}
	case b.V <= 0:
		return stats.Value{Why: "baseline " + what + " ≤ 0"}
	}
	v := a.V / b.V
	if v > maxRatio {
		return stats.Value{Why: "baseline " + what + " too small"}
	}
	return stats.Value{V: v, OK: true}
}

// maxRatio bounds ratios: beyond it the divisor was rounding noise, or the
// quotient overflowed.
const maxRatio = 1e300
