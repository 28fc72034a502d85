package yield

import (
	"runtime"
	"strings"
	"time"

	"goset/workloads"
)

// The yield functions, by what a worker does before every block.
const (
	None    = "none"    // nothing: only the runtime's own preemption, after some 10 ms
	Gosched = "gosched" // runtime.Gosched
	Paced   = "paced"   // runtime.Gosched once it has run for Config.Every
	Runtime = "runtime" // runtime.Yield, a function that was proposed for Go
)

// functionNames returns the names of all yield functions, also of one that this
// binary does not have: see Available.
func functionNames() []string { return []string{None, Gosched, Paced, Runtime} }

// Available refuses the yield function that the toolchain does not have; the
// error is a *workloads.ParamError.
func Available(function string) error {
	if function != Runtime || runtimeYield != nil {
		return nil
	}
	return &workloads.ParamError{Kernel: Name, Param: "yield", Value: function,
		Rule: "must be one of " + strings.Join([]string{None, Gosched, Paced}, ", ") +
			": " + runtime.Version() + " has no runtime.Yield (build with a toolchain that has it and -tags runtimeyield)"}
}

// function returns what worker w calls before every block. Each is made before
// the rounds, so that calling it allocates nothing; all are called in the same
// way, so that the call costs each the same.
func (c Config) function(w *worker) func() {
	switch c.Yield {
	case Gosched:
		return runtime.Gosched
	case Paced:
		return func() { w.pace(c.Every) }
	case Runtime:
		return runtimeYield
	}
	return func() {}
}

// pace yields when the worker has run for as long as every since it came back
// from its last yield.
func (w *worker) pace(every time.Duration) {
	if now()-w.since >= int64(every) {
		runtime.Gosched()
		w.since = now()
	}
}
