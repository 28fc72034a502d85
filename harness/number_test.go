package harness

import (
	"math"
	"strings"
	"testing"
)

func TestParseNumber(t *testing.T) {
	for _, c := range []struct {
		text  string
		value float64
		unit  string
	}{
		{"0", 0, ""},
		{"-0", math.Copysign(0, -1), ""},
		{"1", 1, ""},
		{" 12.5\n", 12.5, ""},
		{".5", 0.5, ""},
		{"5.", 5, ""},
		{"+3", 3, ""},
		{"-3e-7", -3e-7, ""},
		{"\u22123", -3, ""},
		{"1E3", 1000, ""},
		{"1e+3ms", 1000, "ms"},
		{"12e", 12, "e"},
		{"007", 7, ""},
		{"12.5ms", 12.5, "ms"},
		{"12.5 ms", 12.5, "ms"},
		{"3.1GB/s", 3.1, "GB/s"},
		{"45%", 45, "%"},
		{"7\u00b5s", 7, "\u00b5s"},
		{"7\u03bcs", 7, "\u03bcs"},
		{"20°C", 20, "°C"},
		{"1.5x", 1.5, "x"},
		{"0m1.234s", 1.234, "s"},
		{"1h2m3.5s", 3723.5, "s"},
		{"-1m30s", -90, "s"},
		{"12m", 12, "m"}, // minutes or metres: the unit decides, not we
		{"9007199254740993", 9007199254740992, ""},
		{"1" + strings.Repeat("0", 400) + "e-400", 1, ""},
		{"0e-999", 0, ""},
	} {
		v, unit, err := parseNumber(c.text)
		if err != nil || v != c.value || unit != c.unit {
			t.Errorf("parseNumber(%q) = %v, %q, %v; want %v, %q", c.text, v, unit, err, c.value, c.unit)
		}
	}
}

func TestParseNumberRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "not a number"},
		{" ", "not a number"},
		{".", "not a number"},
		{"-", "not a number"},
		{"e5", "not a number"},
		{"ms", "not a number"},
		{"--5", "not a number"},
		{"1,234,567", "thousands separator or a decimal comma"},
		{"3,14", "thousands separator or a decimal comma"},
		{"1.234,56", "thousands separator or a decimal comma"},
		{"1'234", "thousands separator"},
		{"1\u2019234", "thousands separator"},
		{"1 234", "thousands separator"},
		{"1\u00a0234", "thousands separator"},
		{"1\u202f234 ms", "thousands separator"},
		{"1_234", "thousands separator"},
		{"1.2.3", "more than one decimal point"},
		{"0x1F", "hexadecimal"},
		{"-0xf", "hexadecimal"},
		{"12:34", "follows it"},
		{"12ms!", "follows it"},
		{"12 of 13", "follows it"},
		{"12ms3", "follows it"},
		{"64-bit", "follows it"},
		{"NaN", "printed NaN"},
		{"-nan", "printed NaN"},
		{"-nan(ind)", "printed NaN"},
		{"nan%", "printed NaN"},
		{"NaN ms", "printed NaN"},
		{"1.#QNAN", "printed NaN"},
		{"Inf", "printed Inf"},
		{"-inf", "printed Inf"},
		{"+Infinity", "printed Inf"},
		{"∞", "printed Inf"},
		{"1.#INF", "printed Inf"},
		{"1e309", "outside the range"},
		{"-1e999999999999", "outside the range"},
		{"1e-999", "outside the range"},
		{"9" + strings.Repeat("0", 400), "outside the range"},
	} {
		v, unit, err := parseNumber(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("parseNumber(%q) = %v, %q, %v; want an error with %q", c.text, v, unit, err, c.want)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("parseNumber(%.20q...): message of %d bytes", c.text, len(err.Error()))
		}
	}
}

func TestInBase(t *testing.T) {
	for _, c := range []struct {
		text, declared string
		value          float64
		base, err      string
	}{
		{"12.5", "ms", 0.0125, "s", ""},
		{"12.5ms", "", 0.0125, "s", ""},
		{"12.5ms", "s", 0.0125, "s", ""},
		{"12.5ms", "ms", 0.0125, "s", ""},
		{"1m30s", "ms", 90, "s", ""},
		{"3.1GB/s", "MB/s", 3.1e9, "B/s", ""},
		{"45%", "%", 45, "%", ""},
		{"45", "", 45, "", ""},
		{"7", "widgets", 7, "widgets", ""},
		{"12.5ms", "B", 0, "", "not the declared"},
		{"12M", "B", 0, "", "not the declared"}, // 10^6 or 2^20?
		{"1e308", "GB", 0, "", "outside the range"},
		{"1e-320", "ns", 0, "", "outside the range"},
		{"x", "s", 0, "", "not a number"},
	} {
		v, base, err := inBase(c.text, c.declared)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("inBase(%q, %q) = %v, %q, %v; want an error with %q", c.text, c.declared, v, base, err, c.err)
			}
			continue
		}
		if err != nil || v != c.value || base != c.base {
			t.Errorf("inBase(%q, %q) = %v, %q, %v; want %v, %q", c.text, c.declared, v, base, err, c.value, c.base)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{3, 1}, 2},
		{[]float64{3, 1, 2}, 2},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
	} {
		given := append([]float64(nil), c.values...)
		if got := median(given); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
		for i := range given {
			if given[i] != c.values[i] {
				t.Errorf("median reordered its argument to %v", given)
			}
		}
	}
}

func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"", "12.5ms", "1,234", "NaN", "1e999", "-1h2m3s", "0x1", "\u22125 %", "1\u00a0234", "1e-999", "5\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, unit, err := parseNumber(text)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("parseNumber(%q) = %v", text, v)
		}
		if err != nil && (v != 0 || unit != "") {
			t.Fatalf("parseNumber(%q) = %v, %q beside the error %v", text, v, unit, err)
		}
		if err == nil && v == 0 && strings.ContainsAny(strings.TrimSuffix(text, unit), "123456789") && !strings.ContainsAny(text, "eEhms") {
			t.Fatalf("parseNumber(%q) = 0", text)
		}
		for _, declared := range []string{"", "ms", "GB/s"} {
			if v, _, err := inBase(text, declared); math.IsNaN(v) || math.IsInf(v, 0) || err != nil && v != 0 {
				t.Fatalf("inBase(%q, %q) = %v, %v", text, declared, v, err)
			}
		}
	})
}
