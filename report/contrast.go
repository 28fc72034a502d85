package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// isControl says that a row is the repetition of the baseline.
func isControl(mode, baseline string) bool {
	return baseline != "" && mode == baseline+harness.ControlSuffix
}

// contrast fills in the contrasts of a table: every declared pair of modes, or
// else every mode against the baseline; and always the control.
func (b *maker) contrast(t *built) error {
	var family []*stats.Comparison
	pairs := b.pairs(t)
	for _, p := range pairs {
		c, err := b.compare(t, p, comparisonsOf(pairs))
		if err != nil {
			return err
		}
		t.Contrasts = append(t.Contrasts, c)
	}
	for i := range t.Contrasts {
		c := &t.Contrasts[i]
		switch {
		case c.Same:
			c.Location.Verdict = stats.Verdict{Kind: stats.NotJudged, Text: sameBinary}
			c.Spread.Verdict = c.Location.Verdict
		case !c.Control:
			family = append(family, &c.Comparison)
		}
	}
	stats.Adjust(family)
	return b.omnibus(t)
}

// omnibus fills in Friedman's test over all rows but the control.
func (b *maker) omnibus(t *built) error {
	var rows []int
	for i := range t.Rows {
		if !isControl(t.Rows[i].Mode, b.baseline) {
			rows = append(rows, i)
		}
	}
	if none := "three modes or more, within rounds"; len(rows) < 3 || b.opts.Unblocked {
		t.Friedman = stats.FriedmanTest{X2: stats.Value{Why: none}, P: stats.Value{Why: none}}
		return nil
	}
	var err error
	t.Friedman, err = stats.Friedman(t.common(rows))
	return err
}

// sameBinary is the verdict of one binary against itself.
const sameBinary = "not judged: the same binary on both sides, any difference is noise"

// rowPair is two rows to compare.
type rowPair struct {
	row, base int
	control   bool
	same      bool // see Contrast.Same
}

// pairs lists what a table compares, the control last.
func (b *maker) pairs(t *built) []rowPair {
	var controls []rowPair
	out := b.sidePairs(t)
	for i := range out {
		out[i].same = b.sameBuild(t, &out[i])
	}
	add := func(mode, base string) {
		for i := range t.Rows {
			if t.Rows[i].Mode != mode || mode == base {
				continue
			}
			if j, _ := baseOf(t.Rows, i, base); j >= 0 {
				p := rowPair{row: i, base: j, control: isControl(mode, base)}
				if p.control {
					controls = append(controls, p)
				} else {
					out = append(out, p)
				}
			}
		}
	}
	if len(b.opts.Compare) > 0 {
		for _, p := range b.opts.Compare {
			add(p.X, p.Y)
		}
		add(b.baseline+harness.ControlSuffix, b.baseline)
		return append(out, controls...)
	}
	var modes names
	for i := range t.Rows {
		modes.add(t.Rows[i].Mode)
	}
	for _, m := range modes.list {
		add(m, b.baseline)
	}
	return append(out, controls...)
}

// sidePairs compares, within every mode, each level of a side with the first
// one, all other levels being equal.
func (b *maker) sidePairs(t *built) []rowPair {
	var out []rowPair
	for _, side := range b.sides {
		for i := range t.Rows {
			if j := firstSide(t.Rows, i, []string{side}); j != i {
				out = append(out, rowPair{row: i, base: j})
			}
		}
	}
	return out
}

// comparisonsOf is the size of the family that pairs make, which neither the
// control is of nor what is compared with itself.
func comparisonsOf(pairs []rowPair) int {
	n := 0
	for _, p := range pairs {
		if !p.control && !p.same {
			n++
		}
	}
	return n
}

// sameBuild says that both rows of a pair run the same binary, as two refs do
// that differ in a comment.
func (b *maker) sameBuild(t *built, p *rowPair) bool {
	if b.opts.Manifest == nil {
		return false
	}
	x := binariesOf(b.opts.Manifest, t.group.treatments[p.row].index)
	return len(x) > 0 && slices.Equal(x, binariesOf(b.opts.Manifest, t.group.treatments[p.base].index))
}

// binariesOf are the hashes of the binaries that a treatment runs, sorted: of
// random layouts there is one for each block.
func binariesOf(m *harness.Manifest, treatment int) []string {
	var out []string
	for i := range m.Builds {
		if o := &m.Builds[i]; o.SHA256 != "" && slices.Contains(o.Treatments, treatment) {
			out = append(out, o.SHA256)
		}
	}
	slices.Sort(out)
	return out
}

