package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSummarizeSmall(t *testing.T) {
	tests := []struct {
		name   string
		xs     []float64
		median Value
		sd     string // reason, or "" where defined
		cv     string
		spread string
		ci     string
	}{
		{"none", nil, undefined("no observations"), "no observations", "no observations", "no observations", "no observations"},
		{"one", []float64{3.3}, defined(3.3), "n ≥ 2 needed", "n ≥ 2 needed", "", "n ≥ 6 needed for a 95% interval"},
		{"two", []float64{2, 1}, defined(1.5), "", "", "", "n ≥ 6 needed for a 95% interval"},
		{"constant", []float64{4, 4, 4, 4, 4, 4, 4}, defined(4), "", "", "", "deterministic (n = 7): all values equal"},
		{"around zero", []float64{-1, 0, 1}, defined(0), "", "mean ≤ 0", "median ≤ 0", "n ≥ 6 needed for a 95% interval"},
		{"negative", []float64{-3, -2, -1, -4, -5, -6}, defined(-3.5), "", "mean ≤ 0", "median ≤ 0", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := Summarize(test.xs)
			if err != nil {
				t.Fatal(err)
			}
			if s.N != len(test.xs) || s.Median != test.median {
				t.Errorf("n, median = %d, %+v, want %d, %+v", s.N, s.Median, len(test.xs), test.median)
			}
			for what, got := range map[string][2]string{
				"sd": {s.SD.Why, test.sd}, "cv": {s.CV.Why, test.cv}, "spread": {s.Spread.Why, test.spread}, "median interval": {s.MedianCI.Why, test.ci},
			} {
				if got[0] != got[1] {
					t.Errorf("%s: reason %q, want %q", what, got[0], got[1])
				}
			}
		})
	}
}

func TestSummarizeRefusesNonFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := Summarize([]float64{1, 2, bad})
		var ve *ValueError
		if !errors.As(err, &ve) || ve.Index != 2 {
			t.Errorf("Summarize with %v: error %v, want a ValueError at 2", bad, err)
		}
	}
}

func TestSummarizeKeepsOrder(t *testing.T) {
	xs := []float64{3, 1, 2, 9, 5, 7}
	before := slices.Clone(xs)
	if _, err := Summarize(xs); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(xs, before) {
		t.Errorf("sample was reordered: %v", xs)
	}
}

func TestConstantHasNoRounding(t *testing.T) {
	xs := slices.Repeat([]float64{0.1}, 10) // ten times 0.1 does not sum to 1
	s, err := Summarize(xs)
	if err != nil {
		t.Fatal(err)
	}
	if s.SD.V != 0 || s.Mean.V != 0.1 || !s.Deterministic {
		t.Errorf("mean, sd, deterministic = %v, %v, %v", s.Mean.V, s.SD.V, s.Deterministic)
	}
}

func TestExtremeMagnitudes(t *testing.T) {
	base := []float64{1, 1.25, 1.5, 1.125, 2, 1.75}
	want, err := Summarize(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []int{-1020, -300, 300, 1020} {
		xs := make([]float64, len(base))
		for i, x := range base {
			xs[i] = math.Ldexp(x, e)
		}
		got, err := Summarize(xs)
		if err != nil {
			t.Fatal(err)
		}
		for what, pair := range map[string][2]float64{
			"sd": {got.SD.V, math.Ldexp(want.SD.V, e)}, "sd lo": {got.SDCI.Lo, math.Ldexp(want.SDCI.Lo, e)},
			"cv": {got.CV.V, want.CV.V}, "spread": {got.Spread.V, want.Spread.V}, "kurtosis": {got.Kurtosis.V, want.Kurtosis.V},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9*math.Abs(pair[1]) {
				t.Errorf("scaled by 2^%d: %s = %v, want %v", e, what, pair[0], pair[1])
			}
		}
	}
}

func BenchmarkSummarizeMillion(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	xs := make([]float64, 1_000_000)
	for i := range xs {
		xs[i] = math.Exp(r.NormFloat64())
	}
	for b.Loop() {
		if _, err := Summarize(xs); err != nil {
			b.Fatal(err)
		}
	}
}
