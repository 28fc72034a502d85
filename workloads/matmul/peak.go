package matmul

import (
	"fmt"
	"runtime"
	"time"

	"goset/workloads"
)

// Peak returns the FLOP/s that this core reaches on the path when nothing but
// multiply-adds in registers runs: what a product can at most come to. It runs
// on the calling thread for about the duration d, in slices, and returns the
// fastest slice, so that a disturbance does not lower the peak.
func Peak(path string, d time.Duration) (float64, error) {
	const rounds = 200_000 // some 0.4 ms
	path, err := workloads.ResolvePath(Name, path)
	if err != nil {
		return 0, err
	}
	if peakRounds(path, 1) == 0 {
		return 0, fmt.Errorf("cannot measure the peak of path %q: it has no loop of multiply-adds", path)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	best := 0.0
	for end := time.Now().Add(d); best == 0 || time.Now().Before(end); {
		start := time.Now()
		flop := peakRounds(path, rounds) * rounds
		best = max(best, flop/time.Since(start).Seconds())
	}
	return best, nil
}
