package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// QuantileType names one of the nine sample quantiles of Hyndman and Fan, "Sample
// quantiles in statistical packages", Am. Stat. 50 (1996) 361.
type QuantileType int

// DefaultQuantile is type 7, the default of R, NumPy and spreadsheets.
const DefaultQuantile QuantileType = 7

// Median returns the middle value, or the mean of the two middle ones. It is
// undefined for an empty sample.
func Median(xs []float64) (Value, error) {
	if err := checkFinite(xs); err != nil {
		return Value{}, err
	}
	if len(xs) == 0 {
		return undefined("no observations"), nil
	}
	return defined(medianSorted(sorted(xs))), nil
}

// Quantile returns the sample quantile at p of the given type. It is undefined
// for an empty sample; an unknown type or a p outside [0, 1] is an
// *ArgumentError.
func Quantile(xs []float64, p float64, t QuantileType) (Value, error) {
	if err := checkFinite(xs); err != nil {
		return Value{}, err
	}
	if err := checkProbability("quantile", p); err != nil {
		return Value{}, err
	}
	if t < 1 || t > 9 {
		return Value{}, &ArgumentError{Name: "quantile type", Rule: "1 to 9", Got: float64(t)}
	}
	if len(xs) == 0 {
		return undefined("no observations"), nil
	}
	return defined(quantileSorted(sorted(xs), p, t)), nil
}

// quantileSorted follows Hyndman and Fan: j + γ = np + m, and the quantile is
// (1−γ)x(j) + γx(j+1) with γ made 0, 1/2 or 1 in the discontinuous types 1–3.
func quantileSorted(s []float64, p float64, t QuantileType) float64 {
	n := float64(len(s))
	if t <= 3 {
		return discontinuousQuantile(s, p, t)
	}
	a, b := plottingPosition(t)
	pos := a + p*(n+1-a-b)
	// R's guard: positions that miss an integer by rounding only are on it.
	const fuzz = 4 * 0x1p-52
	j := math.Floor(pos + fuzz)
	g := pos - j
	if math.Abs(g) < fuzz {
		g = 0
	}
	return between(at(s, j), at(s, j+1), g)
}

func discontinuousQuantile(s []float64, p float64, t QuantileType) float64 {
	pos := float64(len(s)) * p
	if t == 3 {
		pos -= 0.5
	}
	const fuzz = 4 * 0x1p-52
	j := math.Floor(pos + fuzz)
	above := pos > j+fuzz
	g := 0.0
	switch {
	case above:
		g = 1
	case t == 2:
		g = 0.5
	case t == 3 && math.Mod(j, 2) != 0:
		g = 1
	}
	return between(at(s, j), at(s, j+1), g)
}

// plottingPosition gives a and b of p(k) = (k − a)/(n + 1 − a − b).
func plottingPosition(t QuantileType) (a, b float64) {
	switch t {
	case 4:
		return 0, 1
	case 5:
		return 0.5, 0.5
	case 6:
		return 0, 0
	case 8:
		return 1. / 3, 1. / 3
	case 9:
		return 3. / 8, 3. / 8
	default:
		return 1, 1
	}
}

// at returns the order statistic j, counted from 1 and clamped to the sample.
func at(s []float64, j float64) float64 {
	return s[int(math.Max(1, math.Min(j, float64(len(s)))))-1]
}

// between interpolates without overflow where lo and hi have opposite signs.
func between(lo, hi, g float64) float64 {
	if g == 0 || lo == hi {
		return lo
	}
	if g == 1 {
		return hi
	}
	return (1-g)*lo + g*hi
}

// medianSorted needs a sorted sample of at least one value. gonum's
// stat.Quantile cannot return the mean of the two middle values.
func medianSorted(s []float64) float64 {
	h := len(s) / 2
	if len(s)%2 == 1 {
		return s[h]
	}
	return mid(s[h-1], s[h])
}

// mid is the mean of two values. The sum comes first, as in R and NumPy, so
// that ties among |x − median| fall as they do there.
func mid(a, b float64) float64 {
	if m := (a + b) / 2; !math.IsInf(m, 0) {
		return m
	}
	return a/2 + b/2
}

func median(xs []float64) float64 { return medianSorted(sorted(xs)) }

