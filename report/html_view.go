package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"goset/internal/lazy"
	"goset/metric"
	"goset/stats"
)

// pageView is what the template prints.
type pageView struct {
	Title, Subtitle, Scope, Legend, LeftText, Experiment string
	SelfCheck                                            SelfCheck
	Headlines                                            []headlineView
	Minds                                                []string
	Workloads, Modes                                     []described
	GateBasis                                            string
	Gates                                                []Gate
	Suite                                                findings
	Notes                                                []string
	Forest                                               forest
	Claims, Unresolved                                   []wordsRow
	Unchecked                                            bool // a self-check was possible and was not run
	Slow                                                 slowRuns
	Sections                                             []section
	Facts, HostFacts                                     []Fact
	Rules                                                []Rule
	CSS                                                  template.CSS
	JS, D3                                               template.JS
	Data                                                 template.HTML // base64: nothing in it is markup
}

// section is one table with all that belongs to it.
type section struct {
	ID, Short, Heading, Counts, Of, LeftText string
	Index, RunCount                          int
	Columns                                  []string
	Rows                                     []sectionRow
	Verdicts                                 findings
	Notable, Unremarkable                    []sectionAttribution
	Excluded                                 []string
	Notes                                    []sectionNote
	HasRuns, Compared, Blocked               bool
	Legend                                   []legendItem
	Against                                  []choice
	Isolation                                []isolationRow
	Counters                                 []counterRow
	CounterModes                             []string
	FewCounters                              bool
}

type sectionRow struct {
	Label, Marks string
	Colour       int
	Cells        []sectionCell
}

// sectionCell is a number for people; Column and Exact tie it to summary.csv.
type sectionCell struct{ Column, Exact, Text, Why string }

type sectionNote struct {
	Text string
	Warn bool
}

type legendItem struct {
	Set, Row, Colour int
	Label            string
}

type choice struct{ Value, Label string }

type isolationRow struct {
	Mode, Layer, Asked, Achieved, Held, Note string
	Broken                                   bool
	Long                                     bool // the note is folded
}

type counterRow struct {
	Name  string
	Cells []string
}

func newPageView(p *Page) (*pageView, error) {
	packed, err := p.packed()
	if err != nil {
		return nil, err
	}
	doc := p.Document
	v := &pageView{
		Title: cmp.Or(doc.Title, doc.Experiment, "Report"), Subtitle: subtitle(p), Scope: doc.Scope, Legend: pageLegend(doc),
		LeftText: p.leftText(), SelfCheck: doc.SelfCheck, Notes: doc.Notes, Gates: doc.Gates, GateBasis: doc.GateBasis, Rules: doc.Rules, Suite: fold(suiteFindings(doc)),
		CSS: template.CSS(pageCSS), JS: template.JS(pageJS), D3: template.JS(pageD3), Data: template.HTML(packed),
	}
	v.manifest(doc)
	for _, h := range doc.Headlines {
		v.Headlines = append(v.Headlines, newHeadlineView(&h))
	}
	v.Workloads, v.Modes = describeExperiment(doc.Manifest)
	v.Minds = doc.Minds
	v.Forest = p.newForest()
	v.Claims, v.Unresolved = v.Forest.inWords()
	v.Slow = p.slowRuns()
	v.Unchecked = doc.unchecked()
	v.Sections, err = p.sections()
	return v, err
}

// pageLegend is the legend of the text without the columns that the page does
// not have.
func pageLegend(doc *Document) string {
	compared := len(doc.Contrasts()) > 0
	s := legend(doc.Tables, !compared)
	if compared {
		s += " (min): the smallest p that so many rounds can give."
	}
	return s
}

// headlineView is a headline with its colour.
type headlineView struct{ Class, Text string }

func newHeadlineView(h *Headline) headlineView {
	class := "open"
	switch {
	case h.Grade == Hint:
		class = "hint"
	case h.Grade == Clear && h.Better > 0:
		class = "gain"
	case h.Grade == Clear && h.Better < 0:
		class = "loss"
	case h.Grade == Clear:
		class = "claim"
	}
	return headlineView{class, h.Text}
}

// manifest takes the facts apart: how the runs were made, and on what machine.
func (v *pageView) manifest(doc *Document) {
	for _, f := range doc.Facts {
		if name, ok := strings.CutPrefix(f.Name, "host."); ok {
			v.HostFacts = append(v.HostFacts, Fact{name, f.Value})
		} else {
			v.Facts = append(v.Facts, f)
		}
	}
	if doc.Manifest != nil {
		v.Experiment = doc.Manifest.Text
	}
}

// sections are the tables with their plots. What all metrics of a set have in
// common stands with the first.
func (p *Page) sections() ([]section, error) {
	var out []section
	colours := p.colours()
	seen := map[string]bool{}
	for i := range p.Figures {
		f := &p.Figures[i]
		s := f.section(i, p, colours)
		if !seen[f.Set.Name] {
			seen[f.Set.Name] = true
			var err error
			if s.Counters, err = f.Set.counterRows(); err != nil {
				return nil, err
			}
			s.CounterModes, s.FewCounters = f.Set.Rows, len(s.Counters) <= 8
			s.Excluded, s.Isolation = excludedLines(f.Table), f.Set.isolationRows()
		}
		out = append(out, s)
	}
	return out, nil
}

