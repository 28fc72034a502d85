package report

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"goset/metric"
	"goset/stats"
)

// The parts of the page. D3's modules are vendored by scripts/vendor-chart.
var (
	//go:embed html/page.tmpl.html
	pageTemplate string
	//go:embed html/page.css
	pageCSS string
	//go:embed html/page.js
	pageJS string
	//go:embed html/vendor/d3.min.js
	pageD3 string
)

// Page is everything that the HTML report and the plot files show.
type Page struct {
	Document *Document
	Sets     []*RunSet
	Figures  []Figure // one for every table
}

// NewPage makes the page of a document, which is of d and opts, by reading the
// records once more.
func NewPage(ctx context.Context, d *Data, doc *Document, src Source, opts Options) (*Page, error) {
	sets, err := d.RunSets(ctx, src, opts, 0)
	if err != nil {
		return nil, err
	}
	figures, err := d.Figures(doc.Tables, sets, opts)
	if err != nil {
		return nil, err
	}
	return &Page{doc, sets, figures}, nil
}

// HTML writes a page that needs nothing but itself: the tables and words are
// in its text, the runs are embedded compressed, and its script draws them.
func HTML(w io.Writer, p *Page) error {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return err
	}
	v, err := newPageView(p)
	if err != nil {
		return err
	}
	return t.Execute(w, v)
}

// PageFile is the name of the page in a result folder.
const PageFile = "report.html"

// WriteHTML writes the page into a result folder.
func WriteHTML(dir string, p *Page) error {
	return writeFile(dir, PageFile, func(w io.Writer) error { return HTML(w, p) })
}

// pageView is what the template prints.
type pageView struct {
	Title, Subtitle, Scope, Legend, LeftText, Experiment string
	SelfCheck                                            SelfCheck
	Headlines                                            []string
	Suite                                                findings
	Notes                                                []string
	Glance                                               []glanceRow
	Attributed                                           bool // somebody looked for causes
	Disturbed                                            []sectionAttribution
	Sections                                             []section
	Facts, HostFacts                                     []Fact
	Rules                                                []Rule
	CSS                                                  template.CSS
	JS, D3                                               template.JS
	Data                                                 template.HTML // base64: nothing in it is markup
}

// glanceRow is one line of the first table: a mode against its baseline.
type glanceRow struct {
	ID, Workload, Mode, Base string
	Spread, Median           glanceCell
}

// glanceCell is a verdict: one word, the ratio, the whole.
type glanceCell struct{ Class, Word, Ratio, Text string }

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
	HasRuns, Compared                        bool
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

// sectionCell is a number for people; Column and Exact tie it to summary.csv.
type sectionCell struct{ Column, Exact, Text, Why string }

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
		Title: firstOf(doc.Title, doc.Experiment, "Experiment"), Subtitle: subtitle(p), Scope: doc.Scope, Legend: legend(doc.Tables),
		LeftText: p.leftText(), SelfCheck: doc.SelfCheck, Notes: doc.Notes, Rules: doc.Rules,
		CSS: template.CSS(pageCSS), JS: template.JS(pageJS), D3: template.JS(pageD3), Data: template.HTML(packed),
	}
	var suite []sectionVerdict
	for i := range doc.Suite {
		suite = append(suite, doc.Suite[i].lines()...)
	}
	v.Suite = fold(suite)
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
	colours := p.colours()
	seen := map[string]bool{}
	for i := range p.Figures {
		f := &p.Figures[i]
		v.Glance = append(v.Glance, f.glance(i)...)
		s, err := f.section(i, p, colours)
		if err != nil {
			return nil, err
		}
		if !seen[f.Set.Name] { // what all metrics of a set have in common stands once
			seen[f.Set.Name] = true
			s.Excluded = excludedLines(f.Table)
			s.Isolation = f.Set.isolationRows()
			if s.Counters, err = f.Set.counterRows(); err != nil {
				return nil, err
			}
			s.CounterModes, s.FewCounters = f.Set.Rows, len(s.Counters) <= 8
		}
		v.Attributed = v.Attributed || len(f.Table.Attributions) > 0
		v.Disturbed = append(v.Disturbed, s.Notable...)
		v.Sections = append(v.Sections, s)
	}
	v.Headlines = headlines(v.Glance)
	if len(v.Glance) > foldAbove {
		slices.SortStableFunc(v.Glance, func(a, b glanceRow) int { return cmp.Compare(b.claims(), a.claims()) })
	}
	return v, nil
}

