package stats

import "math"

// SDInterval holds the two intervals of one standard deviation.
type SDInterval struct {
	SD       Value
	Kurtosis Value    // γ = nΣ(x−m)⁴/(Σ(x−x̄)²)² about the trimmed mean m
	SE       Value    // of ln s², including Bonett's small-sample factor
	CI       Interval // Bonett 2006, CSDA 50:775
	// ChiSquared is the classical interval. It holds only if the values are
	// normal; with tails its coverage falls far below the level.
	ChiSquared Interval
}

// StandardDeviation returns the sd of xs (n − 1) with its intervals. With
// spikes no method is honest at n = 10; Summarize warns then.
func StandardDeviation(xs []float64, conf float64) (SDInterval, error) {
	if err := checkFinite(xs); err != nil {
		return SDInterval{}, err
	}
	if err := checkConf(conf); err != nil {
		return SDInterval{}, err
	}
	if len(xs) == 0 {
		none, gap := undefined("no observations"), noInterval("no observations")
		return SDInterval{SD: none, Kurtosis: none, SE: none, CI: gap, ChiSquared: gap}, nil
	}
	s := sorted(xs)
	m := momentsOf(xs)
	r := bonettSD(s, m, conf)
	r.ChiSquared = chiSquaredSD(m, conf)
	return r, nil
}

func chiSquaredSD(m moments, conf float64) Interval {
	if !m.sd.OK {
		return noInterval("%s", m.sd.Why)
	}
	if m.constant {
		return noInterval("all values equal")
	}
	df := float64(m.n - 1)
	lo := m.sd.V * math.Sqrt(df/chiSquaredQuantile(1-(1-conf)/2, df))
	hi := m.sd.V * math.Sqrt(df/chiSquaredQuantile((1-conf)/2, df))
	return interval(lo, hi, conf)
}

// minBonett is the smallest n of Bonett's intervals: the trim √(n−4) needs it.
const minBonett = 5

// bonettSD needs a sorted sample of at least one value and its moments.
func bonettSD(s []float64, m moments, conf float64) SDInterval {
	r := SDInterval{SD: m.sd}
	why := ""
	switch {
	case m.n < minBonett:
		why = "n ≥ 5 needed"
	case m.constant:
		why = "all values equal"
	}
	if why != "" {
		r.Kurtosis, r.SE, r.CI = undefined("%s", why), undefined("%s", why), noInterval("%s", why)
		return r
	}
	n, z := float64(m.n), normalQuantile(1-(1-conf)/2)
	p := spreadPartsOf(s)
	gamma := n * p.fourth / (p.second * p.second)
	r.Kurtosis = defined(gamma)
	if n <= z {
		r.SE, r.CI = undefined("n > %.3g needed", z), noInterval("n > %.3g needed", z)
		return r
	}
	c := n / (n - z)
	se := c * math.Sqrt((gamma-(n-3)/n)/(n-1))
	r.SE = defined(se)
	r.CI = interval(m.sd.V*math.Sqrt(c)*math.Exp(-z*se/2), m.sd.V*math.Sqrt(c)*math.Exp(z*se/2), conf)
	return r
}

// spreadParts are the sums that Bonett's kurtoses are made of, for values
// scaled by 2^−exp.
type spreadParts struct {
	n              int
	second, fourth float64 // Σ(x−x̄)², Σ(x−m)⁴ with m the trimmed mean
	exp            int
}

// variance is s² of the scaled values.
func (p spreadParts) variance() float64 { return p.second / float64(p.n-1) }

// logVariance is ln s² of the values themselves.
func (p spreadParts) logVariance() float64 { return math.Log(p.variance()) + 2*float64(p.exp)*math.Ln2 }

// spreadPartsOf needs a sorted sample of at least minBonett values. The values
// are centred first and scaled to a range of about 1, so that neither a large
// offset nor an extreme magnitude costs digits in the fourth power.
func spreadPartsOf(s []float64) spreadParts {
	n := len(s)
	center := medianSorted(s)
	half := math.Max(s[n-1]/2-center/2, center/2-s[0]/2)
	_, exp := math.Frexp(half)
	exp++
	d := make([]float64, n)
	for i, x := range s {
		d[i] = math.Ldexp(x/2-center/2, 1-exp)
	}
	trim := int(float64(n) / (2 * math.Sqrt(float64(n-4))))
	mean, trimmed := meanOf(d), meanOf(d[trim:n-trim])
	p := spreadParts{n: n, exp: exp}
	for _, v := range d {
		a, b := v-mean, v-trimmed
		p.second += a * a
		p.fourth += b * b * b * b
	}
	return p
}
