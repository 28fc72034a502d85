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
// what is too wide for one line is parted even so.
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
		{[]gridColumn{wide("a", false, 20), wide("b", true, 10), wide("c", true, 15)}, "a b|c"},
		{[]gridColumn{wide("a", false, 60), wide("b", true, 60)}, "a|b"},
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
