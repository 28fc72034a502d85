package stats

// Autocorrelation at lag 1 over runs in time order.
type Autocorrelation struct {
	R1       Value // biased low by about 1/n
	LjungBox Value
	P        Value // of Ljung–Box at lag 1
	ESS      Value // effective sample size n(1−r⁺)/(1+r⁺), r⁺ = max(r₁, 0)
}

func noACF(why string) Autocorrelation {
	none := undefined("%s", why)
	return Autocorrelation{R1: none, LjungBox: none, P: none, ESS: none}
}

// ACF1 returns the autocorrelation of xs at lag 1. At n = 10 its standard
// deviation is 0.27: judge it by P only.
func ACF1(xs []float64) (Autocorrelation, error) {
	if err := checkFinite(xs); err != nil {
		return Autocorrelation{}, err
	}
	return acfOf(xs), nil
}

func acfOf(xs []float64) Autocorrelation {
	if len(xs) < 3 {
		return noACF("n ≥ 3 needed")
	}
	if isConstant(xs) {
		return noACF("constant series")
	}
	z, _ := scaled(xs)
	mean := meanOf(z)
	var c0, c1 float64
	for i, x := range z {
		c0 += (x - mean) * (x - mean)
		if i > 0 {
			c1 += (x - mean) * (z[i-1] - mean)
		}
	}
	n := float64(len(xs))
	r := c1 / c0
	q := n * (n + 2) * r * r / (n - 1)
	a := Autocorrelation{R1: defined(r), LjungBox: defined(q), P: undefined("undefined Ljung–Box")}
	if a.LjungBox.OK {
		a.P = defined(chiSquaredSurvival(q, 1))
	}
	pos := max(r, 0)
	a.ESS = defined(n * (1 - pos) / (1 + pos))
	return a
}
