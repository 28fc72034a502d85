package harness

import (
	"fmt"
	"slices"
	"strings"

	"goset/metric"
)

// NewExtractor returns the reader of a workload's output: a bundled kernel's
// benchmark lines, Go benchmarks (Format "gobench"), the declared metrics, or
// with Extract every number that the command prints. What wait4 knows of the
// process is always added: see BaseMetrics. The workload's factors have been
// resolved. Errors are faults of the declaration.
//
// The extractor keeps nothing between runs and may be used by several
// goroutines. It is a Describer.
func NewExtractor(w Workload) (Extractor, error) {
	x := &extractor{base: BaseMetrics()}
	if err := x.addFormat(w); err != nil {
		return nil, err
	}
	declared, err := declaredReaders(w.Metrics)
	if err != nil {
		return nil, fmt.Errorf("workload %q: %w", w.Name, err)
	}
	x.readers = append(x.readers, declared...)
	if w.Extract && len(x.readers) == 0 {
		x.readers = append(x.readers, foundReader{})
	} else if len(x.readers) > 0 {
		x.base[0].Shown = false // wall is beside the point when something is declared
	}
	for _, r := range x.readers {
		x.known = append(x.known, r.metrics()...)
	}
	return x, nil
}

// A Describer knows metrics before any run: the base ones, the declared ones,
// a kernel's. Those that depend on the output are missing, and the unit of a
// declared metric without one is what the output has.
type Describer interface {
	Metrics() []metric.Metric
}

// addFormat adds the reader of a kernel or of a named format.
func (x *extractor) addFormat(w Workload) error {
	switch {
	case w.Kernel != "":
		k, ok := kernelOf(w.Kernel)
		if !ok {
			return fmt.Errorf("workload %q: kernel must be one of %s, got %q", w.Name, strings.Join(kernelNames(), ", "), w.Kernel)
		}
		x.readers = append(x.readers, kernelReader{k})
	case w.Go != nil:
		x.readers = append(x.readers, goReader{procs: w.Go.CPU})
	case w.Format != "":
		r := formatOf(w.Format)
		if r == nil {
			return fmt.Errorf("workload %q: format must be %s, or left out, got %q", w.Name, orList(Formats()), w.Format)
		}
		x.readers = append(x.readers, r)
	}
	return nil
}

func kernelNames() []string {
	var names []string
	for _, k := range Kernels() {
		names = append(names, k.Name)
	}
	return names
}

// extractor runs its readers over one result, one after the other.
type extractor struct {
	base    []metric.Metric
	known   []metric.Metric
	readers []reader
}

// reader reads one kind of output. What it finds, and why it cannot, goes
// into the extraction; a further format is a further reader.
type reader interface {
	read(res *Result, out *extraction)
	// metrics are those known before any run.
	metrics() []metric.Metric
}

// Metrics implements Describer.
func (x *extractor) Metrics() []metric.Metric { return slices.Concat(x.base, x.known) }

// Extract implements Extractor. A void extraction still has the values that
// could be read. The error is always nil: what is wrong with an output makes
// the run void.
func (x *extractor) Extract(res Result) (Extracted, error) {
	out := extraction{Extracted: Extracted{Values: make(map[string]float64, len(x.base)+len(x.known))}}
	out.Metrics = slices.Clip(x.base) // shared: what is appended goes elsewhere
	for i, v := range baseValues(res) {
		out.Values[x.base[i].Name] = v
	}
	for _, r := range x.readers {
		r.read(&res, &out)
	}
	out.Void = out.reasons()
	return out.Extracted, nil
}

// extraction is an Extracted under construction.
type extraction struct {
	Extracted
	void []string
}

// value adds a metric of one value.
func (e *extraction) value(m metric.Metric, v float64) {
	e.Values[m.Name] = v
	e.Metrics = append(e.Metrics, m)
}

// sample adds a metric with its iterations, in time order. One alone says no
// more than the value.
func (e *extraction) sample(m metric.Metric, v float64, iterations []float64) {
	e.value(m, v)
	if len(iterations) < 2 {
		return
	}
	if e.Iterations == nil {
		e.Iterations = make(map[string][]float64)
	}
	e.Iterations[m.Name] = iterations
}

// refuse makes the run void, with a reason.
func (e *extraction) refuse(format string, args ...any) {
	e.void = append(e.void, fmt.Sprintf(format, args...))
}

// warn adds a doubt.
func (e *extraction) warn(format string, args ...any) {
	e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...))
}

// reasons joins why the run is void. All metrics of an output that is not
// what was expected fail at once: a few say it.
func (e *extraction) reasons() string {
	const most = 5
	if n := len(e.void); n > most {
		return strings.Join(e.void[:most], "; ") + fmt.Sprintf("; and %d more", n-most)
	}
	return strings.Join(e.void, "; ")
}

// BaseMetrics describes what is known of every process: wall is from exec to
// exit, the rest is wait4's rusage of the process and the children it waited
// for. wall comes first and is shown when nothing else is declared.
func BaseMetrics() []metric.Metric {
	count := func(name string) metric.Metric { return metric.Metric{Name: name, Better: metric.Lower} }
	return []metric.Metric{
		{Name: "wall", Unit: "s", Better: metric.Lower, Shown: true},
		{Name: "user", Unit: "s", Better: metric.Lower},
		{Name: "sys", Unit: "s", Better: metric.Lower},
		{Name: "max-rss", Unit: "B", Better: metric.Lower},
		count("voluntary-switches"),
		count("involuntary-switches"),
		count("minor-faults"),
		count("major-faults"),
	}
}

// baseValues gives a result's values in the order of BaseMetrics.
func baseValues(res Result) []float64 {
	return []float64{
		res.Wall.Seconds(), res.User.Seconds(), res.Sys.Seconds(), float64(res.MaxRSS),
		float64(res.Voluntary), float64(res.Involuntary), float64(res.MinorFaults), float64(res.MajorFaults),
	}
}
