package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// view is what the inks for people print, of one experiment or of several
// sessions: every text is made, only the layout is theirs.
type view struct {
	title  string
	gates  []viewLine // what came of the bounds
	lines  []viewLine // what is to be known before any table
	parts  []viewPart
	legend string
	modes  string // what each does; "": none does anything
	scope  string
	// unchecked says that a self-check was possible and was not run.
	unchecked string
}

// viewPart is a heading with tables and findings below it.
type viewPart struct {
	Heading, Counts string
	Grids           []grid
	Lines           []viewLine
	Excluded        []string   // runs that are out of the statistics
	Notes           []viewLine // numbered from 1, as in grid.Marks
}

// viewLine is a sentence, or an item below the one before it.
type viewLine struct {
	Text  string
	Tone  tone
	Inner bool
}

// Class is how pages call a tone.
func (l viewLine) Class() string {
	return map[tone]string{strong: "claim", alarm: "warn"}[l.Tone]
}

// tone is how a line asks to be read; inks show it by weight or colour.
type tone int

const (
	even     tone = iota
	faint         // there for completeness
	strong        // asserted, and nothing in the report speaks against it
	cautious      // with a doubt
	alarm         // puts others in question
)

func toneOf(g Grade) tone { return map[Grade]tone{Clear: strong, Hint: cautious}[g] }

func claimTone(claim bool) tone {
	if claim {
		return strong
	}
	return even
}

// view makes the texts of a document.
func (d *Document) view() *view {
	v := &view{title: cmp.Or(d.Title, d.Experiment), lines: d.lead()}
	if d.GateBasis != "" {
		v.gates = append(v.gates, viewLine{Text: d.GateBasis})
	}
	for i := range d.Gates {
		v.gates = append(v.gates, viewLine{Text: d.Gates[i].Text, Tone: map[GateStatus]tone{GateFailed: alarm, GateUnresolved: cautious}[d.Gates[i].Status]})
	}
	if len(d.Tables) == 0 {
		return v
	}
	if p, ok := d.summary(); ok {
		v.parts = append(v.parts, p)
	}
	v.parts = append(v.parts, partsOf(d.Tables)...)
	v.legend, v.modes, v.scope = legend(d.Tables, true), d.Modes, d.Scope
	if d.unchecked() {
		v.unchecked = d.SelfCheck.Text
	}
	return v
}

// unchecked says that the experiment could have checked itself and did not.
func (d *Document) unchecked() bool {
	return !d.SelfCheck.Ran && d.Manifest != nil && len(d.Contrasts()) > 0
}

// lead is what must be known before any table is read.
func (d *Document) lead() []viewLine {
	var out []viewLine
	say := func(text string, t tone) { out = append(out, viewLine{Text: text, Tone: t}) }
	below := func(text string, t tone) { out = append(out, viewLine{Text: text, Tone: t, Inner: true}) }
	s := &d.SelfCheck
	if len(s.Failed) > 0 {
		say(s.Text, alarm)
	}
	for _, f := range s.Failed {
		below(f, alarm)
	}
	for _, h := range d.sentences() {
		say(h.Text, toneOf(h.Grade))
	}
	if s.Ran && len(s.Failed) == 0 {
		t := faint
		if len(s.Dependent) > 0 {
			t = cautious
		}
		say(s.Text, t)
		for _, f := range s.Narrow {
			below(f, cautious)
		}
	}
	for _, n := range d.Notes {
		say(n, cautious)
	}
	for i := range d.Suite {
		c := &d.Suite[i]
		say(c.Name()+" "+c.AverageText, claimTone(c.AverageClaim))
		below(c.EveryText, claimTone(c.EveryClaim))
	}
	return out
}

// partsOf makes a part of every table. The excluded runs are the same for all
// metrics of a group and stand with the first.
func partsOf(tables []Table) []viewPart {
	out := make([]viewPart, len(tables))
	for i := range tables {
		out[i] = tables[i].part()
		if i == 0 || tables[i-1].Name() != tables[i].Name() {
			out[i].Excluded = excludedLines(&tables[i])
		}
	}
	return out
}

