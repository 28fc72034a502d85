package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// NormalSDRatio is what two printed standard deviations can say when the runs
// themselves are not at hand. Everything in it holds only if the runs were
// normal: with tails the false-positive rate is 16 to 47%.
type NormalSDRatio struct {
	Ratio, F Value
	CI       Interval
	P, Less  Value // two-sided, and for sd x < sd y
}

// SDRatioIfNormal judges printed sds of n and m runs by the F law.
func SDRatioIfNormal(sdX, sdY float64, n, m int, conf float64) (NormalSDRatio, error) {
	if err := checkConf(conf); err != nil {
		return NormalSDRatio{}, err
	}
	for _, sd := range []float64{sdX, sdY} {
		if !(sd > 0) || math.IsInf(sd, 0) {
			return NormalSDRatio{}, &ArgumentError{Name: "standard deviation", Rule: "positive and finite", Got: sd}
		}
	}
	if n < 2 || m < 2 {
		none := undefined("n ≥ 2 needed in each sample")
		return NormalSDRatio{Ratio: defined(sdX / sdY), F: none, CI: noInterval("%s", none.Why), P: none, Less: none}, nil
	}
	logF := 2 * (math.Log(sdX) - math.Log(sdY))
	e := SDRatioEstimate{}
	e.normalTheory(logF, float64(n-1), float64(m-1), conf)
	r := NormalSDRatio{Ratio: defined(math.Exp(logF / 2)), F: e.F, CI: e.FCI, P: e.PF, Less: e.F}
	if e.F.OK {
		r.Less = defined(distuv.F{D1: float64(n - 1), D2: float64(m - 1)}.CDF(e.F.V))
	} else {
		r.CI = noInterval("%s", e.F.Why)
	}
	return r, nil
}

// NormalSuite is the suite claim from printed sds, if normal.
type NormalSuite struct {
	GeomeanRatio Value
	CI           Interval
	P            Value // two-sided, of a geometric mean of 1
	EveryLower   Value // the largest one-sided p: lower on every workload
}

// SuiteIfNormal combines printed sds of workloads run n times under x and m
// times under y: under normality ln s² has the variance ψ′((n−1)/2), and the
// tail of the mean over workloads is corrected for its kurtosis (Edgeworth).
func SuiteIfNormal(sdX, sdY []float64, n, m int, conf float64) (NormalSuite, error) {
	if len(sdX) != len(sdY) {
		return NormalSuite{}, &SizeError{What: "every workload needs both sds", Got: []int{len(sdX), len(sdY)}}
	}
	if err := checkConf(conf); err != nil {
		return NormalSuite{}, err
	}
	why := ""
	switch {
	case len(sdX) == 0:
		why = "no workloads"
	case n < 2 || m < 2:
		why = "n ≥ 2 needed in each sample"
	}
	if why != "" {
		none := undefined("%s", why)
		return NormalSuite{GeomeanRatio: none, CI: noInterval("%s", why), P: none, EveryLower: none}, nil
	}
	s, logs := NormalSuite{EveryLower: defined(0)}, 0.0
	for i := range sdX {
		r, err := SDRatioIfNormal(sdX[i], sdY[i], n, m, conf)
		if err != nil {
			return NormalSuite{}, err
		}
		logs += math.Log(sdX[i]) - math.Log(sdY[i])
		s.EveryLower = worse(s.EveryLower, r.Less, "workload")
	}
	k := float64(len(sdX))
	a, b := float64(n-1)/2, float64(m-1)/2
	variance := (mathext.Zeta(2, a) + mathext.Zeta(2, b)) / 4
	excess := 6 * (mathext.Zeta(4, a) + mathext.Zeta(4, b)) / 16 / (variance * variance) / k
	se := math.Sqrt(variance / k)
	mean := logs / k
	half := normalQuantile(1-(1-conf)/2) * se
	s.GeomeanRatio, s.CI = defined(math.Exp(mean)), interval(math.Exp(mean-half), math.Exp(mean+half), conf)
	z := math.Abs(mean / se)
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	p := normalTwoSided(z) + 2*density*excess/24*(z*z*z-3*z)
	s.P = defined(math.Min(1, math.Max(0, p)))
	return s, nil
}
