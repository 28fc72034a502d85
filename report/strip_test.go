package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"goset/harness"
	"goset/internal/texttab"
	"goset/metric"
)

func liveOf(t *testing.T, b *builder, blocks, n int, opts Options) *Live {
	t.Helper()
	l := NewLive(blocks, opts)
	for i := range b.rs[:n] {
		if err := l.Add(&b.rs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func linesOf(t *testing.T, l *Live, opts TextOptions, height int) []string {
	t.Helper()
	lines, err := l.Lines(opts, height)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestLive follows a small experiment: levels, void, failed, retried, to come.
func TestLive(t *testing.T) {
	b := &builder{}
	time := metric.Metric{Name: "time", Unit: "s", Better: metric.Lower, Shown: true}
	base, other := b.treat("w", "base", ""), b.treat("w", "other", "")
	b.run(base, 0, map[string]float64{"time": 9}, describe(time), func(r *harness.Record) { r.Warmup = true })
	b.run(base, 1, map[string]float64{"time": 1})
	b.run(other, 1, map[string]float64{"time": 8})
	b.run(base, 2, nil, failed(1, "exit status 1"))
	b.run(other, 2, nil, void("no match"))
	b.run(base, 2, map[string]float64{"time": 4}, func(r *harness.Record) { r.Attempt = 2 })
	b.run(other, 3, nil, failed(1, "exit status 1"))
	opts := Options{Treatments: b.treatments, Baseline: "base"}
	for n, want := range map[int][2]string{0: {"····", "····"}, 1: {"····", "····"}, 2: {"▅···", "····"}, 3: {"▁···", "█···"}, 5: {"▁!··", "█×··"}, 7: {"▁▄··", "█×!·"}} {
		lines := linesOf(t, liveOf(t, b, 4, n, opts), TextOptions{Width: 80}, 0)
		if len(lines) != 5 || !strings.HasSuffix(lines[2], "  "+want[0]) || !strings.HasSuffix(lines[3], "  "+want[1]) {
			t.Errorf("after %d records:\n%s\nwant strips %q", n, strings.Join(lines, "\n"), want)
		}
	}
	last := linesOf(t, liveOf(t, b, 4, 7, opts), TextOptions{Width: 80}, 0)
	if got := strings.Fields(last[2]); !slices.Equal(got[:2], []string{"base", "2"}) {
		t.Errorf("the row of the baseline is %q", last[2])
	}
}

// TestLiveFits: no line is wider and no frame higher than the terminal, and
// the workload that runs is in sight.
func TestLiveFits(t *testing.T) {
	b := pageFixture(60)
	opts := fixtureOptions(b)
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, width := range []int{20, 40, 60, 80, 120, 300} {
		for _, height := range []int{1, 3, 6, 10, 50} {
			for _, n := range []int{0, 6, 100, len(b.rs)} {
				l := liveOf(t, b, 60, n, opts)
				lines := linesOf(t, l, TextOptions{Width: width, Color: true}, height)
				if len(lines) > height {
					t.Errorf("%d×%d: %d lines", width, height, len(lines))
				}
				for _, line := range lines {
					if w := texttab.Width(sgr.ReplaceAllString(line, "")); w > width {
						t.Errorf("%d×%d: a line of %d columns: %q", width, height, w, line)
					}
				}
				if n > 0 && height >= 3 && !strings.Contains(strings.Join(lines, "\n"), clip(l.last, width)) && width >= 40 {
					t.Errorf("%d×%d after %d: %q is not in sight:\n%s", width, height, n, l.last, strings.Join(lines, "\n"))
				}
			}
		}
	}
	// Of many rounds the last ones with something in them.
	l := liveOf(t, b, 60, len(b.rs)-30, opts)
	for _, line := range linesOf(t, l, TextOptions{Width: 80}, 0) {
		if strings.HasPrefix(line, "taskset") && !strings.ContainsAny(line[len(line)-9:], stripLevels) {
			t.Errorf("the end of the strip is empty: %q", line)
		}
	}
}

func TestLevel(t *testing.T) {
	for _, c := range []struct {
		v, lo, hi float64
		want      rune
	}{{1, 1, 1, '▅'}, {1, 1, 9, '▁'}, {9, 1, 9, '█'}, {5, 1, 9, '▅'}, {-1e308, -1e308, 1e308, '▁'}, {0, math.Inf(1), math.Inf(-1), '▅'}} {
		if got := level(c.v, [2]float64{c.lo, c.hi}); got != c.want {
			t.Errorf("level of %v in %v to %v: %c, want %c", c.v, c.lo, c.hi, got, c.want)
		}
	}
}

// TestLiveEqualsReport: the numbers of the last frame are those of the report.
func TestLiveEqualsReport(t *testing.T) {
	b := pageFixture(12)
	opts := fixtureOptions(b)
	tables, err := Build(t.Context(), b.rs, opts)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(linesOf(t, liveOf(t, b, 12, len(b.rs), opts), TextOptions{Width: 120}, 0), "\n")
	for i := range tables {
		f := formatOf(&tables[i])
		for j := range tables[i].Rows {
			r := &tables[i].Rows[j]
			want := fmt.Sprintf(`(?m)^%s +%d +%s +%s +%s `, regexp.QuoteMeta(r.Label()), r.Summary.N, f.quantity(r.Summary.Median), f.deviation(r.Summary.SD), percent(r.Summary.CV))
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("the frame lacks %q:\n%s", want, text)
			}
		}
	}
}
