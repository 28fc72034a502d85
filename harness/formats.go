package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"goset/metric"
)

// Formats are the outputs of other programs that format = "…" reads:
//
//   - gobench: Go benchmark lines
//   - google-benchmark: --benchmark_format=json of Google Benchmark
//   - hyperfine: --export-json
//   - perf: perf stat -x,
//   - time: GNU time -v
//   - criterion: the estimates.json of criterion, or messages of cargo criterion
//
// What a program marks as not counted, not supported or failed is absent and
// said, never zero.
func Formats() []string {
	return []string{"gobench", "google-benchmark", "hyperfine", "perf", "time", "criterion"}
}

// formatOf gives the reader of a format; nil: there is none of that name.
func formatOf(name string) reader {
	switch name {
	case "gobench":
		return gobenchReader{}
	case "google-benchmark":
		return jsonFormat{name, readGoogle}
	case "hyperfine":
		return jsonFormat{name, readHyperfine}
	case "criterion":
		return jsonFormat{name, readCriterion}
	case "perf":
		return lineFormat{"perf stat -x,", readPerf}
	case "time":
		return lineFormat{"time -v", readTime}
	}
	return nil
}

// jsonFormat reads stdout as JSON values, one after the other.
type jsonFormat struct {
	name string
	take func(docs []json.RawMessage, out *formatted) error
}

func (jsonFormat) metrics() []metric.Metric { return nil }

func (f jsonFormat) read(res *Result, out *extraction) {
	v := viewOf(res.Stdout)
	if v.lost > 0 {
		out.refuse("cannot read format %q: %s (raise plan.output)", f.name, v.cut("stdout"))
		return
	}
	text := bytes.TrimPrefix(v.head, []byte("\ufeff"))
	docs, err := jsonDocs[json.RawMessage](text)
	to := &formatted{extraction: out, name: f.name}
	if err == nil {
		err = f.take(docs, to)
	}
	to.end(err)
}

// decodeNumbers decodes a value with its numbers as texts: a float64 would
// lose what an error has to quote.
func decodeNumbers(doc json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	return dec.Decode(into)
}

// lineFormat reads lines of stderr and stdout among others: what it is for
// prints beside the program that it measures.
type lineFormat struct {
	name string
	take func(line string, out *formatted) error
}

func (lineFormat) metrics() []metric.Metric { return nil }

func (f lineFormat) read(res *Result, out *extraction) {
	to := &formatted{extraction: out, name: f.name}
	for _, s := range []struct {
		name   string
		stream Stream
	}{{"stdout", res.Stdout}, {"stderr", res.Stderr}} {
		v := viewOf(s.stream)
		if v.lost > 0 {
			out.refuse("cannot read %s: %s (raise plan.output)", f.name, v.cut(s.name))
			return
		}
		for line := range strings.Lines(string(v.head)) {
			if err := f.take(strings.TrimRight(line, "\r\n"), to); err != nil {
				to.end(err)
				return
			}
		}
	}
	to.end(nil)
}

// formatted collects the metrics of a format.
type formatted struct {
	*extraction
	name  string
	found int
	taken map[string]bool
	// file is set where a file is read that holds values of runs; see
	// ReadFormatFile.
	file *FormatFile
}

// end makes the run void where the output is not of the format, or has nothing.
func (f *formatted) end(err error) {
	switch {
	case err != nil:
		f.refuse("cannot read format %q: %v", f.name, err)
	case f.found == 0:
		f.refuse("the output has no value in the format %q", f.name)
	}
}

// quantity names what a number is.
type quantity struct {
	of         string // the benchmark that it is of; "": there is one alone
	name, unit string
	better     metric.Direction
	hidden     bool
	// summary says of how many runs, and why they are not to be had, of a number
	// that is no value of one run; "": it is one.
	summary string
}

// whole is the name with the benchmark's.
func (q quantity) whole() string { return strings.TrimPrefix(q.of+" "+q.name, " ") }

// add takes in the values of a metric, as printed, in time order. Empty texts
// are absent.
func (f *formatted) add(q quantity, texts ...string) {
	name := metric.CleanName(q.whole())
	var values []float64
	base := ""
	for _, text := range texts {
		if text == "" {
			continue
		}
		v, b, err := inBase(text, q.unit)
		if err != nil {
			f.refuse("metric %q: %v", name, err)
			return
		}
		if len(values) > 0 && b != base {
			f.refuse("metric %q: %s has another unit than the value before", name, quote(text))
			return
		}
		values, base = append(values, v), b
	}
	if len(values) == 0 {
		return
	}
	if f.file != nil {
		f.file.add(q, base, values)
		return
	}
	if f.taken[name] {
		f.refuse("metric %q is printed twice: which one is meant cannot be told", name)
		return
	}
	if _, base := f.Values[name]; base {
		name = metric.CleanName(f.name + " " + name) // "user" is what wait4 says
	}
	if f.taken == nil {
		f.taken = map[string]bool{}
	}
	f.taken[metric.CleanName(q.whole())] = true
	f.found++
	f.sample(q.metric(name, base), median(values), values)
}

// metric describes the quantity in its base unit.
func (q quantity) metric(name, base string) metric.Metric {
	m := metric.Metric{Name: name, Unit: base, Better: q.better, Shown: !q.hidden}
	if base != q.unit && q.unit != "" {
		m.Show = q.unit
	}
	return m
}

// absent says that a value is missing on purpose.
func (f *formatted) absent(name, why string) {
	f.warn("metric %q is absent: %s", metric.CleanName(name), why)
}

// numberText is the text of a JSON number; "" for null.
func numberText(n *json.Number) string {
	if n == nil {
		return ""
	}
	return n.String()
}

func numberTexts(ns []*json.Number) []string {
	var out []string
	for _, n := range ns {
		out = append(out, numberText(n))
	}
	return out
}

// warnOfNulls says how many values of a command are no numbers, and so not in its
// median.
func (f *formatted) warnOfNulls(what, command string, ns []*json.Number) {
	null := 0
	for _, n := range ns {
		if n == nil {
			null++
		}
	}
	if null > 0 {
		f.warn("%d of %d %s of %s are null and left out", null, len(ns), what, quote(command))
	}
}

// one is for formats that come as one JSON value.
func one(docs []json.RawMessage, into any) error {
	if len(docs) != 1 {
		return fmt.Errorf("stdout has %d JSON values, want one", len(docs))
	}
	return decodeNumbers(docs[0], into)
}