func sectionID(index int) string { return "t" + strconv.Itoa(index+1) }

// short names a table in a link.
func (f *Figure) short() string {
	if f.Table.Metric.Name == "" {
		return f.Table.Name()
	}
	return f.Table.Name() + ": " + f.Table.Metric.Name
}

func (f *Figure) section(index int, p *Page, colours map[string]int) section {
	t := f.Table
	s := section{ID: sectionID(index), Index: index, Short: f.short(), Heading: t.Name() + ": " + heading(t.Metric, f.format.unit), Counts: countsLine(t),
		Of: f.of(), RunCount: len(f.Set.Runs), HasRuns: len(f.Set.Runs) > 0, Compared: len(f.Ratios) > 0, Verdicts: fold(findingsOf(t)), Against: f.against()}
	s.Blocked = slices.ContainsFunc(t.Contrasts, func(c Contrast) bool { return c.Blocked })
	if f.Set.LeftRuns > 0 {
		s.LeftText = fmt.Sprintf("%d of the runs are not drawn.", f.Set.LeftRuns)
	}
	s.summarise(f, colours)
	for i := range t.Notes {
		s.Notes = append(s.Notes, sectionNote{noteText(t, &t.Notes[i]), noteTone(&t.Notes[i]) != even})
	}
	set := slices.Index(p.Sets, f.Set)
	for i := range t.Attributions {
		a := attributionOf(&t.Attributions[i], set)
		if t.Attributions[i].Notable {
			s.Notable = append(s.Notable, a)
		} else {
			s.Unremarkable = append(s.Unremarkable, a)
		}
	}
	for i, r := range f.Set.Rows {
		s.Legend = append(s.Legend, legendItem{set, i, colours[r] % palette, r})
	}
	return s
}

// summarise fills in the summary table.
func (s *section) summarise(f *Figure, colours map[string]int) {
	cols := pageColumns(f.Table)
	for _, c := range cols {
		s.Columns = append(s.Columns, c.head)
	}
	marks := noteNumbers(f.Table)
	for i := range f.Table.Rows {
		r := &f.Table.Rows[i]
		row := sectionRow{Label: r.Label(), Colour: colours[r.Label()] % palette}
		if marks != nil {
			row.Marks = marks[i]
		}
		for _, c := range cols {
			row.Cells = append(row.Cells, c.cell(r, f.format))
		}
		s.Rows = append(s.Rows, row)
	}
}

// palette is the number of colours that the page has.
const palette = 10

// of names what the curves are of.
func (f *Figure) of() string {
	if f.Iterations {
		return "iterations"
	}
	return "runs"
}

// against lists what values can be drawn against: counters first, the ones
// that go with the bad runs before all others and those that vary before those
// that do not, then the other metrics.
func (f *Figure) against() []choice {
	var out []choice
	counters := slices.Clone(f.Set.Counters)
	distinct := f.Set.distinct()
	slices.SortStableFunc(counters, func(a, b string) int { return cmp.Compare(distinct[b], distinct[a]) })
	for _, a := range slices.Backward(f.Table.Attributions) {
		causes := a.Causes
		if a.Standing != nil {
			causes = append(slices.Clone(causes), *a.Standing)
		}
		for _, c := range slices.Backward(causes) {
			if i := slices.Index(counters, c.Counter); i >= 0 {
				counters = slices.Insert(slices.Delete(counters, i, i+1), 0, c.Counter)
			}
		}
	}
	for _, c := range counters {
		out = append(out, choice{fmt.Sprintf("c:%d", slices.Index(f.Set.Counters, c)), c})
	}
	for i, m := range f.Set.Metrics {
		if i != f.Metric {
			out = append(out, choice{fmt.Sprintf("m:%d", i), m.Name})
		}
	}
	return out
}

// distinct counts the different values of every counter.
func (s *RunSet) distinct() map[string]int {
	out := map[string]int{}
	for i, name := range s.Counters {
		seen := map[float64]bool{}
		for _, r := range s.Runs {
			if v := r.Counters[i]; v == v {
				seen[v] = true
			}
		}
		out[name] = len(seen)
	}
	return out
}

// pageColumn is a number of the summary table of the page.
type pageColumn struct {
	head string
	cell func(*Row, format) sectionCell
}

