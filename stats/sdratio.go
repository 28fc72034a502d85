package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// SDRatioEstimate is the ratio sd(x)/sd(y) with its intervals.
type SDRatioEstimate struct {
	Ratio Value
	// CI is the default interval: Bonett's by test inversion for equal n, his
	// closed form otherwise. CI excludes 1 exactly where P < 1 − conf for
	// equal n.
	CI Interval
	P  Value // of ratio 1, Bonett; undefined for unequal n

	Inverted Interval // by test inversion (Banga and Fox 2013); equal n only
	Closed   Interval // Bonett, Appl. Psych. Meas. 30 (2006) 430
	Kurtosis Value    // pooled, at ratio 1; 3 under a normal law
	SE       Value    // of ln(s²x/s²y) at ratio 1

	// If normal: the F test and its interval. Skewed or heavy-tailed runs give
	// it a false-positive rate of 16 to 47%.
	F, PF Value
	FCI   Interval
}

// SDRatio compares two standard deviations. Zero spread in x is ratio 0
// without interval; zero spread in y has no ratio.
func SDRatio(x, y []float64, conf float64) (SDRatioEstimate, error) {
	if err := checkFinite(x, y); err != nil {
		return SDRatioEstimate{}, err
	}
	if err := checkConf(conf); err != nil {
		return SDRatioEstimate{}, err
	}
	return sdRatio(x, y, conf), nil
}

func sdRatio(x, y []float64, conf float64) SDRatioEstimate {
	if len(x) < 2 || len(y) < 2 {
		return noSDRatio(undefined("n ≥ 2 needed"), "n ≥ 2 needed")
	}
	sx, sy := sorted(x), sorted(y)
	mx, my := momentsOf(x), momentsOf(y)
	switch {
	case mx.constant && my.constant:
		return noSDRatio(undefined("zero spread in x and y"), "zero spread in x and y")
	case my.constant:
		return noSDRatio(undefined("zero spread in y"), "zero spread in y")
	case mx.constant:
		return noSDRatio(defined(0), "zero spread in x")
	}
	e := noSDRatio(Value{}, "n ≥ 5 needed in each sample")
	px, py := ratioParts(sx), ratioParts(sy)
	logF := px.logVariance() - py.logVariance()
	e.Ratio = defined(math.Exp(logF / 2))
	e.normalTheory(logF, float64(len(x)-1), float64(len(y)-1), conf)
	if len(x) >= minBonett && len(y) >= minBonett {
		e.bonett(px, py, logF, conf)
	}
	return e
}

func noSDRatio(ratio Value, why string) SDRatioEstimate {
	none, gap := undefined("%s", why), noInterval("%s", why)
	return SDRatioEstimate{Ratio: ratio, CI: gap, P: none, Inverted: gap, Closed: gap,
		Kurtosis: none, SE: none, F: none, PF: none, FCI: gap}
}

// ratioParts serves samples too small for a trimmed mean with the variance
// alone.
func ratioParts(s []float64) spreadParts {
	if len(s) >= minBonett {
		return spreadPartsOf(s)
	}
	m := momentsOf(s)
	frac, exp := math.Frexp(m.sd.V)
	return spreadParts{n: len(s), second: frac * frac * float64(len(s)-1), exp: exp}
}

func (e *SDRatioEstimate) normalTheory(logF, dfx, dfy, conf float64) {
	f := math.Exp(logF)
	law := distuv.F{D1: dfx, D2: dfy}
	e.F = defined(f)
	if !e.F.OK {
		e.PF = e.F
		return
	}
	e.PF = defined(math.Min(1, 2*math.Min(law.CDF(f), law.Survival(f))))
	tail := (1 - conf) / 2
	e.FCI = interval(math.Exp(logF/2)/math.Sqrt(law.Quantile(1-tail)), math.Exp(logF/2)/math.Sqrt(law.Quantile(tail)), conf)
}

func (e *SDRatioEstimate) bonett(px, py spreadParts, logF, conf float64) {
	z := normalQuantile(1 - (1-conf)/2)
	at1 := pooledKurtosis(px, py, logF, 0)
	se := ratioSE(px.n, py.n, at1)
	e.Kurtosis, e.SE = defined(at1), defined(se)
	n, m := float64(px.n), float64(py.n)
	if n <= z || m <= z {
		gap := noInterval("n > %.3g needed in each sample", z)
		e.Closed, e.Inverted, e.CI = gap, gap, gap
		return
	}
	c := math.Log(n/(n-z)) - math.Log(m/(m-z))
	e.Closed = interval(math.Exp((logF+c-z*se)/2), math.Exp((logF+c+z*se)/2), conf)
	if px.n != py.n {
		e.Inverted, e.P = noInterval("equal n needed"), undefined("equal n needed")
		e.CI = e.Closed
		return
	}
	e.P = defined(normalTwoSided(logF / se))
	e.Inverted = invertRatio(px, py, logF, z, conf)
	e.CI = e.Inverted
}

// pooledKurtosis is γ with y rescaled by ρ = exp(t/2) before pooling. Both
// sums are first divided by their own variance, so that only the ratio of the
// two, exp(t − logF), enters and nothing overflows.
func pooledKurtosis(px, py spreadParts, logF, t float64) float64 {
	ax := px.fourth / (px.variance() * px.variance())
	ay := py.fourth / (py.variance() * py.variance())
	u := t - logF // ln of ρ²s²y/s²x
	wx, wy := 1.0, math.Exp(u)
	if u > 0 {
		wx, wy = math.Exp(-u), 1
	}
	n, m := float64(px.n), float64(py.n)
	pooled := (n-1)*wx + (m-1)*wy
	return (n + m) * (ax*wx*wx + ay*wy*wy) / (pooled * pooled)
}

func ratioSE(n, m int, gamma float64) float64 {
	a, b := float64(n), float64(m)
	return math.Sqrt((gamma-(a-3)/a)/(a-1) + (gamma-(b-3)/b)/(b-1))
}

// invertRatio returns the ρ that Bonett's test with the kurtosis pooled at ρ
// does not reject, by bisection on t = 2 ln ρ outwards from the estimate.
func invertRatio(px, py spreadParts, logF, z, conf float64) Interval {
	rejected := func(t float64) bool {
		return math.Abs(logF-t) > z*ratioSE(px.n, py.n, pooledKurtosis(px, py, logF, t))
	}
	side := func(direction float64) (float64, bool) {
		inside, step := 0.0, 12.0
		for !rejected(logF + direction*step) {
			if inside, step = step, 2*step; step > 1000 {
				return 0, false
			}
		}
		outside := step
		for range 200 {
			half := (inside + outside) / 2
			if half == inside || half == outside {
				break
			}
			if rejected(logF + direction*half) {
				outside = half
			} else {
				inside = half
			}
		}
		return math.Exp((logF + direction*(inside+outside)/2) / 2), true
	}
	lo, okLo := side(-1)
	hi, okHi := side(1)
	if !okLo || !okHi {
		return noInterval("no ratio is rejected at this n")
	}
	return interval(lo, hi, conf)
}
