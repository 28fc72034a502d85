package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"goset/harness"
	"goset/metric"
)

// External is figures that were taken elsewhere, as a Source: files of the
// formats that harness.Formats names. Each file is a mode, and the first one is
// the baseline; a single hyperfine file has a mode for each command, a Go file
// whose results have a configuration key "mode", as bench.txt has, those, and
// samples of criterion have that of their folder.
//
// The values of such files share no blocks: they are compared as whole samples.
type External struct {
	records    []harness.Record
	treatments []harness.Treatment
	index      map[string]int
	counts     map[int]int        // runs so far, by treatment
	files      map[claimed]string // the file that a mode is of
	notes      []string           // what was not read, by file
}

// maxExternal bounds an external file in bytes.
const maxExternal = 256 << 20

// Add reads one file, of the format that its content is of. The path names the
// mode, for samples of criterion the benchmark, too, and is not opened.
func (x *External) Add(path string, text []byte, files int) error {
	if len(text) > maxExternal {
		return fmt.Errorf("cannot read %q: it is longer than %d bytes", path, maxExternal)
	}
	mode := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	before, notes := len(x.records), len(x.notes)
	byBenchmark := false
	format, hint := harness.FormatOf(text)
	var err error
	switch format {
	case "":
		if hint == "" {
			hint = "no result in it is of a format that is known"
		}
		return fmt.Errorf("cannot read %q: %s (%s)", path, hint, readable)
	case "gobench":
		err = x.addBench(mode, path, text)
	case "hyperfine":
		err = x.addHyperfine(mode, bytes.TrimPrefix(text, []byte("\ufeff")), files)
	default:
		benchmark := format
		if folder, of, ok := criterionFolder(path); ok && format == "criterion" {
			mode, benchmark, byBenchmark = folder, of, true
		}
		err = x.addFormat(format, mode, benchmark, path, text)
	}
	if err != nil {
		return fmt.Errorf("cannot read %q: %v", path, err)
	}
	if len(x.records) == before {
		if len(x.notes) > notes {
			return fmt.Errorf("cannot read %s", x.notes[len(x.notes)-1])
		}
		return fmt.Errorf("cannot read %q: no result in it, and it looks like a file of format %s", path, format)
	}
	return x.claim(path, mode, byBenchmark, x.records[before:])
}

// readable says what report can read, and what to do with all else.
const readable = "report reads Go benchmark lines and the events of go test -json, hyperfine --export-json, Google Benchmark's JSON, " +
	"criterion's sample.json, raw.csv and messages, perf stat -x, and GNU time -v; any other output is measured by running its command: " +
	"goset-bench run -- COMMAND, or a workload whose metric has a pattern"

// criterionFolder reads the folders that criterion keeps its samples in,
// BENCHMARK/new/sample.json: the folder is the mode.
func criterionFolder(path string) (mode, benchmark string, ok bool) {
	if name := filepath.Base(path); name != "sample.json" && name != "raw.csv" {
		return "", "", false
	}
	dir := filepath.Dir(filepath.Clean(path))
	mode, benchmark = filepath.Base(dir), filepath.Base(filepath.Dir(dir))
	if mode == "." || mode == ".." || mode == string(filepath.Separator) {
		return "", "", false
	}
	if benchmark == "." || benchmark == ".." || benchmark == string(filepath.Separator) {
		benchmark = "criterion"
	}
	return mode, benchmark, true
}

// addFormat reads the other formats: a value is a run. A benchmark without a
// name of its own is called as said.
func (x *External) addFormat(format, mode, benchmark, path string, text []byte) error {
	file, err := harness.ReadFormatFile(format, text)
	if err != nil {
		return err
	}
	for _, note := range file.Notes {
		x.notes = append(x.notes, fmt.Sprintf("%s: %s", path, note))
	}
	var names []string
	most := map[string]int{}
	for _, s := range file.Series {
		if _, ok := most[s.Of]; !ok {
			names = append(names, s.Of)
		}
		most[s.Of] = max(most[s.Of], len(s.Values))
	}
	for _, name := range names {
		for i := range most[name] {
			values := map[string]float64{}
			var metrics []metric.Metric
			for _, s := range file.Series {
				if s.Of == name && i < len(s.Values) {
					values[s.Metric.Name] = s.Values[i]
					metrics = append(metrics, s.Metric)
				}
			}
			x.put(cmp.Or(name, benchmark), mode, metrics, values)
		}
	}
	return nil
}

