package report

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"
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
	t, err := template.New("page").Funcs(template.FuncMap{"long": isLong}).Parse(pageTemplate)
	if err != nil {
		return err
	}
	v, err := newPageView(p)
	if err != nil {
		return err
	}
	return t.Execute(w, v)
}

// isLong says that a name has to be broken into lines in a table that must fit
// the page.
func isLong(name string) bool { return len([]rune(name)) > 24 }

// PageFile is the name of the page in a result folder.
const PageFile = "report.html"

// WriteHTML writes the page into a result folder.
func WriteHTML(dir string, p *Page) error {
	return writeFile(dir, PageFile, func(w io.Writer) error { return HTML(w, p) })
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
	if p.rounds() {
		out = append(out, fmt.Sprintf("Values of single runs have %d digits; runs.csv has all.", roundDigits))
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
