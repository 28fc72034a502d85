package report

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"goset/harness"
	"goset/metric"
)

// crossed has mode m at every combination of levels, n blocks, with values of
// about f times 1%.
func crossed(t *testing.T, n int, factors map[string][]string, order []string, f func(map[string]string) float64) *Document {
	t.Helper()
	b := &builder{}
	combos := [][]harness.Level{nil}
	for _, name := range order {
		var next [][]harness.Level
		for _, c := range combos {
			for _, l := range factors[name] {
				next = append(next, append(append([]harness.Level{}, c...), lv(name, l)))
			}
		}
		combos = next
	}
	for _, c := range combos {
		b.treat("w", "m", "", c...)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for block := range n {
		for i, c := range combos {
			levels := map[string]string{}
			for _, l := range c {
				levels[l.Factor] = l.Value
			}
			b.run(i, block+1, map[string]float64{"time": f(levels) * (1 + 0.01*rng.NormFloat64())}, describe(metric.Metric{Name: "time", Unit: "s", Better: metric.Lower, Shown: true}))
		}
	}
	d, err := Collect(t.Context(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := d.Document(Options{ModeFactors: order, Treatments: b.treatments})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestFlagsCrossed(t *testing.T) {
	flags := map[string][]string{"cgroup": {"false", "true"}, "steer": {"false", "true"}}
	// cgroup costs 10%, steer nothing, both together 5% less than cgroup alone.
	f := func(l map[string]string) float64 {
		v := 1.0
		if l["cgroup"] == "true" {
			v *= 1.1
			if l["steer"] == "true" {
				v *= 0.95
			}
		}
		return v
	}
	doc := crossed(t, 20, flags, []string{"cgroup", "steer"}, f)
	es := doc.Tables[0].Effects
	if len(es) != 3 || es[0].On != "cgroup=true" || es[1].On != "steer=true" || es[2].On != "cgroup=true:steer=true" {
		t.Fatalf("effects %+v", es)
	}
	if !es[0].MedianClaim || es[0].Change.V < 0.06 || es[0].Change.V > 0.09 || !es[2].MedianClaim || es[2].Change.V > 0 {
		t.Errorf("cgroup: %s; both: %s", es[0].Median, es[2].Median)
	}
	for _, e := range es {
		if e.SpreadClaim {
			t.Errorf("%s: %s where the spread is the same", e.On, e.Spread)
		}
	}
	var out bytes.Buffer
	if err := TextDocument(&out, doc, TextOptions{Width: 200}); err != nil || !strings.Contains(out.String(), "m, cgroup=true, median change within rounds: higher median (+") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for n := range 3 {
		for _, e := range crossed(t, n, flags, []string{"cgroup", "steer"}, f).Tables[0].Effects {
			if e.MedianClaim || e.SpreadClaim || !strings.HasPrefix(e.Median, "no claim") {
				t.Errorf("n = %d: %s", n, e.Median)
			}
		}
	}
}

func TestSweep(t *testing.T) {
	levels := map[string][]string{"n": {"8", "1", "2", "4"}} // in no order
	doc := crossed(t, 10, levels, []string{"n"}, func(l map[string]string) float64 {
		var n float64
		fmt.Sscan(l["n"], &n)
		return 1 / n
	})
	ts := doc.Tables[0].Trends
	if len(ts) != 1 || fmt.Sprint(ts[0].Levels) != "[1 2 4 8]" || len(doc.Tables[0].Effects) != 0 {
		t.Fatalf("trends %+v", ts)
	}
	if s := ts[0]; !s.MedianClaim || s.Slope.Slope.V > -0.95 || s.Slope.Slope.V < -1.05 || !strings.HasPrefix(s.Median, "median falls (slope of the logarithms -") {
		t.Errorf("%s", ts[0].Median)
	}
	flat := crossed(t, 10, levels, []string{"n"}, func(map[string]string) float64 { return 1 })
	if s := flat.Tables[0].Trends[0]; s.MedianClaim || s.SpreadClaim {
		t.Errorf("a trend in what is flat: %s; %s", s.Median, s.Spread)
	}
	// Names and lists have no order.
	for _, ls := range [][]string{{"a", "b", "c"}, {"1", "2", "NaN"}, {"1", "2", "Inf"}, {"0", "1", "2"}} {
		if doc := crossed(t, 6, map[string][]string{"n": ls}, []string{"n"}, func(map[string]string) float64 { return 1 }); len(doc.Tables[0].Trends) != 0 {
			t.Errorf("a trend over %q", ls)
		}
	}
}

func TestDrawsAreBounded(t *testing.T) {
	for n, want := range map[int]int{0: 0, 50: 0, 500: 0, 10_000: 5000, 10_000_000: 999} {
		if got := drawsFor(n).Draws; got != want {
			t.Errorf("n = %d: %d draws, want %d", n, got, want)
		}
	}
}
