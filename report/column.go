package report

import "goset/stats"

// kind says what the numbers of a column are, and so how an ink for people
// writes them.
type kind int

const (
	count    kind = iota
	quantity      // in the unit of the metric
	share         // of one: written in percent
	factor        // a ratio
)

// column is one number of a row. CSV and JSON hold all of them, in this order.
type column struct {
	name  string
	kind  kind
	value func(*Row) stats.Value
}

func whole(n int) stats.Value { return stats.Value{V: float64(n), OK: true} }

// bound gives one end of an interval, or its coverage.
func bound(i stats.Interval, v float64) stats.Value {
	return stats.Value{V: v, OK: i.OK, Why: i.Why}
}

// columns returns every column. The names are those of summary.csv, and stay.
// The number of values is not "n", which is a key of modes and so a factor.
func columns() []column {
	return []column{
		{"values", count, func(r *Row) stats.Value { return whole(r.Summary.N) }},
		{"kept", count, func(r *Row) stats.Value { return whole(r.Counts.Kept) }},
		{"void", count, func(r *Row) stats.Value { return whole(r.Counts.Void) }},
		{"failed", count, func(r *Row) stats.Value { return whole(r.Counts.Failed) }},
		{"warmup", count, func(r *Row) stats.Value { return whole(r.Counts.Warmup) }},
		{"median", quantity, func(r *Row) stats.Value { return r.Summary.Median }},
		{"median_lo", quantity, func(r *Row) stats.Value { return bound(r.Summary.MedianCI, r.Summary.MedianCI.Lo) }},
		{"median_hi", quantity, func(r *Row) stats.Value { return bound(r.Summary.MedianCI, r.Summary.MedianCI.Hi) }},
		{"median_coverage", share, func(r *Row) stats.Value { return bound(r.Summary.MedianCI, r.Summary.MedianCI.Coverage) }},
		{"mean", quantity, func(r *Row) stats.Value { return r.Summary.Mean }},
		{"sd", quantity, func(r *Row) stats.Value { return r.Summary.SD }},
		{"sd_lo", quantity, func(r *Row) stats.Value { return bound(r.Summary.SDCI, r.Summary.SDCI.Lo) }},
		{"sd_hi", quantity, func(r *Row) stats.Value { return bound(r.Summary.SDCI, r.Summary.SDCI.Hi) }},
		{"sd_coverage", share, func(r *Row) stats.Value { return bound(r.Summary.SDCI, r.Summary.SDCI.Coverage) }},
		{"cv", share, func(r *Row) stats.Value { return r.Summary.CV }},
		{"mad", quantity, func(r *Row) stats.Value { return r.Summary.MAD }},
		{"aad", quantity, func(r *Row) stats.Value { return r.Summary.AAD }},
		{"min", quantity, func(r *Row) stats.Value { return r.Summary.Min }},
		{"max", quantity, func(r *Row) stats.Value { return r.Summary.Max }},
		{"spread", share, func(r *Row) stats.Value { return r.Summary.Spread }},
		{"median_ratio", factor, func(r *Row) stats.Value { return r.MedianRatio }},
		{"sd_ratio", factor, func(r *Row) stats.Value { return r.SDRatio }},
		{"iterations", count, func(r *Row) stats.Value { return whole(r.Iterations.N) }},
		{"iterations_pooled", count, func(r *Row) stats.Value { return whole(r.Iterations.Pooled) }},
		{"iterations_p01", quantity, func(r *Row) stats.Value { return r.Iterations.P01 }},
		{"iterations_p1", quantity, func(r *Row) stats.Value { return r.Iterations.P1 }},
		{"iterations_p50", quantity, func(r *Row) stats.Value { return r.Iterations.P50 }},
		{"iterations_p99", quantity, func(r *Row) stats.Value { return r.Iterations.P99 }},
		{"iterations_p999", quantity, func(r *Row) stats.Value { return r.Iterations.P999 }},
		{"iqr", quantity, func(r *Row) stats.Value { return r.Summary.IQR }},
		{"kurtosis", factor, func(r *Row) stats.Value { return r.Summary.Kurtosis }},
		{"outliers", count, func(r *Row) stats.Value { return whole(len(r.Summary.Outliers.Flagged)) }},
		{"drift_p", share, func(r *Row) stats.Value { return r.Summary.Drift.P }},
		{"drift_per_run", share, func(r *Row) stats.Value { return r.Summary.Drift.Relative }},
		{"r1", factor, func(r *Row) stats.Value { return r.Summary.ACF.R1 }},
		{"ess", factor, func(r *Row) stats.Value { return r.Summary.ACF.ESS }},
	}
}