func (t *Table) part() viewPart {
	f := formatOf(t)
	p := viewPart{Heading: t.heading(), Counts: countsLine(t), Grids: []grid{t.runGrid(f)}}
	if len(t.Contrasts) > 0 {
		p.Grids = append(p.Grids, t.contrastGrid(f))
	}
	for _, v := range findingsOf(t) {
		p.Lines = append(p.Lines, viewLine{Text: v.text(), Tone: v.tone()})
	}
	for i := range t.Attributions {
		if a := &t.Attributions[i]; a.Notable {
			p.Lines = append(p.Lines, viewLine{Text: a.Text, Tone: faint})
		}
	}
	for i := range t.Notes {
		p.Notes = append(p.Notes, viewLine{Text: noteText(t, &t.Notes[i]), Tone: noteTone(&t.Notes[i])})
	}
	return p
}

// finding is a sentence under a table; a claim asserts a difference.
type finding struct {
	Line  string
	Claim bool
	Doubt string // what makes the claim a hint; "": nothing
}

// findingsOf are the verdicts, effects and trends of a table.
func findingsOf(t *Table) []finding {
	var out []finding
	for _, v := range t.Verdicts() {
		out = append(out, finding{v.Line(), v.Claim, strings.Join(v.Doubts, "; ")})
	}
	for i := range t.Effects {
		e := &t.Effects[i]
		median, spread := e.Lines()
		out = append(out, finding{Line: median, Claim: e.MedianClaim}, finding{Line: spread, Claim: e.SpreadClaim})
	}
	for i := range t.Trends {
		s := &t.Trends[i]
		median, spread := s.Lines()
		out = append(out, finding{Line: median, Claim: s.MedianClaim}, finding{Line: spread, Claim: s.SpreadClaim})
	}
	return out
}

// text is the finding in one line.
func (f *finding) text() string {
	if f.Doubt == "" {
		return f.Line
	}
	return f.Line + "; hint only: " + f.Doubt
}

func (f *finding) tone() tone {
	if f.Claim && f.Doubt != "" {
		return cautious
	}
	return claimTone(f.Claim)
}

// ratioLegend is about two columns that the page has only where nothing is compared.
const ratioLegend = " ×median and ×sd: of the medians and of the sds above, against the baseline's."

// legend says once what the columns are; ratios says that ×median and ×sd are
// among them.
func legend(tables []Table, ratios bool) string {
	s := "Over runs: median with its order-statistic interval (" + coverageWords(tables) + "), sd with n − 1, CV = sd/mean, spread = (max − min)/median."
	if ratios && slices.ContainsFunc(tables, func(t Table) bool { return t.Baseline != "" }) {
		s += ratioLegend
	}
	if t := firstCompared(tables); t != nil {
		s += " " + contrastLegend(t)
	}
	if slices.ContainsFunc(tables, func(t Table) bool { return hasIterations(&t) }) {
		s += " Over the iterations of all kept runs: quantiles p99 needs n ≥ 100, p99.9 n ≥ 1000."
	}
	return s
}

// firstCompared is the first table with contrasts; nil: there is none.
func firstCompared(tables []Table) *Table {
	i := slices.IndexFunc(tables, func(t Table) bool { return len(t.Contrasts) > 0 })
	if i < 0 {
		return nil
	}
	return &tables[i]
}

// coverageWords give the coverage that the intervals of the medians reach: that
// of order statistics is never just what was asked for.
func coverageWords(tables []Table) string {
	least, most := 0.0, 0.0
	for i := range tables {
		for j := range tables[i].Rows {
			if ci := &tables[i].Rows[j].Summary.MedianCI; ci.OK {
				if least == 0 || ci.Coverage < least {
					least = ci.Coverage
				}
				most = max(most, ci.Coverage)
			}
		}
	}
	lo, hi := fmt.Sprintf("%.1f%%", 100*least), fmt.Sprintf("%.1f%%", 100*most)
	switch {
	case most == 0:
		return "coverage at least 95%"
	case lo == hi:
		return "95% asked, " + lo + " reached"
	}
	return "95% asked, " + lo + " to " + hi + " reached"
}
