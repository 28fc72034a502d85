// Package stats turns numbers into statements: summaries of one sample,
// comparisons of samples within blocks, and the words that such a comparison
// supports.
//
// The stance. The unit of analysis is one run of a program: one number per
// metric and run. Runs come in blocks (rounds that hold every treatment once,
// in random order), and every default test compares within blocks, because
// what is common to a block - a warm machine, a busy neighbour - then cancels.
// Where a distribution-free method exists it is the default; a number that
// rests on normal theory is labelled so. The question of this package is as
// much "did the spread change?" as "did the median change?", and its most
// frequent honest answer is "not resolved", with the number of rounds that
// would resolve it.
//
// The pipeline: values in time order → Summarize → Summary; two samples in
// blocks → Compare → Comparison; the comparisons of one table → Adjust (Holm)
// → Verdict. Suite, drift, order, sweep, factorial and planning statistics
// stand beside it, each a function of slices.
//
// Conventions. Samples stay in time order: no function reorders its caller's
// slice. A number that may be undefined is a Value with the reason in words; an
// interval that does not exist is an Interval with what would be needed. NaN
// and infinities in the input are errors (*ValueError), never skipped, and
// never come out. Ratios are x relative to y (x/y), sd has n − 1 in the
// denominator, CV and relative changes are fractions, order statistics count
// from 1, run indices from 0. Random draws come from a seeded PCG: the same
// data and seed give the same bytes.
package stats
