package stats

import "math"

// WelchTest is Welch's t test of the difference of means, with its interval.
// It holds only if the means are about normal.
type WelchTest struct {
	T, DF, P   Value
	Difference Value // mean x − mean y
	CI         Interval
}

// WelchT compares two means without assuming equal variances.
func WelchT(x, y []float64, conf float64) (WelchTest, error) {
	if err := checkFinite(x, y); err != nil {
		return WelchTest{}, err
	}
	if err := checkConf(conf); err != nil {
		return WelchTest{}, err
	}
	if len(x) < 2 || len(y) < 2 {
		return noWelch("n ≥ 2 needed in each sample", Value{Why: "n ≥ 2 needed in each sample"}), nil
	}
	mx, my := momentsOf(x), momentsOf(y)
	difference := defined(mx.mean - my.mean)
	if mx.constant && my.constant {
		return noWelch("zero spread in x and y", difference), nil
	}
	larger := math.Max(mx.sd.V, my.sd.V)
	a, b := mx.sd.V/larger, my.sd.V/larger
	n, m := float64(mx.n), float64(my.n)
	va, vb := a*a/n, b*b/m
	df := (va + vb) * (va + vb) / (va*va/(n-1) + vb*vb/(m-1))
	se := larger * math.Sqrt(va+vb)
	t := (mx.mean - my.mean) / se
	half := studentQuantile(1-(1-conf)/2, df) * se
	w := WelchTest{T: defined(t), DF: defined(df), Difference: difference,
		CI: interval(difference.V-half, difference.V+half, conf), P: undefined("t is undefined")}
	if w.T.OK {
		w.P = defined(math.Min(1, studentTwoSided(t, df)))
	}
	return w, nil
}

func noWelch(why string, difference Value) WelchTest {
	none := undefined("%s", why)
	return WelchTest{T: none, DF: none, P: none, Difference: difference, CI: noInterval("%s", why)}
}
