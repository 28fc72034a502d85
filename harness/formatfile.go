package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"goset/metric"
)

// FormatFile is what a file that another program wrote says about single runs.
type FormatFile struct {
	Format string
	Series []FormatSeries
	// Notes say what is left out, and what the values do not show.
	Notes []string

	summaries []string // why numbers are of several runs
}

// FormatSeries is one metric of one benchmark.
type FormatSeries struct {
	Of     string // the benchmark; "": the format has one alone
	Metric metric.Metric
	Values []float64 // in base units, in time order
}

// FormatOf tells by its content which of Formats a file is in; "": it is in none
// of them, and hint, where it is not empty, says what would be.
func FormatOf(text []byte) (format, hint string) {
	text = unmarked(text)
	trimmed := bytes.TrimLeftFunc(text, unicode.IsSpace)
	if bytes.HasPrefix(trimmed, []byte("{")) {
		return jsonFormatOf(trimmed)
	}
	switch {
	case bytes.HasPrefix(trimmed, []byte(criterionHead)):
		return "criterion", ""
	case hasLine(trimmed, "Benchmark"):
		return "gobench", ""
	case hasLine(text, timeHead):
		return "time", ""
	case bytes.Contains(trimmed, []byte("Performance counter stats for ")):
		return "", "perf stat prints for people: give it -x,"
	}
	for line := range strings.Lines(string(trimmed)) {
		// Counts alone: what it says of intervals is said when it is read.
		probe := &formatted{extraction: &extraction{}, file: &FormatFile{}}
		if err := readPerf(strings.TrimRight(line, "\r\n"), probe); err != nil || len(probe.file.Series)+len(probe.file.summaries)+len(probe.Warnings) > 0 {
			return "perf", ""
		}
	}
	return "", ""
}

// timeHead begins what GNU time -v prints.
const timeHead = "\tCommand being timed: "

// unmarked is a text without a byte order mark.
func unmarked(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// hasLine is true where a line begins with some text.
func hasLine(text []byte, begin string) bool {
	return bytes.HasPrefix(text, []byte(begin)) || bytes.Contains(text, []byte("\n"+begin))
}

// jsonFormatOf tells the format of JSON by the keys of its first value.
func jsonFormatOf(text []byte) (format, hint string) {
	var keys map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&keys); err != nil {
		return "", fmt.Sprintf("it begins like JSON and is none: %v", err)
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { _, ok := keys[name]; return !ok })
	}
	switch {
	case has("Action"):
		return "gobench", ""
	case has("benchmarks"):
		return "google-benchmark", ""
	case has("results"):
		return "hyperfine", ""
	case has("reason"), has("iters", "times"), has("mean", "std_dev"):
		return "criterion", ""
	case has("counter-value", "event"):
		return "", "perf stat -j is not read: give it -x, instead"
	}
	return "", ""
}

// ReadFormatFile reads a file of one of Formats but gobench, for which
// ReadBenchFile is, and hyperfine, as far as it has values of single runs: of one
// that has summaries alone the error says why there are none. What stands in the
// file once for every run, as perf stat --append and time -a write it, is a
// series.
func ReadFormatFile(format string, text []byte) (*FormatFile, error) {
	file := &FormatFile{Format: format}
	out := &formatted{extraction: &extraction{}, name: format, file: file}
	var err error
	switch format {
	case "google-benchmark":
		err = readDocs(text, out, readGoogle)
	case "criterion":
		err = readCriterionFile(bytes.TrimLeftFunc(unmarked(text), unicode.IsSpace), out)
	case "perf":
		err = readLines(text, out, readPerf)
	case "time":
		err = readLines(text, out, readTime)
	default:
		return nil, fmt.Errorf("files of format %q are read otherwise", format)
	}
	switch {
	case err != nil:
		return nil, err
	case len(out.void) > 0:
		return nil, errors.New(out.reasons())
	case len(file.Series) == 0 && len(file.summaries) > 0:
		return nil, fmt.Errorf("it has no values of single runs: %s", file.summaries[0])
	}
	if what := ofOneProcess(format); what != "" && len(file.Series) > 0 {
		file.note(what + ": what differs between processes is not in the intervals")
	}
	for _, text := range append(file.summaries, out.Warnings...) {
		file.note(text)
	}
	if n := len(file.Notes) - mostFileNotes; n > 0 {
		file.Notes = append(file.Notes[:mostFileNotes:mostFileNotes], fmt.Sprintf("and %d further notes of this kind", n))
	}
	return file, nil
}

// ofOneProcess says what the values of a format have in common.
func ofOneProcess(format string) string {
	switch format {
	case "google-benchmark":
		return "Google Benchmark's repetitions are of one process"
	case "criterion":
		return "a value is the mean over the iterations of one of criterion's samples, which are all of one process"
	}
	return ""
}

// mostFileNotes is how many notes a file has: perf may say something of every run.
const mostFileNotes = 8

func readDocs(text []byte, out *formatted, take func([]json.RawMessage, *formatted) error) error {
	docs, err := fileDocs(text)
	if err != nil {
		return err
	}
	return take(docs, out)
}

// fileDocs splits a file into JSON values.
func fileDocs(text []byte) ([]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(unmarked(text)))
	var docs []json.RawMessage
	for {
		var doc json.RawMessage
		err := dec.Decode(&doc)
		if err == io.EOF {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("value %d of the file is no JSON: %v", len(docs)+1, err)
		}
		docs = append(docs, doc)
	}
}

func readLines(text []byte, out *formatted, take func(string, *formatted) error) error {
	for line := range strings.Lines(string(unmarked(text))) {
		if err := take(strings.TrimRight(line, "\r\n"), out); err != nil {
			return err
		}
	}
	return nil
}

// add takes in values of runs, or why there are none.
func (f *FormatFile) add(q quantity, base string, values []float64) {
	if q.summary != "" {
		if !slices.Contains(f.summaries, q.summary) {
			f.summaries = append(f.summaries, q.summary)
		}
		return
	}
	m := q.metric(metric.CleanName(q.name), base)
	for i := range f.Series {
		if s := &f.Series[i]; s.Of == q.of && s.Metric == m {
			s.Values = append(s.Values, values...)
			return
		}
	}
	f.Series = append(f.Series, FormatSeries{Of: q.of, Metric: m, Values: values})
}

func (f *FormatFile) note(text string) {
	if !slices.Contains(f.Notes, text) {
		f.Notes = append(f.Notes, text)
	}
}
