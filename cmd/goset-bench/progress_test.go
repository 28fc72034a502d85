package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"goset/harness"
)

func testProgress(w *bytes.Buffer, tty, quiet bool) (*progress, *time.Time) {
	now := time.Unix(1000, 0)
	p := newProgress(w, quiet)
	p.tty, p.size = tty, func() int { return 60 }
	p.now = func() time.Time { return now }
	plan := &harness.Plan{
		Treatments: []harness.Treatment{{Workload: "chase", Mode: "quiet"}},
		Runs:       []harness.Run{{Block: 0}, {Block: 1}, {Block: 2}},
	}
	p.event(harness.Started{Experiment: &harness.Experiment{Name: "x"}, Plan: plan, Dir: "out", Progress: &harness.Progress{Total: 3}})
	return p, &now
}

func started(p *progress, run int) {
	p.event(harness.RunStarted{Run: run, Treatment: &p.plan.Treatments[0], Progress: &harness.Progress{Total: 3, Measured: harness.Counts{Kept: 1}}})
}

func ended(p *progress, o harness.Outcome, tail string) {
	p.event(harness.RunEnded{
		Record:   &harness.Record{Run: 1, Workload: "chase", Mode: "quiet", Block: 1, Outcome: o, Reason: "exit status 3"},
		Tail:     []byte(tail),
		Progress: &harness.Progress{Total: 3, Measured: harness.Counts{Kept: 1}},
	})
}

func TestToCome(t *testing.T) {
	kept := func(total, n int) harness.Started {
		return harness.Started{Dir: "out", Progress: &harness.Progress{Total: total, Measured: harness.Counts{Kept: n}}}
	}
	stopped := kept(9, 4)
	stopped.Stopped = &harness.Stopped{Block: 4, Blocks: 9, Reason: "all is narrow"}
	for _, tt := range []struct {
		started harness.Started
		want    string
	}{
		{kept(1, 0), "1 run into out"},
		{kept(2, 0), "2 runs into out"},
		{kept(2, 1), "1 of 2 runs into out, which has the others"},
		{kept(1, 1), "nothing is missing in out: it has all of its 1 run"},
		{kept(2, 2), "nothing is missing in out: it has all of its 2 runs"},
		{stopped, "nothing is missing in out: it stopped after round 4 of 9, all is narrow"},
	} {
		if got := toCome(tt.started); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.started.Progress.Done(), tt.started.Progress.Total, got, tt.want)
		}
	}
}

func TestBarOnATerminal(t *testing.T) {
	var w bytes.Buffer
	p, _ := testProgress(&w, true, false)
	w.Reset()
	started(p, 1)
	got := w.String()
	if !strings.HasPrefix(got, "\r\x1b[K1/3 · kept 1, void 0, failed 0 · chase quiet, round 1") {
		t.Errorf("bar: %q", got)
	}
	if bar := strings.TrimPrefix(got, "\r\x1b[K"); len([]rune(bar)) > 59 {
		t.Errorf("bar of %d columns on a terminal of 60", len([]rune(bar)))
	}
	w.Reset()
	ended(p, harness.Failed, "first\x1b[2Jline\n")
	if got := w.String(); got != "\r\x1b[Krun 1 (chase under quiet, round 1) failed: exit status 3\n  | first?[2Jline\n" {
		t.Errorf("failed run: %q", got)
	}
	started(p, 0)
	w.Reset()
	p.end()
	p.end()
	if w.String() != "\r\x1b[K" {
		t.Errorf("end: %q", w.String())
	}
}

// What a narrow terminal leaves out is the bar first, then what runs now; never
// how far it is and what became of the runs.
func TestBarFitsTheTerminal(t *testing.T) {
	g := &harness.Progress{Total: 4, Measured: harness.Counts{Kept: 1, Failed: 1}}
	for columns, want := range map[int]string{
		100: "[==========          ] 2/4 · kept 1, void 0, failed 1 · chase quiet, round 1",
		66:  "[=====     ] 2/4 · kept 1, void 0, failed 1 · chase quiet, round 1",
		60:  "2/4 · kept 1, void 0, failed 1 · chase quiet, round 1",
		40:  "2/4 · kept 1, void 0, failed 1 · chase …",
		1:   "…",
		0:   "…",
	} {
		if got := barText(g, "chase quiet, round 1", columns); got != want {
			t.Errorf("in %d columns: %q, want %q", columns, got, want)
		}
	}
}

func TestPlainLinesElsewhere(t *testing.T) {
	var w bytes.Buffer
	p, now := testProgress(&w, false, false)
	if w.String() != "x: 3 runs into out\n" {
		t.Errorf("start: %q", w.String())
	}
	w.Reset()
	started(p, 1)
	ended(p, harness.Kept, "")
	if w.Len() != 0 {
		t.Errorf("a line for every run: %q", w.String())
	}
	*now = now.Add(plainEvery)
	ended(p, harness.Kept, "")
	if w.String() != "1/3 · kept 1, void 0, failed 0\n" {
		t.Errorf("line: %q", w.String())
	}
}

func TestQuietShowsFailuresAlone(t *testing.T) {
	var w bytes.Buffer
	p, now := testProgress(&w, true, true)
	started(p, 1)
	*now = now.Add(time.Hour)
	ended(p, harness.Kept, "")
	if w.Len() != 0 {
		t.Errorf("quiet: %q", w.String())
	}
	ended(p, harness.Void, "")
	if !strings.Contains(w.String(), "void: exit status 3") {
		t.Errorf("void run: %q", w.String())
	}
}

func TestTailLines(t *testing.T) {
	if got := tailLines([]byte(strings.Repeat("x", 2000)+"end"), 1); len([]rune(got[0])) != tailColumns || !strings.HasPrefix(got[0], "…") || !strings.HasSuffix(got[0], "xend") {
		t.Errorf("a long line: %q", got)
	}
	for _, c := range []struct {
		tail string
		n    int
		want int
	}{{"", 2, 0}, {"\n", 2, 0}, {"a", 2, 1}, {"a\nb\nc\n", 2, 2}, {"\xff\x00", 1, 1}} {
		if got := tailLines([]byte(c.tail), c.n); len(got) != c.want {
			t.Errorf("%q: %q, want %d lines", c.tail, got, c.want)
		}
	}
}
