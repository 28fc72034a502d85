package stats

// Value is a number that may be undefined. Undefined is not zero and never
// NaN: Why says in words what was missing.
type Value struct {
	V   float64
	OK  bool
	Why string
}

// Interval is a confidence interval with the coverage that it reaches, which
// for order statistics differs from the level that was asked for. OK is false
// where no such interval exists; Why then says what would be needed, as in
// "n ≥ 6 needed".
type Interval struct {
	Lo, Hi   float64
	Coverage float64
	OK       bool
	Why      string
}

// Summary describes one sample, given in time order.
type Summary struct {
	N                int
	Mean, Median     Value
	SD, CV, MAD, AAD Value
	Min, Max, Spread Value
	MedianCI, SDCI   Interval
	Warnings         []string
}
