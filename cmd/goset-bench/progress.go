package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"goset/harness"
)

// progress tells a person how far an experiment has got: a bar that redraws
// itself on a terminal, plain lines elsewhere. It draws only when the harness
// hands it an event, which is never while a child runs.
type progress struct {
	w     io.Writer
	quiet bool
	tty   bool       // w is a terminal that can redraw a line
	size  func() int // its columns now
	now   func() time.Time

	watch *watch // nil: a bar alone

	drawn bool      // a bar stands on the current line, and what watch drew below it
	last  time.Time // of the last plain line
	plan  *harness.Plan
}

// plainEvery is how often a plain line is written where nobody redraws.
const plainEvery = 10 * time.Second

func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{w: w, quiet: quiet, now: time.Now}
	f, ok := w.(*os.File)
	if !ok || !ansi(f) {
		return p
	}
	p.tty = true
	p.size = func() int {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
		return 80
	}
	return p
}

// ansi is true for a terminal that understands more than plain text.
func ansi(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// event is the harness's Events function.
func (p *progress) event(e harness.Event) {
	switch e := e.(type) {
	case harness.Started:
		p.plan, p.last = e.Plan, p.now()
		p.line("%s: %s", e.Experiment.Name, toCome(e))
		if p.watch != nil {
			p.watch.start(e)
		}
	case harness.Gap:
		p.frame(e.Progress, false)
		p.bar(e.Progress, func() string { return fmt.Sprintf("idle %s", round(e.Left)) })
	case harness.RunStarted:
		p.bar(e.Progress, func() string { return where(e.Treatment, p.plan.Runs[e.Run].Block) })
	case harness.RunEnded:
		p.ended(e)
	case harness.Building:
		p.line("building %d test %s", len(e.Tasks), plural(len(e.Tasks), "binary", "binaries"))
	case harness.StoppedEarly:
		p.line("stopped after round %d of %d: %s", e.Block, e.Blocks, e.Reason)
	case harness.Warning:
		p.say("goset-bench: warning: %s", e.Text)
	}
}

// toCome says how many runs a session begins with.
func toCome(e harness.Started) string {
	total, done := e.Progress.Total, e.Progress.Done()
	switch {
	case e.Stopped != nil:
		return fmt.Sprintf("nothing is missing in %s: it stopped after round %d of %d, %s", e.Dir, e.Stopped.Block, e.Stopped.Blocks, e.Stopped.Reason)
	case done == total:
		return fmt.Sprintf("nothing is missing in %s: it has all of its %s", e.Dir, counted(total, "run"))
	case done > 0:
		return fmt.Sprintf("%d of %s into %s, which has the others", total-done, counted(total, "run"), e.Dir)
	}
	return fmt.Sprintf("%s into %s", counted(total, "run"), e.Dir)
}

// where names a run for a person.
func where(t *harness.Treatment, block int32) string {
	if block == 0 {
		return t.Label() + ", warm-up"
	}
	return fmt.Sprintf("%s, round %d", t.Label(), block)
}

// ended shows what a person must see of a run: one that does not count, with
// the end of what it said.
func (p *progress) ended(e harness.RunEnded) {
	r := e.Record
	if r.Outcome != harness.Kept {
		again := ""
		if e.Again {
			again = "; trying again"
		}
		p.say("run %d (%s under %s, round %d) %s: %s%s", r.Run, r.Workload, r.Mode, r.Block, r.Outcome, r.Reason, again)
		for _, line := range tailLines(e.Tail, 10) {
			p.say("  | %s", line)
		}
	}
	if p.watch != nil {
		p.watch.add(r)
		p.frame(e.Progress, e.Progress.Done() >= e.Progress.Total)
	}
	if !p.tty && p.now().Sub(p.last) >= plainEvery {
		p.last = p.now()
		p.line("%s", status(e.Progress, ""))
	}
}

// tailColumns bounds a line of a bad run's output, which may be one of two
// thousand bytes without an end.
const tailColumns = 200

// tailLines gives the last n lines of a text, with control characters shown
// and not sent to the terminal.
func tailLines(tail []byte, n int) []string {
	lines := strings.Split(strings.TrimRight(string(bytes.ToValidUTF8(tail, []byte("?"))), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	lines = lines[max(0, len(lines)-n):]
	for i, l := range lines {
		if r := []rune(l); len(r) > tailColumns {
			l = "…" + string(r[len(r)-tailColumns+1:])
		}
		lines[i] = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' || r == 0x7f {
				return '?'
			}
			return r
		}, l)
	}
	return lines
}

// status is the text of the bar: how far, how long, what became of the runs,
// what is run now. What a narrow terminal can do without stands last.
func status(g *harness.Progress, doing string) string {
	c := g.Measured
	parts := []string{fmt.Sprintf("%d/%d", g.Done(), g.Total)}
	if left, ok := g.Left(); ok {
		parts = append(parts, fmt.Sprintf("%s left", round(left)))
	}
	parts = append(parts, fmt.Sprintf("kept %d, void %d, failed %d", c.Kept, c.Void, c.Failed))
	if doing != "" {
		parts = append(parts, doing)
	}
	return strings.Join(parts, " · ")
}

// bar redraws the line of a terminal; elsewhere it does nothing.
func (p *progress) bar(g *harness.Progress, doing func() string) {
	if p.quiet || !p.tty {
		return
	}
	// The last column stays free: some terminals go to the next line after it.
	fmt.Fprintf(p.w, "\r\x1b[K%s", barText(g, doing(), p.size()-1))
	p.drawn = true
}

// frame draws what watch has to show, with the bar above.
func (p *progress) frame(g *harness.Progress, must bool) {
	if p.quiet || !p.tty || p.watch == nil {
		return
	}
	if lines, due := p.watch.frame(barText(g, "", p.size()-1), must, p.now); due {
		drawFrame(p.w, lines)
		p.drawn = true
	}
}

// The columns of the bar itself.
const (
	leastCells = 5
	mostCells  = 20
)

// barText fits a bar and its text into that many columns: first the bar gives
// way, then the end of the text.
func barText(g *harness.Progress, doing string, columns int) string {
	text := []rune(status(g, doing))
	cells := min(mostCells, columns-len(text)-len("[] "))
	switch {
	case cells >= leastCells && g.Total > 0:
		full := cells * g.Done() / g.Total
		return "[" + strings.Repeat("=", full) + strings.Repeat(" ", cells-full) + "] " + string(text)
	case len(text) <= columns:
		return string(text)
	}
	return string(text[:max(0, columns-1)]) + "…"
}

// line is a message that -quiet leaves out.
func (p *progress) line(format string, args ...any) {
	if !p.quiet {
		p.say(format, args...)
	}
}

// say writes a line of its own, above the bar.
func (p *progress) say(format string, args ...any) {
	p.end()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// end takes the bar away, and what stands below it.
func (p *progress) end() {
	if p.drawn {
		clear := "\r\x1b[K"
		if p.watch != nil {
			clear = "\r\x1b[J"
		}
		fmt.Fprint(p.w, clear)
		p.drawn = false
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
