package metric

import (
	"math"
	"strings"
	"testing"
)

func TestBase(t *testing.T) {
	for _, c := range []struct {
		unit, base string
		factor     float64
		ok         bool
	}{
		{"", "", 1, true},
		{"s", "s", 1, true},
		{"sec", "s", 1, true},
		{"ms", "s", 1e-3, true},
		{"msec", "s", 1e-3, true},
		{"us", "s", 1e-6, true},
		{"\u00b5s", "s", 1e-6, true}, // micro sign
		{"\u03bcs", "s", 1e-6, true}, // Greek mu
		{"ns", "s", 1e-9, true},
		{"ps", "s", 1e-12, true},
		{"min", "s", 60, true},
		{"hours", "s", 3600, true},
		{"ns/op", "s/op", 1e-9, true},
		{"sec/op", "s/op", 1, true},
		{"ms/iteration", "s/iteration", 1e-3, true},
		{"ns/load", "s/load", 1e-9, true},
		{"MB/s", "B/s", 1e6, true},
		{"GB/sec", "B/s", 1e9, true},
		{"MiB/s", "B/s", 1 << 20, true},
		{"KiB", "B", 1024, true},
		{"kB", "B", 1000, true},
		{"KB", "B", 1000, true},
		{"bytes", "B", 1, true},
		{"Mbit/s", "bit/s", 1e6, true},
		{"Gbps", "bit/s", 1e9, true},
		{"MFLOP/s", "FLOP/s", 1e6, true},
		{"GFLOPS", "FLOP/s", 1e9, true},
		{"Gflops", "FLOP/s", 1e9, true},
		{"MFlops/s", "FLOP/s", 1e6, true},
		{"GHz", "Hz", 1e9, true},
		{"mW", "W", 1e-3, true},
		{"MW", "W", 1e6, true},
		{"uJ", "J", 1e-6, true},
		{"Kops/s", "ops/s", 1e3, true},
		{"ops/ms", "ops/s", 1e3, true},
		{"req/min", "req/s", 1. / 60, true},
		{"ns/KiB", "s/B", 1e-9 / 1024, true},
		{"k", "", 1e3, true},
		{"p99-\u00b5s", "p99-s", 1e-6, true},
		{"disk-MB/s", "disk-B/s", 1e6, true},
		{"latency-min", "latency-min", 1, false},
		{"allocs/op", "allocs/op", 1, true},
		// No known word: kept as it is.
		{"M", "M", 1, false},
		{"K", "K", 1, false},
		{"%", "%", 1, false},
		{"err%", "err%", 1, false},
		{"widgets", "widgets", 1, false},
		{"misses", "misses", 1, false},
		{"mops!", "mops!", 1, false},
		{"/", "/", 1, false},
		{strings.Repeat("EB*", 20) + "EB", strings.Repeat("EB*", 20) + "EB", 1, false},
		{"-", "-", 1, false},
	} {
		base, factor, ok := Base(c.unit)
		if base != c.base || math.Abs(factor-c.factor) > 1e-12*c.factor || ok != c.ok {
			t.Errorf("Base(%q) = %q, %g, %v; want %q, %g, %v", c.unit, base, factor, ok, c.base, c.factor, c.ok)
		}
	}
}

