package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"goset/isolation"
)

// fillFields sets every field of a value to something that is not zero, so that a
// field which an encoder forgets is seen.
func fillFields(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillFields(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillFields(v.Index(0), n)
		fillFields(v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillFields(key, n)
			fillFields(value, n)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			*t = time.Unix(1700000000, int64(*n)).UTC()
			return
		}
		for i := range v.NumField() {
			fillFields(v.Field(i), n)
		}
	default:
		panic(v.Kind())
	}
}

func fullRecord() *Record {
	var r Record
	n := 0
	fillFields(reflect.ValueOf(&r).Elem(), &n)
	r.Superseded = false // is not on disk
	return &r
}

func TestEncoderWritesEveryField(t *testing.T) {
	for name, r := range map[string]*Record{
		"full": fullRecord(),
		"zero": {Values: map[string]float64{}},
		"text": {Values: map[string]float64{`a "b" \ <ü>`: 1e300, "z": -1e-7, "tiny": 5e-324}, Reason: "line\nline\u2028 \x00 </script>", Start: time.Unix(1, 0).UTC()},
	} {
		var e lineEncoder
		line, err := e.encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.IndexByte(line, '\n'); n != len(line)-1 {
			t.Fatalf("%s: the newline is at %d of %d", name, n, len(line))
		}
		var got Record
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %v in %s", name, err, line)
		}
		if !reflect.DeepEqual(&got, r) {
			t.Errorf("%s: wrote\n%+v\nread\n%+v", name, r, &got)
		}
		var fast Record
		d := newLineDecoder()
		if err := d.decode(line[:len(line)-1], &fast); err != nil || !reflect.DeepEqual(&fast, r) {
			t.Errorf("%s: decoded\n%+v\nwant\n%+v (%v)", name, &fast, r, err)
		}
	}
}

func TestEncoderForgetsTheRecordBefore(t *testing.T) {
	var kept lineEncoder
	for _, keys := range [][]string{{"b", "a"}, {"a", "b"}, {"c", "b"}, {"c"}, {}, {"d"}, {"e"}} {
		r := Record{Values: map[string]float64{}, Counters: map[string]float64{}, Iterations: map[string][]float64{}}
		for i, k := range keys {
			r.Values[k], r.Counters[k+"x"], r.Iterations["y"+k] = float64(i), 2, []float64{3}
		}
		got, err := kept.encode(&r)
		if err != nil {
			t.Fatal(err)
		}
		var anew lineEncoder
		if want, err := anew.encode(&r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: %s, want %s (%v)", keys, got, want, err)
		}
	}
}

func TestEncoderRefusesWhatJSONCannotHold(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var e lineEncoder
		if _, err := e.encode(&Record{Values: map[string]float64{"p99": v}}); err == nil || !strings.Contains(err.Error(), `"p99"`) {
			t.Errorf("%v: %v", v, err)
		}
	}
}

// TestDecoderTakesTheFastWay holds the hand-written form against the encoder:
// a decoder that falls back for every line would pass all other tests.
func TestDecoderTakesTheFastWay(t *testing.T) {
	var e lineEncoder
	line, err := e.encode(fullRecord())
	if err != nil {
		t.Fatal(err)
	}
	c := lineCursor{b: bytes.TrimSuffix(line, []byte("\n")), d: newLineDecoder()}
	if err := c.record(&Record{}); err != nil {
		t.Errorf("stopped at %q", c.b[c.i:])
	}
}

