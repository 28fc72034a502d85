package stats

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// How numbers are written for people. Reports write them so too: a table and
// the verdict under it show the same digits.

// FormatP writes a p-value: three decimals, "<0.001" below.
func FormatP(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// FormatRatio writes a ratio of spreads: two decimals, and two significant
// digits where those would be fewer.
func FormatRatio(v float64) string {
	switch {
	case v != 0 && v < 0.01:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case v >= 1000:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// FormatRatios writes an interval of ratios: "0.26–0.86". One that excludes 1
// does not end at "1.00".
func FormatRatios(ci Interval) string {
	lo, hi := FormatRatio(ci.Lo), FormatRatio(ci.Hi)
	for d := 3; ci.Excludes(1) && (isOne(lo) || isOne(hi)) && d <= maxDecimals; d++ {
		if isOne(lo) {
			lo = strconv.FormatFloat(ci.Lo, 'f', d, 64)
		}
		if isOne(hi) {
			hi = strconv.FormatFloat(ci.Hi, 'f', d, 64)
		}
	}
	return lo + "–" + hi
}

// isOne says that a number is written as one: "1.00".
func isOne(s string) bool { return strings.TrimRight(s, "0") == "1." }

// maxDecimals bounds the decimals of percentages and ratios.
const maxDecimals = 6

// FormatChange writes a relative change in percent: "+4.8%". It has the
// decimals that its interval supports, which is two significant digits of half
// the width, and one at least; two where there is no interval. What rounds to
// zero has no sign.
func FormatChange(v float64, ci Interval) string { return writePercent(v, changeDecimals(ci)) }

// FormatChanges writes an interval of relative changes: "-1.3% to +0.9%". One
// that excludes zero does not end at "0.0%".
func FormatChanges(ci Interval) string {
	d := changeDecimals(ci)
	return writePercent(ci.Lo, d) + " to " + writePercent(ci.Hi, d)
}

// changeDecimals is how many decimals of a percentage an interval supports.
func changeDecimals(ci Interval) int {
	if !ci.OK || ci.Hi <= ci.Lo {
		return 2
	}
	d := decimalsFor(100*(ci.Hi-ci.Lo)/2, 2)
	if ci.Excludes(0) {
		d = max(d, decimalsFor(100*math.Min(math.Abs(ci.Lo), math.Abs(ci.Hi)), 1))
	}
	return min(max(d, 1), maxDecimals)
}

// decimalsFor is the number of decimals that show x with n significant digits.
func decimalsFor(x float64, n int) int {
	if !(x > 0) || math.IsInf(x, 0) {
		return 0
	}
	return n - 1 - int(math.Floor(math.Log10(x)))
}

func writePercent(v float64, decimals int) string {
	if math.Abs(v) >= 1e5 {
		return strconv.FormatFloat(100*v, 'e', 2, 64) + "%"
	}
	s := strconv.FormatFloat(100*v, 'f', decimals, 64)
	switch {
	case isZero(s):
		s = strings.TrimPrefix(s, "-")
	case v > 0:
		s = "+" + s
	}
	return s + "%"
}

// isZero says that a number is written as zero.
func isZero(s string) bool { return strings.Trim(s, "+-0.%") == "" }

// resolution is the smallest percentage that so many decimals can show.
func resolution(decimals int) string {
	return strconv.FormatFloat(math.Pow10(-decimals), 'f', decimals, 64) + "%"
}
