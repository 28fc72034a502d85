package workloads

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
)

// Output writes the Go benchmark format, as golang.org/x/perf/benchfmt reads
// it: configuration lines, unit lines, then results. The first error sticks
// and comes back from Flush.
type Output struct {
	w   *bufio.Writer
	err error
}

// WarningKey is the key of a configuration line with a doubt about the run,
// which its record and the report repeat.
const WarningKey = "warning"

// NewOutput starts the output of one kernel with the lines that all have.
func NewOutput(w io.Writer, kernel string, res *Result) *Output {
	o := &Output{w: bufio.NewWriterSize(w, 64<<10)}
	o.Config("goos", runtime.GOOS)
	o.Config("goarch", runtime.GOARCH)
	o.Config("pkg", "goset/workloads/"+kernel)
	o.Config("kernel", kernel)
	o.Config("runner", res.Runner)
	o.Config("threads", strconv.Itoa(len(res.Sums)))
	return o
}

// Config writes "key: value"; keys are lower case without spaces.
func (o *Output) Config(key, value string) { o.printf("%s: %s\n", key, value) }

// Unit writes the unit's good direction, "lower" or "higher".
func (o *Output) Unit(unit, better string) { o.printf("Unit %s better=%s\n", unit, better) }

// Line writes one result: the name after "Benchmark", how often the measured
// thing was done, the value and its unit. A value that is not a positive
// finite number is an error: the iteration was too short to be timed.
func (o *Output) Line(name string, n int64, value float64, unit string) {
	if !(value > 0) || math.IsInf(value, 0) {
		o.fail(fmt.Errorf("cannot report %s: an iteration took no measurable time, value %v %s; make it longer", name, value, unit))
		return
	}
	if o.err != nil {
		return
	}
	// No fmt here: hundreds of lines through it are time in which the
	// runtime's monitor thread wakes up on the measured CPU.
	b := append(o.w.AvailableBuffer(), "Benchmark"...)
	b = append(append(b, name...), " \t"...)
	b = append(strconv.AppendInt(b, n, 10), '\t')
	b = append(appendValue(b, value), ' ')
	if _, err := o.w.Write(append(append(b, unit...), '\n')); err != nil {
		o.fail(fmt.Errorf("cannot write results: %w", err))
	}
}

// Flush writes what is buffered and returns the first error.
func (o *Output) Flush() error {
	if err := o.w.Flush(); err != nil {
		o.fail(fmt.Errorf("cannot write results: %w", err))
	}
	return o.err
}

func (o *Output) printf(format string, args ...any) {
	if o.err != nil {
		return
	}
	if _, err := fmt.Fprintf(o.w, format, args...); err != nil {
		o.fail(fmt.Errorf("cannot write results: %w", err))
	}
}

func (o *Output) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

// appendValue prints at least eight significant digits without an exponent:
// more than any clock resolves, and readable.
func appendValue(b []byte, v float64) []byte {
	decimals := 0
	if v != math.Trunc(v) || v >= 1e15 {
		decimals = max(7-int(math.Floor(math.Log10(v))), 0)
	}
	return strconv.AppendFloat(b, v, 'f', decimals, 64)
}
