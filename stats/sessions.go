package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// AdvisedSessions is the number of sessions below which Student's factor
// makes an interval over sessions wide: it is 12.7 for two and 2.8 for five.
const AdvisedSessions = 5

// Across is one effect over several sessions.
type Across struct {
	N    int   // sessions that have a value
	Mean Value // of the sessions' values
	S2   Value // their variance, with n − 1
	T    Value // Student's factor of CI, with n − 1 degrees of freedom
	CI   Interval
	// P is of Student's test of a mean of 0: below 1 − conf exactly where CI
	// excludes 0.
	P, PAdj Value
}

// AcrossSessions summarizes one effect per session (reboot, day, machine) by
// its mean and Student's interval over the sessions, mean ± t·√(S²/s): the top
// level of Kalibera and Jones (ISMM 2013). Pooling rounds over sessions as if
// independent would be pseudo-replication. PAdj equals P until AdjustAcross is
// told the family.
func AcrossSessions(effects []float64, conf float64) (Across, error) {
	if err := checkFinite(effects); err != nil {
		return Across{}, err
	}
	if err := checkConf(conf); err != nil {
		return Across{}, err
	}
	a := Across{N: len(effects)}
	if a.N < 2 {
		none := undefined("one session: two needed, %d advised", AdvisedSessions)
		a.Mean = none
		if a.N == 0 {
			none = undefined("no session has a value")
			a.Mean = none
		} else {
			a.Mean = defined(effects[0])
		}
		a.S2, a.T, a.P, a.PAdj, a.CI = none, none, none, none, noInterval("%s", none.Why)
		return a, nil
	}
	m := momentsOf(effects)
	n := float64(a.N)
	a.Mean, a.S2 = defined(m.mean), defined(m.sd.V*m.sd.V)
	a.T = defined(studentQuantile(1-(1-conf)/2, n-1))
	half := a.T.V * m.sd.V / math.Sqrt(n)
	a.CI = interval(m.mean-half, m.mean+half, conf)
	a.P = undefined("the same in every session")
	if !m.constant {
		a.P = defined(math.Min(1, studentTwoSided(m.mean/(m.sd.V/math.Sqrt(n)), n-1)))
	}
	a.PAdj = a.P
	return a, nil
}

// AdjustAcross applies Holm's correction to effects of one family.
func AdjustAcross(family []*Across) {
	p := make([]Value, len(family))
	for i, a := range family {
		p[i] = a.P
	}
	for i, v := range holmValues(p) {
		family[i].PAdj = v
	}
}

// KaliberaJonesUneven is KaliberaJones for two levels, runs in sessions, where
// a session may have fewer runs than another: it ended early, say. S₁² is
// pooled over the sessions by their degrees of freedom, S₂² is the variance of
// the sessions' means, and T₂² = S₂² − S₁²/h with the harmonic mean h of the
// runs, which is unbiased, and the same where all have equally many.
func KaliberaJonesUneven(sessions [][]float64, costs []float64, conf float64) (Levels, error) {
	if err := checkUneven(sessions, costs); err != nil {
		return Levels{}, err
	}
	if err := checkConf(conf); err != nil {
		return Levels{}, err
	}
	means := make([]float64, len(sessions))
	within, df, inverse := 0.0, 0, 0.0
	for i, runs := range sessions {
		means[i] = meanOf(runs)
		for _, v := range runs {
			within += (v - means[i]) * (v - means[i])
		}
		df += len(runs) - 1
		inverse += 1 / float64(len(runs)) / float64(len(sessions))
	}
	l := Levels{Mean: defined(meanOf(means)), S2: []Value{undefined("one repetition at this level"), undefined("one repetition at this level")}}
	if df > 0 {
		l.S2[0] = defined(within / float64(df))
	}
	if len(means) > 1 {
		between := 0.0
		for _, v := range means {
			between += (v - l.Mean.V) * (v - l.Mean.V)
		}
		l.S2[1] = defined(between / float64(len(means)-1))
	}
	l.T2 = []Value{l.S2[0], l.S2[1]}
	switch {
	case !l.S2[1].OK:
	case !l.S2[0].OK:
		l.T2[1] = undefined("one repetition at the level below")
	default:
		l.T2[1] = defined(l.S2[1].V - l.S2[0].V*inverse)
	}
	l.interval(len(sessions), conf)
	if costs != nil {
		l.counts(costs)
	}
	return l, nil
}

func checkUneven(sessions [][]float64, costs []float64) error {
	reps := []int{1, len(sessions)}
	if len(sessions) == 0 {
		return &SizeError{What: "at least one session is needed", Got: []int{0}}
	}
	for _, runs := range sessions {
		if len(runs) == 0 {
			return &SizeError{What: "every session needs a run", Got: []int{0}}
		}
		if err := checkFinite(runs); err != nil {
			return err
		}
	}
	return checkNested(make([]float64, len(sessions)), reps, costs)
}