// OrderInterval is an exact, distribution-free interval between two order
// statistics. A side that no order statistic bounds has order 0 and an
// undefined Lower or Upper, and Interval.OK is then false.
type OrderInterval struct {
	Interval
	LoOrder, HiOrder int // from 1; 0 where that side is unbounded
	Lower, Upper     Value
	MinN             int // the smallest n at which both sides are bounded
}

// MedianInterval returns the symmetric interval [x(j), x(n+1−j)] of the median
// with the largest j whose binomial coverage is at least conf. Symmetry keeps
// it equivariant when a time is read as a rate, which the shortest interval of
// benchstat is not. Le Boudec, Performance Evaluation (2010), theorem 2.1.
func MedianInterval(xs []float64, conf float64) (OrderInterval, error) {
	return QuantileInterval(xs, 0.5, conf)
}

// QuantileInterval returns the interval [x(l), x(u)] of the quantile p with l
// the largest order for which P(Bin(n,p) ≤ l−1) ≤ (1−conf)/2 and u the
// smallest for which P(Bin(n,p) ≥ u) ≤ (1−conf)/2.
func QuantileInterval(xs []float64, p, conf float64) (OrderInterval, error) {
	if err := checkFinite(xs); err != nil {
		return OrderInterval{}, err
	}
	if err := checkConf(conf); err != nil {
		return OrderInterval{}, err
	}
	if !(p > 0 && p < 1) {
		return OrderInterval{}, &ArgumentError{Name: "quantile", Rule: "between 0 and 1", Got: p}
	}
	return quantileInterval(sorted(xs), p, conf), nil
}

func quantileInterval(s []float64, p, conf float64) OrderInterval {
	n := len(s)
	// Equality must count: 2/2⁵ against 1 − 0.9375 may miss by rounding only.
	tail := (1 - conf) / 2 * (1 + 1e-12)
	ci := OrderInterval{MinN: minOrderN(p, tail)}
	if n > 0 {
		ci.LoOrder, ci.HiOrder = orderBounds(n, p, tail)
	}
	need := fmt.Sprintf("n ≥ %d needed for a %g%% interval", ci.MinN, 100*conf)
	ci.Lower, ci.Upper = undefined("%s", need), undefined("%s", need)
	if ci.LoOrder > 0 {
		ci.Lower = defined(s[ci.LoOrder-1])
	}
	if ci.HiOrder > 0 {
		ci.Upper = defined(s[ci.HiOrder-1])
	}
	if ci.LoOrder == 0 || ci.HiOrder == 0 {
		ci.Interval = noInterval("%s", need)
		return ci
	}
	b := distuv.Binomial{N: float64(n), P: p}
	below := b.CDF(float64(ci.LoOrder - 1))
	above := binomialSurvival(n, p, ci.HiOrder-1)
	ci.Interval = interval(ci.Lower.V, ci.Upper.V, 1-below-above)
	return ci
}

// orderBounds bisects for l and u; the binomial law is monotone in both.
func orderBounds(n int, p, tail float64) (l, u int) {
	b := distuv.Binomial{N: float64(n), P: p}
	lo, hi := 0, n+1 // l == lo satisfies, hi does not
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; b.CDF(float64(mid-1)) <= tail {
			lo = mid
		} else {
			hi = mid
		}
	}
	l = lo
	lo, hi = 0, n+1 // hi satisfies (P(Bin ≥ n+1) = 0), lo does not
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; binomialSurvival(n, p, mid-1) <= tail {
			hi = mid
		} else {
			lo = mid
		}
	}
	if hi <= n {
		u = hi
	}
	return l, u
}

// binomialSurvival is P(Bin(n,p) > k), taken from the mirrored law so that a
// small tail keeps its digits.
func binomialSurvival(n int, p float64, k int) float64 {
	return distuv.Binomial{N: float64(n), P: 1 - p}.CDF(float64(n - k - 1))
}

// minOrderN is the smallest n at which the extremes of the sample bound the
// quantile on both sides.
func minOrderN(p, tail float64) int {
	rare := math.Min(p, 1-p)
	n := math.Ceil(math.Log(tail) / math.Log1p(-rare) * (1 - 1e-12))
	return int(math.Min(math.Max(n, 1), math.MaxInt32))
}
