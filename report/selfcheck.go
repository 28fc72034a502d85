package report

import (
	"fmt"

	"goset/stats"
)

// selfCheck judges the controls of all tables as one family: with a family per
// table, an experiment of many tables would fail its check by chance alone.
func selfCheck(tables []Table) SelfCheck {
	var family []*stats.Comparison
	var s SelfCheck
	for i := range tables {
		for j := range tables[i].Contrasts {
			if c := &tables[i].Contrasts[j]; c.Control {
				family = append(family, &c.Comparison)
			}
		}
	}
	s.Comparisons = len(family)
	if s.Comparisons == 0 {
		s.Text = "self-check (A/A): not run (it is by default from 10 runs on, where modes are compared); plan.control = true runs the baseline twice in every block"
		return s
	}
	s.Ran = true
	stats.Adjust(family)
	few := true
	for i := range tables {
		t := &tables[i]
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			if !c.Control {
				continue
			}
			few = few && c.Location.Verdict.Kind == stats.NoClaim
			s.judge(t, c, &c.Location.Verdict, c.Location.P, c.Sensitivity.LocationChanges, c.changeName()+" "+t.change(c))
			s.judge(t, c, &c.Spread.Verdict, c.Spread.P, c.Sensitivity.SpreadChanges, "sd "+sdRatio(c))
		}
	}
	s.Text = s.words(few, s.flag(tables))
	return s
}

// flag names the rows whose runs depend on each other, and counts all.
func (s *SelfCheck) flag(tables []Table) (rows int) {
	for i := range tables {
		t := &tables[i]
		rows += len(t.Rows)
		for j := range t.Rows {
			if r := &t.Rows[j]; r.Summary.Drifts() || r.Summary.Correlated() {
				s.Dependent = append(s.Dependent, place{t: t}.name()+"/"+r.Label())
			}
		}
	}
	return rows
}

// judge takes in one verdict of a control.
func (s *SelfCheck) judge(t *Table, c *Contrast, v *stats.Verdict, p stats.Value, changes bool, size string) {
	where := fmt.Sprintf("%s, %s: %s against itself: ", t.Name(), t.Metric.Name, c.Y)
	switch {
	case v.Claims():
		s.Failed = append(s.Failed, where+v.Text)
	case !cameNear(p, changes):
	case p.OK && p.V < 1-stats.Level:
		s.Narrow = append(s.Narrow, fmt.Sprintf("%s%s, p %s before Holm's correction", where, size, stats.FormatP(p.V)))
	default:
		s.Narrow = append(s.Narrow, where+size+", resolved without the flagged runs, before Holm's correction")
	}
}

// cameNear says of a control without a verdict that it nearly had one.
func cameNear(p stats.Value, changes bool) bool {
	return changes || p.OK && p.V < 1-stats.Level
}

func (s *SelfCheck) words(few bool, rows int) string {
	of := fmt.Sprintf("%d A/A %s of median and spread", s.Comparisons, plural(s.Comparisons, "comparison"))
	switch {
	case len(s.Failed) > 0:
		return fmt.Sprintf("SELF-CHECK FAILED: %d of %s found a difference between the baseline and its own repetition: "+
			"something other than the mode moved the runs, and no verdict below is to be trusted (by chance alone this happens in at most one experiment in ten)", len(s.Failed), of)
	case few:
		return "self-check (A/A): too few runs for any claim"
	}
	text := fmt.Sprintf("self-check (A/A): passed: %s (%d tests) found no difference between the baseline and its own repetition", of, 2*s.Comparisons)
	if len(s.Narrow) > 0 {
		text += fmt.Sprintf("; %d of them came near", len(s.Narrow))
	}
	if len(s.Dependent) > 0 {
		text += fmt.Sprintf("; in %d of %d cells the runs depend on each other (drift or correlation, p < %g), which the intervals over runs do not allow for: %s",
			len(s.Dependent), rows, stats.FlagLevel, enumerate(s.Dependent))
	}
	return text
}
