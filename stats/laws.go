package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// The laws, each through the one form that keeps its digits: gonum's
// Normal.Survival is 0 beyond 8 sd, and a StudentsT without Sigma yields 0.

func normalQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }

func normalCDF(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// normalTwoSided is P(|Z| ≥ |z|).
func normalTwoSided(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

func studentQuantile(p, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
}

// studentTwoSided is P(|T| ≥ |t|).
func studentTwoSided(t, df float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Survival(math.Abs(t))
}

func chiSquaredQuantile(p, df float64) float64 { return distuv.ChiSquared{K: df}.Quantile(p) }

func chiSquaredSurvival(x, df float64) float64 { return distuv.ChiSquared{K: df}.Survival(x) }
