package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// TestForestCell: better is to the left, whichever way the metric goes; what
// lies beyond the track is marked; what is absent has no mark.
func TestForestCell(t *testing.T) {
	scale := forestScale{math.Log(4)}
	of := func(v, lo, hi float64) *Estimate {
		return &Estimate{Value: stats.Value{V: v, OK: true}, Interval: stats.Interval{Lo: lo, Hi: hi, OK: true}}
	}
	for _, c := range []struct {
		e                  *Estimate
		mirror             bool
		point, left, width float64
		over               [2]bool
	}{
		{of(1, 0.5, 2), false, 50, 25, 50, [2]bool{}},
		{of(2, 1, 4), false, 75, 50, 50, [2]bool{}},
		{of(2, 1, 4), true, 25, 0, 50, [2]bool{}},
		{of(0.5, 0.01, 1), false, 25, 0, 50, [2]bool{true, false}},
		{of(0.5, 0.01, 1), true, 75, 50, 50, [2]bool{false, true}},
		{of(2, 0, math.Inf(1)), false, 75, 0, 100, [2]bool{true, true}},
	} {
		var cell forestCell
		cell.draw(c.e, scale, c.mirror)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !near(cell.Point, c.point) || !near(cell.Left, c.left) || !near(cell.Width, c.width) || cell.OverLeft != c.over[0] || cell.OverRight != c.over[1] {
			t.Errorf("%+v, mirror %v: %+v", c.e, c.mirror, cell)
		}
	}
	var none forestCell
	none.draw(&Estimate{}, scale, false)
	none.draw(of(-1, -2, 0), scale, false)
	if none.HasBar || none.HasPoint {
		t.Errorf("nothing to draw, and drawn: %+v", none)
	}
}

// TestForestWords: the words of what is not resolved follow its interval.
func TestForestWords(t *testing.T) {
	settle := func(control, blocked, either, near bool, needs stats.Value) string {
		c := forestCell{Class: "open", Word: string(stats.NotResolved)}
		k := &Contrast{Control: control}
		k.N, k.M, k.Blocked = 10, 10, blocked
		c.settle(k, needs, either, near)
		return c.Class + " " + c.Word
	}
	for i, c := range []struct{ got, want string }{
		{settle(false, true, true, false, found(75)), "open either way; ~75 rounds"},
		{settle(false, false, true, false, found(75)), "open either way; ~75 runs"},
		{settle(false, true, true, false, found(330469)), "open either way; > 1000 rounds"},
		{settle(false, true, true, false, found(8)), "open either way"},
		{settle(false, true, false, false, stats.Value{}), "open not resolved"},
		{settle(true, true, true, false, found(75)), "open no difference, as due"},
		{settle(true, true, false, true, found(75)), "hint came near"},
	} {
		if c.got != c.want {
			t.Errorf("%d: %q, want %q", i, c.got, c.want)
		}
	}
}

// TestForestFolds: a few tables stand open, of many the rest is folded and none
// is lost; those that assert something come first.
func TestForestFolds(t *testing.T) {
	b := &builder{}
	m := metric.Metric{Name: "time", Unit: "s", Better: metric.Lower, Shown: true}
	for w := range 12 {
		for i, mode := range []string{"base", "x", "y"} {
			tr := b.treat(fmt.Sprint("w", w), mode, "")
			for block := range 10 {
				v := 1 + 0.001*float64((block*7+3*i)%10)
				if w == 11 && mode == "x" {
					v *= 0.5
				}
				b.run(tr, block+1, map[string]float64{"time": v}, describe(m))
			}
		}
	}
	p, _ := buildPage(t, b, Options{Treatments: b.treatments, Baseline: "base", ModeFactors: []string{}})
	f := p.newForest()
	rows := 0
	for _, g := range append(f.Shown, f.Folded...) {
		rows += len(g.Rows)
	}
	if f.Count != 24 || rows != 24 || len(f.Folded) == 0 || f.FoldedRows > 24-2 || f.Shown[0].Name != "w11: time" {
		t.Errorf("%d rows, %d listed, %d folded; first %q", f.Count, rows, f.FoldedRows, f.Shown[0].Name)
	}
	claims, open := f.inWords()
	if len(claims) != 1 || len(open) != 23 || claims[0].Median.Class != "gain" {
		t.Errorf("%d claims and %d others in words: %+v", len(claims), len(open), claims)
	}
	if f := (&Page{Document: &Document{}}).newForest(); f.Count != 0 {
		t.Errorf("of nothing: %+v", f)
	}
}

