package stats

// Lost is the share of the sum of xs that lies beyond their median: of times of
// the same work, done again and again, what came between. It is undefined for
// an empty sample and for a sum that is not positive.
func Lost(xs []float64) (Value, error) {
	median, err := Median(xs)
	if err != nil || !median.OK {
		return median, err
	}
	var sum, beyond float64
	for _, x := range xs {
		sum += x
		beyond += max(0, x-median.V)
	}
	if !(sum > 0) {
		return undefined("the sum is not positive"), nil
	}
	return defined(beyond / sum), nil
}
