package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"

	"goset/metric"
)

// judge decides what a run's values are worth and completes its record. failed
// is why it could not start; nil when it did.
func (l *loop) judge(t *Treatment, res *Result, failed error, r *Record) {
	if r.Values == nil {
		r.Values = map[string]float64{}
	}
	if failed != nil {
		r.Outcome, r.Reason, r.Exit = Failed, failed.Error(), exitOf(failed)
		return
	}
	r.Start, r.Exit, r.Signal, r.Layers = res.Start.UTC(), res.Exit, res.Signal, res.Layers
	r.Counters = res.Counters
	if len(res.Unkilled) > 0 {
		text := fmt.Sprintf("processes %v of run %d could not be ended and may disturb the runs that follow", res.Unkilled, r.Run)
		r.Warnings = append(r.Warnings, text)
		l.warn(text)
	}
	if reason := unhappy(l.jobs[t.Index], res); reason != "" {
		r.Outcome, r.Reason = Failed, reason
		// The results before a benchmark that failed are worth keeping on file.
		if t.Spec.Go != nil {
			if what := goFailure(res); what != "" && res.Exit != 0 {
				r.Reason += ": " + what
			}
			l.extract(t, res, r)
		} else {
			l.baseValues(res, r)
		}
		finite(r)
		return
	}
	r.Outcome = Kept
	r.Warnings = append(r.Warnings, l.golang.doubts[t.Index]...)
	r.Warnings = append(r.Warnings, l.doubts[t.Index]...)
	if res.Leftover > 0 {
		text := "a process that it left behind was ended"
		if res.Leftover > 1 {
			text = fmt.Sprintf("%d processes that it left behind were ended", res.Leftover)
		}
		r.Warnings = append(r.Warnings, text)
	}
	l.extract(t, res, r)
	l.layers(r)
	r.loads()
	finite(r)
}

// exitOf is the exit status that shells and env(1) give a command that could
// not be started: 127 when it is not there, else 126.
func exitOf(err error) int {
	var e interface{ ExitCode() int }
	if errors.As(err, &e) {
		return e.ExitCode()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return 127
	}
	return 126
}

// unhappy says why a run did not end well.
func unhappy(job Job, res *Result) string {
	switch {
	case res.TimedOut:
		return fmt.Sprintf("timed out after %v", job.Timeout)
	case res.Signal != "":
		return "ended by " + res.Signal
	case res.Exit != 0:
		return fmt.Sprintf("exit status %d", res.Exit)
	}
	return ""
}

// voids makes a run void; the first reason stays.
func (r *Record) voids(reason string) {
	if r.Outcome == Kept {
		r.Outcome, r.Reason = Void, reason
	}
}

// baseValues puts what is known of every process into the record; a run that
// ended well gets it from its extractor.
func (l *loop) baseValues(res *Result, r *Record) {
	metrics := BaseMetrics()
	for i, v := range baseValues(*res) {
		r.Values[metrics[i].Name] = v
	}
	l.known.describe(r, metrics)
}

// extract reads the output of a run that ended well.
func (l *loop) extract(t *Treatment, res *Result, r *Record) {
	x, err := l.extractorOf(t).Extract(*res)
	if err != nil {
		r.voids(err.Error())
		l.baseValues(res, r)
		return
	}
	if x.Void != "" {
		r.voids(x.Void)
	}
	for name, v := range x.Values {
		r.Values[name] = v
	}
	r.Iterations = x.Iterations
	r.Warnings = append(r.Warnings, x.Warnings...)
	l.known.describe(r, x.Metrics)
	if text := l.known.shape(r, x.Shape); text != "" {
		r.Warnings = append(r.Warnings, text)
		l.warn(text)
	}
}

