package harness

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Estimate is how long a plan will take.
type Estimate struct {
	// Total is the gaps, the samples and the runs whose length is known. It
	// is a lower bound when Unknown names a workload.
	Total time.Duration
	// Unknown are the workloads of unknown length, in file order: commands
	// without expect.
	Unknown []string
	// Runs holds one run of each treatment by its index, without gap and
	// sample; -1 for an unknown one.
	Runs []time.Duration
}

// Known is true when every workload has a length.
func (e Estimate) Known() bool { return len(e.Unknown) == 0 }

// Estimate adds up the idle gaps, the samples of "quietest", what a load takes
// to come up, and the runs: as
// long as expect says, or for a kernel as long as its nominal cost.
func (e *Experiment) Estimate(p *Plan) Estimate {
	est := Estimate{Runs: make([]time.Duration, len(p.Treatments))}
	each := make([]time.Duration, len(p.Treatments))
	for i := range p.Treatments {
		t := &p.Treatments[i]
		est.Runs[i] = expected(t)
		if est.Runs[i] < 0 && !slices.Contains(est.Unknown, t.Workload) {
			est.Unknown = append(est.Unknown, t.Workload)
		}
		each[i] = plusTime(e.Plan.Idle, max(0, est.Runs[i]))
		if t.Layers.CPUs == "quietest" && (t.Layers.Choose == "" || t.Layers.Choose == "run") {
			each[i] = plusTime(each[i], t.Layers.Sample)
		}
		if !t.Load.None() {
			each[i] = plusTime(each[i], loadSettle)
		}
	}
	for _, r := range p.Runs {
		est.Total = plusTime(est.Total, each[r.Treatment])
	}
	return est
}

// plusTime adds durations, up to the longest.
func plusTime(a, b time.Duration) time.Duration {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// expected is the length of one run, -1 when it is not known.
func expected(t *Treatment) time.Duration {
	if t.Spec.Expect > 0 {
		return t.Spec.Expect
	}
	params := map[string]float64{}
	for _, p := range t.Spec.Params {
		if v, err := strconv.ParseFloat(p.Levels[0], 64); err == nil {
			params[p.Name] = v
		}
	}
	seconds, ok := nominalSeconds(t.Spec.Kernel, params)
	if !ok {
		return -1
	}
	return time.Duration(min(seconds, 1e9) * 1e9)
}

// nominalSeconds is about what a kernel takes on a core of 3 GHz from the
// 2020s, good to a factor of two: enough to say whether a plan is a matter of
// a minute or of a night. The costs per unit are
//
//   - jitter: 10 cycles of latency a step (three shifts and xors, a multiply),
//   - chase: the latency of the level that the ring fits in: 5, 15, 60 and 300
//     cycles,
//   - matmul: 65,536 floating point operations at 20 GFLOP/s,
//   - stream: 80 bytes an element for the four operations at 10 GB/s,
//   - yield: 600 MB/s on each of at most 2 procs, and 0.13 s a round for the base latency,
//   - and 30 ms for a process to start and to touch its memory.
//
// Iterations count one more than asked: the untimed one. Threads run side by
// side and add nothing.
func nominalSeconds(kernel string, p map[string]float64) (float64, bool) {
	const cycle, start = 1 / 3e9, 0.03
	iterations := p["iterations"] + 1
	switch kernel {
	case "jitter":
		return start + iterations*p["steps"]*10*cycle, true
	case "chase":
		return start + iterations*p["loads"]*chaseCycles(p["kib"])*cycle, true
	case "matmul":
		return start + iterations*p["multiplications"]*65536/20e9, true
	case "stream":
		return start + iterations*p["elements"]*80/10e9, true
	case "yield":
		return start + p["rounds"]*0.13 + (p["rounds"]+0.125)*p["bytes"]/min(p["procs"], 2)/600e6, true
	}
	return 0, false
}

func chaseCycles(kib float64) float64 {
	switch {
	case kib <= 32:
		return 5
	case kib <= 1024:
		return 15
	case kib <= 32*1024:
		return 60
	}
	return 300
}
