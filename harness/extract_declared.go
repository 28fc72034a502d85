package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/theory/jsonpath"

	"goset/metric"
)

// The ways to take one value out of several matches.
const (
	takeFirst  = "first"
	takeLast   = "last"
	takeMedian = "median"
	takeAll    = "all"
)

// maxMatches bounds the memory that the matches of one pattern take.
const maxMatches = 1 << 20

// declaredReaders checks declared metrics and makes their readers. All faults
// are reported at once.
func declaredReaders(specs []MetricSpec) ([]reader, error) {
	var readers []reader
	var faults []error
	var paths jsonReader
	taken := map[string]bool{}
	for _, m := range BaseMetrics() {
		taken[m.Name] = true
	}
	for _, spec := range specs {
		d, err := declare(spec)
		switch {
		case err != nil:
		case taken[spec.Name]:
			err = errors.New("the name is taken: give it another")
		case d.path != nil:
			paths.specs = append(paths.specs, d)
		default:
			readers = append(readers, patternReader{d})
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("metric %q: %w", spec.Name, err))
		}
		taken[spec.Name] = true
	}
	if len(paths.specs) > 0 {
		readers = append(readers, paths)
	}
	return readers, errors.Join(faults...)
}

// declared is a checked MetricSpec.
type declared struct {
	MetricSpec
	pattern *regexp.Regexp
	path    *jsonpath.Path
}

// declare checks one declaration and compiles its pattern or path.
func declare(spec MetricSpec) (declared, error) {
	d := declared{MetricSpec: spec}
	if d.Take == "" {
		d.Take = takeLast
	}
	if err := metric.CheckName(spec.Name); err != nil {
		return d, err
	}
	if !slices.Contains([]string{takeFirst, takeLast, takeMedian, takeAll}, d.Take) {
		return d, fmt.Errorf("take must be first, last, median or all, got %q", d.Take)
	}
	if (spec.Pattern == "") == (spec.JSON == "") {
		return d, errors.New("exactly one of pattern and json must be given")
	}
	var err error
	if spec.JSON != "" {
		if d.path, err = jsonpath.Parse(spec.JSON); err != nil {
			return d, fmt.Errorf("json must be an RFC 9535 path such as $.latency.p99, got %q: %v", spec.JSON, err)
		}
		return d, nil
	}
	if d.pattern, err = regexp.Compile(spec.Pattern); err != nil {
		return d, fmt.Errorf("pattern must be RE2 (Go) syntax, got %q: %v", spec.Pattern, err)
	}
	if n := d.pattern.NumSubexp(); n != 1 {
		return d, fmt.Errorf("pattern must have exactly one (group) around the number, got %d in %q; write (?:...) for the others", n, spec.Pattern)
	}
	return d, nil
}

// metric describes the declared metric in base units; people see the unit
// that was declared.
func (d declared) metric() metric.Metric {
	m := d.Metric
	base, factor, _ := metric.Base(m.Unit)
	if m.Show == "" && factor != 1 {
		m.Show = m.Unit
	}
	m.Unit, m.Shown = base, true
	return m
}

// take reads the matched texts and adds the metric. The texts are those that
// d.Take asks for, in time order.
func (d declared) take(texts []string, out *extraction) {
	values := make([]float64, len(texts))
	m := d.metric()
	for i, text := range texts {
		v, base, err := inBase(text, d.Unit)
		if err == nil && i > 0 && base != m.Unit {
			err = fmt.Errorf("%s has another unit than the match before", quote(text))
		}
		if err != nil {
			out.refuse("metric %q: %v", d.Name, err)
			return
		}
		values[i], m.Unit = v, base
	}
	switch d.Take {
	case takeAll:
		out.sample(m, median(values), values)
	case takeMedian:
		out.value(m, median(values))
	default:
		out.value(m, values[0])
	}
}

// pick reduces all matches to those that take wants.
func pick[T any](all []T, take string) []T {
	switch {
	case len(all) == 0:
		return nil
	case take == takeFirst:
		return all[:1]
	case take == takeLast:
		return all[len(all)-1:]
	}
	return all
}

// patternReader reads a metric by its pattern.
type patternReader struct{ declared }

func (r patternReader) metrics() []metric.Metric { return []metric.Metric{r.metric()} }

// read matches stdout and, when nothing there matches, stderr.
func (r patternReader) read(res *Result, out *extraction) {
	for _, s := range []struct {
		name   string
		stream Stream
	}{{"stdout", res.Stdout}, {"stderr", res.Stderr}} {
		v := viewOf(s.stream)
		texts, sure, err := r.search(v)
		if err != nil {
			out.refuse("pattern of metric %q %v: %s", r.Name, err, r.Pattern)
			return
		}
		if !sure {
			out.refuse("cannot tell metric %q: %s, and the %s match of its pattern may be there: %s (raise plan.output)",
				r.Name, v.cut(s.name), r.Take, r.Pattern)
			return
		}
		if len(texts) > 0 {
			r.take(texts, out)
			return
		}
	}
	out.refuse("pattern of metric %q matched nothing: %s%s", r.Name, r.Pattern, r.hint(res))
}