// claim makes the modes of records those of one file: two files of one mode
// would be pooled as if they were one sample. Of criterion each file has one
// benchmark, and several have the mode of their folder.
func (x *External) claim(path, stem string, byBenchmark bool, records []harness.Record) error {
	if x.files == nil {
		x.files = map[claimed]string{}
	}
	claims := map[claimed]bool{}
	for i := range records {
		c := claimed{mode: records[i].Mode}
		if byBenchmark {
			c.benchmark = records[i].Workload
		}
		claims[c] = true
	}
	order := slices.SortedFunc(maps.Keys(claims), func(a, b claimed) int {
		return cmp.Or(strings.Compare(a.mode, b.mode), strings.Compare(a.benchmark, b.benchmark))
	})
	for _, c := range order {
		if other, taken := x.files[c]; taken {
			hint := "give the files different names"
			switch {
			case path == other:
				hint = "give it once"
			case c.mode != stem:
				hint = "their results say so themselves; give one file, or the result folders to goset-bench compare"
			}
			return fmt.Errorf("cannot tell %q from %q: both have results of mode %q (%s)", path, other, c.mode, hint)
		}
		x.files[c] = path
	}
	return nil
}

// claimed is what one file alone has results of: a mode, or a benchmark under a
// mode.
type claimed struct{ mode, benchmark string }

// Each is a Source.
func (x *External) Each(ctx context.Context, fn func(*harness.Record) error) error {
	for i := range x.records {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := x.records[i]
		if err := fn(&r); err != nil {
			return err
		}
	}
	return nil
}

// Options are those of a report over the files.
func (x *External) Options() Options {
	o := Options{Unblocked: true, ModeFactors: []string{}, Treatments: x.treatments, Notes: x.notes}
	if len(x.treatments) > 0 {
		o.Baseline = x.treatments[0].Mode
	}
	return o
}

// put adds one run of a workload under a mode.
func (x *External) put(workload, mode string, metrics []metric.Metric, values map[string]float64) *harness.Record {
	key := workload + "\x00" + mode
	t, ok := x.index[key]
	if !ok {
		if x.index == nil {
			x.index, x.counts = map[string]int{}, map[int]int{}
		}
		t = len(x.treatments)
		x.index[key] = t
		x.treatments = append(x.treatments, harness.Treatment{Index: t, Workload: workload, Mode: mode})
	}
	x.counts[t]++
	x.records = append(x.records, harness.Record{Run: len(x.records), Attempt: 1, Block: x.counts[t], Position: 1, Treatment: t, Previous: -1,
		Workload: workload, Mode: mode, Outcome: harness.Kept, Values: values, Metrics: metrics})
	return &x.records[len(x.records)-1]
}

// addBench reads the Go benchmark format: a line is a run. What cannot be read
// is a note.
func (x *External) addBench(mode, path string, text []byte) error {
	file, err := harness.ReadBenchFile(text)
	if err != nil {
		return err
	}
	if file.Unread != "" {
		x.notes = append(x.notes, fmt.Sprintf("%s: %s", path, file.Unread))
	}
	var odd []string
	for i := range file.Results {
		left, err := x.benchLine(mode, &file.Results[i], file.Units)
		if err != nil {
			return err
		}
		odd = append(odd, left...)
	}
	switch len(odd) {
	case 0:
	case 1:
		x.notes = append(x.notes, fmt.Sprintf("%s: 1 value is left out, because it is not a finite number: %s", path, odd[0]))
	default:
		x.notes = append(x.notes, fmt.Sprintf("%s: %d values are left out, because they are not finite numbers, the first: %s", path, len(odd), odd[0]))
	}
	return nil
}