// subtitle is the line under the title: what, when, on what, how many.
func subtitle(p *Page) string {
	var parts []string
	var c Counts
	for _, s := range p.Sets {
		at := slices.IndexFunc(p.Document.Tables, func(t Table) bool { return t.Name() == s.Name })
		if at >= 0 {
			c.add(p.Document.Tables[at].Counts)
		}
	}
	if m := p.Document.Manifest; m != nil {
		parts = append(parts, m.Name)
		if len(m.Sessions) > 0 {
			parts = append(parts, m.Sessions[0].Start.Format(time.DateOnly))
		}
		parts = append(parts, m.Platform)
		for _, f := range p.Document.Facts {
			if f.Name == "host.cpu.model" {
				parts = append(parts, f.Value)
			}
		}
	} else if p.Document.Experiment != "" {
		parts = append(parts, p.Document.Experiment)
	}
	parts = append(parts, fmt.Sprintf("%d runs kept, %d void, %d failed", c.Kept, c.Void, c.Failed))
	return strings.Join(parts, " · ")
}

// leftText says what the page does not hold.
func (p *Page) leftText() string {
	runs, counters := 0, 0
	for _, s := range p.Sets {
		runs += s.LeftRuns
		counters = max(counters, s.LeftCounters)
	}
	var out []string
	if runs > 0 {
		out = append(out, fmt.Sprintf("%d runs are not shown one by one, whole blocks evenly; every number above is of all runs, and runs.csv has them.", runs))
	}
	if counters > 0 {
		out = append(out, fmt.Sprintf("%d counters are left out here; runs.csv has them.", counters))
	}
	return strings.Join(out, " ")
}

// colours numbers the labels of rows: a mode has one colour on the whole page.
func (p *Page) colours() map[string]int {
	out := map[string]int{}
	for _, s := range p.Sets {
		for _, r := range s.Rows {
			if _, ok := out[r]; !ok {
				out[r] = len(out)
			}
		}
	}
	return out
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

func sectionID(index int) string { return "t" + strconv.Itoa(index+1) }

// short names a table in a link.
func (f *Figure) short() string {
	if f.Table.Metric.Name == "" {
		return f.Table.Name()
	}
	return f.Table.Name() + ": " + f.Table.Metric.Name
}

func (f *Figure) section(index int, p *Page, colours map[string]int) (section, error) {
	t := f.Table
	s := section{ID: sectionID(index), Index: index, Short: f.short(), Heading: t.Name() + ": " + heading(t.Metric, f.format.unit), Counts: countsLine(t),
		Of: f.of(), RunCount: len(f.Set.Runs), HasRuns: len(f.Set.Runs) > 0, Compared: len(f.Ratios) > 0}
	if f.Set.LeftRuns > 0 {
		s.LeftText = fmt.Sprintf("%d of the runs are not drawn.", f.Set.LeftRuns)
	}
	cols := pageColumns(t)
	for _, c := range cols {
		s.Columns = append(s.Columns, c.head)
	}
	marks := noteNumbers(t)
	for i := range t.Rows {
		r := &t.Rows[i]
		row := sectionRow{Label: r.Label(), Marks: marks[i], Colour: colours[r.Label()] % palette}
		for _, c := range cols {
			row.Cells = append(row.Cells, c.cell(r, f.format))
		}
		s.Rows = append(s.Rows, row)
	}
	s.Verdicts = fold(findingsOf(t))
	for i := range t.Notes {
		s.Notes = append(s.Notes, sectionNote{noteText(t, &t.Notes[i]), noteStyle(&t.Notes[i]) != ""})
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
	s.Against = f.against()
	return s, nil
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
		for _, c := range slices.Backward(a.Causes) {
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
	add("spread", "spread", share)
	add("×median", "median_ratio", times)
	add("×sd", "sd_ratio", times)
	if hasIterations(t) {
		add("iterations", "iterations", whole)
		if t.Metric.Better == metric.Higher {
			add("p0.1", "iterations_p01", number)
			add("p1", "iterations_p1", number)
		}
		add("p50", "iterations_p50", number)
		add("p99", "iterations_p99", number)
		add("p99.9", "iterations_p999", number)
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
			out = append(out, isolationRow{Mode: name, Layer: f.Layer, Asked: strings.Join(f.Asked, "; "), Achieved: strings.Join(f.Achieved, "; "),
				Held: fmt.Sprintf("%d of %d runs", f.Held, f.Runs), Broken: f.Held < f.Runs, Note: note})
		}
	}
	return out
}

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
