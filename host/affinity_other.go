//go:build !linux

package host

import (
	"fmt"

	"goset/cpulist"
)

// Affinity reads the CPUs that thread tid may run on; 0 is the calling thread.
func Affinity(tid int) (cpulist.Set, error) {
	return cpulist.Set{}, fmt.Errorf("cannot read the affinity of thread %d: %w", tid, ErrUnsupported)
}
