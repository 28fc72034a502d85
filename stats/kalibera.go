package stats

import "math"

// Levels are the variance components of a balanced nested experiment, level 1
// lowest (iteration), then run, session, build (Kalibera and Jones, ISMM 2013,
// with T² after the published correction).
type Levels struct {
	Mean Value
	S2   []Value // Sᵢ², "biased" variance of the means at level i
	// T2 is the unbiased component Tᵢ² = Sᵢ² − Sᵢ₋₁²/rᵢ₋₁. At or below zero
	// the level adds no variance that can be detected.
	T2   []Value
	Half Value    // half-width of the t interval of the mean, from the top level
	CI   Interval // Mean ± Half
	// Optimal is √(cᵢ₊₁/cᵢ · Tᵢ²/Tᵢ₊₁²) for i below the top level, unrounded;
	// undefined where a component is not positive.
	Optimal []Value
	// Counts are the repetitions to use below the top level: Optimal rounded
	// up; 1 where the level itself adds nothing; 0 where no level above varies,
	// and the whole budget belongs here.
	Counts []int
}

// KaliberaJones analyses values laid out with level 1 fastest: reps are the
// repetitions at levels 1…n, so len(values) must be their product. costs, one
// per level, are the extra cost of one more unit at that level, without what is
// below it; nil leaves the counts out.
func KaliberaJones(values []float64, reps []int, costs []float64, conf float64) (Levels, error) {
	if err := checkNested(values, reps, costs); err != nil {
		return Levels{}, err
	}
	if err := checkConf(conf); err != nil {
		return Levels{}, err
	}
	l := nestedVariances(values, reps)
	l.components(reps)
	l.interval(reps[len(reps)-1], conf)
	if costs != nil {
		l.counts(costs)
	}
	return l, nil
}

func checkNested(values []float64, reps []int, costs []float64) error {
	if err := checkFinite(values, costs); err != nil {
		return err
	}
	if len(reps) == 0 {
		return &SizeError{What: "at least one level is needed", Got: []int{0}}
	}
	product := 1
	for _, r := range reps {
		if r < 1 || product > len(values) {
			return &SizeError{What: "repetitions must be 1 or more and multiply to the number of values", Got: append([]int{len(values)}, reps...)}
		}
		product *= r
	}
	if product != len(values) {
		return &SizeError{What: "repetitions must be 1 or more and multiply to the number of values", Got: append([]int{len(values)}, reps...)}
	}
	if costs != nil && len(costs) != len(reps) {
		return &SizeError{What: "every level needs a cost", Got: []int{len(reps), len(costs)}}
	}
	for _, c := range costs {
		if c <= 0 {
			return &ArgumentError{Name: "cost of a level", Rule: "above 0", Got: c}
		}
	}
	return nil
}

// nestedVariances averages the levels away one after the other.
func nestedVariances(values []float64, reps []int) Levels {
	var l Levels
	means := values
	for _, r := range reps {
		above := make([]float64, len(means)/r)
		ss := 0.0
		for g := range above {
			group := means[g*r : (g+1)*r]
			above[g] = meanOf(group)
			for _, v := range group {
				ss += (v - above[g]) * (v - above[g])
			}
		}
		if r > 1 {
			l.S2 = append(l.S2, defined(ss/float64(len(above)*(r-1))))
		} else {
			l.S2 = append(l.S2, undefined("one repetition at this level"))
		}
		means = above
	}
	l.Mean = defined(means[0])
	return l
}

func (l *Levels) components(reps []int) {
	for i, s := range l.S2 {
		switch {
		case !s.OK || i == 0:
			l.T2 = append(l.T2, s)
		case !l.S2[i-1].OK:
			l.T2 = append(l.T2, undefined("one repetition at the level below"))
		default:
			l.T2 = append(l.T2, defined(s.V-l.S2[i-1].V/float64(reps[i-1])))
		}
	}
}

func (l *Levels) interval(top int, conf float64) {
	s := l.S2[len(l.S2)-1]
	if !s.OK {
		l.Half, l.CI = undefined("%s", s.Why), noInterval("%s", s.Why)
		return
	}
	l.Half = defined(studentQuantile(1-(1-conf)/2, float64(top-1)) * math.Sqrt(s.V/float64(top)))
	l.CI = interval(l.Mean.V-l.Half.V, l.Mean.V+l.Half.V, conf)
}

func (l *Levels) counts(costs []float64) {
	for i := range len(l.T2) - 1 {
		l.Optimal = append(l.Optimal, optimalReps(l.T2[i], l.T2[i+1], costs[i+1]/costs[i]))
		l.Counts = append(l.Counts, l.count(i, costs))
	}
}

func optimalReps(t, above Value, cost float64) Value {
	switch {
	case !t.OK:
		return t
	case !above.OK:
		return above
	case t.V <= 0:
		return undefined("the level adds no detectable variance")
	case above.V <= 0:
		return undefined("the level above adds no detectable variance")
	}
	return defined(math.Sqrt(cost * t.V / above.V))
}

// count passes over levels that add nothing: there one repetition is enough,
// and its cost is part of a unit of the next level that varies.
func (l *Levels) count(i int, costs []float64) int {
	if !l.T2[i].OK || l.T2[i].V <= 0 {
		return 1
	}
	cost := 0.0
	for j := i + 1; j < len(l.T2); j++ {
		cost += costs[j]
		if l.T2[j].OK && l.T2[j].V > 0 {
			return int(math.Min(1e9, math.Max(1, math.Ceil(math.Sqrt(cost/costs[i]*l.T2[i].V/l.T2[j].V)-1e-9))))
		}
	}
	return 0
}

// MeanRatio is the ratio of two grand means with Fieller's interval.
type MeanRatio struct {
	Ratio     Value // new over old
	CI        Interval
	Unbounded bool // the interval of the old mean holds zero
	Old, New  Levels
}

// KaliberaJonesRatio compares two nested experiments of the same layout rules.
func KaliberaJonesRatio(oldValues []float64, oldReps []int, newValues []float64, newReps []int, conf float64) (MeanRatio, error) {
	o, err := KaliberaJones(oldValues, oldReps, nil, conf)
	if err != nil {
		return MeanRatio{}, err
	}
	w, err := KaliberaJones(newValues, newReps, nil, conf)
	if err != nil {
		return MeanRatio{}, err
	}
	r := MeanRatio{Old: o, New: w}
	r.Ratio, r.CI, r.Unbounded = fieller(o, w, conf)
	return r, nil
}

func fieller(o, w Levels, conf float64) (ratio Value, ci Interval, unbounded bool) {
	if !o.Mean.OK || !w.Mean.OK || o.Mean.V == 0 {
		return undefined("the old mean is zero"), noInterval("the old mean is zero"), false
	}
	ratio = defined(w.Mean.V / o.Mean.V)
	if !o.Half.OK || !w.Half.OK {
		return ratio, noInterval("two repetitions needed at the top level"), false
	}
	a := o.Mean.V*o.Mean.V - o.Half.V*o.Half.V
	b := w.Mean.V*w.Mean.V - w.Half.V*w.Half.V
	if a <= 0 {
		return ratio, noInterval("unbounded: the interval of the old mean holds zero"), true
	}
	cross := o.Mean.V * w.Mean.V
	root := math.Sqrt(math.Max(0, cross*cross-a*b))
	return ratio, interval((cross-root)/a, (cross+root)/a, conf), false
}
