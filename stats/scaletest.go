package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// BrownForsytheTest is the analysis of variance of |x − median|.
type BrownForsytheTest struct {
	W Value
	P Value // from the F law
}

// BrownForsythe tests equality of spread over two or more unpaired groups
// (Brown and Forsythe, JASA 69 (1974) 364). At n = 5 the structural zero of an
// odd sample leaves it without power.
func BrownForsythe(groups ...[]float64) (BrownForsytheTest, error) {
	none := func(why string) (BrownForsytheTest, error) {
		return BrownForsytheTest{W: undefined("%s", why), P: undefined("%s", why)}, nil
	}
	if err := checkFinite(groups...); err != nil {
		return BrownForsytheTest{}, err
	}
	if why := groupGap(groups); why != "" {
		return none(why)
	}
	dev := make([][]float64, len(groups))
	for i, g := range groups {
		dev[i] = deviations(g)
	}
	between, within, df1, df2 := oneWay(dev)
	switch {
	case between == 0 && within == 0 && maxOf(dev) == 0:
		return none("all |x-med| are zero")
	case within == 0:
		return none("|x-med| does not vary within any group")
	}
	w := between / df1 / (within / df2)
	return BrownForsytheTest{W: defined(w), P: defined(distuv.F{D1: df1, D2: df2}.Survival(w))}, nil
}

func groupGap(groups [][]float64) string {
	if len(groups) < 2 {
		return "two groups needed"
	}
	total := 0
	for _, g := range groups {
		if len(g) == 0 {
			return "no observations in a group"
		}
		total += len(g)
	}
	if total <= len(groups) {
		return "n ≥ 2 needed in a group"
	}
	return ""
}

// deviations returns |x − median| in the order of xs.
func deviations(xs []float64) []float64 {
	med := median(xs)
	dev := make([]float64, len(xs))
	for i, x := range xs {
		dev[i] = math.Abs(x - med)
	}
	return dev
}

func maxOf(groups [][]float64) float64 {
	m := 0.0
	for _, g := range groups {
		m = math.Max(m, slices.Max(g))
	}
	return m
}

// oneWay returns the sums of squares between and within groups with their
// degrees of freedom.
func oneWay(groups [][]float64) (between, within, df1, df2 float64) {
	scale := maxOf(groups)
	if scale == 0 {
		scale = 1
	}
	all := slices.Concat(groups...)
	grand := meanOf(all) / scale
	for _, g := range groups {
		m := meanOf(g) / scale
		between += float64(len(g)) * (m - grand) * (m - grand)
		for _, v := range g {
			within += (v/scale - m) * (v/scale - m)
		}
	}
	return between, within, float64(len(groups) - 1), float64(len(all) - len(groups))
}

// FlignerKilleenTest compares spreads by normal scores of the ranks of
// |x − median|.
type FlignerKilleenTest struct {
	X2 Value
	P  Value // from the χ² law
}

// FlignerKilleen is a second opinion on spread, more powerful than
// Brown–Forsythe where runs have spikes (Fligner and Killeen, JASA 71 (1976)
// 210; the median-centred form of Conover et al. 1981, as in R).
func FlignerKilleen(groups ...[]float64) (FlignerKilleenTest, error) {
	if err := checkFinite(groups...); err != nil {
		return FlignerKilleenTest{}, err
	}
	why := groupGap(groups)
	if why == "" {
		if x2, ok := flignerStatistic(groups); ok {
			return FlignerKilleenTest{X2: defined(x2), P: defined(chiSquaredSurvival(x2, float64(len(groups)-1)))}, nil
		}
		why = "all |x-med| are equal"
	}
	return FlignerKilleenTest{X2: undefined("%s", why), P: undefined("%s", why)}, nil
}

func flignerStatistic(groups [][]float64) (x2 float64, ok bool) {
	var dev []float64
	for _, g := range groups {
		dev = append(dev, deviations(g)...)
	}
	n := float64(len(dev))
	score := make([]float64, len(dev))
	for i, r := range midranks(dev) {
		score[i] = normalQuantile((1 + r/(n+1)) / 2)
	}
	mean, ss := meanOf(score), 0.0
	for _, a := range score {
		ss += (a - mean) * (a - mean)
	}
	if ss <= 1e-20*n {
		return 0, false
	}
	at := 0
	for _, g := range groups {
		d := meanOf(score[at:at+len(g)]) - mean
		x2 += float64(len(g)) * d * d
		at += len(g)
	}
	return x2 / (ss / (n - 1)), true
}

// SpreadPermutation is a permutation test of spread: of |x − median| against
// |y − median|.
type SpreadPermutation struct {
	Permutation
	MeanDifference Value // mean |x − med x| − mean |y − med y|
}