// The digits that a program printed are those that CSV shows.
func TestConvertKeepsDigits(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  string
		want  float64
	}{
		{7.621, "ns/op", 7.621e-9},
		{12.5, "ms", 0.0125},
		{0.1, "us", 1e-7},
		{5.05, "ms/iteration", 5.05e-3},
		{1.1, "GB/s", 1.1e9},
		{-3, "ms", -0.003},
		{0, "ns", 0},
	} {
		if got, _, ok := Convert(c.value, c.unit); got != c.want || !ok {
			t.Errorf("Convert(%v, %q) = %v, %v; want %v", c.value, c.unit, got, ok, c.want)
		}
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		values     []float64
		unit, show string
		factor     float64
		label      string
	}{
		{nil, "s", "", 1, "s"},
		{[]float64{0}, "s", "", 1, "s"},
		{[]float64{math.NaN()}, "s", "", 1, "s"},
		{[]float64{math.Inf(1), 0.002}, "s", "", 1e3, "ms"},
		{[]float64{2}, "s", "", 1, "s"},
		{[]float64{5000}, "s", "", 1, "s"},
		{[]float64{0.005, 0.00006}, "s", "", 1e3, "ms"},
		{[]float64{-0.005}, "s", "", 1e3, "ms"},
		{[]float64{2.5e-6}, "s/op", "", 1e6, "\u00b5s/op"},
		{[]float64{2.5e-9}, "s/load", "", 1e9, "ns/load"},
		{[]float64{2.5e-12}, "s", "", 1e9, "ns"},
		{[]float64{0.000999951}, "s", "", 1e3, "ms"},
		{[]float64{0.00099994}, "s", "", 1e6, "\u00b5s"},
		{[]float64{4e10}, "B/s", "MB/s", 1e-6, "MB/s"},
		{[]float64{4e10}, "B/s", "", 1e-9, "GB/s"},
		{[]float64{3 << 20}, "B", "", 1. / (1 << 20), "MiB"},
		{[]float64{512}, "B/op", "", 1, "B/op"},
		{[]float64{18e9}, "FLOP/s", "MFLOP/s", 1e-6, "MFLOP/s"},
		{[]float64{0.005}, "s/iteration", "ms/iteration", 1e3, "ms/iteration"},
		{[]float64{1e9}, "", "", 1, ""},
		{[]float64{1e9}, "allocs/op", "", 1, "allocs/op"},
		{[]float64{45}, "%", "", 1, "%"},
		{[]float64{2.5e-6}, "p99-s", "", 1e6, "p99-\u00b5s"},
		{[]float64{3}, "B", "ms", 1, "B"}, // a show of another quantity is no use
		{[]float64{3}, "widgets", "widgets", 1, "widgets"},
	} {
		factor, label := Scale(c.values, c.unit, c.show)
		if math.Abs(factor-c.factor) > 1e-12*c.factor || label != c.label {
			t.Errorf("Scale(%v, %q, %q) = %g, %q; want %g, %q", c.values, c.unit, c.show, factor, label, c.factor, c.label)
		}
	}
}

func TestScaleKeepsCallersSlice(t *testing.T) {
	v := []float64{3, 1, 2}
	Scale(v, "s", "")
	if v[0] != 3 || v[1] != 1 || v[2] != 2 {
		t.Errorf("Scale changed its argument to %v", v)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", maxName)
	for _, c := range []struct{ name, clean string }{
		{"wall", "wall"},
		{"p99 latency", "p99 latency"},
		{`Names/quote"q" ns/op`, `Names/quote"q" ns/op`},
		{"Names/µs-Ω-日本", "Names/µs-Ω-日本"},
		{long, long},
		{"", "_"},
		{" ", "_"},
		{"a  b", "a b"},
		{" a\n", "a"},
		{"a\tb", "a b"},
		{"a\x00b", "a?b"},
		{"a\xffb", "a?b"},
		{"=cmd()", "_=cmd()"},
		{"-x", "_-x"},
		{" @x", "_@x"},
	} {
		if got := CleanName(c.name); got != c.clean {
			t.Errorf("CleanName(%q) = %q, want %q", c.name, got, c.clean)
		}
		if err := CheckName(c.name); (err == nil) != (c.name == c.clean && c.name != "") {
			t.Errorf("CheckName(%q) = %v", c.name, err)
		}
	}
	a, b := CleanName(long+"a"), CleanName(long+"b")
	if a == b || len(a) > maxName {
		t.Errorf("long names became %q and %q", a, b)
	}
}

func FuzzBase(f *testing.F) {
	for _, s := range []string{"", "ms", "MB/s", "p99-µs", "k/k/k", "s*s", "//", "KiB/ms"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, unit string) {
		base, factor, ok := Base(unit)
		if !ok && (base != unit || factor != 1) {
			t.Fatalf("Base(%q) = %q, %g, not ok", unit, base, factor)
		}
		if !(factor > 0 && factor <= math.MaxFloat64) {
			t.Fatalf("Base(%q) has factor %g", unit, factor)
		}
		scale, label := Scale([]float64{1.5}, unit, "")
		if scale <= 0 || strings.Count(label, "/") != strings.Count(unit, "/") {
			t.Fatalf("Scale of %q = %g, %q", unit, scale, label)
		}
	})
}

func FuzzCleanName(f *testing.F) {
	for _, s := range []string{"", "a b", "=x", "\xff", strings.Repeat("é", 150), "a\u2028b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := CheckName(CleanName(s)); err != nil {
			t.Fatalf("CleanName(%q): %v", s, err)
		}
	})
}
