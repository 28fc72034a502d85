package report

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"goset/harness"
	"goset/isolation"
	"goset/metric"
)

// pageFixture has what a page can show: two workloads, one with iterations and one
// without, three modes of which goset is plainly steadier and higher in rate,
// runs that a counter explains, void runs with and without a value, failed,
// retried and warm-up runs, rotating CPUs, a layer that did not always hold,
// and names that are markup.
func pageFixture(blocks int) *builder {
	b := &builder{}
	rng := rand.New(rand.NewPCG(3, 4))
	time := metric.Metric{Name: "time", Unit: "s/iteration", Show: "ms/iteration", Better: metric.Lower, Shown: true}
	rate := metric.Metric{Name: "rate", Unit: "B/s", Show: "MB/s", Better: metric.Higher, Shown: true}
	wall := metric.Metric{Name: "wall", Unit: "s", Better: metric.Lower}
	modes := []string{"unpinned", "taskset", "goset"}
	var ts []int
	for _, w := range []string{"jitter", "<b>copy</b>"} {
		for _, m := range modes {
			ts = append(ts, b.treat(w, m, ""))
		}
	}
	for i, t := range ts {
		if i < 3 {
			b.run(t, 0, map[string]float64{"time": 0.0061, "wall": 1}, describe(time, wall), func(r *harness.Record) { r.Warmup = true })
		} else {
			b.run(t, 0, map[string]float64{"rate": 9e9, "wall": 1}, describe(rate, wall), func(r *harness.Record) { r.Warmup = true })
		}
	}
	for block := 1; block <= blocks; block++ {
		for place, i := range rng.Perm(len(ts)) {
			mode := modes[i%3]
			scale := map[string]float64{"unpinned": 1, "taskset": 0.9, "goset": 0.2}[mode]
			noise := scale * rng.NormFloat64()
			switches := float64(rng.IntN(4))
			if mode == "unpinned" && block%5 == 0 {
				noise, switches = noise+4, 40+float64(rng.IntN(20))
			}
			values := map[string]float64{"wall": 1.2 + 0.01*rng.NormFloat64()}
			var its []float64
			if i < 3 {
				values["time"] = 0.005 * (1 + 0.01*noise)
				for range 60 {
					its = append(its, values["time"]*(1+0.002*rng.ExpFloat64()))
				}
			} else {
				values["rate"] = 12e9 * (1 - 0.02*noise + map[string]float64{"goset": 0.03}[mode])
			}
			b.run(ts[i], block, values, func(r *harness.Record) {
				r.Position = place + 1
				r.Counters = map[string]float64{"involuntary_switches": switches, "interrupts": float64(200 + rng.IntN(60)), "steal_seconds": 0.001 * rng.Float64()}
				if len(its) > 0 {
					r.Iterations = map[string][]float64{"time": its}
				}
				switch mode {
				case "taskset":
					r.CPUs = fmt.Sprint(block % 4)
					r.Layers = []isolation.LayerState{{Layer: "cpus", Asked: r.CPUs, Achieved: r.CPUs, Held: true}}
				case "goset":
					r.CPUs = "3"
					r.Layers = []isolation.LayerState{{Layer: "cpus", Asked: "3", Achieved: "3", Held: true},
						{Layer: "steer", Asked: "irqs off 3", Achieved: "irqs off 3 but 28", Held: block%7 != 0, Optional: true, Note: "irq 28 is managed"}}
				}
				switch {
				case i == 0 && block == 3:
					void("the CPU's frequency was limited <during> the run")(r)
				case i == 4 && block == 4:
					void(`pattern of metric "rate" matched nothing`)(r)
					r.Values, r.Counters = map[string]float64{}, nil
				case i == 2 && block == 6:
					failed(139, "ended by signal SIGSEGV")(r)
					r.Values = map[string]float64{}
				}
			})
		}
	}
	return b
}

// fixtureManifest gives the fixture's page something to say about where.
func fixtureManifest(b *builder) *harness.Manifest {
	return &harness.Manifest{Name: "fixture", Title: "Three modes & two workloads", Tool: "goset-bench test", Toolchain: "go1.26", Platform: "linux/amd64",
		Text: "title = \"Three modes\"\n[plan]\nruns = 20\n", Argv: []string{"goset-bench", "run", "<x>"}, Seed: 7, Order: harness.OrderShuffled, Baseline: "unpinned",
		Treatments: b.treatments, Host: []byte(`{"kernel":{"release":"6.1.0"},"cpu":{"model":"A Processor"},"mitigations":{"meltdown":"Not affected"}}`)}
}

