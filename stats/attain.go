package stats

import "fmt"

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
