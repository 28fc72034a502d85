package doctor

import (
	"fmt"
	"strconv"
	"time"
)

// Jitter is what a while of the kernel of that name saw: one chain of
// operations in registers, whose iterations differ only by what takes the CPU or
// its clock away. Times are in seconds, shares of the whole time.
type Jitter struct {
	Over       time.Duration `json:"over_ns"`
	Iterations int           `json:"iterations"`
	Median     float64       `json:"median_seconds"`
	P99        float64       `json:"p99_seconds"`
	P999       float64       `json:"p999_seconds"`
	Max        float64       `json:"max_seconds"`
	// Lost is the share of the time that iterations took beyond the median.
	Lost float64 `json:"lost_share"`
	// Long counts the iterations that took twice the median or more.
	Long int `json:"long_iterations"`
	// Involuntary counts how often another task took the CPU.
	Involuntary int64 `json:"involuntary_switches"`
	// Steal is the share that the hypervisor took of all CPUs meanwhile; nil: not
	// known.
	Steal *float64 `json:"steal_share"`
}

// The shares of lost time from which on jitter is worth a word.
const lostMuch, lostSome = 0.02, 0.005

func jitter(c *Case) []Finding {
	j := c.Jitter
	if j == nil {
		return nil
	}
	f := Finding{List: InOrder, Why: "next to nothing came between"}
	ratio := func(v float64) string { return strconv.FormatFloat(v/j.Median, 'f', 2, 64) + "×" }
	f.Value = fmt.Sprintf("%d iterations of %s in %s: p99 %s, p99.9 %s, longest %s (%s); %s of the time lost beyond the median, %s of twice the median or more, %s by other tasks",
		j.Iterations, seconds(j.Median), j.Over.Round(10*time.Millisecond), ratio(j.P99), ratio(j.P999), ratio(j.Max), seconds(j.Max), percent(j.Lost),
		counted(j.Long, "iteration", "iterations"), counted(int(j.Involuntary), "interruption", "interruptions"))
	if j.Steal != nil {
		f.Value += fmt.Sprintf("; %s stolen from all CPUs", percent(*j.Steal))
	}
	const why = "a loop that touches no memory takes longer only when something takes its CPU, the core's other thread or the clock away"
	switch {
	case j.Lost >= lostMuch:
		f.List, f.Why = Warning, why
	case j.Lost >= lostSome:
		f.List, f.Why = Advice, why
	}
	return []Finding{f}
}

// seconds writes a time with three digits.
func seconds(s float64) string {
	for _, u := range []struct {
		unit  string
		scale float64
	}{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}} {
		if s*u.scale >= 1 {
			return strconv.FormatFloat(s*u.scale, 'g', 3, 64) + " " + u.unit
		}
	}
	return strconv.FormatFloat(s*1e9, 'g', 3, 64) + " ns"
}
