package report

import (
	"fmt"
	"math"

	"goset/stats"
)

// Grade says how far a finding carries when all that the report knows is put
// beside its own test.
type Grade string

// The grades.
const (
	Clear Grade = "clear" // asserted, and nothing in the report speaks against it
	Hint  Grade = "hint"  // asserted, with a doubt that stands beside it
	Open  Grade = "open"  // nothing is asserted
)

// Appraisal is the grade of a verdict with the doubts that make it a hint, each
// a part of a sentence.
type Appraisal struct {
	Grade  Grade
	Doubts []string
}

// comparable is the share of an effect that the repetition of the baseline has
// to show to put the effect in doubt.
const comparable = 0.5

// appraise grades every verdict of a document whose self-check is judged.
func (d *Document) appraise(sequential bool) {
	all := d.doubts(sequential)
	for i := range d.Tables {
		t := &d.Tables[i]
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			control := t.controlOf(c)
			c.SpreadGrade = grade(c.Spread.Verdict, append(t.spreadDoubts(c, control), all...))
			c.MedianGrade = grade(c.Location.Verdict, append(t.medianDoubts(c, control), all...))
		}
	}
}

// doubts are those about every verdict.
func (d *Document) doubts(sequential bool) []string {
	var out []string
	if len(d.SelfCheck.Failed) > 0 {
		out = append(out, "the self-check failed")
	}
	if sequential {
		out = append(out, "sequential order: what drifts with time looks like an effect of the mode")
	}
	return out
}

func grade(v stats.Verdict, doubts []string) Appraisal {
	switch {
	case !v.Claims():
		return Appraisal{Grade: Open}
	case len(doubts) > 0:
		return Appraisal{Hint, doubts}
	}
	return Appraisal{Grade: Clear}
}

// controlOf finds the repetition of the baseline to hold a contrast against:
// that of the same baseline, or else any of the table. The control itself has
// none.
func (t *Table) controlOf(c *Contrast) *Contrast {
	var found *Contrast
	for i := range t.Contrasts {
		k := &t.Contrasts[i]
		if k.Control && !c.Control && (found == nil || k.Base == c.Base && found.Base != c.Base) {
			found = k
		}
	}
	return found
}

// flaggedDoubt says that a verdict hangs on the flagged runs.
func flaggedDoubt(c *Contrast, changes bool) []string {
	if !changes {
		return nil
	}
	k := len(c.FlaggedX) + len(c.FlaggedY)
	return []string{fmt.Sprintf("without %d flagged %s the verdict changes", k, plural(k, "run"))}
}

func (t *Table) spreadDoubts(c, control *Contrast) []string {
	var out []string
	s := &c.Spread
	if s.CI.OK && !s.CI.Excludes(1) {
		other := "larger"
		if s.Verdict.Kind == stats.HigherVerdict {
			other = "smaller"
		}
		out = append(out, fmt.Sprintf("the interval of the sd ratio holds 1, so the sd could also be %s", other))
	}
	if r := c.Spread.Relative; c.followsLevel() {
		p := ""
		if r.P.OK {
			p = " (p " + stats.FormatP(r.P.V) + ")"
		}
		out = append(out, fmt.Sprintf("the median differs too, and relative to it the sd ratio is %s×%s", ratioOf(r.Ratio), p))
	}
	out = append(out, flaggedDoubt(c, c.Sensitivity.SpreadChanges)...)
	if control != nil && c.Spread.Ratio.OK && control.Spread.Ratio.OK && c.Spread.Ratio.V > 0 && control.Spread.Ratio.V > 0 {
		own, aa := math.Log(c.Spread.Ratio.V), math.Log(control.Spread.Ratio.V)
		if math.Abs(aa) >= comparable*math.Abs(own) {
			out = append(out, fmt.Sprintf("%s's own repetition differs comparably, sd %s", control.Y, sdRatio(control)))
		}
	}
	return out
}

func (t *Table) medianDoubts(c, control *Contrast) []string {
	var out []string
	l := &c.Location
	if l.CI.OK && !l.CI.Excludes(0) {
		out = append(out, "the interval holds 0, so the size is open")
	}
	out = append(out, flaggedDoubt(c, c.Sensitivity.LocationChanges)...)
	if control != nil && l.Change.OK && control.Location.Change.OK && l.Difference == control.Location.Difference {
		own, aa := l.Change.V, control.Location.Change.V
		if !l.Difference && own > -1 && aa > -1 {
			own, aa = math.Log1p(own), math.Log1p(aa)
		}
		if math.Abs(aa) >= comparable*math.Abs(own) {
			out = append(out, fmt.Sprintf("%s's own repetition differs comparably, %s", control.Y, t.change(control)))
		}
	}
	var wild []string
	for _, row := range []int{c.Row, c.Base} {
		if cv := t.Rows[row].Summary.CV; cv.OK && cv.V > cvCompare {
			wild = append(wild, t.Rows[row].Label())
		}
	}
	if len(wild) > 0 {
		out = append(out, "CV above 10% of "+enumerate(wild))
	}
	return out
}

// followsLevel says of medians that differ clearly that the sds may differ only
// because they do: relative to the level, the same is not resolved. What is four
// times faster with a quarter of the sd is not steadier.
func (c *Contrast) followsLevel() bool {
	r := c.Spread.Relative
	return c.Spread.Verdict.Claims() && (c.levelOpen() || (r != nil && (r.Ratio.V < 1) != (c.Spread.Verdict.Kind == stats.LowerVerdict)))
}

// levelOpen says of medians that differ clearly that relative to them no
// difference of spread is resolved.
func (c *Contrast) levelOpen() bool {
	r := c.Spread.Relative
	return r != nil && !(r.P.OK && r.P.V < c.Alpha && r.Ratio.OK)
}

// sdRatio writes the ratio of sds with its interval: "0.52× (95% 0.19–1.57)".
func sdRatio(c *Contrast) string {
	if !c.Spread.Ratio.OK {
		return "no ratio"
	}
	s := ratioOf(c.Spread.Ratio) + "×"
	if c.Spread.CI.OK {
		s += " (95% " + ratiosOf(c.Spread.CI) + ")"
	}
	return s
}

// change writes the change of the median with its interval: "+4.35% (95% +1.46%
// to +6.99%)"; with the unit where there is no ratio.
func (t *Table) change(c *Contrast) string {
	f := formatOf(t)
	v := c.Location.Change
	if !v.OK {
		return "no ratio"
	}
	unit := ""
	if c.Location.Difference {
		unit = " " + f.unit
	}
	s := changeOf(c, f, v) + unit
	if c.Location.CI.OK {
		s += " (95% " + changeInterval(c, f) + ")"
	}
	return s
}
