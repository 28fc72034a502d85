package stats

// doubledRanks returns twice the mid-ranks of xs, in the order of xs. Twice,
// because mid-ranks of ties are halves, and exact laws count in integers.
func doubledRanks(xs []float64) []int {
	order := Order(xs)
	ranks := make([]int, len(xs))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && xs[order[j]] == xs[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			ranks[k] = i + 1 + j // (i+1) + j: first and last rank of the group
		}
		i = j
	}
	return ranks
}

// midranks returns the ranks of xs from 1, ties sharing their mean.
func midranks(xs []float64) []float64 { return halves(doubledRanks(xs)) }

// halves turns doubled mid-ranks into mid-ranks.
func halves(doubled []int) []float64 {
	ranks := make([]float64, len(doubled))
	for i, r := range doubled {
		ranks[i] = float64(r) / 2
	}
	return ranks
}

// tieSum is Σ(t³ − t) over the groups of equal values.
func tieSum(xs []float64) float64 {
	sum := 0.0
	for _, t := range tieSizes(sorted(xs)) {
		sum += t*t*t - t
	}
	return sum
}
