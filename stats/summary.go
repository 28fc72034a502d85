package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Level is the confidence level of intervals and 1 − the level of tests where
// nothing else is asked.
const Level = 0.95

// Value is a number that may be undefined. Undefined is not zero and never
// NaN: Why says in words what was missing.
type Value struct {
	V   float64
	OK  bool
	Why string
}

// Interval is a confidence interval with the coverage that it reaches, which
// for order statistics differs from the level that was asked for. OK is false
// where no such interval exists; Why then says what would be needed, as in
// "n ≥ 6 needed".
type Interval struct {
	Lo, Hi   float64
	Coverage float64
	OK       bool
	Why      string
}

// Excludes says whether the interval exists and does not hold v.
func (i Interval) Excludes(v float64) bool { return i.OK && (v < i.Lo || v > i.Hi) }

// SampleQuantile is a type-7 quantile with its exact order-statistic interval.
type SampleQuantile struct {
	P     float64
	Value Value
	CI    OrderInterval
}

// Summary describes one sample, given in time order.
type Summary struct {
	N                int
	Mean, Median     Value
	SD, CV, MAD, AAD Value // MAD is unscaled; AAD is the mean |x − median|
	Min, Max, Spread Value // Spread is (max − min)/median
	MedianCI, SDCI   Interval

	Geomean   Value // undefined unless all values are positive
	Range     Value // max − min
	IQR       Value // of type-7 quartiles
	MADSigma  Value // 1.4826 × MAD, comparable with SD under a normal law
	Kurtosis  Value // Bonett's, about the trimmed mean; 3 under a normal law
	Quantiles []SampleQuantile
	// Deterministic says that two or more values are all equal: there is no
	// spread to speak of, and no interval is meant.
	Deterministic bool
	Tied          float64 // fraction of the values that equal another one
	NonPositive   int     // values ≤ 0, which have no logarithm
	Outliers      Outliers
	Drift         Trend // over the run index; its slope up to n = 200, above that see the function Drift
	ACF           Autocorrelation

	Warnings []string
}

// summaryQuantiles are the quantiles that a Summary holds, where n allows.
func summaryQuantiles() []float64 { return []float64{0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99} }

// maxDrift bounds the sample size up to which Summarize looks for drift: run
// values are few, and a million iterations need not be ranked for a warning.
const maxDrift = 2000

// maxSlope bounds the sample size up to which Summarize gives the slope of the
// drift too, for which every pair of runs is looked at.
const maxSlope = 200

// madSigma makes the MAD consistent for the sd of a normal law: 1/Φ⁻¹(3/4).
const madSigma = 1.482602218505602

// Summarize describes xs, in time order, at the 95% level. Samples of any
// size have a Summary; what is undefined at that size says why. A NaN or
// infinite value is a *ValueError.
func Summarize(xs []float64) (Summary, error) {
	if err := checkFinite(xs); err != nil {
		return Summary{}, err
	}
	if len(xs) == 0 {
		return emptySummary(), nil
	}
	s := sorted(xs)
	sum := Summary{N: len(xs)}
	sum.locate(s)
	sum.disperse(xs, s)
	sum.doubt(xs, s)
	sum.warn()
	return sum, nil
}

func emptySummary() Summary {
	none := undefined("no observations")
	gap := noInterval("no observations")
	s := Summary{Mean: none, Median: none, SD: none, CV: none, MAD: none, AAD: none, Min: none, Max: none,
		Spread: none, MedianCI: gap, SDCI: gap, Geomean: none, Range: none, IQR: none, MADSigma: none, Kurtosis: none,
		Warnings: []string{"no observations"}}
	s.Outliers = Outliers{LoFence: none, HiFence: none, ModifiedZ: none}
	s.Drift = noTrend("no observations")
	s.ACF = noACF("no observations")
	for _, p := range summaryQuantiles() {
		s.Quantiles = append(s.Quantiles, SampleQuantile{P: p, Value: none, CI: quantileInterval(nil, p, Level)})
	}
	return s
}

