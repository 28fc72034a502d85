package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// DefaultPower is the power that plans and "resolves" figures ask for.
const DefaultPower = 0.8

// signedRankEfficiency is the asymptotic relative efficiency of the
// signed-rank test against Student's on normal data: 3/π.
const signedRankEfficiency = 0.955

// PowerSDRatio is the power of the F test, with n runs per mode and level
// alpha, against a true sd ratio: what normal data would allow. Real runs need
// 1.2 to 5 times as many.
func PowerSDRatio(ratio float64, n int, alpha float64) (Value, error) {
	if err := checkRatio(ratio); err != nil {
		return Value{}, err
	}
	if err := checkConf(alpha); err != nil {
		return Value{}, &ArgumentError{Name: "level", Rule: "between 0 and 1", Got: alpha}
	}
	if n < 2 {
		return undefined("n ≥ 2 needed"), nil
	}
	return defined(powerSDRatio(math.Log(ratio), n, criticalF(n, alpha))), nil
}

func checkRatio(ratio float64) error {
	if !(ratio > 0) || math.IsInf(ratio, 0) {
		return &ArgumentError{Name: "ratio", Rule: "positive and finite", Got: ratio}
	}
	return nil
}

// criticalF is the upper critical value of the two-sided F test; for equal n
// the lower one is its inverse.
func criticalF(n int, alpha float64) float64 {
	return distuv.F{D1: float64(n - 1), D2: float64(n - 1)}.Quantile(1 - alpha/2)
}

func powerSDRatio(logRatio float64, n int, upper float64) float64 {
	law := distuv.F{D1: float64(n - 1), D2: float64(n - 1)}
	f := math.Exp(-2 * logRatio)
	return math.Min(1, law.CDF(f/upper)+law.Survival(f*upper))
}

// ResolvableSDRatio is the largest ratio below 1 that n runs per mode detect
// with the given power on normal data: "resolves sd ratio ≤ 0.37" at n = 10.
func ResolvableSDRatio(n int, alpha, power float64) (Value, error) {
	if err := checkLevelAndPower(alpha, power); err != nil {
		return Value{}, err
	}
	if n < minClaims {
		return undefined("n ≥ %d needed", minClaims), nil
	}
	upper := criticalF(n, alpha)
	lo, hi := -50.0, 0.0 // power falls from 1 to alpha as ln ratio rises to 0
	for range 45 {
		if half := (lo + hi) / 2; powerSDRatio(half, n, upper) >= power {
			lo = half
		} else {
			hi = half
		}
	}
	return defined(math.Exp(lo)), nil
}

func checkLevelAndPower(alpha, power float64) error {
	if !(alpha > 0 && alpha < 1) {
		return &ArgumentError{Name: "level", Rule: "between 0 and 1", Got: alpha}
	}
	if !(power > alpha && power < 1) {
		return &ArgumentError{Name: "power", Rule: "above the level and below 1", Got: power}
	}
	return nil
}

// RequiredForSDRatio is the number of runs per mode that detect a true sd
// ratio: ⌈1 + (κ−1)/2·(z₁₋α/₂+z_power)²/ln²ratio⌉ with the kurtosis κ, 3 for
// normal data and never less. A ratio of 1 needs infinitely many: undefined.
func RequiredForSDRatio(ratio, kurtosis, alpha, power float64) (Value, error) {
	if err := checkRatio(ratio); err != nil {
		return Value{}, err
	}
	if err := checkLevelAndPower(alpha, power); err != nil {
		return Value{}, err
	}
	if math.IsNaN(kurtosis) || math.IsInf(kurtosis, 0) {
		return Value{}, &ArgumentError{Name: "kurtosis", Rule: "finite", Got: kurtosis}
	}
	if ratio == 1 {
		return undefined("a ratio of 1 cannot be detected"), nil
	}
	z := normalQuantile(1-alpha/2) + normalQuantile(power)
	l := math.Log(ratio)
	return countOf(1 + (math.Max(kurtosis, 3)-1)/2*z*z/(l*l)), nil
}

// countOf rounds a number of runs up; beyond 10⁹ it is no plan.
func countOf(n float64) Value {
	if !(n < 1e9) {
		return undefined("more than 10⁹ runs")
	}
	return defined(math.Ceil(n - 1e-9))
}

// effective is the sample size at which Student's test has the power of the
// signed-rank test with n blocks.
func effective(n int) float64 { return float64(n) * signedRankEfficiency }

func criticalT(n int, alpha float64) float64 { return studentQuantile(1-alpha/2, effective(n)-1) }

// powerShift is the power of the signed-rank test with n blocks against a shift
// of delta, in sds of the blocks' differences, by Student's noncentral law and
// the test's efficiency. It leaves out the far tail, which a shift that matters
// never reaches.
func powerShift(delta float64, n int, critical, alpha float64) float64 {
	ncp := delta * math.Sqrt(effective(n))
	switch {
	case ncp > 30: // far beyond any critical value; the law's series overflows
		return 1
	case ncp == 0:
		return alpha
	}
	return math.Min(1, math.Max(0, 1-distuv.NoncentralT{Nu: effective(n) - 1, Mu: ncp}.CDF(critical)))
}

// ResolvableShift is the smallest shift that n blocks detect with the given
// power, in sds of the blocks' differences.
func ResolvableShift(n int, alpha, power float64) (Value, error) {
	if err := checkLevelAndPower(alpha, power); err != nil {
		return Value{}, err
	}
	if n < minClaims {
		return undefined("n ≥ %d needed", minClaims), nil
	}
	critical := criticalT(n, alpha)
	lo, hi := 0.0, 30.0
	for range 40 {
		if half := (lo + hi) / 2; powerShift(half, n, critical, alpha) >= power {
			hi = half
		} else {
			lo = half
		}
	}
	return defined(hi), nil
}

// RequiredForShift is the number of blocks that detect a shift of delta, in
// sds of the blocks' differences.
func RequiredForShift(delta, alpha, power float64) (Value, error) {
	if err := checkLevelAndPower(alpha, power); err != nil {
		return Value{}, err
	}
	if math.IsNaN(delta) || math.IsInf(delta, 0) {
		return Value{}, &ArgumentError{Name: "shift", Rule: "finite", Got: delta}
	}
	delta = math.Abs(delta)
	if delta == 0 {
		return undefined("a shift of 0 cannot be detected"), nil
	}
	z := normalQuantile(1-alpha/2) + normalQuantile(power)
	if delta < 0.05 { // Student's law is the normal one here
		return countOf((z*z/(delta*delta) + 2) / signedRankEfficiency), nil
	}
	lo, hi := minClaims-1, 1<<14 // hi suffices: z²/0.05² is about 3,140
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; powerShift(delta, mid, criticalT(mid, alpha), alpha) >= power {
			hi = mid
		} else {
			lo = mid
		}
	}
	return defined(float64(hi)), nil
}
