package stats

import (
	"fmt"
	"strings"
)

// FlagLevel is the level at which runs are flagged for drift, for correlation
// and for effects of their order: it is low because these are looked for in
// every sample.
const FlagLevel = 0.01

// Flags of single samples.
const (
	tiedLimit    = 0.30
	spikyLimit   = 6 // Bonett kurtosis beyond which the sd is a matter of few runs
	minClaims    = 6 // below it no interval and no test can speak at 95%
	minBlockTest = 10
)

// Drifts says that the values are flagged for a trend in time.
func (sum *Summary) Drifts() bool { return sum.Drift.P.OK && sum.Drift.P.V < FlagLevel }

// Correlated says that successive values are flagged as correlated.
func (sum *Summary) Correlated() bool { return sum.ACF.P.OK && sum.ACF.P.V < FlagLevel }

// warn writes the doubts about the sample, most severe first.
func (sum *Summary) warn() {
	add := func(format string, args ...any) { sum.Warnings = append(sum.Warnings, fmt.Sprintf(format, args...)) }
	if sum.N == 1 {
		add("n = 1: no spread, no interval")
		return
	}
	if sum.Deterministic {
		add("deterministic (n = %d): all values equal", sum.N)
		return
	}
	if !sum.MedianCI.OK {
		add("no %g%% interval of the median: %s", 100*Level, sum.MedianCI.Why)
	}
	if sum.NonPositive > 0 {
		add("%d of %d values ≤ 0: no logarithms or ratios; differences are used", sum.NonPositive, sum.N)
	}
	if sum.Tied > tiedLimit {
		add("%.0f%% of the values are tied: the timer or the metric resolves too little", 100*sum.Tied)
	}
	sum.warnOutliers(add)
	if sum.Drifts() {
		add("drift over the runs (Mann–Kendall p %s): the sd contains it", relationP(sum.Drift.P.V))
	}
	if sum.Correlated() {
		add("successive runs are correlated (r₁ = %.2f, Ljung–Box p %s): about %.0f independent runs", sum.ACF.R1.V, relationP(sum.ACF.P.V), sum.ACF.ESS.V)
	}
}

func (sum *Summary) warnOutliers(add func(string, ...any)) {
	flagged := len(sum.Outliers.Flagged)
	if flagged > 0 && sum.N <= maxDrift {
		add("%d of %d values flagged as outliers (%s), none dropped", flagged, sum.N, ordinals(sum.Outliers.Flagged))
	} else if flagged > 0 {
		add("%d of %d values flagged as outliers, none dropped", flagged, sum.N)
	}
	if sum.Kurtosis.OK && sum.Kurtosis.V > spikyLimit {
		add("sd driven by few values (kurtosis %.1f): its interval covers less than it says", sum.Kurtosis.V)
	}
}

// ordinals lists indices as run numbers from 1, at most five of them.
func ordinals(idx []int) string {
	var names []string
	for i, k := range idx {
		if i == 5 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprint(k+1))
	}
	return "runs " + strings.Join(names, ", ")
}

// relationP prints a p-value behind its "p": "= 0.004" or "< 0.001".
func relationP(p float64) string {
	if text, small := strings.CutPrefix(FormatP(p), "<"); small {
		return "< " + text
	}
	return "= " + FormatP(p)
}
