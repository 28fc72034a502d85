package stats

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

// SelfCheck is the noise floor of a machine, from a mode that was run twice
// inside the same blocks (A/A).
type SelfCheck struct {
	Comparison Comparison // of the two as they were run
	// Failed says that the comparison claims a difference where there is none.
	Failed bool
	// Splits is the number of random relabellings within blocks, and the
	// counts say how many of them claimed a difference.
	Splits         int
	LocationClaims int
	SpreadClaims   int
	// The smallest effects that this many blocks can see here: a change of the
	// median as in LocationChange.Resolves, a ratio of sds below 1.
	Change, Ratio Value
}

const (
	selfCheckSplits = 200
	selfCheckDraws  = 999
)

// CheckSelf compares a mode with its own repetition, x[i] and y[i] from block
// i, and again under random exchanges of the two within blocks. splits 0 means
// 200.
func CheckSelf(x, y []float64, splits int, opt Options) (SelfCheck, error) {
	if err := checkPaired(x, y); err != nil {
		return SelfCheck{}, err
	}
	if splits < 0 {
		return SelfCheck{}, &ArgumentError{Name: "number of splits", Rule: "0 or more", Got: float64(splits)}
	}
	if splits == 0 {
		splits = selfCheckSplits
	}
	c, err := Compare(x, y, opt)
	if err != nil {
		return SelfCheck{}, err
	}
	s := SelfCheck{Comparison: c, Failed: c.Location.Verdict.Claims() || c.Spread.Verdict.Claims(), Splits: splits,
		Change: c.Location.Resolves, Ratio: c.Spread.Resolves}
	rng := newRand(opt.Resampling)
	for range splits {
		u, v := make([]float64, len(x)), make([]float64, len(x))
		for i := range x {
			u[i], v[i] = x[i], y[i]
			if rng.IntN(2) == 1 {
				u[i], v[i] = y[i], x[i]
			}
		}
		once := opt
		once.Resampling = Resampling{Seed: rng.Uint64(), Draws: selfCheckDraws}
		split, err := Compare(u, v, once)
		if err != nil {
			return SelfCheck{}, err
		}
		if split.Location.Verdict.Claims() {
			s.LocationClaims++
		}
		if split.Spread.Verdict.Claims() {
			s.SpreadClaims++
		}
	}
	return s, nil
}

// RateInterval is the exact interval (Clopper and Pearson, Biometrika 26 (1934)
// 404) of the probability of something that happened k times in n.
func RateInterval(k, n int, conf float64) (Interval, error) {
	if err := checkConf(conf); err != nil {
		return Interval{}, err
	}
	if n < 0 || k < 0 || k > n {
		return Interval{}, &ArgumentError{Name: "count", Rule: fmt.Sprintf("from 0 to the number of trials, %d", n), Got: float64(k)}
	}
	if n == 0 {
		return noInterval("no trials"), nil
	}
	tail := (1 - conf) / 2
	lo, hi := 0.0, 1.0
	if k > 0 {
		lo = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(tail)
	}
	if k < n {
		hi = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(1 - tail)
	}
	return interval(lo, hi, conf), nil
}