// search returns the matches that are asked for. sure is false when the answer
// may lie where the stream was cut.
func (r patternReader) search(v view) (texts []string, sure bool, err error) {
	text := v.head
	if v.lost > 0 {
		switch r.Take {
		case takeFirst: // in the head, or unknown
		case takeLast:
			text = v.tail
		default:
			return nil, false, nil
		}
	}
	most := maxMatches + 1
	if r.Take == takeFirst {
		most = 1
	}
	found := r.pattern.FindAllSubmatchIndex(text, most)
	if len(found) > maxMatches {
		return nil, true, fmt.Errorf("matched more than %d times", maxMatches)
	}
	for _, m := range pick(found, r.Take) {
		if m[2] < 0 {
			return nil, true, fmt.Errorf("matched %s without its group", quote(string(text[m[0]:m[1]])))
		}
		texts = append(texts, string(text[m[2]:m[3]]))
	}
	return texts, len(texts) > 0 || v.lost == 0, nil
}

// hint says the one thing about RE2 that people trip over, when it would have
// helped: ^ and $ are the ends of the output unless (?m) makes them a line's.
func (r patternReader) hint(res *Result) string {
	lines, err := regexp.Compile("(?m)" + r.Pattern)
	if err != nil || !lines.Match(res.Stdout.Head) && !lines.Match(res.Stderr.Head) {
		return ""
	}
	return " (^ and $ are the ends of the output; (?m) before the pattern makes them those of a line)"
}

// jsonReader reads the metrics with a path; it decodes stdout once for all.
type jsonReader struct{ specs []declared }

func (r jsonReader) metrics() []metric.Metric {
	var ms []metric.Metric
	for _, d := range r.specs {
		ms = append(ms, d.metric())
	}
	return ms
}

func (r jsonReader) read(res *Result, out *extraction) {
	v := viewOf(res.Stdout)
	if v.lost > 0 {
		out.refuse("cannot read JSON for metric %q: %s (raise plan.output)", r.specs[0].Name, v.cut("stdout"))
		return
	}
	docs, err := jsonDocs[any](v.head)
	if err != nil {
		out.refuse("cannot read JSON for metric %q: %v", r.specs[0].Name, err)
		return
	}
	for _, d := range r.specs {
		d.takeJSON(docs, out)
	}
}

// takeJSON follows the path in every document.
func (d declared) takeJSON(docs []any, out *extraction) {
	var found []any
	for _, doc := range docs {
		found = append(found, d.path.Select(doc)...)
	}
	found = pick(found, d.Take)
	if len(found) == 0 {
		out.refuse("path of metric %q matched nothing: %s", d.Name, d.JSON)
		return
	}
	texts := make([]string, len(found))
	for i, node := range found {
		text, err := jsonText(node)
		if err != nil {
			out.refuse("path of metric %q matched %v: %s", d.Name, err, d.JSON)
			return
		}
		texts[i] = text
	}
	d.take(texts, out)
}

// jsonDocs decodes stdout: one value, or several one after the other, as tools
// print that write a line of JSON per result. In a T of any, numbers are texts.
func jsonDocs[T any](text []byte) ([]T, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // float64 would lose what an error has to quote
	var docs []T
	for {
		var doc T
		err := dec.Decode(&doc)
		if err == io.EOF && len(docs) > 0 {
			return docs, nil
		}
		if err == io.EOF {
			return nil, errors.New("stdout is empty")
		}
		if err != nil {
			return nil, describeJSON(err, text)
		}
		docs = append(docs, doc)
	}
}

// describeJSON says where stdout stops being JSON.
func describeJSON(err error, text []byte) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("stdout is not JSON: %v", err)
	}
	at := max(0, min(int(syntax.Offset)-1, len(text)))
	here := string(text[at:min(len(text), at+40)])
	if len(here) > 0 && (here[0] == 'N' || here[0] == 'I') {
		return fmt.Errorf("stdout is not JSON: it has %s, and JSON has no NaN or infinity", quote(here))
	}
	return fmt.Errorf("stdout is not JSON: %v, byte %d, at %s", syntax, syntax.Offset, quote(here))
}

// jsonText is the text of a number or of a string that may hold one.
func jsonText(node any) (string, error) {
	switch n := node.(type) {
	case json.Number:
		return n.String(), nil
	case string:
		return n, nil
	case nil:
		return "", errors.New("null, not a number")
	case bool:
		return "", fmt.Errorf("%v, not a number", n)
	case []any:
		return "", errors.New("a list, not a number (end the path in [*] for its elements)")
	}
	return "", errors.New("an object, not a number")
}
