package harness

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"

	"golang.org/x/perf/benchfmt"

	"goset/internal/lazy"
)

// benchLine is one benchmark result line, read.
type benchLine struct {
	pkg  string // the "pkg:" line in force; "" for none
	mode string // the "mode:" line in force, as bench.txt has; "" for none
	name string // without "Benchmark", as printed
	// iters is b.N; 0 where a print before it makes its first digit uncertain.
	iters  int
	values []benchValue
}

// benchValue is one measurement of a line, with the unit as printed.
type benchValue struct {
	value float64
	unit  string
}

// benchOutput is a stream in the Go benchmark format, read.
type benchOutput struct {
	lines []benchLine
	// units holds the better= of "Unit" lines.
	units benchfmt.UnitMetadataMap
	// unread counts the lines that look like results and cannot be read; the
	// first one is kept to be shown.
	unread      int
	firstUnread string
	// warnings are the values of "warning:" lines, each once.
	warnings []string
}

// maxBenchLine is the longest line that is read. benchfmt would stop at a
// longer one and lose what follows.
const maxBenchLine = 60 << 10

// readBench reads text in the Go benchmark format
// (https://golang.org/design/14313-benchmark-format), or the events that go
// test -json makes of it. Results that prints tore apart are put together where
// the testing package's own form leaves no doubt; the others are counted.
func readBench(text []byte) (benchOutput, error) {
	var out benchOutput
	for _, part := range splitEvents(plainText(text), &out) {
		if err := out.read(part.text, part.pkg); err != nil {
			return out, err
		}
	}
	return out, nil
}

// plainText takes the byte order mark off a text. Windows' shell writes UTF-16
// into files.
func plainText(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	units := make([]uint16, 0, len(text)/2)
	for i := 2; i+1 < len(text); i += 2 {
		units = append(units, order.Uint16(text[i:]))
	}
	return []byte(string(utf16.Decode(units)))
}

// read takes in the text of one stream; pkg is its package where the text does
// not say.
func (o *benchOutput) read(text []byte, pkg string) error {
	m := mender{out: o}
	text = m.mend(text)
	r := benchfmt.NewReader(bytes.NewReader(text), "output")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			l := lineOf(rec)
			if _, at := rec.Pos(); m.uncertain[at] {
				l.iters = 0
			}
			if l.pkg == "" {
				l.pkg = pkg
			}
			o.lines = append(o.lines, l)
			if w := rec.GetConfig("warning"); w != "" && !slices.Contains(o.warnings, w) {
				o.warnings = append(o.warnings, w)
			}
		case *benchfmt.SyntaxError:
			o.skip([]byte(nthLine(text, rec.Line)))
		}
	}
	if o.units == nil {
		o.units = r.Units()
	} else {
		for k, v := range r.Units() {
			o.units[k] = v
		}
	}
	return r.Err()
}

// nthLine returns the nth line of text, from 1.
func nthLine(text []byte, n int) string {
	for ; n > 1; n-- {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(line)
}

// skip counts a line that cannot be read.
func (o *benchOutput) skip(line []byte) {
	if o.unread == 0 {
		o.firstUnread = string(line[:min(len(line), 200)])
	}
	o.unread++
}

// lineOf copies a result: the reader owns and reuses it.
func lineOf(r *benchfmt.Result) benchLine {
	l := benchLine{pkg: r.GetConfig("pkg"), mode: r.GetConfig("mode"), name: r.Name.String(), iters: r.Iters}
	for _, v := range r.Values {
		if v.OrigUnit != "" {
			v.Value, v.Unit = v.OrigValue, v.OrigUnit
		}
		l.values = append(l.values, benchValue{v.Value, v.Unit})
	}
	return l
}

var (
	// benchStart matches a name as the testing package prints it before a
	// benchmark runs: padded with blanks, and a tab.
	benchStart = lazy.Regexp(`(Benchmark\S*) *\t`)
	// benchTail matches what it prints after: b.N in a field of eight, and
	// measurements, each behind a tab.
	benchTail = lazy.Regexp(`(\d+)((?:\t *(?:[-+]?(?:\d+(?:\.\d*)?(?:e[-+]\d+)?|Inf)|NaN) [^\s\x00-\x1f]+)+)$`)
	// benchEnd matches the lines that end whatever benchmark was running.
	benchEnd = lazy.Regexp(`^(?:--- (?:FAIL|SKIP|BENCH): |PASS$|FAIL$|FAIL\t|ok  \t|panic: |exit status |pkg: )`)
	// benchWhole matches what nothing can follow on further lines.
	benchWhole = lazy.Regexp(`^(?: *\d+[ \t]|--- |panic: )`)
	// benchLike matches a result in the words of other programs: without tabs.
	benchLike = lazy.Regexp(`^Benchmark\S*\s+\d+\s+\S+\s`)
	// benchRest matches the rest of a torn result, also where it is not the
	// testing package's: it is counted.
	benchRest = lazy.Regexp(`^[ \t]*\d+[ \t]*\t[ \t]*[-+.\deE]+ [^\s/]*/[a-zA-Z]`)
)

// mender makes text fit for benchfmt. A benchmark's name is printed before it
// runs and its measurements after, so that whatever it prints stands between:
//
//	.BenchmarkDot-2     \t....  563973\t        50.03 ns/op
//	BenchmarkLine-2     \tconnected
//	connected
//	  328717\t       132.9 ns/op
//
// benchfmt passes over the first and refuses the second.
type mender struct {
	out       *benchOutput
	kept      []byte
	line      int          // of kept, from 1
	uncertain map[int]bool // lines whose b.N is not sure

	open  string // the name whose measurements are to come; "" for none
	first []byte // the line that it is of
	doubt bool   // another name came since, behind a print
}

// mend returns the text with torn results in one line each, and no line that
// benchfmt would stop at.
func (m *mender) mend(text []byte) []byte {
	m.kept = make([]byte, 0, len(text)+1)
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		m.line++
		m.take(bytes.TrimSuffix(line, []byte("\r")))
		m.kept = append(m.kept, '\n')
	}
	m.lose()
	return m.kept
}

