package report

import (
	"bytes"
	"strings"
	"testing"

	"goset/stats"
)

// TestAgainst: a table says what it is against, in how many rounds, and what so
// many can show.
func TestAgainst(t *testing.T) {
	contrast := func(n, m int, blocked bool, kind stats.VerdictKind, resolves float64) Contrast {
		c := Contrast{Y: "base", Comparison: stats.Comparison{N: n, M: m, Blocked: blocked}}
		c.Location.Verdict.Kind = kind
		c.Spread.Resolves = stats.Value{V: resolves, OK: resolves > 0}
		return c
	}
	for _, tc := range []struct {
		want string
		list []Contrast
	}{
		{"against base, 8 rounds, which resolve sd ratios ≤ 0.32 or ≥ 3.12", []Contrast{contrast(8, 8, true, stats.NotResolved, 0.3204)}},
		{"against base, 6 to 8 rounds; 6 rounds resolve sd ratios ≤ 0.25 or ≥ 4.00", []Contrast{contrast(8, 8, true, stats.LowerVerdict, 0.32), contrast(6, 6, true, stats.NotResolved, 0.25)}},
		{"against base, 9 to 10 runs, which resolve sd ratios ≤ 0.40 or ≥ 2.50", []Contrast{contrast(10, 9, false, stats.NotResolved, 0.4), contrast(10, 10, false, stats.NotResolved, 0.5)}},
		{"against base, 1 round", []Contrast{contrast(1, 1, true, stats.NoClaim, 0)}},
		{"against base, 0 rounds", []Contrast{contrast(0, 0, true, stats.NoClaim, 0)}},
	} {
		if got := (&Table{Contrasts: tc.list}).against(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestJoinedColumns: an interval goes to the next lines with what it is of, and
// what is too wide for one line is parted even so, under both names.
func TestJoinedColumns(t *testing.T) {
	wide := func(head string, joined bool, width int) gridColumn {
		return gridColumn{Head: head, Cells: []string{strings.Repeat("x", width)}, Joined: joined}
	}
	for _, tc := range []struct {
		columns []gridColumn
		want    string // the headings, line by line
	}{
		{nil, ""},
		{[]gridColumn{wide("a", false, 10)}, "a"},
		{[]gridColumn{wide("a", false, 20), wide("b", false, 10), wide("c", true, 15)}, "a|b c"},
		{[]gridColumn{wide("a", false, 20), wide("b", true, 10), wide("c", true, 15)}, "a b|a|c"},
		{[]gridColumn{wide("a", false, 60), wide("b", true, 60)}, "a|a|b"},
	} {
		var out bytes.Buffer
		p := newTextInk(&out, TextOptions{Width: 40})
		p.grid(&grid{Labels: []string{"m"}, Columns: tc.columns})
		if err := p.w.Flush(); err != nil {
			t.Fatal(err)
		}
		var heads []string
		for l := range strings.Lines(out.String()) {
			if !strings.HasPrefix(l, "m") {
				heads = append(heads, strings.Join(strings.Fields(l), " "))
			}
		}
		if got := strings.Join(heads, "|"); got != tc.want {
			t.Errorf("%d columns: %q, want %q:\n%s", len(tc.columns), got, tc.want, out.String())
		}
	}
}

// TestHeadsOfSeveralLines: a heading that breaks ends on the line of the others,
// over its own column.
func TestHeadsOfSeveralLines(t *testing.T) {
	var out bytes.Buffer
	p := newTextInk(&out, TextOptions{Width: 60})
	p.grid(&grid{Caption: "against base", Head: "mode", Labels: []string{"a", "b"},
		Columns: []gridColumn{{Head: "median change\nwithin rounds", Cells: []string{"+1%", "-2%"}}, {Head: "p_adj", Cells: []string{"0.1", "0.2"}}}})
	if err := p.w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `against base
      median change
mode  within rounds  p_adj
a               +1%    0.1
b               -2%    0.2
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if strings.Contains(out.String(), "\n\n") {
		t.Error("an empty line")
	}
}

// TestFriedmanInCSV: contrasts.csv has Friedman's test over the modes without
// the control, and nothing where there are only two.
func TestFriedmanInCSV(t *testing.T) {
	c := compared{n: 8, scale: 1, shift: 0.05, control: 0.5}
	doc := c.document(t)
	var rounds [][]float64
	for i, r := range c.build().rs {
		if i%8 == 0 {
			rounds = append(rounds, nil)
		}
		if r.Workload == "jitter" && r.Mode != "unpinned#2" {
			rounds[len(rounds)-1] = append(rounds[len(rounds)-1], r.Values["time"])
		}
	}
	want, err := stats.Friedman(rounds)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := ContrastsCSV(&out, doc.Tables[:1]); err != nil {
		t.Fatal(err)
	}
	lines := readSheet(t, &out)
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		if l["friedman_x2"] != exact(want.X2.V) || l["friedman_p"] != exact(want.P.V) {
			t.Errorf("%s: X² %s, p %s; want %v, %v", l["x"], l["friedman_x2"], l["friedman_p"], want.X2.V, want.P.V)
		}
	}
	two := &built{Table: Table{Rows: []Row{{Mode: "a"}, {Mode: "b"}}}}
	if err := (&maker{}).omnibus(two); err != nil || two.Friedman.P.OK || two.Friedman.P.Why == "" {
		t.Errorf("two modes: %+v, %v", two.Friedman, err)
	}
}