// pageColumns are those of the text ink with the ends of the intervals apart:
// every cell is one column of summary.csv.
func pageColumns(t *Table) []pageColumn {
	all := map[string]column{}
	for _, c := range columns() {
		all[c.name] = c
	}
	var out []pageColumn
	add := func(head, name string, write func(stats.Value, format) string) {
		of := all[name].value
		out = append(out, pageColumn{head, func(r *Row, f format) sectionCell {
			v := of(r)
			c := sectionCell{Column: name, Text: write(v, f), Why: v.Why}
			if v.OK {
				c.Exact = exact(v.V)
			}
			return c
		}})
	}
	number := func(v stats.Value, f format) string { return f.quantity(v) }
	tail := func(v stats.Value, f format) string { return f.quantile(v) }
	share := func(v stats.Value, _ format) string { return percent(v) }
	times := func(v stats.Value, _ format) string { return times(v) }
	whole := func(v stats.Value, _ format) string { return strconv.Itoa(int(v.V)) }
	add("n", "values", whole)
	add("median", "median", number)
	add("95% from", "median_lo", number)
	add("to", "median_hi", number)
	add("sd", "sd", func(v stats.Value, f format) string { return f.deviation(v) })
	add("CV", "cv", share)
	add("min", "min", number)
	add("max", "max", number)
	add("(max−min)/median", "spread", share)
	if len(t.Contrasts) == 0 { // else the comparisons have the one estimate of each
		add("×median", "median_ratio", times)
		add("×sd", "sd_ratio", times)
	}
	if hasIterations(t) {
		add("iterations", "iterations", whole)
		if t.Metric.Better == metric.Higher {
			add("p0.1", "iterations_p01", tail)
			add("p1", "iterations_p1", tail)
		}
		add("p50", "iterations_p50", number)
		add("p99", "iterations_p99", tail)
		add("p99.9", "iterations_p999", tail)
	}
	return out
}

// isolationRows are the layers of every row; a mode that asks for nothing says so.
func (s *RunSet) isolationRows() []isolationRow {
	var out []isolationRow
	for i, name := range s.Rows {
		cpus := ""
		if s.CPUs[i] != "" {
			cpus = "on CPUs " + s.CPUs[i]
		}
		if len(s.Isolation[i]) == 0 {
			out = append(out, isolationRow{Mode: name, Layer: "none", Note: cpus})
			continue
		}
		for j, f := range s.Isolation[i] {
			note := strings.Join(f.Notes, "; ")
			if j == 0 && cpus != "" {
				note = strings.TrimPrefix(note+"; "+cpus, "; ")
			}
			held := fmt.Sprintf("%d of %d runs", f.Held, f.Runs)
			if f.Unread > 0 {
				held += fmt.Sprintf(", %d not read back", f.Unread)
			}
			out = append(out, isolationRow{Mode: name, Layer: f.Layer, Asked: merged(f.Asked), Achieved: merged(f.Achieved),
				Held: held, Broken: f.Held < f.Runs, Note: note, Long: len(note) > 120})
		}
	}
	return out
}

var wholeNumber = lazy.Regexp(`\d+`)

// merged writes texts that differ in nothing but their numbers as one, with
// ranges: "off 0 to 1: applied 7 to 11".
func merged(texts []string) string {
	whole := slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "…" })
	if len(whole) < 2 {
		return strings.Join(texts, "; ")
	}
	form := wholeNumber().ReplaceAllString(whole[0], "#")
	least, most := wholeNumber().FindAllString(whole[0], -1), wholeNumber().FindAllString(whole[0], -1)
	for _, s := range whole[1:] {
		if wholeNumber().ReplaceAllString(s, "#") != form {
			return strings.Join(texts, "; ")
		}
		for i, n := range wholeNumber().FindAllString(s, -1) {
			if byNumber(n, least[i]) < 0 {
				least[i] = n
			}
			if byNumber(n, most[i]) > 0 {
				most[i] = n
			}
		}
	}
	i := -1
	return wholeNumber().ReplaceAllStringFunc(whole[0], func(string) string {
		if i++; least[i] == most[i] {
			return least[i]
		}
		return least[i] + " to " + most[i]
	})
}

// byNumber orders whole numbers of any length.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// counterRows summarise the counters of the kept runs.
func (s *RunSet) counterRows() ([]counterRow, error) {
	var out []counterRow
	for c, name := range s.Counters {
		row := counterRow{Name: name}
		for i := range s.Rows {
			var xs []float64
			for _, r := range s.Runs {
				if v := r.Counters[c]; r.Row == i && r.counts() && v == v {
					xs = append(xs, v)
				}
			}
			cell := undefined
			if len(xs) > 0 {
				m, err := stats.Median(xs)
				if err != nil {
					return nil, err
				}
				cell = fmt.Sprintf("%s (%s to %s)", short(m.V), short(slices.Min(xs)), short(slices.Max(xs)))
			}
			row.Cells = append(row.Cells, cell)
		}
		out = append(out, row)
	}
	return out, nil
}

// counts is true for a run that enters the statistics.
func (r *RunPoint) counts() bool { return r.Outcome == "kept" && !r.Warmup }

// short writes a counter: whole numbers whole, others with four digits.
func short(v float64) string {
	if v == float64(int64(v)) {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