// locate fills in the centre and the order statistics.
func (sum *Summary) locate(s []float64) {
	n := len(s)
	sum.Min, sum.Max = defined(s[0]), defined(s[n-1])
	sum.Range = defined(s[n-1] - s[0])
	sum.Median = defined(medianSorted(s))
	sum.MedianCI = quantileInterval(s, 0.5, Level).Interval
	sum.IQR = defined(quantileSorted(s, 0.75, 7) - quantileSorted(s, 0.25, 7))
	sum.Deterministic = n > 1 && s[0] == s[n-1]
	if sum.Deterministic {
		sum.MedianCI = noInterval("deterministic (n = %d): all values equal", n)
	}
	for _, p := range summaryQuantiles() {
		sum.Quantiles = append(sum.Quantiles, sampleQuantile(s, p))
	}
	sum.Geomean = geomean(s)
	for i, x := range s {
		if i > 0 && x == s[i-1] || i+1 < n && x == s[i+1] {
			sum.Tied++
		}
		if x <= 0 {
			sum.NonPositive++
		}
	}
	sum.Tied /= float64(n)
}

// sampleQuantile refuses a quantile that at this n is but an extreme.
func sampleQuantile(s []float64, p float64) SampleQuantile {
	q := SampleQuantile{P: p, CI: quantileInterval(s, p, Level)}
	rare := math.Min(p, 1-p)
	if rare*float64(len(s)) < 1-1e-9 {
		q.Value = undefined("n ≥ %.0f needed: at n = %d it would be the %s", math.Ceil(1/rare-1e-9), len(s), extremeName(p))
		return q
	}
	q.Value = defined(quantileSorted(s, p, DefaultQuantile))
	return q
}

func extremeName(p float64) string {
	switch {
	case p > 0.5:
		return "maximum"
	case p < 0.5:
		return "minimum"
	default:
		return "only value"
	}
}

func geomean(s []float64) Value {
	if s[0] <= 0 {
		return undefined("values ≤ 0 have no logarithm")
	}
	if s[0] == s[len(s)-1] {
		return defined(s[0])
	}
	return defined(stat.GeometricMean(s, nil))
}

// disperse fills in the mean and the measures of spread. xs keeps time order,
// s is its sorted copy.
func (sum *Summary) disperse(xs, s []float64) {
	m := momentsOf(xs)
	sum.Mean, sum.SD = defined(m.mean), m.sd
	switch {
	case !sum.SD.OK:
		sum.CV = undefined("%s", sum.SD.Why)
	case m.mean <= 0:
		sum.CV = undefined("mean ≤ 0")
	default:
		sum.CV = defined(m.sd.V / m.mean)
	}
	if med := sum.Median.V; med > 0 && sum.Range.OK {
		sum.Spread = defined(sum.Range.V / med)
	} else {
		sum.Spread = undefined("median ≤ 0")
	}
	dev := deviationsSorted(s, sum.Median.V)
	sum.MAD = defined(medianSorted(dev))
	sum.MADSigma = defined(madSigma * sum.MAD.V)
	sum.AAD = defined(meanOf(dev))
	b := bonettSD(s, m, Level)
	sum.SDCI, sum.Kurtosis = b.CI, b.Kurtosis
}

// deviationsSorted returns |x − c| in ascending order for a sorted s, by a
// merge of the two sides of c: no second sort.
func deviationsSorted(s []float64, c float64) []float64 {
	right, _ := slices.BinarySearch(s, c)
	left := right - 1
	dev := make([]float64, 0, len(s))
	for left >= 0 || right < len(s) {
		if right == len(s) || left >= 0 && c-s[left] <= s[right]-c {
			dev = append(dev, c-s[left])
			left--
		} else {
			dev = append(dev, s[right]-c)
			right++
		}
	}
	return dev
}

// doubt fills in what casts doubt on a sample of independent values.
func (sum *Summary) doubt(xs, s []float64) {
	sum.Outliers = outliersOf(xs, s)
	if len(xs) > maxDrift {
		why := fmt.Sprintf("not examined above n = %d", maxDrift)
		sum.Drift, sum.ACF = noTrend(why), noACF(why)
		return
	}
	if len(xs) <= maxSlope {
		sum.Drift = trendOf(timeIndex(len(xs)), xs)
	} else {
		sum.Drift = trendTest(timeIndex(len(xs)), xs)
	}
	sum.ACF = acfOf(xs)
}