// BlockBrownForsythe tests equality of spread within blocks: x[i] and y[i]
// share block i. Under the null hypothesis the labels within a block are
// exchangeable, which flips the sign of |xᵢ−med x| − |yᵢ−med y|; all 2ⁿ flips
// are counted up to n = 20, Monte Carlo above. What blocks have in common
// cancels. Centring each sample by its own median makes the level approximate
// (0.035 to 0.07 in simulation at even n, conservative at odd n). Both samples
// constant: p is undefined.
func BlockBrownForsythe(x, y []float64, r Resampling) (SpreadPermutation, error) {
	if err := checkPaired(x, y); err != nil {
		return SpreadPermutation{}, err
	}
	if why := spreadGap(x, y); why != "" {
		return noSpreadTest(why), nil
	}
	a, b := deviations(x), deviations(y)
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	if checkFinite(d) != nil || math.IsInf(sumAbs(d), 0) {
		return noSpreadTest("out of the range of floating-point arithmetic"), nil
	}
	return SpreadPermutation{
		Permutation:    flipTest(d, roundingTolerance(d, x, y), r),
		MeanDifference: defined(meanOf(d)),
	}, nil
}

// PermutationBrownForsythe is the unblocked form: all relabellings of the
// pooled |x − median|, exact up to 10⁷ of them, Monte Carlo above.
func PermutationBrownForsythe(x, y []float64, r Resampling) (SpreadPermutation, error) {
	if err := checkFinite(x, y); err != nil {
		return SpreadPermutation{}, err
	}
	if why := spreadGap(x, y); why != "" {
		return noSpreadTest(why), nil
	}
	a, b := deviations(x), deviations(y)
	pooled := slices.Concat(a, b)
	if checkFinite(pooled) != nil || math.IsInf(sumAbs(pooled), 0) {
		return noSpreadTest("out of the range of floating-point arithmetic"), nil
	}
	return SpreadPermutation{
		Permutation:    labelTest(a, b, roundingTolerance(pooled, x, y), r),
		MeanDifference: defined(meanOf(a) - meanOf(b)),
	}, nil
}

func spreadGap(x, y []float64) string {
	switch {
	case len(x) == 0 || len(y) == 0:
		return "no observations"
	case len(x) < 2 || len(y) < 2:
		return "n ≥ 2 needed"
	case isConstant(x) && isConstant(y):
		return "all |x-med| are zero"
	default:
		return ""
	}
}

func isConstant(xs []float64) bool {
	for _, x := range xs {
		if x != xs[0] {
			return false
		}
	}
	return true
}

func noSpreadTest(why string) SpreadPermutation {
	none := undefined("%s", why)
	return SpreadPermutation{Permutation: Permutation{P: none, Less: none, Greater: none, MinP: 1}, MeanDifference: none}
}

// roundingTolerance is the distance within which two sums over d are equal:
// the values that d was made from are decimals rounded to binary, and each
// carries an error relative to itself, however small d is.
func roundingTolerance(d []float64, from ...[]float64) float64 {
	largest := 0.0
	for _, xs := range from {
		largest = math.Max(largest, maxAbs(xs))
	}
	const eps = 0x1p-52
	return 1e-12*sumAbs(d) + 4*eps*float64(len(d))*largest
}

func sumAbs(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += math.Abs(x)
	}
	return sum
}

// PitmanMorganTest is the correlation of x + y with x − y: the normal-theory
// test of equal variances of paired values.
type PitmanMorganTest struct {
	R, T, P  Value
	Spearman Value // the rank correlation of the same sums and differences
}

// PitmanMorgan is given for completeness only: on skewed or heavy-tailed runs
// its false-positive rate is 16 to 47%. BlockBrownForsythe is the default.
func PitmanMorgan(x, y []float64) (PitmanMorganTest, error) {
	if err := checkPaired(x, y); err != nil {
		return PitmanMorganTest{}, err
	}
	none := func(why string) (PitmanMorganTest, error) {
		v := undefined("%s", why)
		return PitmanMorganTest{R: v, T: v, P: v, Spearman: v}, nil
	}
	if len(x) < 3 {
		return none("n ≥ 3 needed")
	}
	sum, diff := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		// Halves neither overflow nor change a correlation.
		sum[i], diff[i] = x[i]/2+y[i]/2, x[i]/2-y[i]/2
	}
	r, ok := pearson(sum, diff)
	rank, _ := pearson(midranks(sum), midranks(diff))
	if !ok {
		return none("x + y or x − y is constant")
	}
	t, p := correlationTest(r, len(x))
	return PitmanMorganTest{R: defined(r), T: t, P: p, Spearman: defined(rank)}, nil
}

// correlationTest is Student's test of r = 0; |r| = 1 is p = 0.
func correlationTest(r float64, n int) (t, p Value) {
	df := float64(n - 2)
	if r*r >= 1 {
		return undefined("|r| = 1"), defined(0)
	}
	v := r * math.Sqrt(df/(1-r*r))
	return defined(v), defined(math.Min(1, studentTwoSided(v, df)))
}

// pearson is the correlation of two samples of equal length; ok is false where
// one is constant.
func pearson(x, y []float64) (r float64, ok bool) {
	if len(x) < 2 || isConstant(x) || isConstant(y) {
		return 0, false
	}
	x, _ = scaled(x)
	y, _ = scaled(y)
	mx, my := meanOf(x), meanOf(y)
	var sxx, syy, sxy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		syy += (y[i] - my) * (y[i] - my)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	if sxx == 0 || syy == 0 {
		return 0, false
	}
	return math.Max(-1, math.Min(1, sxy/math.Sqrt(sxx)/math.Sqrt(syy))), true
}