// LogSDRatioPseudovalues are the jackknife's pseudo-values of ln(sd(x)/sd(y)),
// one for each pair x[i], y[i] (Miller, Ann. Math. Stat. 39 (1968) 567): what a
// pair contributes to the ratio. Their mean is about the ratio's logarithm and
// their variance over n about its variance, so that a ratio of sds has runs to
// analyse as a mean has. It needs n ≥ 3 and spread in every sample less one;
// where it has none, why says so.
func LogSDRatioPseudovalues(x, y []float64) (values []float64, why string, err error) {
	if err := checkPaired(x, y); err != nil {
		return nil, "", err
	}
	if len(x) < 3 {
		return nil, "n ≥ 3 needed", nil
	}
	lx, ly := logSDsWithout(x), logSDsWithout(y)
	if lx == nil || ly == nil {
		return nil, "no spread in a sample less one run", nil
	}
	n := float64(len(x))
	all := lx[len(x)] - ly[len(x)]
	values = make([]float64, len(x))
	for i := range values {
		values[i] = n*all - (n-1)*(lx[i]-ly[i])
	}
	if checkFinite(values) != nil {
		return nil, "out of the range of floating-point arithmetic", nil
	}
	return values, "", nil
}

// logSDsWithout is ln sd of the sample without its ith value, for every i, and
// at last that of the whole; nil where one of them is of a constant sample.
func logSDsWithout(xs []float64) []float64 {
	s := sorted(xs)
	n := len(s)
	if s[0] == s[n-2] || s[1] == s[n-1] {
		return nil
	}
	m := momentsOf(xs)
	k := float64(n)
	out := make([]float64, n+1)
	for i, v := range xs {
		d := (v - m.mean) / m.sd.V
		// In units of the whole sample's variance: (n−1 − n/(n−1)·d²)/(n−2).
		out[i] = math.Log(m.sd.V) + math.Log((k-1-k/(k-1)*d*d)/(k-2))/2
	}
	out[n] = math.Log(m.sd.V)
	return out
}

// RequiredSessions is the number of sessions, at least two, whose mean differs
// from 0 at level alpha with the given power, if the true mean is effect and s2
// is the variance of a session's value: Student's test with its noncentral law.
// An effect of 0 needs infinitely many: undefined.
func RequiredSessions(effect, s2, alpha, power float64) (Value, error) {
	if err := checkFinite([]float64{effect, s2}); err != nil {
		return Value{}, err
	}
	if err := checkLevelAndPower(alpha, power); err != nil {
		return Value{}, err
	}
	if s2 < 0 {
		return Value{}, &ArgumentError{Name: "variance", Rule: "0 or more", Got: s2}
	}
	if effect == 0 {
		return undefined("a mean of 0 cannot be told from 0"), nil
	}
	delta := math.Abs(effect) / math.Sqrt(s2)
	if delta < 0.05 { // Student's law is the normal one here
		z := normalQuantile(1-alpha/2) + normalQuantile(power)
		return countOf(z*z/(delta*delta) + 2), nil
	}
	lo, hi := 1, 1<<13 // hi suffices: z²/0.05² is about 3,140
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; powerOfMean(delta*math.Sqrt(float64(mid)), mid, alpha) >= power {
			hi = mid
		} else {
			lo = mid
		}
	}
	return defined(float64(hi)), nil
}

// powerOfMean is the power of Student's test of n values against a mean of ncp
// standard errors, without the far tail.
func powerOfMean(ncp float64, n int, alpha float64) float64 {
	df := float64(n - 1)
	critical := studentQuantile(1-alpha/2, df)
	if ncp > 30 && ncp > 3*critical { // the law's series overflows
		return 1
	}
	return 1 - distuv.NoncentralT{Nu: df, Mu: math.Min(ncp, 37)}.CDF(critical)
}

// RequiredRuns is the number of runs in each of so many sessions that do the
// same where sessions add no variance of their own and t2 is the variance of a
// run's value.
func RequiredRuns(effect, t2 float64, sessions int, alpha, power float64) (Value, error) {
	if err := checkFinite([]float64{effect, t2}); err != nil {
		return Value{}, err
	}
	if err := checkLevelAndPower(alpha, power); err != nil {
		return Value{}, err
	}
	if t2 < 0 || sessions < 2 {
		return Value{}, &ArgumentError{Name: "variance, and sessions less two,", Rule: "0 or more", Got: math.Min(t2, float64(sessions-2))}
	}
	if effect == 0 {
		return undefined("a mean of 0 cannot be told from 0"), nil
	}
	lo, hi := 0.0, 200.0 // standard errors
	for range 50 {
		if mid := (lo + hi) / 2; powerOfMean(mid, sessions, alpha) >= power {
			hi = mid
		} else {
			lo = mid
		}
	}
	v := countOf(hi * hi * t2 / (effect * effect) / float64(sessions))
	if v.OK {
		v.V = math.Max(1, v.V)
	}
	return v, nil
}

// SessionsWithin is the smallest number of sessions, two or more, whose interval
// of the mean, t·√(S²/s), is within half of it on each side.
func SessionsWithin(half, s2, conf float64) (Value, error) {
	if err := checkConf(conf); err != nil {
		return Value{}, err
	}
	if !(half > 0) || !(s2 >= 0) || math.IsInf(s2, 0) {
		return Value{}, &ArgumentError{Name: "half width", Rule: "above 0, with a variance of 0 or more", Got: half}
	}
	for n := 2; n <= manyRounds; n++ {
		if studentQuantile(1-(1-conf)/2, float64(n-1))*math.Sqrt(s2/float64(n)) <= half {
			return defined(float64(n)), nil
		}
	}
	return undefined("more than %d sessions", manyRounds), nil
}
