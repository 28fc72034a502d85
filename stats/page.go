package stats

import (
	"math"
	"slices"
)

// PageTrend is Page's test of an ordered alternative over the levels of a
// sweep, within blocks (Page, JASA 58 (1963) 216).
type PageTrend struct {
	L, Mean, Var float64 // the variance is corrected for ties
	Z            Value
	// P is two-sided and Greater against an increase over the levels: exact
	// over all permutations within blocks where they are few, else normal
	// without continuity correction.
	P, Greater             Value
	PNormal, GreaterNormal Value
	Exact                  bool
}

// maxExactLevels bounds the permutations of one block: 6! = 720.
const maxExactLevels = 6

// Page tests rows of blocks, each with one value per level in the levels'
// order. For a trend of spread give it |x − median of the level|: see PageSpread.
func Page(rows [][]float64) (PageTrend, error) {
	k, err := checkTable(rows)
	if err != nil {
		return PageTrend{}, err
	}
	why := ""
	switch {
	case len(rows) == 0:
		why = "no observations"
	case k < 3:
		why = "three levels needed"
	}
	if why != "" {
		none := undefined("%s", why)
		return PageTrend{Z: none, P: none, Greater: none, PNormal: none, GreaterNormal: none}, nil
	}
	return pageOf(rows, k), nil
}

// PageSpread is Page over |x − median of the level|.
func PageSpread(rows [][]float64) (PageTrend, error) {
	k, err := checkTable(rows)
	if err != nil {
		return PageTrend{}, err
	}
	dev := make([][]float64, len(rows))
	for i := range dev {
		dev[i] = make([]float64, k)
	}
	for j := range k {
		column := make([]float64, len(rows))
		for i, row := range rows {
			column[i] = row[j]
		}
		for i, d := range deviations(column) {
			dev[i][j] = d
		}
	}
	return Page(dev)
}

func pageOf(rows [][]float64, k int) PageTrend {
	t := PageTrend{}
	levels := float64(k)
	spreadJ := levels * (levels*levels - 1) / 12
	ranks := make([][]int, len(rows))
	doubled := 0
	for i, row := range rows {
		ranks[i] = doubledRanks(row)
		ss := 0.0
		for j, r := range ranks[i] {
			doubled += (j + 1) * r
			d := float64(r)/2 - (levels+1)/2
			ss += d * d
		}
		t.Var += spreadJ * ss / (levels - 1)
		t.Mean += levels * (levels + 1) * (levels + 1) / 4
	}
	t.L = float64(doubled) / 2
	if t.Var == 0 {
		none := undefined("all values tied within every block")
		t.Z, t.PNormal, t.GreaterNormal = none, defined(1), defined(1)
		t.P, t.Greater = t.PNormal, t.GreaterNormal
		return t
	}
	z := (t.L - t.Mean) / math.Sqrt(t.Var)
	t.Z, t.PNormal, t.GreaterNormal = defined(z), defined(normalTwoSided(z)), defined(normalCDF(-z))
	t.P, t.Greater = t.PNormal, t.GreaterNormal
	if k <= maxExactLevels && len(rows) <= 100 {
		t.exact(ranks, doubled)
	}
	return t
}

// exact convolves the laws of the blocks' contributions Σ level·(doubled rank).
func (t *PageTrend) exact(ranks [][]int, doubled int) {
	law := []float64{1}
	for _, r := range ranks {
		law = convolve(law, blockLaw(r))
	}
	var greater, both float64
	center := int(math.Round(2 * t.Mean))
	for s, p := range law {
		if s >= doubled {
			greater += p
		}
		if abs(s-center) >= abs(doubled-center) {
			both += p
		}
	}
	t.P, t.Greater, t.Exact = defined(math.Min(1, both)), defined(math.Min(1, greater)), true
}

