package report

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"goset/internal/texttab"
)

// TextOptions says what the terminal can do.
type TextOptions struct {
	Color bool // SGR escape sequences
	Width int  // columns; 0: 100
}

const (
	defaultWidth = 100
	minWidth     = 40 // below this nothing can be laid out; lines are then longer
)

// The escape sequences of the text ink.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	reset  = "\x1b[0m"
)

// style is how a terminal shows a tone.
func (t tone) style() string {
	return map[tone]string{faint: dim, strong: bold, cautious: yellow, alarm: bold + red}[t]
}

// TextDocument writes a whole report for a terminal.
func TextDocument(w io.Writer, d *Document, opts TextOptions) error {
	p := newTextInk(w, opts)
	p.view(d.view())
	return p.w.Flush()
}

// view writes what there is; how far the numbers reach stands last, where a
// terminal's reader begins.
func (p *textInk) view(v *view) {
	p.lines(v.lines)
	if len(v.parts) == 0 {
		return
	}
	if len(v.lines) > 0 {
		p.line("")
	}
	p.parts(v.parts)
	if v.legend != "" || v.scope != "" {
		p.line("")
	}
	p.paragraph(v.legend)
	p.lines(v.gates)
	p.paragraph(v.modes)
	p.paragraph(v.scope)
	p.paragraph(v.unchecked)
}

func (p *textInk) parts(parts []viewPart) {
	for i := range parts {
		if i > 0 {
			p.line("")
		}
		p.part(&parts[i])
	}
}

func (p *textInk) part(v *viewPart) {
	p.wrapped("", "  ", v.Heading, bold)
	if v.Counts != "" {
		p.wrapped("", "  ", v.Counts, dim)
	}
	for i := range v.Grids {
		p.grid(&v.Grids[i])
	}
	p.lines(v.Lines)
	for _, s := range v.Excluded {
		p.wrapped("  ", "    ", s, "")
	}
	for i, n := range v.Notes {
		first := superscript(strconv.Itoa(i+1)) + " "
		p.wrapped(first, strings.Repeat(" ", texttab.Width(first)), n.Text, n.Tone.style())
	}
}

func (p *textInk) lines(lines []viewLine) {
	for _, l := range lines {
		first := ""
		if l.Inner {
			first = "  "
		}
		p.wrapped(first, "  ", l.Text, l.Tone.style())
	}
}

// paragraph writes what explains the rest; nothing for an empty text.
func (p *textInk) paragraph(s string) {
	if s != "" {
		p.wrapped("", "", s, dim)
	}
}

// superscript raises the numbers of notes, and exponents.
func superscript(s string) string {
	return strings.Map(func(r rune) rune {
		if i := strings.IndexRune("0123456789-,", r); i >= 0 {
			return []rune("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ ")[i]
		}
		return r
	}, s)
}

// textInk holds the writer. bufio keeps its first error, which Flush returns.
type textInk struct {
	w    *bufio.Writer
	opts TextOptions
}

func newTextInk(w io.Writer, opts TextOptions) *textInk {
	if opts.Width == 0 {
		opts.Width = defaultWidth
	}
	opts.Width = max(opts.Width, minWidth)
	return &textInk{w: bufio.NewWriter(w), opts: opts}
}

func (p *textInk) line(s string) {
	p.w.WriteString(strings.TrimRight(s, " ") + "\n")
}

func (p *textInk) paint(s, style string) string {
	if !p.opts.Color || style == "" || s == "" {
		return s
	}
	return style + s + reset
}

// wrapped writes text after a prefix, in lines of at most the width.
func (p *textInk) wrapped(first, rest, text, style string) {
	w := p.opts.Width - max(texttab.Width(first), texttab.Width(rest))
	for i, l := range texttab.Wrap(text, w) {
		prefix := first
		if i > 0 {
			prefix = rest
		}
		p.line(prefix + p.paint(l, style))
	}
}
