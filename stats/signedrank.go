package stats

import (
	"fmt"
	"math"
	"slices"
)

// SignedRankTest is Wilcoxon's signed-rank test with Pratt's zeros: zeros take
// part in the ranking and then lose their sign.
type SignedRankTest struct {
	N, Nonzero int
	W          float64 // sum of the mid-ranks of the positive values
	// P is two-sided, from the exact sign-flip law of the mid-ranks up to
	// n = 300 and from its normal approximation above.
	P, Less, Greater Value
	MinP             float64
	Exact            bool
}

// maxExactRanks bounds the exact rank laws, whose cost grows as n³.
const maxExactRanks = 300

// SignedRank tests whether the differences d, one per block, are symmetric
// about zero. All differences zero is p = 1: no evidence.
func SignedRank(d []float64) (SignedRankTest, error) {
	if err := checkFinite(d); err != nil {
		return SignedRankTest{}, err
	}
	return signedRank(d), nil
}

// SignedRankDropZeros is Wilcoxon's own treatment, which leaves zeros out
// before ranking; R's wilcox.test does the same.
func SignedRankDropZeros(d []float64) (SignedRankTest, error) {
	var nonzero []float64
	for _, v := range d {
		if v != 0 {
			nonzero = append(nonzero, v)
		}
	}
	return SignedRank(nonzero)
}

func signedRank(d []float64) SignedRankTest {
	t := SignedRankTest{N: len(d), MinP: 1}
	if len(d) == 0 {
		none := undefined("no observations")
		t.P, t.Less, t.Greater = none, none, none
		return t
	}
	var ranks []int // doubled, of the nonzero differences
	w := 0
	for i, r := range doubledRanks(magnitudes(d)) {
		if d[i] == 0 {
			continue
		}
		ranks = append(ranks, r)
		if d[i] > 0 {
			w += r
		}
	}
	t.Nonzero, t.W, t.MinP = len(ranks), float64(w)/2, minFlipP(len(ranks))
	t.Exact = len(ranks) <= maxExactRanks
	if t.Exact {
		t.P, t.Less, t.Greater = exactRankSum(ranks, w)
	} else {
		t.P, t.Less, t.Greater = normalRankSum(ranks, w)
	}
	return t
}

// signedRankLaw is the law of the sum of the ranks that get a plus.
func signedRankLaw(ranks []int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	law := make([]float64, total+1)
	law[0] = 1
	top := 0
	for _, r := range ranks {
		top += r
		for s := top; s >= 0; s-- {
			p := law[s] / 2
			if s >= r {
				p += law[s-r] / 2
			}
			law[s] = p
		}
	}
	return law
}

func exactRankSum(ranks []int, w int) (p, less, greater Value) {
	law := signedRankLaw(ranks)
	total := len(law) - 1
	var lo, hi, both float64
	for s, q := range law {
		if s <= w {
			lo += q
		}
		if s >= w {
			hi += q
		}
		if abs(2*s-total) >= abs(2*w-total) {
			both += q
		}
	}
	return defined(math.Min(both, 1)), defined(math.Min(lo, 1)), defined(math.Min(hi, 1))
}

func normalRankSum(ranks []int, w int) (p, less, greater Value) {
	var mean, variance float64
	for _, r := range ranks {
		mean += float64(r) / 4
		variance += float64(r) * float64(r) / 16
	}
	d, sd := float64(w)/2-mean, math.Sqrt(variance)
	two := math.Min(1, normalTwoSided(math.Max(math.Abs(d)-0.5, 0)/sd))
	return defined(two), defined(normalCDF((d + 0.5) / sd)), defined(normalCDF((-d + 0.5) / sd))
}

// Shift is a Hodges–Lehmann estimate with its distribution-free interval.
type Shift struct {
	Estimate Value
	CI       Interval
	K        int // order of the lower bound among the averages or differences, from 1
}

// maxPairs bounds the number of averages or differences that are looked at.
const maxPairs = 8_000_000

// HodgesLehmann returns the median of the Walsh averages (dᵢ+dⱼ)/2, i ≤ j, and
// the interval [W(k), W(M+1−k)] that inverts the signed-rank test. It needs
// n ≥ 6 for 95%.
func HodgesLehmann(d []float64, conf float64) (Shift, error) {
	if err := checkFinite(d); err != nil {
		return Shift{}, err
	}
	if err := checkConf(conf); err != nil {
		return Shift{}, err
	}
	return hodgesLehmann(d, conf), nil
}

func hodgesLehmann(d []float64, conf float64) Shift {
	n := len(d)
	pairs := n * (n + 1) / 2
	if gap := pairGap(n == 0, pairs); gap != "" {
		return Shift{Estimate: undefined("%s", gap), CI: noInterval("%s", gap)}
	}
	walsh := make([]float64, 0, pairs)
	for i := range d {
		for j := range i + 1 {
			walsh = append(walsh, mid(d[i], d[j]))
		}
	}
	k, coverage := signedRankOrder(n, conf)
	return orderShift(walsh, k, coverage, fmt.Sprintf("n ≥ %d needed for a %g%% interval", minOrderN(0.5, (1-conf)/2), 100*conf))
}

func pairGap(none bool, pairs int) string {
	switch {
	case none:
		return "no observations"
	case pairs > maxPairs:
		return fmt.Sprintf("not computed over more than %d pairs", maxPairs)
	default:
		return ""
	}
}

