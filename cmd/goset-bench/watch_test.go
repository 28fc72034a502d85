package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"goset/harness"
	"goset/metric"
)

// watched is a progress that draws frames into a buffer.
func watched(w *bytes.Buffer, runs int) (*progress, *time.Time) {
	p, now := testProgress(w, true, false)
	p.watch = &watch{size: func() (int, int) { return 60, 20 }}
	plan := &harness.Plan{Treatments: []harness.Treatment{{Workload: "chase", Mode: "quiet"}}}
	for i := range runs {
		plan.Runs = append(plan.Runs, harness.Run{Block: int32(i + 1)})
	}
	p.event(harness.Started{Experiment: &harness.Experiment{Name: "x"}, Plan: plan, Dir: "out", Progress: &harness.Progress{Total: runs}})
	w.Reset()
	return p, now
}

func endedWith(p *progress, run, total int, v float64) {
	r := &harness.Record{Run: run, Attempt: 1, Workload: "chase", Mode: "quiet", Block: run + 1, Outcome: harness.Kept, Values: map[string]float64{"wall": v}}
	if run == 0 {
		r.Metrics = []metric.Metric{{Name: "wall", Unit: "s"}}
	}
	p.event(harness.RunEnded{Record: r, Progress: &harness.Progress{Total: total, Measured: harness.Counts{Kept: run + 1}}})
}

// TestWatchFrames: frames come with events, seldom, and the last one always; a
// message takes the frame away and stands above the next one.
func TestWatchFrames(t *testing.T) {
	var w bytes.Buffer
	p, now := watched(&w, 4)
	endedWith(p, 0, 4, 1)
	first := w.String()
	for _, want := range []string{"\r\x1b[J[=====               ] 1/4", "chase · wall, s", "quiet", "···", "\x1b[4A\r"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first frame lacks %q: %q", want, first)
		}
	}
	w.Reset()
	*now = now.Add(10 * time.Millisecond)
	endedWith(p, 1, 4, 2)
	if w.Len() != 0 {
		t.Errorf("10 ms later there is a frame: %q", w.String())
	}
	started(p, 0)
	if got := w.String(); strings.Contains(got, "\n") {
		t.Errorf("the start of a run draws more than its line: %q", got)
	}
	w.Reset()
	*now = now.Add(watchEvery)
	p.event(harness.Gap{Progress: &harness.Progress{Total: 4, Measured: harness.Counts{Kept: 2}}})
	if got := w.String(); !strings.Contains(got, "▁█··") {
		t.Errorf("the frame of the gap: %q", got)
	}
	w.Reset()
	p.event(harness.Warning{Text: "hot"})
	if got := w.String(); !strings.HasPrefix(got, "\r\x1b[J") || !strings.HasSuffix(got, "warning: hot\n") {
		t.Errorf("a warning: %q", got)
	}
	endedWith(p, 2, 4, 1.5)
	w.Reset()
	endedWith(p, 3, 4, 1)
	if got := w.String(); !strings.Contains(got, "4/4") || !strings.Contains(got, "▁█▅▁") {
		t.Errorf("the last frame: %q", got)
	}
}

// TestWatchIsCheap: where drawing takes long, frames are rarer in proportion.
func TestWatchIsCheap(t *testing.T) {
	var w bytes.Buffer
	p, now := watched(&w, 1000)
	step := 40 * time.Millisecond // what a frame takes by this clock
	p.now = func() time.Time { *now = now.Add(step); return *now }
	frames := 0
	begin := *now
	for i := range 1000 {
		w.Reset()
		endedWith(p, i, 1001, float64(i))
		if strings.Contains(w.String(), "\x1b[J") {
			frames++
		}
	}
	spent := now.Sub(begin)
	if frames < 2 || time.Duration(frames)*step > spent/10 {
		t.Errorf("%d frames of %v in %v", frames, step, spent)
	}
}

// TestWatchNeedsTerminal: a file gets the plain lines.
func TestWatchNeedsTerminal(t *testing.T) {
	if newWatch(&bytes.Buffer{}, true) != nil {
		t.Error("a buffer is watched")
	}
}
