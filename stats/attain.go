package stats

import (
	"fmt"
	"math"
)

// RoundsForFamily is the smallest n, 6 or more, at which an exact test can pass
// Holm's correction over size comparisons: the smallest p that n rounds can
// reach is 2/2ⁿ, or 2/C(2n, n) where runs share no rounds, and it has to be at
// most alpha/size.
func RoundsForFamily(size int, alpha float64, blocked bool) int {
	n := minClaims
	for n < manyRounds && !passesHolm(smallestP(n, blocked), size, alpha) {
		n++
	}
	return n
}

func smallestP(n int, blocked bool) float64 {
	if blocked {
		return minFlipP(n)
	}
	return minLabelP(n, n)
}

// passesHolm says whether p could be resolved as the smallest of a family. The
// margin is for the rounding of α = 1 − 0.95.
func passesHolm(p float64, size int, alpha float64) bool {
	return p*float64(max(1, size)) <= alpha*(1+1e-9)
}

// CannotResolve says that no outcome of n rounds (or runs) could pass Holm's
// correction over size comparisons at 95%, and how many could; "": some could.
func CannotResolve(n, size int, blocked bool) string { return cannotResolve(n, size, 1-Level, blocked) }

func cannotResolve(n, size int, alpha float64, blocked bool) string {
	need := RoundsForFamily(size, alpha, blocked)
	if n >= need {
		return ""
	}
	rounds := roundsNoun(blocked)
	among := "anything"
	if size > 1 {
		among += fmt.Sprintf(" among %d comparisons", size)
	}
	return fmt.Sprintf("%d %s cannot resolve %s; take %d or more", n, plural(n, rounds[:len(rounds)-1]), among, need)
}

// roundsNoun is what a comparison counts.
func roundsNoun(blocked bool) string {
	if blocked {
		return "rounds"
	}
	return "runs"
}

// confine makes what n resolves and what the observed effect would need obey
// Holm's correction: below the rounds of RoundsForFamily nothing is resolved.
func (c *Comparison) confine(resolves, needs *Value, size int) {
	if size < 2 {
		return
	}
	if why := cannotResolve(min(c.N, c.M), size, c.Alpha, c.Blocked); why != "" && resolves.OK {
		*resolves = undefined("%s", why)
	}
	if least := float64(RoundsForFamily(size, c.Alpha, c.Blocked)); needs.OK && needs.V < least {
		needs.V = least
	}
}

// RoundsForChange is the number of rounds (or of runs on each side) that find a
// change of the median by this fraction, 0.01 for 1%, 4 times out of 5, if
// normal, and with the scatter of these runs.
func (c *Comparison) RoundsForChange(fraction float64) (Value, error) {
	l := &c.Location
	switch {
	case !(fraction > -1) || math.IsInf(fraction, 0):
		return Value{}, &ArgumentError{Name: "change", Rule: "finite and above -1", Got: fraction}
	case l.Difference:
		return undefined("a value is not positive, so that there is no ratio"), nil
	case !l.SD.OK:
		return l.SD, nil
	case l.SD.V == 0:
		return undefined("the difference is the same in every block"), nil
	}
	n, err := RequiredForShift(math.Log1p(fraction)/l.SD.V, c.Alpha, DefaultPower)
	return c.atLeast(n, l.Family), err
}

// RoundsForRatio is the same for a ratio of the sds, at the kurtosis of these
// runs.
func (c *Comparison) RoundsForRatio(ratio float64) (Value, error) {
	kurtosis := 3.0
	if c.Spread.Kurtosis.OK {
		kurtosis = c.Spread.Kurtosis.V
	}
	n, err := RequiredForSDRatio(ratio, kurtosis, c.Alpha, DefaultPower)
	return c.atLeast(n, c.Spread.Family), err
}

// atLeast holds a number of rounds to what Holm's correction needs.
func (c *Comparison) atLeast(n Value, family int) Value {
	if least := float64(RoundsForFamily(family, c.Alpha, c.Blocked)); n.OK && n.V < least {
		n.V = least
	}
	return n
}