// TestDescribe: a few words for every mode and workload, none where the text
// cannot be read.
func TestDescribe(t *testing.T) {
	m := fixtureManifest(&builder{})
	m.Baseline, m.Text = "a", `[plan]
runs = 10
baseline = "a"
[workload.w]
kernel = "chase"
[workload.v]
command = ["./task", "--fast"]
[workload.v.metric.time]
pattern = '(\d+)'
unit = "s"
[mode.a]
[mode.b]
cpus = "quietest"
steer = true
fence = [false, true]
`
	ws, ms := describeExperiment(m)
	want := "[{w dependent loads in random order: the latency of where they are served from (a ring of 192 KiB is in a level that cannot be told: the caches are not known here)} {v runs ./task --fast}] " +
		"[{a as the scheduler places it (the baseline)} {b pinned to the CPUs that a sample shows as quietest, device interrupts off them, fence = false or true}]"
	if got := fmt.Sprint(ws, " ", ms); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	sentence := "Modes: a: as the scheduler places it (the baseline); b: pinned to the CPUs that a sample shows as quietest, device interrupts off them, fence = false or true."
	if got := modesOf(m); got != sentence {
		t.Errorf("got  %s\nwant %s", got, sentence)
	}
	m.Host = json.RawMessage(`{"topology": {"caches": [{"level": 2, "type": "Unified", "bytes": 1048576, "count": 2}]}}`)
	m.Text = "[workload.w]\nkernel = \"chase\"\nkib = [192, 1025]\n[mode.a]\n"
	ws, _ = describeExperiment(m)
	want = "[{w dependent loads in random order: the latency of where they are served from (a ring of 192 KiB is in L2 (1 MiB); a ring of 1.001 MiB is beyond L2 (1 MiB): partly in memory)}]"
	if got := fmt.Sprint(ws); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := modesOf(m); got != "" {
		t.Errorf("one mode that does nothing: %q", got)
	}
	for _, text := range []string{"", "no = experiment", "["} {
		m.Text = text
		if got := modesOf(m); got != "" {
			t.Errorf("%q has modes: %s", text, got)
		}
		if ws, ms := describeExperiment(m); ws != nil || ms != nil {
			t.Errorf("%q is described as %v, %v", text, ws, ms)
		}
	}
}

func TestModeWords(t *testing.T) {
	for _, c := range []struct{ mode, want string }{
		{"", "as the scheduler places it"},
		{"n = 1", "as the scheduler places it"},
		{"n = [1, 2]", "as the scheduler places it, n = 1 or 2"},
		{"nice = -5", "as the scheduler places it, nice = -5"},
		{"cpus = 2\nn = 1", "pinned to CPU 2, one CPU"},
		{"cpus = \"rotate\"\nn = [1, 2]", "pinned to CPUs that rotate from run to run, 1 or 2 CPUs"},
		{"fence = false\ncpus = \"quietest\"", "pinned to the CPUs that a sample shows as quietest"},
		{"wrap = [\"env\", \"X=1\"]", "as the scheduler places it, inside env X=1"},
	} {
		e, err := harness.Load("x.toml", []byte("[workload.w]\ncommand = [\"true\"]\n[mode.m]\n"+c.mode+"\n"), harness.LoadOptions{})
		if err != nil {
			t.Errorf("%q: %v", c.mode, err)
			continue
		}
		if got := ModeWords(&e.Modes[0]); got != c.want {
			t.Errorf("%q: %q, want %q", c.mode, got, c.want)
		}
	}
}

// TestMerged: texts that differ in their numbers alone are one.
func TestMerged(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want string
	}{
		{nil, ""},
		{[]string{"off 0"}, "off 0"},
		{[]string{"off 0: applied 9", "off 1: applied 10", "off 1: applied 7", "…"}, "off 0 to 1: applied 7 to 10"},
		{[]string{"0", "on 1"}, "0; on 1"},
		{[]string{"a", "a 1"}, "a; a 1"},
		{[]string{"99999999999999999999", "100000000000000000000"}, "99999999999999999999 to 100000000000000000000"},
	} {
		if got := merged(c.in); got != c.want {
			t.Errorf("merged(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// TestColoursOfModes: a mode has one colour: in the forest, in the legends, and
// in the plot files the one that the page has by day.
func TestColoursOfModes(t *testing.T) {
	p, _ := buildPage(t, compared{n: 6, scale: 1}.build(), Options{Baseline: "unpinned", ModeFactors: []string{}})
	f := p.newForest()
	of := p.colours()
	rows := 0
	for _, g := range slices.Concat(f.Shown, f.Folded) {
		for _, r := range g.Rows {
			rows++
			if want := of[r.Mode]; r.Colour != want || r.Spread.Colour != want || r.Median.Colour != want {
				t.Errorf("%s: %s has the colours %d, %d and %d, want %d", g.Name, r.Mode, r.Colour, r.Spread.Colour, r.Median.Colour, want)
			}
		}
	}
	if rows != 6 {
		t.Errorf("%d rows, want 3 for each of 2 workloads", rows)
	}
	if f.Against != "against unpinned, 6 rounds" || f.Change != "median change within rounds" {
		t.Errorf("the forest is %q, of the %q", f.Against, f.Change)
	}
	for i := range palette {
		k := &sketch{f: &Figure{Set: &RunSet{Rows: []string{"m"}}}, colours: map[string]int{"m": i}}
		c := k.colour(0)
		if want := fmt.Sprintf("--c%d: light-dark(#%02x%02x%02x,", i, c.R, c.G, c.B); !strings.Contains(pageCSS, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
