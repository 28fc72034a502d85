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
	mx, my := momentsOf(x, sorted(x)), momentsOf(y, sorted(y))
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

// AcrossSessions returns the mean of one effect per session (reboot, day,
// machine) with Student's interval over the sessions: the top level of Kalibera
// and Jones. Pooling rounds over sessions as if independent would be
// pseudo-replication. Five sessions or more are advised; two give t = 12.7.
func AcrossSessions(effects []float64, conf float64) (Value, Interval, error) {
	if err := checkFinite(effects); err != nil {
		return Value{}, Interval{}, err
	}
	if err := checkConf(conf); err != nil {
		return Value{}, Interval{}, err
	}
	if len(effects) == 0 {
		return undefined("no sessions"), noInterval("no sessions"), nil
	}
	m := momentsOf(effects, sorted(effects))
	mean := defined(m.mean)
	if !m.sd.OK {
		return mean, noInterval("two sessions needed, five advised"), nil
	}
	n := float64(m.n)
	half := studentQuantile(1-(1-conf)/2, n-1) * m.sd.V / math.Sqrt(n)
	return mean, interval(m.mean-half, m.mean+half, conf), nil
}