func TestDecoderForgetsTheRecordBefore(t *testing.T) {
	var e lineEncoder
	d := newLineDecoder()
	var r Record
	line, err := e.encode(fullRecord())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.decode(bytes.TrimSuffix(line, []byte("\n")), &r); err != nil {
		t.Fatal(err)
	}
	want := &Record{Run: 1, Values: map[string]float64{"a": 1}, Start: time.Unix(1, 0).UTC()}
	line, err = e.encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.decode(bytes.TrimSuffix(line, []byte("\n")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Iterations) > 0 || len(r.Counters) > 0 {
		t.Errorf("kept %v, %v", r.Iterations, r.Counters)
	}
	r.Iterations, r.Counters = nil, nil
	if !reflect.DeepEqual(&r, want) {
		t.Errorf("read %+v, want %+v", r, want)
	}
}

// FuzzDecoder: whatever the hand-written way accepts, encoding/json accepts
// with the same result.
func FuzzDecoder(f *testing.F) {
	var e lineEncoder
	line, err := e.encode(fullRecord())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.TrimSuffix(line, []byte("\n")))
	f.Add([]byte(`{"run":0,"run":1}`))
	f.Add([]byte(`{"run":-0,"values":{"a":1,"a":-2.5e-3},"layers":[{"layer":"a","held":true}],"choice":null}`))
	f.Add([]byte(`{"levels":[],"start":"2024-01-01T00:00:00Z","values":{},"iterations":{"x":[]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var fast, slow Record
		c := lineCursor{b: line, d: newLineDecoder()}
		if c.record(&fast) != nil {
			return
		}
		if err := json.Unmarshal(line, &slow); err != nil {
			t.Fatalf("accepted what is no JSON: %v", err)
		}
		if !reflect.DeepEqual(&fast, &slow) {
			t.Fatalf("read\n%+v\nand encoding/json\n%+v", &fast, &slow)
		}
	})
}

func TestManifestRoundTrip(t *testing.T) {
	runs := map[string][]Run{
		"none":       nil,
		"one":        {{0, 1, 1}},
		"warm-up":    {{1, 0, 1}, {0, 0, 2}, {0, 1, 1}, {1, 1, 2}},
		"sequential": {{0, 1, 1}, {0, 2, 1}, {1, 1, 2}, {1, 2, 2}},
		"positions":  {{0, 1, 2}, {1, 1, 1}},
	}
	for name, rs := range runs {
		var want Manifest
		n := 0
		v := reflect.ValueOf(&want).Elem()
		for i := range v.NumField() {
			switch v.Type().Field(i).Name {
			case "Runs", "States", "Host", "Treatments", "Sessions":
			default:
				fillFields(v.Field(i), &n)
			}
		}
		want.Schema, want.Host, want.Runs = ManifestSchema, json.RawMessage(`{}`), rs
		want.Treatments = []Treatment{{Index: 0, Workload: "a"}, {Index: 1, Workload: "b", Levels: []Level{{"n", "1"}}}}
		want.Sessions = []SessionStart{{Start: time.Unix(1, 0).UTC(), Warnings: []string{"w"}}}
		want.States = bytes.Repeat([]byte("k"), len(rs))
		text, at, err := want.encode()
		if err != nil {
			t.Fatal(err)
		}
		if got := text[at:]; string(got) != string(want.States)+statesEnd {
			t.Errorf("%s: %q at the offset of the states", name, got)
		}
		if strings.Contains(string(text), "positions") != (name == "positions") {
			t.Errorf("%s: positions are written though they follow, or are not", name)
		}
		got, err := decodeManifest(text)
		if err != nil {
			t.Fatal(name, err)
		}
		if len(rs) == 0 {
			got.Runs = nil
		}
		if !reflect.DeepEqual(got, &want) {
			t.Errorf("%s: read\n%+v\nwant\n%+v", name, got, &want)
		}
	}
}

func TestManifestThatContradictsItselfIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{`:            "unexpected end",
		`{"schema":2}`: "version 2",
		`{"schema":1,"sequence":[0],"blocks":[],"states":"."}`:                                            "must be equal",
		`{"schema":1,"sequence":[0],"blocks":[1],"states":"."}`:                                           "there are 0 treatments",
		`{"schema":1,"treatments":[{"index":0}],"sequence":[-1],"blocks":[1],"states":"."}`:               "treatment -1",
		`{"schema":1,"treatments":[{"index":0}],"sequence":[0],"blocks":[1],"states":"x"}`:                `state 'x'`,
		`{"schema":1,"treatments":[{"index":0}],"sequence":[0],"blocks":[1],"positions":[],"states":"."}`: "0 in \"positions\"",
	} {
		if _, err := decodeManifest([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestShortWrite: a line that cannot be written whole leaves no trace, and the
// session ends with a clear error and can be resumed.
func TestShortWrite(t *testing.T) {
	s, x := testSession(t, 3, []string{"a"}, isolation.Mode{Name: "m"})
	l, err := newLoop(s)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newManifest(s.Experiment, s.Plan, s.Provenance, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if l.store, err = createStore(s.Dir, m); err != nil {
		t.Fatal(err)
	}
	writes := 0
	l.store.write = func(b []byte) (int, error) {
		if writes++; writes == 2 {
			n, err := l.store.records.Write(b[:len(b)/2])
			return n, errors.Join(err, syscall.ENOSPC)
		}
		return l.store.records.Write(b)
	}
	_, err = l.run(t.Context())
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "record of run 1") {
		t.Fatalf("%v, want no space for the record of run 1", err)
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, RecordsFile))
	if err != nil || bytes.Count(text, []byte("\n")) != 1 || !bytes.HasSuffix(text, []byte("\n")) {
		t.Fatalf("records are %q, %v", text, err)
	}
	sum, err := Resume(t.Context(), s.Dir, s, resumeOptions(s))
	if err != nil || sum.Measured.Kept != 3 || len(sum.Warnings) != 0 || len(x.jobs) != 4 {
		t.Errorf("%+v, %v, %d jobs", sum, err, len(x.jobs))
	}
}

func TestReadOnlyFolder(t *testing.T) {
	s, x := testSession(t, 1, []string{"a"}, isolation.Mode{Name: "m"})
	s.Dir = "/proc/no-such-folder" // may be made by nobody, root included
	if _, err := Execute(t.Context(), s); err == nil || !strings.Contains(err.Error(), "cannot make result folder") || len(x.jobs) != 0 {
		t.Errorf("%v", err)
	}
}

func TestEach(t *testing.T) {
	// Lines of very different length, over many batches.
	const n = 3000
	dir := writeRecords(t, n, func(r *Record) {
		if r.Run%100 == 0 {
			r.Iterations = map[string][]float64{"t": make([]float64, r.Run*50)}
		}
	})
	r, err := OpenResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	err = r.Each(t.Context(), func(r *Record) error {
		want := 0
		if r.Run%100 == 0 {
			want = r.Run * 50
		}
		if r.Run != next || r.Values["wall"] != float64(next) || len(r.Iterations["t"]) != want || r.Superseded {
			t.Fatalf("record %d: run %d, wall %v, %d iterations, superseded %v", next, r.Run, r.Values["wall"], len(r.Iterations["t"]), r.Superseded)
		}
		next++
		return nil
	})
	if err != nil || next != n || r.Torn != 0 {
		t.Errorf("%d records, %v, %d torn", next, err, r.Torn)
	}
	stop := errors.New("stop")
	if err := r.Each(t.Context(), func(*Record) error { return stop }); err != stop {
		t.Errorf("an error of the function: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err = r.Each(ctx, func(*Record) error { cancel(); seen++; return nil })
	if !errors.Is(err, context.Canceled) || seen == n {
		t.Errorf("canceled: %v after %d", err, seen)
	}
}

func TestEachOfNoneAndOne(t *testing.T) {
	for n := range 3 {
		r, err := OpenResults(writeRecords(t, n, nil))
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		if err := r.Each(t.Context(), func(*Record) error { seen++; return nil }); err != nil || seen != n {
			t.Errorf("%d records of %d, %v", seen, n, err)
		}
	}
}

func TestEachNamesTheLine(t *testing.T) {
	dir := writeRecords(t, 2000, nil)
	path := filepath.Join(dir, RecordsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines[1233] = []byte("{\n")
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := OpenResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = r.Each(t.Context(), func(*Record) error { seen++; return nil })
	if err == nil || !strings.Contains(err.Error(), "records.jsonl:1234:") {
		t.Errorf("%v, want line 1234", err)
	}
	if seen > 1233 {
		t.Errorf("%d records before line 1234", seen)
	}
}

// A record that lost its number must not become one of run 0.
func TestEachRefusesARecordWithoutItsPlace(t *testing.T) {
	for _, member := range []string{"run", "attempt", "treatment", "outcome"} {
		dir := writeRecords(t, 3, nil)
		path := filepath.Join(dir, RecordsFile)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, missing := range []string{`"` + member + `x":`, ""} {
			// The second is in the encoder's form still.
			changed := bytes.Replace(text, []byte(`"`+member+`":`), []byte(missing), 1)
			if missing == "" {
				changed = regexp.MustCompile(`"`+member+`":[^,]*,`).ReplaceAll(text, nil)
			}
			if err := os.WriteFile(path, changed, 0o666); err != nil {
				t.Fatal(err)
			}
			r, err := OpenResults(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Each(t.Context(), func(*Record) error { return nil }); err == nil || !strings.Contains(err.Error(), member) {
				t.Errorf("without %q (%q in its place): %v", member, missing, err)
			}
		}
	}
}

// writeRecords makes a result folder of n records as a real run would have
// made it: with process metrics, layers and counters, of about 600 bytes.
func writeRecords(tb testing.TB, n int, change func(*Record)) string {
	tb.Helper()
	e, p := testExperiment(n, []string{"a"}, isolation.Mode{Name: "taskset"})
	m, err := newManifest(e, p, Provenance{}, time.Unix(1, 0))
	if err != nil {
		tb.Fatal(err)
	}
	dir := filepath.Join(tb.TempDir(), "results")
	s, err := createStore(dir, m)
	if err != nil {
		tb.Fatal(err)
	}
	var text bytes.Buffer
	f, err := os.OpenFile(filepath.Join(dir, RecordsFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range p.Runs {
		r := Record{
			Run: i, Attempt: 1, Block: i + 1, Position: 1, Previous: -1, Workload: "a", Mode: "taskset", Outcome: Kept,
			Start: time.Unix(1700000000, int64(i)*1001).UTC(), CPUs: "3",
			Layers:   []isolation.LayerState{{Layer: "cpus", Asked: "3", Achieved: "3", Held: true}},
			Values:   map[string]float64{"wall": float64(i), "user": 0.000511, "sys": 0.000734, "max-rss": 1835008, "voluntary-switches": 1, "involuntary-switches": 0, "minor-faults": 92, "major-faults": 0},
			Counters: map[string]float64{"interrupts": 12, "siblings": 3, "run-delay": 0.0000123, "migrations": 0},
		}
		if change != nil {
			change(&r)
		}
		line, err := s.encoder.encode(&r)
		if err != nil {
			tb.Fatal(err)
		}
		text.Write(line)
		if text.Len() > 1<<20 || i == n-1 {
			if _, err := io.Copy(f, &text); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := errors.Join(f.Close(), s.records.Close(), s.manifest.Close()); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func BenchmarkEach(b *testing.B) {
	const n = 100_000
	r, err := OpenResults(writeRecords(b, n, nil))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Each(b.Context(), func(*Record) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
	b.SetBytes(r.Size)
}

func BenchmarkManifestOfAMillionRuns(b *testing.B) {
	e, p := testExperiment(250_000, []string{"a", "b"}, isolation.Mode{Name: "m"}, isolation.Mode{Name: "n"})
	m, err := newManifest(e, p, Provenance{}, time.Unix(1, 0))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		text, _, err := m.encode()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := decodeManifest(text); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(text)))
	}
}

// BenchmarkRun is what the harness itself costs for each run of a plan, the
// child aside.
func BenchmarkRun(b *testing.B) {
	e, p := testExperiment(b.N, []string{"a"}, isolation.Mode{Name: "m"})
	layers := []isolation.LayerState{{Layer: "cpus", Asked: "3", Achieved: "3", Held: true}}
	s := Session{
		Experiment: e, Plan: p, Dir: filepath.Join(b.TempDir(), "results"), Extractor: noExtractor,
		Executor: &constantExecutor{Result{Start: time.Now(), Wall: time.Millisecond, Layers: layers}},
	}
	b.ReportAllocs()
	if _, err := Execute(b.Context(), s); err != nil {
		b.Fatal(err)
	}
}

type constantExecutor struct{ res Result }

func (x *constantExecutor) Execute(context.Context, Job) (Result, error) { return x.res, nil }

// TestSyncs: the disk is waited for in gaps and, without gaps, once a second,
// never between the start and the end of a child.
func TestSyncs(t *testing.T) {
	tests := []struct {
		name      string
		idle, run time.Duration
		want      int
	}{
		// What is written at the end is synced by close.
		{"gaps", time.Second, 300 * time.Millisecond, 10},
		{"short runs", 0, 300 * time.Millisecond, 3},
		{"long runs", 0, 2 * time.Second, 10},
	}
	for _, test := range tests {
		s, x := testSession(t, 10, []string{"a"}, isolation.Mode{Name: "m"})
		s.Experiment.Plan.Idle = test.idle
		clock := s.Clock.(*fakeClock)
		l, err := newLoop(s)
		if err != nil {
			t.Fatal(err)
		}
		m, err := newManifest(s.Experiment, s.Plan, s.Provenance, clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		if l.store, err = createStore(s.Dir, m); err != nil {
			t.Fatal(err)
		}
		syncs, running := 0, false
		l.store.flush = func() error {
			syncs++
			if running {
				t.Errorf("%s: synced while a child ran", test.name)
			}
			return nil
		}
		x.answer = func(context.Context, int, Job) (Result, error) {
			clock.now = clock.now.Add(test.run)
			return Result{}, nil
		}
		l.Events = func(e Event) {
			switch e.(type) {
			case RunStarted:
				running = true
			case RunEnded:
				running = false
			}
		}
		if _, err := l.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Ten runs and the end: the first gap has nothing to write.
		if syncs != test.want {
			t.Errorf("%s: %d syncs, want %d", test.name, syncs, test.want)
		}
	}
}
