package report

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"goset/harness"
	"goset/metric"
)

// synthetic is a source of n records in randomized blocks over 12 treatments,
// with wall and six other metrics each. Like the real one it uses one record
// again and again.
type synthetic struct{ n int }

func (s synthetic) Each(_ context.Context, fn func(*harness.Record) error) error {
	names := []string{"wall", "user", "sys", "rss", "voluntary", "involuntary", "time"}
	r := harness.Record{Values: map[string]float64{}, Iterations: map[string][]float64{"time": make([]float64, 30)}, Counters: map[string]float64{"switches": 1}, Outcome: harness.Kept, Attempt: 1}
	x := uint64(1)
	for i := range s.n {
		r.Run, r.Block, r.Position = i, i/12+1, i%12+1
		r.Treatment = i % 12
		r.Workload, r.Mode = fmt.Sprint("w", r.Treatment/3), []string{"unpinned", "taskset", "goset"}[r.Treatment%3]
		r.CPUs, r.Start = []string{"0", "1"}[i%2], time.Unix(int64(i), 0)
		r.Metrics = nil
		if i < 12 {
			for _, m := range names {
				r.Metrics = append(r.Metrics, metric.Metric{Name: m, Unit: "s", Shown: m == "time", Better: metric.Lower})
			}
		}
		for _, m := range names {
			x = mix(x)
			r.Values[m] = 1 + float64(x>>11)/(1<<53)
		}
		for k := range r.Iterations["time"] {
			x = mix(x)
			r.Iterations["time"][k] = float64(x >> 11)
		}
		if err := fn(&r); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkBuildMillion: records to tables, without decoding. The bounds, 15 s
// and 1 GiB with decoding, are checked by hand; B/heap is the heap's peak that
// the collector was told to stay under.
func BenchmarkBuildMillion(b *testing.B) {
	for b.Loop() {
		tables, err := Build(b.Context(), synthetic{1_000_000}, Options{Baseline: "unpinned"})
		if err != nil {
			b.Fatal(err)
		}
		if err := Text(io.Discard, tables, TextOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-from-OS")
}

func BenchmarkWriteAllMillion(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		if err := WriteAll(b.Context(), dir, synthetic{1_000_000}, Options{Baseline: "unpinned"}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBoundedMemory: what is kept of a run is its values. Streaming ten times
// the records through the per-run files needs no more memory.
func TestBoundedMemory(t *testing.T) {
	peak := func(n int) uint64 {
		d, err := Collect(t.Context(), synthetic{12}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer debug.SetGCPercent(debug.SetGCPercent(10))
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		high := before.HeapAlloc
		w := writerFunc(func(p []byte) (int, error) {
			runtime.ReadMemStats(&now)
			high = max(high, now.HeapAlloc)
			return len(p), nil
		})
		if err := runsCSV(t.Context(), w, d, synthetic{n}); err != nil {
			t.Fatal(err)
		}
		return high - before.HeapAlloc
	}
	small, large := peak(600), peak(6000)
	if large > small+(4<<20) {
		t.Errorf("runs.csv of 600 records takes %d bytes of heap, of 6,000 %d", small, large)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