// buildPage goes from records to a page.
func buildPage(t testing.TB, b *builder, opts Options) (*Page, *Data) {
	t.Helper()
	d, err := Collect(t.Context(), b.rs, opts.Treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := d.Document(opts)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPage(t.Context(), d, doc, b.rs, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}

func htmlOf(t testing.TB, p *Page) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := HTML(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func fixtureOptions(b *builder) Options {
	o := OptionsOf(fixtureManifest(b))
	o.ModeFactors = []string{}
	return o
}

// TestHTMLSelfContained: nothing in the page names another file, and what came
// from outside is no markup.
func TestHTMLSelfContained(t *testing.T) {
	b := pageFixture(20)
	p, _ := buildPage(t, b, fixtureOptions(b))
	text := string(htmlOf(t, p))
	body, _, _ := strings.Cut(text, `<script type="application/octet-stream"`)
	if m := regexp.MustCompile(`(?i)(src|href)\s*=\s*["']?(?:https?:|//|[\w./-]+\.(?:js|css|png))`).FindString(body); m != "" {
		t.Errorf("the page refers to another file: %s", m)
	}
	if regexp.MustCompile(`url\(|@import`).MatchString(text) {
		t.Error("the style refers to another file")
	}
	for _, bad := range []string{"<b>copy</b>", "<during>", "<x>", "NaN", "ZgotmplZ"} {
		if strings.Contains(body, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, good := range []string{"&lt;b&gt;copy&lt;/b&gt;", "goset against unpinned", "steadier", "irq 28 is managed", "SIGSEGV", "host facts", "6.1.0", "Content-Security-Policy"} {
		if good == "host facts" {
			good = "kernel.release"
		}
		if !strings.Contains(body, good) {
			t.Errorf("the page lacks %q", good)
		}
	}
}

// TestHTMLSmall: 0, 1 and 2 runs of one mode, and no metric at all, give a page.
func TestHTMLSmall(t *testing.T) {
	for n := range 3 {
		b := &builder{}
		i := b.treat("w", "a", "")
		for k := range n {
			b.run(i, k+1, map[string]float64{"wall": float64(k + 1)}, describe(metric.Metric{Name: "wall", Unit: "s"}))
		}
		p, _ := buildPage(t, b, Options{Treatments: b.treatments})
		body, _, _ := strings.Cut(string(htmlOf(t, p)), "<script")
		if !strings.Contains(body, "raw-table") || strings.Contains(body, "NaN") {
			t.Errorf("n = %d: the page is\n%s", n, body)
		}
	}
}

// TestHTMLSize holds the page to 2 MB for 10,000 runs that have more metrics
// and counters than it takes, all of them noise, which compresses worst.
func TestHTMLSize(t *testing.T) {
	b := largeFixture(10_000)
	p, _ := buildPage(t, b, Options{Treatments: b.treatments, ModeFactors: []string{}})
	n := 0
	for _, s := range p.Sets {
		n += len(s.Runs)
	}
	if n != 10_000 {
		t.Errorf("the page shows %d runs, want 10000", n)
	}
	if size := len(htmlOf(t, p)); size > 2_000_000 {
		t.Errorf("the page has %d bytes, want at most 2,000,000", size)
	} else {
		t.Logf("the page of 10,000 runs has %d bytes", size)
	}
}

// largeFixture has n runs of 4 workloads under 5 modes with 17 metrics, 60
// iterations and 30 counters each.
func largeFixture(n int) *builder {
	b := &builder{}
	rng := rand.New(rand.NewPCG(5, 6))
	var ts []int
	for w := range 4 {
		for m := range 5 {
			ts = append(ts, b.treat(fmt.Sprint("workload", w), fmt.Sprint("mode", m), ""))
		}
	}
	names := []string{"wall", "user", "sys", "rss", "voluntary", "involuntary", "time"}
	for i := range 10 {
		names = append(names, fmt.Sprint("extra-", i))
	}
	var metrics []metric.Metric
	for _, m := range names {
		metrics = append(metrics, metric.Metric{Name: m, Unit: "s", Better: metric.Lower, Shown: m == "time"})
	}
	for i := range n {
		values := map[string]float64{}
		for _, m := range names {
			values[m] = 1 + rng.Float64()
		}
		its := make([]float64, 60)
		for k := range its {
			its[k] = rng.ExpFloat64()
		}
		b.run(ts[i%len(ts)], i/len(ts)+1, values, describe(metrics...), iterations("time", its), func(r *harness.Record) {
			r.Position, r.CPUs, r.Counters = i%len(ts)+1, fmt.Sprint(rng.IntN(8)), map[string]float64{}
			for c := range 30 {
				v := rng.Float64() // seconds
				if c%2 == 0 {
					v = float64(rng.IntN(1000)) // a count
				}
				r.Counters[fmt.Sprintf("counter_%02d", c)] = v
			}
		})
	}
	return b
}

// TestRunSetsThin: above the limit whole blocks go, the void runs stay, and the
// count of what is left out is right.
func TestRunSetsThin(t *testing.T) {
	b := pageFixture(40)
	opts := fixtureOptions(b)
	d, err := Collect(t.Context(), b.rs, opts.Treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := d.RunSets(t.Context(), b.rs, opts, 100)
	if err != nil {
		t.Fatal(err)
	}
	shown, left, lost := 0, 0, 0
	perBlock := map[int]int{}
	for _, s := range sets {
		left += s.LeftRuns
		for _, r := range s.Runs {
			shown++
			if r.Outcome != harness.Kept {
				lost++
			} else if r.Block > 0 {
				perBlock[r.Block]++
			}
		}
	}
	if shown > 100 || shown < 50 || shown+left != len(b.rs) {
		t.Errorf("%d shown, %d left out, of %d with a limit of 100", shown, left, len(b.rs))
	}
	if lost != 3 {
		t.Errorf("%d void and failed runs are shown, want all 3", lost)
	}
	for block, n := range perBlock {
		if n < 5 {
			t.Errorf("block %d is shown in part: %d runs", block, n)
		}
	}
}

// TestFigure checks boxes and curves against a second computation.
func TestFigure(t *testing.T) {
	b := &builder{}
	i := b.treat("w", "a", "")
	for k, v := range []float64{5, 1, 2, 3, 4, 100, 6, 7} {
		b.run(i, k+1, map[string]float64{"time": v}, describe(metric.Metric{Name: "time", Unit: "s", Shown: true}))
	}
	p, _ := buildPage(t, b, Options{Treatments: b.treatments})
	// Type 7 of 1 2 3 4 5 6 7 100: positions 1.75, 3.5, 5.25.
	box := p.Figures[0].Boxes[0]
	if box.Q1 != 2.75 || box.Median != 4.5 || box.Q3 != 6.25 || box.Low != 1 || box.High != 7 {
		t.Errorf("box %+v", box)
	}
	c := p.Figures[0].Curves[0]
	if c.N != 8 || c.X[0] != 1 || c.P[0] != 0.125 || c.X[7] != 100 || c.P[7] != 1 {
		t.Errorf("curve %+v", c)
	}
}

// TestThinnedCurve: the ends of both tails stay whole, ranks rise, and the
// number of points is bounded.
func TestThinnedCurve(t *testing.T) {
	for _, n := range []int{1, 2, 399, 400, 401, 1000, 1_000_000} {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = float64(i)
		}
		x, p := thinnedCurve(xs, 400)
		if len(x) > 400 || len(x) < min(n, 250) || x[0] != 0 || x[len(x)-1] != float64(n-1) || p[len(p)-1] != 1 {
			t.Errorf("n = %d: %d points from %v to %v", n, len(x), x[0], x[len(x)-1])
		}
		for i := 1; i < len(x); i++ {
			if x[i] <= x[i-1] || p[i] != (x[i]+1)/float64(n) {
				t.Fatalf("n = %d: point %d is (%v, %v) after %v", n, i, x[i], p[i], x[i-1])
			}
		}
		for k := 1; k <= min(n, 5); k++ {
			if x[len(x)-k] != float64(n-k) {
				t.Errorf("n = %d: the %d. largest is %v", n, k, x[len(x)-k])
			}
		}
	}
}

// TestFold: few findings stand all open; of many those that claim nothing are
// folded, and none is lost.
func TestFold(t *testing.T) {
	for _, n := range []int{0, 1, foldAbove, foldAbove + 1, 40} {
		var all []finding
		for i := range n {
			all = append(all, finding{Line: fmt.Sprint(i), Claim: i%5 == 0})
		}
		f := fold(all)
		if len(f.Shown)+len(f.Folded) != n || n <= foldAbove && len(f.Folded) > 0 || slices.ContainsFunc(f.Folded, func(v finding) bool { return v.Claim }) {
			t.Errorf("%d findings: %d shown, %d folded", n, len(f.Shown), len(f.Folded))
		}
	}
}

// TestIsolationRows tells of layers that held and were read back from nobody.
func TestIsolationRows(t *testing.T) {
	b := &builder{}
	m := b.treat("w", "m", "")
	for i := range 3 {
		b.run(m, i, map[string]float64{"wall": 1}, func(r *harness.Record) {
			r.Layers = []isolation.LayerState{{Layer: "thp", Held: true, Unread: i < 2}, {Layer: "aslr", Held: i > 0}}
		})
	}
	d, err := Collect(t.Context(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := d.RunSets(t.Context(), b.rs, Options{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := sets[0].isolationRows()
	if len(rows) != 2 || rows[0].Held != "3 of 3 runs, 2 not read back" || rows[0].Broken || rows[1].Held != "2 of 3 runs" || !rows[1].Broken {
		t.Errorf("rows %+v", rows)
	}
}