// compare compares two rows within the blocks that both have, as one of a
// family.
func (b *maker) compare(t *built, p rowPair, family int) (Contrast, error) {
	row, base := p.row, p.base
	x, y := t.sample(row), t.sample(base)
	f := formatOf(&t.Table)
	opt := stats.Options{Unblocked: b.opts.Unblocked, Equivalence: b.opts.Equivalence, Family: family, Write: f.difference}
	if !opt.Unblocked {
		px, py, dropped, err := stats.PairBlocks(x.blocks, x.values, y.blocks, y.values)
		if err != nil {
			return Contrast{}, fmt.Errorf("cannot compare %s with %s: %v", t.Rows[row].Label(), t.Rows[base].Label(), err)
		}
		x.values, y.values, opt.Dropped = px, py, dropped
	}
	opt.Resampling = drawsFor(max(len(x.values), len(y.values)))
	c := Contrast{Row: row, Base: base, Control: p.control, Same: p.same, X: t.Rows[row].Label(), Y: t.Rows[base].Label()}
	var err error
	if c.Comparison, err = stats.Compare(x.values, y.values, opt); err != nil {
		return Contrast{}, err
	}
	if len(c.FlaggedX)+len(c.FlaggedY) > 0 && !c.Same {
		c.Sensitivity, err = c.WithoutFlagged(x.values, y.values, opt)
	}
	return c, err
}

// sample is the values of a row with the blocks that they are of.
type sample struct {
	values []float64
	blocks []int
}

func (t *built) sample(row int) sample {
	tr := t.group.treatments[row]
	c := t.cell(row)
	s := sample{values: c.values, blocks: make([]int, len(c.at))}
	for i, at := range c.at {
		s.blocks[i] = int(tr.blocks[at])
	}
	return s
}

// cell is the observations of a row; an empty one where there are none.
func (t *built) cell(row int) *cell {
	if t.metric < 0 {
		return &cell{}
	}
	return t.group.treatments[row].lookup(t.metric)
}

// Verdicts are the findings under a table, for each contrast its median and
// its spread. Those of the control stand in Document.SelfCheck.
func (t *Table) Verdicts() []VerdictLine {
	var out []VerdictLine
	for i := range t.Contrasts {
		c := &t.Contrasts[i]
		if c.Control {
			continue
		}
		if c.Same {
			out = append(out, VerdictLine{Contrast: i, About: "median", Estimate: "median and spread", X: c.X, Y: c.Y, Appraisal: c.MedianGrade, Text: sameBinary})
			continue
		}
		out = append(out,
			VerdictLine{Contrast: i, About: "median", Estimate: c.changeName(), X: c.X, Y: c.Y, Claim: c.Location.Verdict.Claims(), Appraisal: c.MedianGrade,
				Better: gain(c.Location.Verdict.Kind, t.Metric.Better), Text: c.Location.Verdict.Text},
			VerdictLine{Contrast: i, About: "spread", Estimate: "spread", X: c.X, Y: c.Y, Claim: c.Spread.Verdict.Claims(), Appraisal: c.SpreadGrade,
				Better: gain(c.Spread.Verdict.Kind, metric.Lower), Text: c.Spread.Verdict.Text})
	}
	return out
}

// gain says whether a verdict is one for the better.
func gain(kind stats.VerdictKind, better metric.Direction) int {
	up := map[stats.VerdictKind]int{stats.HigherVerdict: 1, stats.LowerVerdict: -1}[kind]
	switch better {
	case metric.Higher:
		return up
	case metric.Lower:
		return -up
	}
	return 0
}

// Line is a verdict as one line of text: "goset against unpinned, spread:
// lower spread (0.42×, …)".
func (v *VerdictLine) Line() string {
	return fmt.Sprintf("%s against %s, %s: %s", v.X, v.Y, v.Estimate, v.Text)
}

// contrastNotes are what is to be known about the comparisons of a table, each
// text once, with the rows that it is about.
func contrastNotes(t *Table) []Note {
	n := notes{}
	for i := range t.Contrasts {
		c := &t.Contrasts[i]
		for _, text := range c.Notes {
			// The rows' own notes say which runs drive the sd; and where there are
			// too few runs for any claim, nothing can be said against one.
			if strings.HasPrefix(text, "sd driven by") || min(c.N, c.M) < 6 && c.Dropped == 0 {
				continue
			}
			n.add(text, c.Row)
		}
		var changed []string
		if c.Sensitivity.LocationChanges {
			changed = append(changed, "median")
		}
		if c.Sensitivity.SpreadChanges {
			changed = append(changed, "spread")
		}
		if len(changed) > 0 {
			n.add(fmt.Sprintf("without the flagged runs the verdict on %s changes", strings.Join(changed, " and ")), c.Row)
		}
	}
	return n.list
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// HasMode says whether there are runs, or treatments, of a mode.
func (d *Data) HasMode(mode string) bool { return slices.Contains(d.modes(), mode) }

// ModeNames lists the modes for a message.
func (d *Data) ModeNames() string { return enumerate(d.modes()) }

func (d *Data) modes() []string {
	var out names
	for _, t := range d.treatments {
		out.add(t.mode)
	}
	return out.list
}

// base names what the rows of a table are compared with, for a heading.
func (t *Table) base() string {
	var of names
	for i := range t.Contrasts {
		of.add(t.Contrasts[i].Y)
	}
	if len(of.list) == 1 {
		return of.list[0]
	}
	return cmp.Or(t.Baseline, "baseline")
}