// blockLaw is the law of one block's contribution over all orders of its ranks.
func blockLaw(ranks []int) []float64 {
	largest := 0
	for j, r := range slices.Sorted(slices.Values(ranks)) {
		largest += (j + 1) * r
	}
	law := make([]float64, largest+1)
	share := 1 / factorial(len(ranks))
	permutations(slices.Clone(ranks), 0, func(p []int) {
		sum := 0
		for j, v := range p {
			sum += (j + 1) * v
		}
		law[sum] += share
	})
	return law
}

func convolve(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for j, q := range b {
		if q == 0 {
			continue
		}
		for i, p := range a {
			out[i+j] += p * q
		}
	}
	return out
}

// permutations calls visit with every order of xs[from:]; xs is its own.
func permutations(xs []int, from int, visit func([]int)) {
	if from == len(xs) {
		visit(xs)
		return
	}
	for i := from; i < len(xs); i++ {
		xs[from], xs[i] = xs[i], xs[from]
		permutations(xs, from+1, visit)
		xs[from], xs[i] = xs[i], xs[from]
	}
}

func factorial(n int) float64 {
	f := 1.0
	for i := 2; i <= n; i++ {
		f *= float64(i)
	}
	return f
}

// SweepSlope is the elasticity of a metric over a numeric factor.
type SweepSlope struct {
	Slope Value    // Theil–Sen of ln(median) on ln(level)
	CI    Interval // percentile bootstrap over blocks
	Draws int      // resamples that had a slope
}

const sweepDraws = 9_999

// SlopeOfSweep returns Theil and Sen's slope of ln(median over blocks) on
// ln(level), with the percentile interval of resampled blocks.
func SlopeOfSweep(levels []float64, rows [][]float64, conf float64, r Resampling) (SweepSlope, error) {
	k, err := checkTable(rows)
	if err != nil {
		return SweepSlope{}, err
	}
	if err := checkFinite(levels); err != nil {
		return SweepSlope{}, err
	}
	if err := checkConf(conf); err != nil {
		return SweepSlope{}, err
	}
	if len(rows) > 0 && k != len(levels) {
		return SweepSlope{}, &SizeError{What: "every block needs one value per level", Got: []int{len(levels), k}}
	}
	if why := sweepGap(levels, rows); why != "" {
		return SweepSlope{Slope: undefined("%s", why), CI: noInterval("%s", why)}, nil
	}
	return sweepSlope(levels, rows, conf, r), nil
}

func sweepGap(levels []float64, rows [][]float64) string {
	if len(rows) == 0 {
		return "no observations"
	}
	if len(levels) < 2 || isConstant(levels) {
		return "two different levels needed"
	}
	if anyNonPositive(levels) {
		return "levels ≤ 0 have no logarithm"
	}
	for _, row := range rows {
		if anyNonPositive(row) {
			return "values ≤ 0 have no logarithm"
		}
	}
	return ""
}

func sweepSlope(levels []float64, rows [][]float64, conf float64, r Resampling) SweepSlope {
	logs := make([]float64, len(levels))
	for i, l := range levels {
		logs[i] = math.Log(l)
	}
	picked := make([][]float64, len(rows))
	slope := func(pick func(int) int) Value {
		for i := range picked {
			picked[i] = rows[pick(i)]
		}
		y := make([]float64, len(levels))
		column := make([]float64, len(rows))
		for j := range levels {
			for i := range picked {
				column[i] = picked[i][j]
			}
			y[j] = math.Log(medianInPlace(column))
		}
		return theilSen(logs, y)
	}
	s := SweepSlope{Slope: slope(func(i int) int { return i })}
	if len(rows) < minClaims {
		s.CI = noInterval("n ≥ %d needed", minClaims)
		return s
	}
	rng := newRand(r)
	var draws []float64
	for range r.draws(sweepDraws) {
		if v := slope(func(int) int { return rng.IntN(len(rows)) }); v.OK {
			draws = append(draws, v.V)
		}
	}
	s.Draws = len(draws)
	d := sorted(draws)
	s.CI = interval(quantileSorted(d, (1-conf)/2, 7), quantileSorted(d, 1-(1-conf)/2, 7), conf)
	return s
}
