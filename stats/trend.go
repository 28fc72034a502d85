package stats

import (
	"cmp"
	"math"
	"slices"
)

// Trend is the Mann–Kendall test of a monotone trend with Theil and Sen's
// slope.
type Trend struct {
	N    int
	S    int     // concordant less discordant pairs
	VarS float64 // corrected for ties in both variables
	TauB Value   // undefined where one variable is constant
	Z    Value   // continuity-corrected
	// P is two-sided: exact where nothing is tied and n ≤ 50, else PNormal. A
	// constant series has p = 1: no trend can be seen in it.
	P, PExact, PNormal Value
	Slope              Value // Theil–Sen, per unit of t
	Relative           Value // Slope over the median of y: a fraction per unit of t
}

func noTrend(why string) Trend {
	none := undefined("%s", why)
	return Trend{TauB: none, Z: none, P: none, PExact: none, PNormal: none, Slope: none, Relative: none}
}

// maxExactKendall is the largest n with an exact Kendall law, as in R.
const maxExactKendall = 50

// maxSlopes bounds n for Theil–Sen, which looks at every pair.
const maxSlopes = 4000

// MannKendall tests y for a monotone trend over t (run index, round, level).
// The lengths must agree.
func MannKendall(t, y []float64) (Trend, error) {
	if err := checkFinite(t, y); err != nil {
		return Trend{}, err
	}
	if len(t) != len(y) {
		return Trend{}, &SizeError{What: "a trend needs as many times as values", Got: []int{len(t), len(y)}}
	}
	return trendOf(t, y), nil
}

// Drift is MannKendall over the run index 0, 1, 2, …
func Drift(xs []float64) (Trend, error) { return MannKendall(timeIndex(len(xs)), xs) }

func timeIndex(n int) []float64 {
	t := make([]float64, n)
	for i := range t {
		t[i] = float64(i)
	}
	return t
}

func trendOf(t, y []float64) Trend {
	tr := trendTest(t, y)
	if tr.N < 2 {
		return tr
	}
	tr.Slope = theilSen(t, y)
	tr.Relative = undefined("median ≤ 0")
	if med := median(y); med > 0 && tr.Slope.OK {
		tr.Relative = defined(tr.Slope.V / med)
	}
	return tr
}

// trendTest is a trend without its slope, for which every pair is looked at: at
// 1,000 runs those of all metrics took a third of the tables' time.
func trendTest(t, y []float64) Trend {
	n := len(y)
	if n < 2 {
		tr := noTrend("n ≥ 2 needed")
		tr.N = n
		return tr
	}
	tr := noTrend("not computed for so many runs")
	tr.N = n
	tr.S = concordance(t, y)
	tt, ty := tieSizes(sorted(t)), tieSizes(sorted(y))
	tr.VarS = kendallVariance(n, tt, ty)
	tr.TauB = tauB(tr.S, n, tt, ty)
	tr.test(len(tt) == 0 && len(ty) == 0)
	return tr
}

func (tr *Trend) test(untied bool) {
	s := math.Abs(float64(tr.S))
	switch {
	case !tr.TauB.OK:
		tr.Z, tr.PNormal = undefined("constant series"), defined(1)
	case s == 0:
		tr.Z, tr.PNormal = defined(0), defined(1)
	default:
		z := (s - 1) / math.Sqrt(tr.VarS)
		tr.Z, tr.PNormal = defined(math.Copysign(z, float64(tr.S))), defined(normalTwoSided(z))
	}
	tr.PExact = undefined("only without ties and for n ≤ %d", maxExactKendall)
	tr.P = tr.PNormal
	if untied && tr.N <= maxExactKendall {
		tr.PExact = defined(kendallExact(tr.N, tr.S))
		tr.P = tr.PExact
	}
}

// concordance is the number of concordant pairs less that of discordant ones,
// by Knight's method: with the points in order of t, and of y where t is tied,
// the inversions of y are the discordant pairs, and what is neither tied nor
// discordant is concordant.
func concordance(t, y []float64) int {
	type point struct{ t, y float64 }
	points := make([]point, len(y))
	for i := range y {
		points[i] = point{t[i], y[i]}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.y, b.y)) })
	ys := make([]float64, len(points))
	for i, p := range points {
		ys[i] = p.y
	}
	n := len(points)
	sameT := func(i int) bool { return points[i].t == points[i-1].t }
	tiedT := tiedPairs(n, sameT)
	tiedBoth := tiedPairs(n, func(i int) bool { return sameT(i) && ys[i] == ys[i-1] })
	discordant := inversions(ys, make([]float64, n))
	// Which has sorted ys.
	tiedY := tiedPairs(n, func(i int) bool { return ys[i] == ys[i-1] })
	return n*(n-1)/2 - tiedT - tiedY + tiedBoth - 2*discordant
}

// tiedPairs counts the pairs within groups of neighbours that are the same.
func tiedPairs(n int, same func(i int) bool) int {
	pairs, before := 0, 0 // of the group that i is in
	for i := 1; i < n; i++ {
		if !same(i) {
			before = 0
			continue
		}
		before++
		pairs += before
	}
	return pairs
}

