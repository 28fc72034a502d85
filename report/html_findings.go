package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// wordsRow is one comparison in full words.
type wordsRow struct {
	ID, Workload, Mode, Base string
	Spread, Median           forestCell
	Change                   string // what Median is of
}

// inWords are the comparisons of the first picture in words: those that assert
// something, and those that do not.
func (f *forest) inWords() (claims, open []wordsRow) {
	for _, g := range slices.Concat(f.Shown, f.Folded) {
		for i := range g.Rows {
			r := &g.Rows[i]
			if r.Control {
				continue
			}
			w := wordsRow{g.ID, g.Name, r.Mode, r.Base, r.Spread, r.Median, f.Change}
			if r.claim > 0 {
				claims = append(claims, w)
			} else {
				open = append(open, w)
			}
		}
	}
	return claims, open
}

// findings are verdicts in their order. Where those that claim nothing would
// hide the others they are folded away.
type findings struct{ Shown, Folded []finding }

// foldAbove is the number of findings above which those without a claim fold.
const foldAbove = 8

func fold(all []finding) findings {
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

// slowRuns is what is told of slow runs above all sections.
type slowRuns struct {
	Attributed bool // somebody looked for causes
	Sentence   *Headline
	Explained  []sectionAttribution // a counter goes with them: the first few
	More       []sectionAttribution // and the others
	Plain      []sectionAttribution // slow, and nothing in the counters
	Even       string               // where no run sticks out
}

// mostExplained is how many attributions stand open above all sections.
const mostExplained = 6

// slowRuns parts the attributions by what they say.
func (p *Page) slowRuns() slowRuns {
	s := slowRuns{Sentence: p.Document.Disturbed}
	var even []string
	for _, i := range p.headlined() {
		f := &p.Figures[i]
		set := slices.Index(p.Sets, f.Set)
		quiet := map[int]bool{}
		for k := range f.Table.Attributions {
			a := &f.Table.Attributions[k]
			s.Attributed = true
			v := attributionOf(a, set)
			switch {
			case len(a.sure()) > 0 || a.Standing != nil:
				s.Explained = append(s.Explained, v)
			case a.Apart:
				v.Text = fmt.Sprintf("%s %s", a.Label, a.numbers())
				s.Plain = append(s.Plain, v)
			default:
				quiet[a.Row] = true
			}
		}
		if len(quiet) > 0 {
			even = append(even, f.Table.Name()+" ("+f.Table.someRows(quiet)+")")
		}
	}
	if len(s.Explained) > mostExplained {
		s.Explained, s.More = s.Explained[:mostExplained], s.Explained[mostExplained:]
	}
	s.Even = enumerate(even)
	if len(even) == 0 {
		s.Even = ""
	}
	return s
}

// suiteFindings are the claims over all workloads.
func suiteFindings(doc *Document) []finding {
	var out []finding
	for i := range doc.Suite {
		out = append(out, doc.Suite[i].lines()...)
	}
	return out
}

// lines are the two claims over all workloads, each with whose they are.
func (s *SuiteClaim) lines() []finding {
	var out []finding
	for _, c := range []finding{{Line: s.AverageText, Claim: s.AverageClaim}, {Line: s.EveryText, Claim: s.EveryClaim}} {
		if c.Line != "" {
			out = append(out, finding{Line: s.Name() + " " + c.Line, Claim: c.Claim})
		}
	}
	return out
}
