package stats

import "math"

// WarmUp says how the iterations inside one run settle.
type WarmUp struct {
	Changepoints []int     // numbers of iterations before each change
	Medians      []float64 // of the segments between them
	// Steady is the index of the first steady iteration: the last segment and
	// those before it whose medians differ by less than max(0.5%, half the MAD
	// of the last). It is undefined where nothing was examined.
	Steady Value
	// LateChange says that a change lies in the last quarter of the run.
	LateChange bool
}

// Bounds of the changepoint search.
const (
	minIterations = 50 // below it a short warm-up cannot be found
	maxIterations = 20_000
	minSegment    = 5
)

// RankChangepoints returns the changes of level in y: optimal partitioning of
// the standardised mid-ranks with cost −(Σz)²/m per segment and the given
// penalty per change. A change at c means that y[:c] and y[c:] differ. Ranks
// keep single spikes from being changes. The search is quadratic and refuses
// more than 20,000 values.
func RankChangepoints(y []float64, penalty float64, minSegment int) ([]int, error) {
	if err := checkFinite(y); err != nil {
		return nil, err
	}
	if !(penalty >= 0) {
		return nil, &ArgumentError{Name: "penalty", Rule: "0 or more", Got: penalty}
	}
	if minSegment < 1 {
		return nil, &ArgumentError{Name: "minimum segment", Rule: "1 or more", Got: float64(minSegment)}
	}
	if len(y) > maxIterations {
		return nil, &SizeError{What: "the changepoint search takes at most 20000 values", Got: []int{len(y)}}
	}
	if len(y) < 2*minSegment {
		return nil, nil
	}
	return partition(rankSums(y), penalty, minSegment), nil
}

// rankSums returns the cumulative sums of the standardised mid-ranks.
func rankSums(y []float64) []float64 {
	n := float64(len(y))
	sd := math.Sqrt((n*n - 1) / 12)
	sums := make([]float64, len(y)+1)
	for i, r := range midranks(y) {
		sums[i+1] = sums[i] + (r-(n+1)/2)/sd
	}
	return sums
}

// partition is optimal partitioning in O(n²); of equal costs the smallest
// split wins.
func partition(sums []float64, penalty float64, minSegment int) []int {
	n := len(sums) - 1
	best := make([]float64, n+1)
	from := make([]int, n+1)
	best[0] = -penalty
	for t := minSegment; t <= n; t++ {
		best[t] = math.Inf(1)
		for s := 0; s <= t-minSegment; s++ {
			if s > 0 && s < minSegment {
				continue
			}
			d := sums[t] - sums[s]
			if cost := best[s] - d*d/float64(t-s) + penalty; cost < best[t] {
				best[t], from[t] = cost, s
			}
		}
	}
	var changes []int
	for t := from[n]; t > 0; t = from[t] {
		changes = append([]int{t}, changes...)
	}
	return changes
}

// FindWarmUp looks for warm-up in the iterations of one run with the penalty
// 3 ln n and segments of at least 5. It reports and drops nothing. Fewer than 50
// iterations are not examined.
func FindWarmUp(iterations []float64) (WarmUp, error) {
	if err := checkFinite(iterations); err != nil {
		return WarmUp{}, err
	}
	n := len(iterations)
	if n < minIterations {
		return WarmUp{Steady: undefined("%d iterations or more needed", minIterations)}, nil
	}
	if n > maxIterations {
		return WarmUp{Steady: undefined("not examined above %d iterations", maxIterations)}, nil
	}
	changes, err := RankChangepoints(iterations, 3*math.Log(float64(n)), minSegment)
	if err != nil {
		return WarmUp{}, err
	}
	w := WarmUp{Changepoints: changes}
	bounds := append(append([]int{0}, changes...), n)
	for i := range len(bounds) - 1 {
		w.Medians = append(w.Medians, median(iterations[bounds[i]:bounds[i+1]]))
	}
	last := iterations[bounds[len(bounds)-2]:]
	w.Steady = defined(float64(bounds[steadySegment(w.Medians, last)]))
	w.LateChange = len(changes) > 0 && changes[len(changes)-1] > n-n/4
	return w, nil
}

// steadySegment walks back from the last segment while the medians agree.
func steadySegment(medians, last []float64) int {
	k := len(medians) - 1
	s := sorted(last)
	mad := medianSorted(deviationsSorted(s, medians[k]))
	near := math.Max(0.005*math.Abs(medians[k]), mad/2)
	for k > 0 && math.Abs(medians[k-1]-medians[len(medians)-1]) < near {
		k--
	}
	return k
}

// NoSteadyState says whether more than a tenth of the runs change in their
// last quarter.
func NoSteadyState(runs []WarmUp) bool {
	late := 0
	for _, r := range runs {
		if r.LateChange {
			late++
		}
	}
	return 10*late > len(runs)
}
