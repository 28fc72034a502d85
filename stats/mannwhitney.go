package stats

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// MannWhitneyTest compares two unpaired samples by ranks.
type MannWhitneyTest struct {
	U float64 // of x: pairs with x > y, ties counting one half
	// P is two-sided, P(|U − nm/2| ≥ |u − nm/2|) over all labellings, ties
	// included; it is PAsymptotic for samples too large to enumerate.
	P, Less, Greater Value
	Exact            bool
	// PAsymptotic is the normal approximation with tie and continuity
	// corrections.
	PAsymptotic Value
	// PBenchstat is the number that benchstat prints on these samples: exact
	// without ties up to n = 50 and with ties up to 25, else asymptotic. With
	// ties and unequal n benchstat's own value depends on the order of the
	// samples; this one does not.
	PBenchstat Value
	Cliff      Value // Cliff's δ = 2U/nm − 1
	MinP       float64
}

// Limits of the exact laws; benchstat's are part of its definition.
const (
	exactMannWhitney     = 50
	exactMannWhitneyTies = 50
	benchstatExact       = 50
	benchstatExactTies   = 25
)

// MannWhitney tests whether x tends to be smaller or larger than y. All values
// equal is p = 1.
func MannWhitney(x, y []float64) (MannWhitneyTest, error) {
	return mannWhitney(x, y, exactMannWhitneyTies)
}

// mannWhitney leaves ties above the given size to the approximation: the exact
// law of ties takes ten milliseconds at n = 50.
func mannWhitney(x, y []float64, exactTies int) (MannWhitneyTest, error) {
	if err := checkFinite(x, y); err != nil {
		return MannWhitneyTest{}, err
	}
	t := MannWhitneyTest{MinP: 1}
	if len(x) == 0 || len(y) == 0 {
		none := undefined("no observations")
		t.P, t.Less, t.Greater, t.PAsymptotic, t.PBenchstat, t.Cliff = none, none, none, none, none, none
		return t, nil
	}
	pooled := slices.Concat(x, y)
	ranks := doubledRanks(pooled)
	u2 := -len(x) * (len(x) + 1) // twice U
	for _, r := range ranks[:len(x)] {
		u2 += r
	}
	t.U = float64(u2) / 2
	t.Cliff = defined(float64(u2)/float64(len(x)*len(y)) - 1)
	t.MinP = math.Min(1, 2/choose(len(x)+len(y), len(x)))
	ties := tieSum(pooled)
	t.approximate(len(x), len(y), ties)
	t.enumerate(ranks, len(x), u2, ties > 0, exactTies)
	t.benchstat(max(len(x), len(y)), ties > 0)
	return t, nil
}

func (t *MannWhitneyTest) approximate(n, m int, ties float64) {
	a, b := float64(n), float64(m)
	all := a + b
	variance := a * b / 12 * (all + 1)
	if ties > 0 {
		variance = a * b / 12 * (all + 1 - ties/(all*(all-1)))
	}
	d := t.U - a*b/2
	if variance <= 1e-12*a*b {
		t.PAsymptotic, t.Less, t.Greater = defined(1), defined(1), defined(1)
	} else {
		sd := math.Sqrt(variance)
		t.PAsymptotic = defined(math.Min(1, normalTwoSided(math.Max(math.Abs(d)-0.5, 0)/sd)))
		t.Less, t.Greater = defined(normalCDF((d+0.5)/sd)), defined(normalCDF((0.5-d)/sd))
	}
	t.P = t.PAsymptotic
}

func (t *MannWhitneyTest) enumerate(ranks []int, n, u2 int, tied bool, exactTies int) {
	m := len(ranks) - n
	limit := exactMannWhitney
	if tied {
		limit = exactTies
	}
	if max(n, m) > limit {
		return
	}
	var law []float64 // of 2U
	if tied {
		law = tiedRankSumLaw(ranks, n)
	} else {
		half := mannWhitneyLaw(n, m)
		law = make([]float64, 2*len(half))
		for u, p := range half {
			law[2*u] = p
		}
	}
	var lo, hi, both float64
	for s, p := range law {
		if s <= u2 {
			lo += p
		}
		if s >= u2 {
			hi += p
		}
		if abs(s-n*m) >= abs(u2-n*m) {
			both += p
		}
	}
	t.P, t.Less, t.Greater = defined(math.Min(both, 1)), defined(math.Min(lo, 1)), defined(math.Min(hi, 1))
	t.Exact = true
}