// inversions sorts xs by merging and counts the pairs that stood in the wrong
// order. buf is of the same length.
func inversions(xs, buf []float64) int {
	if len(xs) < 2 {
		return 0
	}
	h := len(xs) / 2
	count := inversions(xs[:h], buf[:h]) + inversions(xs[h:], buf[h:])
	copy(buf, xs)
	left, right := buf[:h], buf[h:]
	for i := range xs {
		if len(right) == 0 || len(left) > 0 && left[0] <= right[0] {
			xs[i], left = left[0], left[1:]
			continue
		}
		xs[i], right = right[0], right[1:]
		count += len(left)
	}
	return count
}

// tieSizes returns the sizes of the groups of two or more equal values.
func tieSizes(s []float64) []float64 {
	var sizes []float64
	for i := 0; i < len(s); {
		j := i + 1
		for j < len(s) && s[j] == s[i] {
			j++
		}
		if j-i > 1 {
			sizes = append(sizes, float64(j-i))
		}
		i = j
	}
	return sizes
}

func kendallVariance(n int, tt, ty []float64) float64 {
	var sums [2][4]float64 // Σt(t−1)(2t+5), Σt(t−1), Σt(t−1)(t−2)
	for i, ties := range [][]float64{tt, ty} {
		for _, t := range ties {
			sums[i][0] += t * (t - 1) * (2*t + 5)
			sums[i][1] += t * (t - 1)
			sums[i][2] += t * (t - 1) * (t - 2)
		}
	}
	m := float64(n)
	v := (m*(m-1)*(2*m+5) - sums[0][0] - sums[1][0]) / 18
	v += sums[0][1] * sums[1][1] / (2 * m * (m - 1))
	if n > 2 {
		v += sums[0][2] * sums[1][2] / (9 * m * (m - 1) * (m - 2))
	}
	return math.Max(v, 0)
}

func tauB(s, n int, tt, ty []float64) Value {
	pairs := float64(n) * float64(n-1) / 2
	untied := [2]float64{pairs, pairs}
	for i, ties := range [][]float64{tt, ty} {
		for _, t := range ties {
			untied[i] -= t * (t - 1) / 2
		}
	}
	if untied[0] <= 0 || untied[1] <= 0 {
		return undefined("constant series")
	}
	return defined(float64(s) / math.Sqrt(untied[0]) / math.Sqrt(untied[1]))
}

// kendallExact is P(|S| ≥ |s|) over all orders of n untied values, from the
// law of the number of inversions: item k adds 0 to k−1 with equal chance.
func kendallExact(n, s int) float64 {
	law := []float64{1}
	for k := 2; k <= n; k++ {
		next, window := make([]float64, len(law)+k-1), 0.0
		for i := range next {
			if i < len(law) {
				window += law[i] / float64(k)
			}
			if i >= k {
				window -= law[i-k] / float64(k)
			}
			next[i] = window
		}
		// The law is symmetric. The window loses digits only where it shrinks,
		// so the upper half comes from the lower.
		for i := range len(next) / 2 {
			next[len(next)-1-i] = next[i]
		}
		law = next
	}
	pairs := n * (n - 1) / 2
	p := 0.0
	for inversions, q := range law {
		if d := pairs - 2*inversions; d >= abs(s) || d <= -abs(s) {
			p += q
		}
	}
	return math.Min(p, 1)
}

func abs(i int) int {
	if i < 0 {
		return -i
	}
	return i
}

// theilSen is the median of all pairwise slopes at different t.
func theilSen(t, y []float64) Value {
	if len(y) > maxSlopes {
		return undefined("not computed above n = %d", maxSlopes)
	}
	var slopes []float64
	for i := range y {
		for j := range i {
			if t[i] != t[j] {
				slopes = append(slopes, (y[i]-y[j])/(t[i]-t[j]))
			}
		}
	}
	if len(slopes) == 0 {
		return undefined("all times equal")
	}
	return defined(medianInPlace(slopes))
}

// medianInPlace reorders its argument, which must be the caller's own: it
// selects instead of sorting, because pairs are many.
func medianInPlace(xs []float64) float64 {
	h := len(xs) / 2
	upper := selectInPlace(xs, h)
	if len(xs)%2 == 1 {
		return upper
	}
	lower := slices.Max(xs[:h])
	return mid(lower, upper)
}

// selectInPlace returns the k-th smallest value, from 0, and leaves smaller
// values before it. Hoare's selection with the median of three.
func selectInPlace(xs []float64, k int) float64 {
	lo, hi := 0, len(xs)-1
	for lo < hi {
		a, b, c := xs[lo], xs[lo+(hi-lo)/2], xs[hi]
		pivot := math.Max(math.Min(a, b), math.Min(math.Max(a, b), c))
		i, j := lo, hi
		for i <= j {
			for xs[i] < pivot {
				i++
			}
			for xs[j] > pivot {
				j--
			}
			if i <= j {
				xs[i], xs[j] = xs[j], xs[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return xs[k]
		}
	}
	return xs[k]
}
