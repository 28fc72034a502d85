package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goset/stats"
)

// glanceRow is one line of the first table: a mode against its baseline.
type glanceRow struct {
	ID, Workload, Mode, Base string
	Spread, Median           glanceCell
}

// glanceCell is a verdict: one word, the ratio, the whole.
type glanceCell struct{ Class, Word, Ratio, Text string }

// sectionVerdict is a finding; a claim asserts a difference.
type sectionVerdict struct {
	Line  string
	Claim bool
}

// findings are verdicts in their order. Where those that claim nothing would
// hide the others they are folded away.
type findings struct{ Shown, Folded []sectionVerdict }

// foldAbove is the number of findings above which those without a claim fold.
const foldAbove = 8

func fold(all []sectionVerdict) findings {
	if len(all) <= foldAbove {
		return findings{Shown: all}
	}
	var f findings
	for _, v := range all {
		if v.Claim {
			f.Shown = append(f.Shown, v)
		} else {
			f.Folded = append(f.Folded, v)
		}
	}
	return f
}

// sectionAttribution has the bad runs as numbers with blanks between, for the
// button that marks them.
type sectionAttribution struct {
	Text, Runs string
	Set, Count int
}

func attributionOf(a *Attribution, set int) sectionAttribution {
	var runs []string
	for _, r := range a.Slow {
		runs = append(runs, strconv.Itoa(r.Run))
	}
	return sectionAttribution{a.Text, strings.Join(runs, " "), set, len(runs)}
}

// disturbance is an attribution with how much it explains.
type disturbance struct {
	sectionAttribution
	weight int
}

// weight is 2 for bad runs with a resolved cause, 1 for those with a hint of
// one, 0 for those of which nothing is known.
func weight(a *Attribution) int {
	w := 0
	for i := range a.Causes {
		w = 1
		if p := a.Causes[i].PAdj; p.OK && p.V < 1-stats.Level {
			return 2
		}
	}
	return w
}

// disturbed are the notable attributions of all tables.
func (p *Page) disturbed() (shown, folded []sectionAttribution) {
	var all []disturbance
	for i := range p.Figures {
		f := &p.Figures[i]
		for k := range f.Table.Attributions {
			if a := &f.Table.Attributions[k]; a.Notable {
				all = append(all, disturbance{attributionOf(a, slices.Index(p.Sets, f.Set)), weight(a)})
			}
		}
	}
	return strongest(all)
}

// strongest parts the disturbances: a handful to show, the rest to fold.
func strongest(all []disturbance) (shown, folded []sectionAttribution) {
	const most = 6
	slices.SortStableFunc(all, func(a, b disturbance) int { return cmp.Compare(b.weight, a.weight) })
	for i, d := range all {
		if i < most {
			shown = append(shown, d.sectionAttribution)
		} else {
			folded = append(folded, d.sectionAttribution)
		}
	}
	return shown, folded
}

// findingsOf are the verdicts and effects of a table.
func findingsOf(t *Table) []sectionVerdict {
	var out []sectionVerdict
	for _, v := range t.Verdicts() {
		out = append(out, sectionVerdict{v.Line(), v.Claim})
	}
	for i := range t.Effects {
		e := &t.Effects[i]
		median, spread := e.Lines()
		out = append(out, sectionVerdict{median, e.MedianClaim}, sectionVerdict{spread, e.SpreadClaim})
	}
	return out
}

// suiteFindings are the claims over all workloads.
func suiteFindings(doc *Document) []sectionVerdict {
	var out []sectionVerdict
	for i := range doc.Suite {
		out = append(out, doc.Suite[i].lines()...)
	}
	return out
}

// lines are the two claims over all workloads, each with whose they are.
func (s *SuiteClaim) lines() []sectionVerdict {
	var out []sectionVerdict
	for _, c := range []sectionVerdict{{s.AverageText, s.AverageClaim}, {s.EveryText, s.EveryClaim}} {
		if c.Line != "" {
			out = append(out, sectionVerdict{s.Name() + " " + c.Line, c.Claim})
		}
	}
	return out
}

// glance are the lines of a figure in the first table.
func (f *Figure) glance(index int) []glanceRow {
	var out []glanceRow
	for i := range f.Table.Contrasts {
		c, r := &f.Table.Contrasts[i], &f.Ratios[i]
		if c.Control {
			continue
		}
		g := glanceRow{ID: sectionID(index), Workload: f.short(), Mode: c.X, Base: c.Y}
		g.Spread = glanceOf(&r.SD, c.Spread.Verdict, "steadier", "less steady")
		g.Median = glanceOf(&r.Median, c.Location.Verdict, "better", "worse")
		out = append(out, g)
	}
	return out
}

// claims counts what a row of the first table asserts.
func (g *glanceRow) claims() int {
	n := 0
	for _, c := range []*glanceCell{&g.Spread, &g.Median} {
		if c.Class != "open" {
			n++
		}
	}
	return n
}

// headlines sum the first table up, a line per mode: what it does where, and
// on how many workloads nothing is resolved.
func headlines(rows []glanceRow) []string {
	var order names
	of := map[string][]*glanceRow{}
	for i := range rows {
		who := rows[i].Mode + " against " + rows[i].Base
		order.add(who)
		of[who] = append(of[who], &rows[i])
	}
	var out []string
	silent := 0
	for _, who := range order.list {
		list := of[who]
		var parts []string
		for _, side := range []struct {
			unit string
			cell func(*glanceRow) *glanceCell
		}{{"sd", func(g *glanceRow) *glanceCell { return &g.Spread }}, {"median", func(g *glanceRow) *glanceCell { return &g.Median }}} {
			var words names
			where := map[string][]string{}
			for _, g := range list {
				if c := side.cell(g); c.Class != "open" {
					words.add(c.Word)
					where[c.Word] = append(where[c.Word], strings.TrimSpace(g.Workload+" ("+c.Ratio+" "+side.unit+")"))
				}
			}
			for _, w := range words.list {
				parts = append(parts, w+" on "+strings.Join(where[w], ", "))
			}
		}
		if len(parts) == 0 {
			silent++
			continue
		}
		out = append(out, who+": "+strings.Join(parts, "; ")+".")
	}
	switch {
	case len(out) == 0 && silent > 0:
		out = append(out, "No difference between the modes is resolved by these runs: neither in spread nor in level. That is no proof that there is none; the table says what these runs could have seen.")
	case silent > 0:
		out = append(out, fmt.Sprintf("Nothing is resolved for %d other %s.", silent, plural(silent, "mode")))
	}
	return out
}

func glanceOf(e *Estimate, v stats.Verdict, gain, loss string) glanceCell {
	c := glanceCell{Class: "open", Word: string(v.Kind), Text: v.Text}
	switch {
	case e.Better > 0:
		c.Class, c.Word = "gain", gain
	case e.Better < 0:
		c.Class, c.Word = "loss", loss
	case v.Claims():
		c.Class = "claim"
	}
	// The word stands in the chip already.
	c.Text = strings.TrimPrefix(c.Text, string(v.Kind)+": ")
	if e.Value.OK {
		c.Ratio = times(e.Value) + "×"
	}
	return c
}