func (t *MannWhitneyTest) benchstat(n int, tied bool) {
	limit := benchstatExact
	if tied {
		limit = benchstatExactTies
	}
	t.PBenchstat = t.PAsymptotic
	if n <= limit && t.Exact {
		t.PBenchstat = t.P
	}
}

// tiedRankSumLaw is the law of twice U for n of the doubled mid-ranks, by
// dynamic programming over (chosen, sum).
func tiedRankSumLaw(ranks []int, n int) []float64 {
	base := n * (n + 1)
	top := base + 2*n*(len(ranks)-n)
	counts := make([][]float64, n+1)
	for k := range counts {
		counts[k] = make([]float64, top+1)
	}
	counts[0][0] = 1
	reach := make([]int, n+1) // largest sum of k chosen so far
	sortedRanks := slices.Sorted(slices.Values(ranks))
	for i, r := range sortedRanks {
		for k := min(i+1, n); k > 0; k-- {
			reach[k] = min(reach[k-1]+r, top) // ranks ascend: the last k are the largest
			from, to := counts[k-1], counts[k]
			for s := r; s <= reach[k]; s++ {
				to[s] += from[s-r]
			}
		}
	}
	law := counts[n][base:]
	total := sumOf(law)
	for s := range law {
		law[s] /= total
	}
	return law
}

// mannWhitneyLaw is the law of U without ties, from the Gaussian binomial
// coefficient Π(1−q^(m+i))/(1−q^i). The counts are kept modulo 2^128, where
// the alternating steps cancel exactly; C(100,50) needs 97 bits.
func mannWhitneyLaw(n, m int) []float64 {
	type wide struct{ hi, lo uint64 }
	c := make([]wide, n*m/2+1) // the law is symmetric; its lower half suffices
	c[0] = wide{0, 1}
	for i := 1; i <= n; i++ {
		for s := len(c) - 1; s >= m+i; s-- { // times 1 − q^(m+i)
			lo, borrow := bits.Sub64(c[s].lo, c[s-m-i].lo, 0)
			hi, _ := bits.Sub64(c[s].hi, c[s-m-i].hi, borrow)
			c[s] = wide{hi, lo}
		}
		for s := i; s < len(c); s++ { // divided by 1 − q^i
			lo, carry := bits.Add64(c[s].lo, c[s-i].lo, 0)
			hi, _ := bits.Add64(c[s].hi, c[s-i].hi, carry)
			c[s] = wide{hi, lo}
		}
	}
	law := make([]float64, n*m+1)
	for s, v := range c {
		law[s] = math.Ldexp(float64(v.hi), 64) + float64(v.lo)
		law[n*m-s] = law[s]
	}
	total := sumOf(law)
	for s := range law {
		law[s] /= total
	}
	return law
}

// HodgesLehmannTwoSample returns the median of all differences xᵢ − yⱼ with the
// interval that inverts the Mann–Whitney test.
func HodgesLehmannTwoSample(x, y []float64, conf float64) (Shift, error) {
	if err := checkFinite(x, y); err != nil {
		return Shift{}, err
	}
	if err := checkConf(conf); err != nil {
		return Shift{}, err
	}
	return hodgesLehmannTwoSample(x, y, conf), nil
}

func hodgesLehmannTwoSample(x, y []float64, conf float64) Shift {
	n, m := len(x), len(y)
	if gap := pairGap(n == 0 || m == 0, n*m); gap != "" {
		return Shift{Estimate: undefined("%s", gap), CI: noInterval("%s", gap)}
	}
	diffs := make([]float64, 0, n*m)
	for _, a := range x {
		for _, b := range y {
			diffs = append(diffs, a-b)
		}
	}
	k, coverage := rankSumOrder(n, m, conf)
	return orderShift(diffs, k, coverage, fmt.Sprintf("more observations needed for a %g%% interval, as 4 and 4", 100*conf))
}

// rankSumOrder returns the largest k with P(U ≤ k−1) ≤ (1−conf)/2 without ties.
func rankSumOrder(n, m int, conf float64) (k int, coverage float64) {
	tail := (1 - conf) / 2 * (1 + 1e-12)
	if max(n, m) <= exactMannWhitney {
		return lowerOrder(mannWhitneyLaw(n, m), tail)
	}
	a, b := float64(n), float64(m)
	mean, sd := a*b/2, math.Sqrt(a*b*(a+b+1)/12)
	k = max(0, int(math.Floor(mean+normalQuantile(tail)*sd)))
	return k, 1 - 2*normalCDF((float64(k)-0.5-mean)/sd)
}
