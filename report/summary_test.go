package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestSummaryOfBenchmarks: a line for each benchmark, unit and comparison stands
// before all tables; other experiments have none.
func TestSummaryOfBenchmarks(t *testing.T) {
	for _, n := range []int{0, 1, 2, 10} {
		d, opts := goData(t, n, func(tr, round int) float64 { return (100 + noise(tr*7+round)) * (1 + 0.1*float64(tr%2)) })
		doc, err := d.Document(opts)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := doc.summary()
		if n == 0 {
			continue
		}
		if !ok || len(p.Grids[0].Labels) != len(doc.Contrasts()) {
			t.Fatalf("n = %d: summary %t of %d comparisons: %+v", n, ok, len(doc.Contrasts()), p)
		}
		if n < 10 {
			continue
		}
		g := p.Grids[0]
		k := slices.Index(g.Labels, "X/size=10-8 ns/op, unpinned ref=. against unpinned ref=main")
		if k < 0 || g.Columns[4].Cells[k] != "higher" || !strings.HasPrefix(g.Columns[2].Cells[k], "+9.8") || !strings.HasPrefix(g.Columns[0].Cells[k], "100") {
			t.Errorf("labels %q, row %d: %+v", g.Labels, k, g.Columns)
		}
		var out bytes.Buffer
		if err := TextDocument(&out, doc, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, "\nSummary") || strings.Index(text, "\nSummary") > strings.Index(text, "w package=./p · ") {
			t.Errorf("no summary before the tables:\n%s", text)
		}
	}
	if p, ok := (compared{n: 6, scale: 1}).document(t).summary(); ok {
		t.Errorf("of no benchmarks: %+v", p)
	}
}

// TestNarrowColumnsNameWhatTheyAreOf: an interval that is parted from what it is
// of by a narrow terminal is headed by it.
func TestNarrowColumnsNameWhatTheyAreOf(t *testing.T) {
	wide := strings.Repeat("9", 38)
	g := grid{Labels: []string{"goset n=2"}, Marks: []string{"1"}, Columns: []gridColumn{
		{Head: "n", Cells: []string{"8"}}, {Head: "sd ratio", Cells: []string{"0.42"}}, {Head: "95% interval", Cells: []string{wide}, Joined: true}, {Head: "p_adj", Cells: []string{"0.001"}, Joined: true},
	}}
	for _, width := range []int{40, 50, 60, 61, 62, 70, 100} {
		var out bytes.Buffer
		p := newTextInk(&out, TextOptions{Width: width})
		p.grid(&g)
		if err := p.w.Flush(); err != nil {
			t.Fatal(err)
		}
		for _, chunk := range strings.Split(out.String(), "goset n=2")[:strings.Count(out.String(), "goset n=2")] {
			if (strings.Contains(chunk, "interval") || strings.Contains(chunk, "p_adj")) && !strings.Contains(chunk, "sd ratio") {
				t.Errorf("%d columns: what is this of?\n%s", width, out.String())
			}
		}
	}
}
