package stats

import (
	"math"
	"slices"
)

// Outliers are flags, never exclusions: a flagged run is listed and counted,
// and stays in every statistic.
type Outliers struct {
	LoFence, HiFence Value // Tukey: type-7 quartiles ∓ 1.5 IQR, or ∓ 1.5 steps where that is more
	Tukey            []int // indices outside the fences, in run order
	// ModifiedZ is defined where the rule |0.6745(x−median)/MAD| > 3.5 is: it is
	// the largest such score. A MAD of zero leaves it undefined.
	ModifiedZ Value
	Modified  []int // indices beyond 3.5
	Flagged   []int // the union of both rules, in run order
}

// FindOutliers flags values by Tukey's fences and by the modified z score
// (Iglewicz and Hoaglin). Their scales are at least the step between neighbouring
// values: of values that are rounded so far that half of them are the same, none
// sticks out because it is rounded to the next.
func FindOutliers(xs []float64) (Outliers, error) {
	if err := checkFinite(xs); err != nil {
		return Outliers{}, err
	}
	if len(xs) == 0 {
		none := undefined("no observations")
		return Outliers{LoFence: none, HiFence: none, ModifiedZ: none}, nil
	}
	return outliersOf(xs, sorted(xs)), nil
}

// modifiedZ scales the MAD to the sd of a normal law: Φ⁻¹(3/4).
const modifiedZ = 0.6744897501960817

func outliersOf(xs, s []float64) Outliers {
	q1, q3 := quantileSorted(s, 0.25, 7), quantileSorted(s, 0.75, 7)
	step := stepOf(s)
	reach := 1.5 * math.Max(q3-q1, step)
	out := Outliers{LoFence: defined(q1 - reach), HiFence: defined(q3 + reach)}
	med := medianSorted(s)
	mad := medianSorted(deviationsSorted(s, med))
	out.ModifiedZ = undefined("MAD is zero")
	if mad > 0 {
		mad = math.Max(mad, step)
		out.ModifiedZ = defined(modifiedZ * (math.Max(s[len(s)-1]-med, med-s[0]) / mad))
	}
	for i, x := range xs {
		tukey := out.LoFence.OK && x < out.LoFence.V || out.HiFence.OK && x > out.HiFence.V
		modified := mad > 0 && modifiedZ*(math.Abs(x-med)/mad) > 3.5
		if tukey {
			out.Tukey = append(out.Tukey, i)
		}
		if modified {
			out.Modified = append(out.Modified, i)
		}
		if tukey || modified {
			out.Flagged = append(out.Flagged, i)
		}
	}
	return out
}

// stepOf is the least difference between sorted values that is more than the
// rounding of a float64: an upper bound of the unit that they are rounded to. It
// is 0 where all are the same.
func stepOf(s []float64) float64 {
	step := 0.0
	for i := 1; i < len(s); i++ {
		d := s[i] - s[i-1]
		if d > 1e-12*math.Abs(s[i]) && (step == 0 || d < step) {
			step = d
		}
	}
	return step
}

// without returns xs less the indices of drop, which are ascending.
func without(xs []float64, drop []int) []float64 {
	var kept []float64
	for i, x := range xs {
		if _, found := slices.BinarySearch(drop, i); !found {
			kept = append(kept, x)
		}
	}
	return kept
}
