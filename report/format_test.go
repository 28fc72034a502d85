package report

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"goset/internal/texttab"
	"goset/metric"
	"goset/stats"
)

func oneRow(median, sd float64) *Table {
	v := func(x float64) stats.Value { return stats.Value{V: x, OK: true} }
	return &Table{Metric: metric.Metric{Name: "t", Unit: "s", Show: "ms"}, Rows: []Row{{Mode: "m", Summary: stats.Summary{N: 10, Median: v(median), SD: v(sd), Min: v(median), Max: v(median)}}}}
}

// TestDigits: every sd has at least three significant digits, every median too.
func TestDigits(t *testing.T) {
	for _, median := range []float64{1e-9, 0.005, 1, 12345.678, 1e12} {
		for _, rel := range []float64{1e-9, 1e-4, 0.01, 1} {
			tb := oneRow(median, median*rel)
			f := formatOf(tb)
			s := &tb.Rows[0].Summary
			for what, got := range map[string]string{"sd": f.deviation(s.SD), "median": f.quantity(s.Median)} {
				mantissa, _, _ := strings.Cut(got, "e")
				if digits := strings.TrimLeft(strings.ReplaceAll(mantissa, ".", ""), "0-"); len(digits) < 3 {
					t.Errorf("median %g, sd %g: %s is written %q", median, median*rel, what, got)
				}
				if len(got) > 14 {
					t.Errorf("median %g, sd %g: %s is written %q, too long to read", median, median*rel, what, got)
				}
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	v := func(x float64) stats.Value { return stats.Value{V: x, OK: true} }
	no := stats.Value{Why: "n ≥ 2 needed"}
	for _, tc := range []struct{ got, want string }{
		{percent(v(0)), "0%"}, {percent(v(0.0123456)), "1.23%"}, {percent(v(1.5)), "150%"}, {percent(v(1e-7)), "1.0e-05%"}, {percent(no), "-"},
		{times(v(1)), "1.000"}, {times(v(0.98765)), "0.988"}, {times(v(12.345)), "12.3"}, {times(v(0.0123)), "0.0123"}, {times(v(1234.5)), "1234"}, {times(no), "-"},
		{plain(-0.0001, 2), "0.00"}, {plain(1e20, 0), "1.0000e+20"},
		{format{factor: 1}.interval(stats.Interval{Why: "n ≥ 6 needed for a 95% interval"}), "n ≥ 6 needed"},
		{format{factor: 1}.interval(stats.Interval{Why: "no observations"}), "-"},
		{format{factor: 1, decimals: 1}.interval(stats.Interval{Lo: -1, Hi: 2, OK: true}), "-1.0 to 2.0"},
		{exact(0.1), "0.1"}, {exact(1e21), "1e+21"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}

// TestWidth: no line is wider than asked, whatever the labels and numbers.
func TestWidth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b := &builder{}
		scale := math.Pow(10, float64(rng.IntN(24)-12))
		for m := range 3 {
			mode := strings.Repeat([]string{"x", "größe ", "測"}[rng.IntN(3)], 1+rng.IntN(30))
			u := b.treat("workload", strings.TrimSpace(mode), "", lv("n", strings.Repeat("1", 1+rng.IntN(9))))
			for i := range rng.IntN(9) {
				x := scale * (1 + rng.ExpFloat64()*math.Pow(10, float64(-rng.IntN(9))))
				b.run(u, i, map[string]float64{"wall": x}, iterations("wall", []float64{x}), on(strings.Repeat("1", 1+m*40)))
				b.run(u, i, nil, void(strings.Repeat("why ", rng.IntN(60))))
			}
		}
		width := 60 + rng.IntN(60)
		var out bytes.Buffer
		if err := Text(&out, build(t, b.rs, Options{}), TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			if w := texttab.Width(strings.TrimSuffix(l, "\n")); w > width {
				t.Fatalf("line of %d columns, want at most %d:\n%s", w, width, out.String())
			}
		}
	}
}

// No finite number is printed as an infinity, and none that is not zero as
// zero where all its decimals are shown.
func TestExtremesStayNumbers(t *testing.T) {
	for _, v := range []float64{5e-324, 3.5e-320, 1e-307, 1e-30, 1, 1e30, 1e308, math.MaxFloat64, -math.MaxFloat64, -5e-324} {
		xs := []float64{v, v, v}
		s, err := stats.Summarize(xs)
		if err != nil {
			t.Fatal(err)
		}
		table := Table{Metric: metric.Metric{Name: "v"}, Rows: []Row{{Summary: s}}}
		f := formatOf(&table)
		got := f.quantity(s.Median)
		if strings.Contains(got, "Inf") || strings.Trim(got, "-0.") == "" {
			t.Errorf("%g is printed as %s %s", v, got, f.unit)
		}
	}
}

// TestDigitsOfIntervals: medians have the digits that the narrowest interval of
// the table supports, and tails of iterations five.
func TestDigitsOfIntervals(t *testing.T) {
	of := func(half, far float64) format {
		tb := oneRow(3.3645e-3, 5.02e-5)
		r := &tb.Rows[0]
		if half >= 0 {
			r.Summary.MedianCI = stats.Interval{Lo: 3.3645e-3 - half, Hi: 3.3645e-3 + half, OK: true}
		}
		if far > 0 {
			r.Iterations.P999 = stats.Value{V: far, OK: true}
		}
		return formatOf(tb)
	}
	median := stats.Value{V: 3.3645e-3, OK: true}
	for _, tc := range []struct {
		half float64
		want string
	}{
		{-1, "3.3645"},      // no interval: as the sd
		{0, "3.3645"},       // of no width
		{0.067e-3, "3.365"}, // 0.067 has two digits in the third decimal
		{0.0067e-3, "3.3645"},
		{2e-3, "3.36"}, // never fewer than three
	} {
		if got := of(tc.half, 0).quantity(median); got != tc.want {
			t.Errorf("half of the interval %g: %s, want %s", tc.half, got, tc.want)
		}
	}
	if got := of(-1, 0.16459412).quantile(stats.Value{V: 0.043638211, OK: true}); got != "43.64" {
		t.Errorf("a tail beside 164.59 is written %s", got)
	}
}