// take handles one line, and keeps what benchfmt is to see of it.
func (m *mender) take(line []byte) {
	result := bytes.HasPrefix(line, []byte("Benchmark"))
	if len(line) > maxBenchLine {
		if result {
			m.lose()
			m.out.skip(line)
		}
		return
	}
	if bytes.IndexByte(line, '\t') < 0 && !result && m.open == "" {
		m.kept = append(m.kept, line...) // configuration lines, and prints
		return
	}
	if at := benchStart().FindSubmatchIndex(line); at != nil && !(at[0] > 0 && m.open != "") {
		m.start(line, at)
		return
	}
	m.others(line, result)
}

// others handles the lines that begin no benchmark.
func (m *mender) others(line []byte, result bool) {
	tail, sure := m.tail(line)
	switch {
	case m.open != "" && tail != nil && !m.doubt:
		m.result(m.open, tail, sure)
		m.open = ""
	case m.open != "" && benchStart().Match(line):
		m.doubt = true // a print, or the next benchmark behind one
	case m.open != "" && benchEnd().Match(line):
		m.lose()
		m.kept = append(m.kept, line...)
	case benchRest().Match(line):
		m.out.skip(line)
	case m.open != "" && result && !benchLike().Match(line):
		// a print that begins with the word
	default:
		if result {
			m.lose()
		}
		m.kept = append(m.kept, line...)
	}
}

// start handles a line with the name of a benchmark; at is where benchStart
// matched.
func (m *mender) start(line []byte, at []int) {
	m.lose()
	name, rest := line[at[2]:at[3]], line[at[1]:]
	if at[0] > 0 && !m.begins(line, at) {
		if t, _ := m.tail(rest); t != nil {
			m.out.skip(line)
		}
		return
	}
	tail, sure := m.tail(rest)
	switch {
	case tail != nil:
		m.result(string(name), tail, sure)
	case at[0] == 0 && benchWhole().Match(rest):
		m.kept = append(m.kept, line...) // benchfmt reads it, or says what is wrong
	default:
		m.open, m.first, m.doubt = string(name), line, false
	}
}

// begins says whether a name behind a print is sure to begin where it seems
// to: "BenchmarkA/BenchmarkB" could be a print and a name.
func (m *mender) begins(line []byte, at []int) bool {
	word := line[:at[3]]
	word = word[bytes.LastIndexAny(word, " \t")+1:]
	return bytes.Count(word, []byte("Benchmark")) == 1
}

// tail returns the measurements at the end of a line: b.N and what follows it.
// sure is false when the first digits of b.N may be the end of a print.
func (m *mender) tail(line []byte) (tail []byte, sure bool) {
	at := benchTail().FindSubmatchIndex(line)
	if at == nil {
		return nil, false
	}
	const field = 8
	digits, before := at[3]-at[2], line[:at[2]]
	if digits >= field {
		return line[at[2]:], digits == field || len(bytes.TrimLeft(before, " \t")) == 0
	}
	pad := field - digits
	if len(before) < pad || strings.Trim(string(before[len(before)-pad:]), " ") != "" {
		return nil, false // not what the testing package prints
	}
	return line[at[2]:], true
}

// result keeps a result in the form that benchfmt reads.
func (m *mender) result(name string, tail []byte, sure bool) {
	if !sure {
		if m.uncertain == nil {
			m.uncertain = map[int]bool{}
		}
		m.uncertain[m.line] = true
	}
	m.kept = append(m.kept, name...)
	m.kept = append(m.kept, '\t')
	m.kept = append(m.kept, tail...)
}

// lose counts a benchmark whose measurements never came.
func (m *mender) lose() {
	if m.open != "" {
		m.out.skip(m.first)
		m.open = ""
	}
}
