package harness

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"hash/fnv"
	"strconv"

	"goset/metric"
)

// Bounds of what is kept of one run's output without a declaration. The text
// is read to its end all the same.
const (
	maxFound    = 1000    // metrics
	maxObserved = 100_000 // numbers
	maxTemplate = 160     // bytes of a line's words in a name
)

// foundReader takes every number that a command prints, without a
// declaration. A number is known by its line's form: the words, with "#" and
// the base unit in place of each number ("time #s", "p99 # of #"), and its
// position "[2]" where the line has several. A form that comes again gives
// iterations of the same metric, with the median as the run's value.
//
// stdout is read; stderr only when stdout has no number, since progress and
// diagnostics go there, and the results of those programs that keep stdout
// clean.
//
// Dates, times of day, versions, addresses, paths, hexadecimal ids, ordinals
// and ranges are no numbers. A number with a thousands separator or a decimal
// comma is left out, with a warning; NaN or an infinity makes the run void.
type foundReader struct{}

func (foundReader) metrics() []metric.Metric { return nil }

func (foundReader) read(res *Result, out *extraction) {
	if res.Stdout.Total == 0 && res.Stderr.Total == 0 {
		out.Shape = shapeText(fnv.New64a().Sum64())
		return
	}
	f := findIn("stdout", res.Stdout, out)
	if f.numbers == 0 {
		if e := findIn("stderr", res.Stderr, out); e.numbers > 0 {
			f = e
		}
	}
	f.report(out)
}

// findIn reads one stream.
func findIn(name string, s Stream, out *extraction) *finder {
	v := viewOf(s)
	f := newFinder()
	if bytes.IndexByte(v.head[:min(len(v.head), 8<<10)], 0) >= 0 {
		out.warn("%s is binary: its numbers were not read", name)
		return f
	}
	if v.lost > 0 {
		out.warn("%s: the numbers there are missing", v.cut(name))
	}
	f.text(bytes.TrimPrefix(v.head, []byte("\ufeff")))
	f.text(v.tail)
	return f
}

// found is one metric that was found.
type found struct {
	metric metric.Metric
	values []float64
}

// finder collects the numbers of a stream line by line. Its memory is bounded
// by the constants above, its time by the length of the text.
type finder struct {
	line lineScanner
	// forms maps a line's form to its metrics by column: indices into found,
	// -1 for a number that is not kept.
	forms map[string][]int
	names map[string]bool
	found []found

	shape    hash.Hash64
	previous uint64 // fingerprint of the last form

	numbers  int // all that were seen
	kept     int
	dropped  int // of metrics beyond maxFound
	thinned  int // numbers beyond maxObserved
	grouped  int // left out for a separator
	firstGap string
	void     int // NaN and infinities
	firstBad string
}

func newFinder() *finder {
	return &finder{forms: map[string][]int{}, names: map[string]bool{}, shape: fnv.New64a()}
}

// text reads whole lines; the last may lack its end.
func (f *finder) text(text []byte) {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		f.line.scan(visible(line))
		if len(f.line.numbers) > 0 {
			f.add()
		}
	}
}

// visible is what of a line a terminal would show: what a carriage return
// overwrote, as progress bars do, is left out, and so are colours.
func visible(line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	line = line[bytes.LastIndexByte(line, '\r')+1:]
	if bytes.IndexByte(line, '\x1b') < 0 {
		return line
	}
	clean := make([]byte, 0, len(line))
	for i := 0; i < len(line); i++ {
		if line[i] != '\x1b' || i+1 >= len(line) || line[i+1] != '[' {
			clean = append(clean, line[i])
			continue
		}
		// CSI sequence: parameters, then one byte from @ to ~ ends it.
		for i += 2; i < len(line) && (line[i] < '@' || line[i] > '~'); i++ {
		}
	}
	return clean
}

// add takes the numbers of the scanned line.
func (f *finder) add() {
	f.note(f.line.sum)
	columns, known := f.forms[string(f.line.form)]
	if !known {
		columns = f.newForm()
	}
	for i, n := range f.line.numbers {
		f.numbers++
		switch {
		case n.kind == numberGrouped:
			f.firstGap = first(f.grouped, f.firstGap, n.text)
			f.grouped++
		case n.kind == numberVoid:
			f.firstBad = first(f.void, f.firstBad, f.name(i))
			f.void++
		case i >= len(columns) || columns[i] < 0:
			f.dropped++
		case f.kept >= maxObserved:
			f.thinned++
		default:
			m := &f.found[columns[i]]
			m.values = append(m.values, n.value)
			f.kept++
		}
	}
	f.numbers += f.line.beyond
	f.dropped += f.line.beyond
}

// first keeps the text of the first of several.
func first(n int, have, text string) string {
	if n > 0 {
		return have
	}
	return text
}

// note adds a form to the fingerprint of the output. The same form several
// times in a row counts once: how often a line repeats is often a matter of
// time.
func (f *finder) note(form uint64) {
	if form == f.previous {
		return
	}
	f.previous = form
	var b [8]byte
	for i := range b {
		b[i] = byte(form >> (8 * i))
	}
	f.shape.Write(b[:]) // a hash never fails to write
}

// newForm makes the metrics of a form that was not seen before. Once there
// are maxFound metrics no further form is remembered.
func (f *finder) newForm() []int {
	if len(f.found) >= maxFound || len(f.forms) >= maxFound {
		return nil
	}
	columns := make([]int, len(f.line.numbers))
	for i, n := range f.line.numbers {
		columns[i] = -1
		if len(f.found) >= maxFound {
			continue
		}
		name := f.name(i)
		for k := 2; f.names[name]; k++ { // cleaning may have made two names one
			name = metric.CleanName(f.name(i) + " ~" + strconv.Itoa(k))
		}
		f.names[name] = true
		columns[i] = len(f.found)
		f.found = append(f.found, found{metric: metric.Metric{Name: name, Unit: n.unit, Found: true}})
	}
	f.forms[string(f.line.form)] = columns
	return columns
}

// name is the metric name of the line's ith number.
func (f *finder) name(i int) string {
	name := string(f.line.form)
	if len(f.line.numbers) > 1 {
		name += " [" + strconv.Itoa(i+1) + "]"
	}
	return metric.CleanName(name)
}

// shapeText writes a fingerprint of the form of an output.
func shapeText(sum uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], sum)
	return hex.EncodeToString(b[:])
}

// report puts what was found into the extraction.
func (f *finder) report(out *extraction) {
	for _, m := range f.found {
		if len(m.values) > 0 {
			out.sample(m.metric, median(m.values), m.values)
		}
	}
	out.Shape = shapeText(f.shape.Sum64())
	if f.void > 0 {
		out.refuse("%q printed NaN or an infinity (%d times); declare the metrics that count, or leave it out of the output", f.firstBad, f.void)
	}
	if f.grouped > 0 {
		out.warn("numbers with a thousands separator or a decimal comma were left out: %d, the first is %s", f.grouped, quote(f.firstGap))
	}
	if f.dropped > 0 {
		out.warn("the output has more than %d different metrics: %d numbers of others were left out", maxFound, f.dropped)
	}
	if f.thinned > 0 {
		out.warn("the output has more than %d numbers: the last %d were left out", maxObserved, f.thinned)
	}
}