// orderShift takes over pairs. Both order statistics and the median are
// selected, not sorted for: pairs are many.
func orderShift(pairs []float64, k int, coverage float64, need string) Shift {
	s := Shift{Estimate: defined(medianInPlace(pairs)), K: k}
	if k < 1 {
		s.CI = noInterval("%s", need)
		return s
	}
	lo := selectInPlace(pairs, k-1)
	hi := selectInPlace(pairs, len(pairs)-k)
	s.CI = interval(lo, hi, coverage)
	return s
}

// signedRankOrder returns the largest k with P(V ≤ k−1) ≤ (1−conf)/2 under the
// law of the untied ranks 1…n, and the coverage 1 − 2P(V ≤ k−1).
func signedRankOrder(n int, conf float64) (k int, coverage float64) {
	tail := (1 - conf) / 2 * (1 + 1e-12)
	if n > maxExactRanks {
		m := float64(n)
		mean, sd := m*(m+1)/4, math.Sqrt(m*(m+1)*(2*m+1)/24)
		k = int(math.Floor(mean + normalQuantile(tail)*sd))
		return k, 1 - 2*normalCDF((float64(k)-0.5-mean)/sd)
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	return lowerOrder(signedRankLaw(ranks), tail)
}

func lowerOrder(law []float64, tail float64) (k int, coverage float64) {
	below := 0.0
	for k < len(law) && below+law[k] <= tail {
		below += law[k]
		k++
	}
	return k, 1 - 2*below
}

// PairedEffect is the change of x against y, block by block.
type PairedEffect struct {
	// Change is exp(HL) − 1 of ln(x/y), a fraction; or the HL of x − y where
	// Difference is set.
	Change Value
	CI     Interval
	Test   SignedRankTest
	// Difference says that a value ≤ 0 forbids logarithms, and Change and CI
	// are in the unit of the metric.
	Difference bool
}

// PairedRatio compares x with y where x[i] and y[i] share block i: the
// Hodges–Lehmann estimate of ln(x/y) with its exact interval, and the exact
// signed-rank test of the same values, so that interval and p agree up to ties.
// If any value is ≤ 0 it works on differences.
func PairedRatio(x, y []float64, conf float64) (PairedEffect, error) {
	if err := checkPaired(x, y); err != nil {
		return PairedEffect{}, err
	}
	if err := checkConf(conf); err != nil {
		return PairedEffect{}, err
	}
	d, difference := pairedDifferences(x, y)
	if err := checkFinite(d); err != nil {
		gap := "out of the range of floating-point arithmetic"
		none := undefined("%s", gap)
		return PairedEffect{Change: none, CI: noInterval("%s", gap), Difference: difference,
			Test: SignedRankTest{N: len(d), P: none, Less: none, Greater: none, MinP: 1}}, nil
	}
	hl := hodgesLehmann(d, conf)
	e := PairedEffect{Change: hl.Estimate, CI: hl.CI, Test: signedRank(snapTies(d, pairTolerance(x, y, difference))), Difference: difference}
	if !difference {
		e.Change, e.CI = asChange(hl)
	}
	return e, nil
}

func checkPaired(x, y []float64) error {
	if len(x) != len(y) {
		return unequalLengths(len(x), len(y))
	}
	return checkFinite(x, y)
}

func unequalLengths(x, y int) error {
	return &SizeError{What: "paired samples need equal lengths; drop incomplete blocks with PairBlocks", Got: []int{x, y}}
}

func pairedDifferences(x, y []float64) (d []float64, difference bool) {
	difference = anyNonPositive(x) || anyNonPositive(y)
	d = make([]float64, len(x))
	for i := range x {
		if difference {
			d[i] = x[i] - y[i]
		} else {
			d[i] = logRatio(x[i], y[i])
		}
	}
	return d, difference
}

// pairTolerance is the rounding error of one block's difference or log ratio.
func pairTolerance(x, y []float64, difference bool) float64 {
	if !difference {
		return 4 * 0x1p-52
	}
	return 0x1p-51 * (math.Max(maxAbs(x), maxAbs(y)))
}

func magnitudes(d []float64) []float64 {
	out := make([]float64, len(d))
	for i, v := range d {
		out[i] = math.Abs(v)
	}
	return out
}

func maxAbs(xs []float64) float64 {
	m := 0.0
	for _, x := range xs {
		m = math.Max(m, math.Abs(x))
	}
	return m
}

// snapTies returns d with magnitudes closer than tol made equal: ln(a/b) and
// −ln(b/a) may differ in the last bit, and a rank test must not depend on it.
func snapTies(d []float64, tol float64) []float64 {
	out := slices.Clone(d)
	last := 0.0
	for _, k := range Order(magnitudes(d)) {
		if math.Abs(d[k])-last > tol {
			last = math.Abs(d[k])
		}
		out[k] = math.Copysign(last, d[k])
	}
	return out
}

// logRatio is ln(x/y) of positive values; the quotient keeps equal ratios
// equal, the difference of logarithms serves where it overflows.
func logRatio(x, y float64) float64 {
	if q := x / y; q > 1e-300 && q < 1e300 {
		return math.Log(q)
	}
	return math.Log(x) - math.Log(y)
}

func anyNonPositive(xs []float64) bool {
	for _, x := range xs {
		if x <= 0 {
			return true
		}
	}
	return false
}

// asChange turns a shift of logarithms into a relative change.
func asChange(s Shift) (Value, Interval) {
	change, ci := s.Estimate, s.CI
	if change.OK {
		change = defined(math.Expm1(change.V))
	}
	if ci.OK {
		ci = interval(math.Expm1(ci.Lo), math.Expm1(ci.Hi), ci.Coverage)
	}
	return change, ci
}