// layers makes a run void when a layer did not hold, but for optional ones.
func (l *loop) layers(r *Record) {
	mode := &l.jobs[r.Treatment].Layers
	for i, s := range r.Layers {
		if s.Warning != "" {
			r.Warnings = append(r.Warnings, fmt.Sprintf("layer %q: %s", s.Layer, s.Warning))
		}
		if s.Held {
			continue
		}
		text := fmt.Sprintf("layer %q did not hold: asked %q, achieved %q", s.Layer, s.Asked, s.Achieved)
		if s.Note != "" {
			text += ": " + s.Note
		}
		if s.Optional || mode.LetsGo(s.Layer) {
			r.Layers[i].Optional = true
			r.Warnings = append(r.Warnings, text)
			continue
		}
		r.voids(text)
	}
}

// finite takes numbers out of the record that no statistic can use, and JSON
// cannot hold: never a zero in their place.
func finite(r *Record) {
	var bad, warnings []string
	for name, v := range r.Values {
		if infinite(v) {
			bad = append(bad, fmt.Sprintf("metric %q is %v", name, v))
			delete(r.Values, name)
		}
	}
	for name, vs := range r.Iterations {
		if i := slices.IndexFunc(vs, infinite); i >= 0 {
			bad = append(bad, fmt.Sprintf("iteration %d of metric %q is %v", i+1, name, vs[i]))
			r.Iterations = without(r.Iterations, name)
		}
	}
	for name, v := range r.Counters {
		if infinite(v) {
			warnings = append(warnings, fmt.Sprintf("counter %q is %v and left out", name, v))
			r.Counters = without(r.Counters, name)
		}
	}
	// Maps have no order; what is written must.
	slices.Sort(bad)
	slices.Sort(warnings)
	r.Warnings = append(r.Warnings, warnings...)
	if len(bad) > 0 {
		r.voids(bad[0])
	}
}

func infinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// without copies a map, which may be the executor's or the extractor's own,
// but for one name.
func without[V any](m map[string]V, name string) map[string]V {
	m = maps.Clone(m)
	delete(m, name)
	return m
}

// known is what the records so far have said about each workload.
type known struct {
	metrics map[string]map[string]metric.Metric // workload, name
	shapes  map[string]lastShape                // workload
}

// lastShape is the form that a workload's output had last.
type lastShape struct {
	shape, mode string
	run         int
	warned      bool
}

func newKnown() known {
	return known{metrics: map[string]map[string]metric.Metric{}, shapes: map[string]lastShape{}}
}

// describe puts those metrics into the record that no earlier record of its
// workload has described, or described otherwise.
func (k *known) describe(r *Record, metrics []metric.Metric) {
	of := k.metrics[r.Workload]
	if of == nil {
		of = map[string]metric.Metric{}
		k.metrics[r.Workload] = of
	}
	for _, m := range metrics {
		if of[m.Name] == m && m.Name != "" {
			continue
		}
		of[m.Name] = m
		r.Metrics = append(r.Metrics, m)
	}
}

// shape notes the form of a run's output, and gives a warning the first time
// that it changes within a workload.
func (k *known) shape(r *Record, shape string) string {
	if shape == "" {
		return ""
	}
	last, ok := k.shapes[r.Workload]
	now := lastShape{shape: shape, mode: r.Mode, run: r.Run, warned: last.warned}
	if ok && last.shape == shape {
		last.mode, last.run = r.Mode, r.Run
		k.shapes[r.Workload] = last
		return ""
	}
	r.Shape = shape
	var text string
	if ok && !last.warned {
		text = fmt.Sprintf("the output of workload %q has another form in run %d (mode %q) than in run %d (mode %q): numbers under one name may not be the same quantity",
			r.Workload, r.Run, r.Mode, last.run, last.mode)
		now.warned = true
	}
	k.shapes[r.Workload] = now
	return text
}

// recall takes in a record of an earlier session.
func (k *known) recall(r *Record) {
	if len(r.Metrics) > 0 {
		var ignored Record
		ignored.Workload = r.Workload
		k.describe(&ignored, r.Metrics)
	}
	var ignored Record
	ignored.Workload, ignored.Mode, ignored.Run = r.Workload, r.Mode, r.Run
	k.shape(&ignored, r.Shape)
}