// benchLine takes in one result. left names the values of it that are not
// finite.
func (x *External) benchLine(mode string, res *harness.BenchResult, units benchfmt.UnitMetadataMap) (left []string, err error) {
	values := map[string]float64{}
	var metrics []metric.Metric
	for _, v := range res.Values {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
			left = append(left, fmt.Sprintf("benchmark %q has %s = %v", res.Name, v.Unit, v.Value))
			continue
		}
		if _, twice := values[v.Unit]; twice {
			return nil, fmt.Errorf("benchmark %q has the unit %s twice on one line", res.Name, v.Unit)
		}
		values[v.Unit] = v.Value
		metrics = append(metrics, benchMetricOf(v.Unit, units))
	}
	workload := res.Name
	if res.Package != "" {
		workload = res.Package + "." + workload
	}
	if len(values) > 0 {
		x.put(workload, cmp.Or(res.Mode, mode), metrics, values)
	}
	return left, nil
}

// benchMetricOf describes a unit of a benchmark line, tidied as benchfmt does:
// "sec/op" for ns/op.
func benchMetricOf(unit string, units benchfmt.UnitMetadataMap) metric.Metric {
	m := metric.Metric{Name: unit, Unit: unit, Shown: true}
	if rest, ok := strings.CutPrefix(unit, "sec"); ok && (rest == "" || rest[0] == '/') {
		m.Unit = "s" + rest
	}
	switch {
	case strings.HasPrefix(m.Unit, "s/") || m.Unit == "s" || unit == "B/op" || unit == "allocs/op":
		m.Better = metric.Lower
	case strings.HasSuffix(unit, "/s"):
		m.Better = metric.Higher
	}
	if better := units[benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}]; better != nil {
		switch metric.Direction(better.Value) {
		case metric.Lower:
			m.Better = metric.Lower
		case metric.Higher:
			m.Better = metric.Higher
		}
	}
	return m
}

// hyperfineFile is what hyperfine --export-json writes, as far as it is read.
type hyperfineFile struct {
	Results []hyperfineResult `json:"results"`
}

type hyperfineResult struct {
	Command    string            `json:"command"`
	Times      []*float64        `json:"times"`
	ExitCodes  []*int            `json:"exit_codes"` // null: ended by a signal
	Parameters map[string]string `json:"parameters"`
}

// addHyperfine reads hyperfine's JSON. Its user and system times are means and
// say nothing about runs.
func (x *External) addHyperfine(mode string, text []byte, files int) error {
	var f hyperfineFile
	if err := json.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("it looks like hyperfine's JSON and is none: %v", err)
	}
	wall := []metric.Metric{{Name: "wall", Unit: "s", Better: metric.Lower, Shown: true}}
	for _, r := range f.Results {
		if len(r.Times) == 0 {
			return fmt.Errorf("command %q has no times: hyperfine --export-json writes them", r.Command)
		}
		if len(r.ExitCodes) > 0 && len(r.ExitCodes) != len(r.Times) {
			return fmt.Errorf("command %q has %d times and %d exit codes", r.Command, len(r.Times), len(r.ExitCodes))
		}
		workload, of := r.named(), mode
		if files == 1 {
			workload, of = "hyperfine", r.named()
		}
		for i, v := range r.Times {
			if v == nil {
				return fmt.Errorf("command %q: time %d of %d is null, which is no time: leave the run out, with its exit code", r.Command, i+1, len(r.Times))
			}
			rec := x.put(workload, of, wall, map[string]float64{"wall": *v})
			if len(r.ExitCodes) > 0 {
				judgeExit(rec, r.ExitCodes[i])
			}
		}
	}
	return nil
}

// judgeExit has a run count only if it ended well.
func judgeExit(r *harness.Record, code *int) {
	switch {
	case code == nil:
		r.Outcome, r.Reason = harness.Failed, "ended by a signal"
	case *code != 0:
		r.Outcome, r.Exit, r.Reason = harness.Failed, *code, fmt.Sprintf("exit status %d", *code)
	}
}

// named is the command with its parameters, which hyperfine has filled in
// already: they stand beside it only where the command hides them.
func (r *hyperfineResult) named() string {
	name := cmp.Or(oneLine(r.Command), "command")
	var keys []string
	for k := range r.Parameters {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if !strings.Contains(name, r.Parameters[k]) {
			name += " " + k + "=" + strconv.Quote(r.Parameters[k])
		}
	}
	return name
}
