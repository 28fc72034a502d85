package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// moments of a sample. Constant samples have exactly zero spread, whatever
// rounding makes of their sum.
type moments struct {
	n    int
	mean float64
	sd   Value // undefined for n < 2
	// constant says min == max.
	constant bool
}

// momentsOf needs at least one value.
func momentsOf(xs []float64) moments {
	n := len(xs)
	m := moments{n: n, mean: xs[0], constant: isConstant(xs)}
	switch {
	case n < 2:
		m.sd = undefined("n ≥ 2 needed")
	case m.constant:
		m.sd = defined(0)
	default:
		// A power of two scales exactly and keeps squares and fourth powers
		// of very large or very small values inside the floating-point range.
		z, e := scaled(xs)
		mean, sd := stat.MeanStdDev(z, nil)
		m.mean = math.Ldexp(mean, e)
		m.sd = defined(math.Ldexp(sd, e))
	}
	return m
}

// scaled returns xs·2^−e with e chosen such that the largest |x| is about 1.
// In the usual range e is 0 and xs itself comes back.
func scaled(xs []float64) (z []float64, e int) {
	_, e = math.Frexp(maxAbs(xs))
	if e > -200 && e < 200 {
		return xs, 0
	}
	z = make([]float64, len(xs))
	for i, x := range xs {
		z[i] = math.Ldexp(x, -e)
	}
	return z, e
}

// meanOf does not overflow where the mean itself is finite.
func meanOf(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	m := stat.Mean(xs, nil)
	if math.IsInf(m, 0) || math.IsNaN(m) {
		m = 0
		for i, x := range xs {
			m += (x - m) / float64(i+1)
		}
	}
	return m
}
