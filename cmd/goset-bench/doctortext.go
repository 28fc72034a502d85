package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"goset/host/doctor"
	"goset/internal/texttab"
)

// textWidth is that of a text that is no terminal's.
const textWidth = 110

// text writes the four lists for people. Commands stand on lines of their own,
// whole however long they are, to be copied.
func (x *examination) text(w io.Writer, style tableStyle) error {
	p := doctorPage{color: style.color, width: style.width}
	if p.width == 0 {
		p.width = textWidth
	}
	for _, f := range x.findings {
		p.indent = max(p.indent, len(f.Check)+4)
	}
	for _, list := range doctor.Lists() {
		p.list(list, doctor.In(x.findings, list))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

type doctorPage struct {
	strings.Builder
	color         bool
	width, indent int
}

// list writes one list with its heading; an empty one says so.
func (p *doctorPage) list(list doctor.List, findings []doctor.Finding) {
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
	colors := map[doctor.List]string{doctor.InOrder: "32", doctor.Advice: "36", doctor.Warning: "33", doctor.CannotTell: "2"}
	heading := fmt.Sprintf("%s (%d)", list, len(findings))
	if p.color {
		heading = "\x1b[1;" + colors[list] + "m" + heading + "\x1b[0m"
	}
	p.WriteString(heading + "\n")
	if len(findings) == 0 {
		p.WriteString("  none\n")
	}
	for i := range findings {
		p.finding(&findings[i])
	}
}

func (p *doctorPage) finding(f *doctor.Finding) {
	p.wrapped("  "+f.Check, f.Value)
	p.wrapped("", f.Why)
	for _, line := range slices.Concat(labelled("change: ", f.Change), labelled("put back: ", f.Undo)) {
		fmt.Fprintf(p, "%*s%s\n", p.indent, "", line)
	}
	if f.Mode != "" {
		p.wrapped("", "for the runs alone: "+f.Mode+" in a mode")
	}
}

func labelled(label string, commands []string) []string {
	var lines []string
	for _, c := range commands {
		lines = append(lines, label+c)
	}
	return lines
}

// wrapped writes a text in the right column.
func (p *doctorPage) wrapped(left, text string) {
	for i, line := range texttab.Wrap(text, max(p.width-p.indent, 20)) {
		if i > 0 {
			left = ""
		}
		fmt.Fprintf(p, "%-*s%s\n", p.indent, left, line)
	}
}
