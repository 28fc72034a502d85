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
	tty   bool
	width int
	now   func() time.Time

	drawn bool      // a bar stands on the current line
	last  time.Time // of the last plain line
	plan  *harness.Plan
}

// plainEvery is how often a plain line is written where nobody redraws.
const plainEvery = 10 * time.Second

func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{w: w, quiet: quiet, now: time.Now, width: 80}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.tty = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			p.width = width
		}
	}
	return p
}

// event is the harness's Events function.
func (p *progress) event(e harness.Event) {
	switch e := e.(type) {
	case harness.Started:
		p.plan, p.last = e.Plan, p.now()
		p.line("%s: %d runs into %s", e.Experiment.Name, len(e.Plan.Runs), e.Dir)
	case harness.Gap:
		p.bar(e.Progress, fmt.Sprintf("idle %s", round(e.Left)))
	case harness.RunStarted:
		p.bar(e.Progress, where(e.Treatment, p.plan.Runs[e.Run].Block))
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
	if !p.tty && p.now().Sub(p.last) >= plainEvery {
		p.last = p.now()
		p.line("%s", p.status(e.Progress, ""))
	}
}

// tailLines gives the last n lines of a text, with control characters shown
// and not sent to the terminal.
func tailLines(tail []byte, n int) []string {
	lines := strings.Split(strings.TrimRight(string(bytes.ToValidUTF8(tail, []byte("?"))), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	for i, l := range lines {
		lines[i] = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' || r == 0x7f {
				return '?'
			}
			return r
		}, l)
	}
	return lines[max(0, len(lines)-n):]
}

// status is the text of the bar: how far, what, what became of it, how long.
func (p *progress) status(g *harness.Progress, doing string) string {
	c := g.Measured
	parts := []string{fmt.Sprintf("%d/%d runs", g.Done(), g.Total)}
	if doing != "" {
		parts = append(parts, doing)
	}
	parts = append(parts, fmt.Sprintf("kept %d, void %d, failed %d", c.Kept, c.Void, c.Failed))
	if left, ok := g.Left(); ok {
		parts = append(parts, fmt.Sprintf("%s left", round(left)))
	}
	return strings.Join(parts, " · ")
}

// bar redraws the line of a terminal; elsewhere it does nothing.
func (p *progress) bar(g *harness.Progress, doing string) {
	if p.quiet || !p.tty {
		return
	}
	const cells = 20
	full := 0
	if g.Total > 0 {
		full = cells * g.Done() / g.Total
	}
	text := fmt.Sprintf("[%s%s] %s", strings.Repeat("=", full), strings.Repeat(" ", cells-full), p.status(g, doing))
	if r := []rune(text); len(r) > p.width-1 {
		text = string(r[:p.width-1])
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", text)
	p.drawn = true
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

// end takes the bar away.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
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
