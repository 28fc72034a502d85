package matmul

import (
	"fmt"
	"runtime"
	"time"

	"goset/workloads"
)

// Peak returns the FLOP/s that this core reaches on the path when nothing but
// multiply-adds in registers runs: what a product can at most come to. It runs
// on the calling thread for about the duration d and returns one value per
// slice of some 0.4 ms, in time order.
func Peak(path string, d time.Duration) ([]float64, error) {
	const rounds = 200_000
	path, err := workloads.ResolvePath(Name, path)
	if err != nil {
		return nil, err
	}
	if peakRounds(path, 1) == 0 {
		return nil, fmt.Errorf("cannot measure the peak of path %q: it has no loop of multiply-adds", path)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var slices []float64
	for end := time.Now().Add(d); len(slices) == 0 || time.Now().Before(end); {
		start := time.Now()
		flop := peakRounds(path, rounds) * rounds
		slices = append(slices, flop/time.Since(start).Seconds())
	}
	return slices, nil
}
