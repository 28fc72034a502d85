package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"goset/harness"
	"goset/report"
)

// watch draws the table and the strip of a running experiment on a terminal.
// Like the bar it draws in the harness's events alone, and so never while a
// child runs; and it draws so seldom that it takes a small part of the time
// between runs.
type watch struct {
	live  *report.Live
	color bool
	size  func() (width, height int) // of the terminal, now
	err   error                      // why nothing is drawn any more

	next time.Time // no frame before
}

// How often a frame is drawn: at most every watchEvery, and at most so that
// drawing takes one part in watchShare of the time.
const (
	watchEvery = 200 * time.Millisecond
	watchShare = 25
)

// newWatch is for the terminal that w is; nil where it is none.
func newWatch(w io.Writer, color bool) *watch {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &watch{color: color, size: func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 80, 24
		}
		return width, height
	}}
}

// start begins an experiment. What an earlier session of it left is read from
// its folder.
func (w *watch) start(e harness.Started) {
	blocks := 0
	for i := range e.Plan.Runs {
		blocks = max(blocks, int(e.Plan.Runs[i].Block))
	}
	w.live = report.NewLive(blocks, report.Options{Baseline: e.Experiment.Plan.Baseline, Treatments: e.Plan.Treatments, ModeFactors: report.ModeFactors(e.Experiment.Modes)})
	if e.Progress != nil && e.Progress.Done() > 0 {
		results, err := harness.OpenResults(e.Dir)
		if err == nil {
			err = results.Each(context.Background(), w.live.Add)
		}
		w.err = err
	}
}

// add takes in a run that ended.
func (w *watch) add(r *harness.Record) {
	if w.err == nil && w.live != nil {
		w.err = w.live.Add(r)
	}
}

// frame draws below a status line, when it is time to or must be. now is read
// before and after, to know what drawing costs.
func (w *watch) frame(status string, must bool, now func() time.Time) ([]string, bool) {
	begin := now()
	if w.live == nil || !must && begin.Before(w.next) {
		return nil, false
	}
	width, height := w.size()
	var lines []string
	if w.err == nil {
		lines, w.err = w.live.Lines(report.TextOptions{Color: w.color, Width: max(width-1, 20)}, max(height-2, 3))
	}
	if w.err != nil {
		lines = []string{fmt.Sprintf("cannot draw: %v", w.err)}
	}
	w.next = now().Add(max(watchEvery, watchShare*now().Sub(begin)))
	return append([]string{clipLine(status, width-1)}, lines...), true
}

// clipLine keeps a line from wrapping, which would move the frame.
func clipLine(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:max(width, 0)])
	}
	return s
}

// drawFrame replaces the lines that stand there by others, in one write, so
// that nothing flickers. It leaves the cursor on the first line.
func drawFrame(w io.Writer, lines []string) {
	var b bytes.Buffer
	b.WriteString("\r\x1b[J")
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(l)
	}
	if n := len(lines) - 1; n > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", n)
	}
	w.Write(b.Bytes())
}
