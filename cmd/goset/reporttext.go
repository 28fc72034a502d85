package main

import (
	"fmt"
	"strconv"
	"strings"

	"goset/host"
	"goset/internal/texttab"
)

// The rows that a report has room for.
const (
	mostPlaces = 8
	mostRows   = 6
)

// text is the report as people read it.
func (r *taskReport) text(p *page) string {
	p.selection(r.Selection, mostPlaces)
	p.telemetry(r.Telemetry)
	p.run(r)
	return p.String()
}

// selection writes the ranking.
func (p *page) selection(s selectionReport, most int) {
	how := "since boot"
	if s.Sample > 0 {
		how = "in " + span(s.Sample)
	}
	p.head("Selection by %s, counted %s", s.Rank, how)
	rows, left := s.shown(most)
	lines := []line{placeHead()}
	for _, row := range rows {
		lines = append(lines, row.line(s.Sample))
	}
	p.table(2, lines)
	if left > 0 {
		p.note("", "and "+plural(left, "CPU", "CPUs")+" more: goset rank")
	}
	p.note(faint, "* task, & housekeeper, ! fenced; fixed and steer: interrupts that cannot and can be moved")
}

func placeHead() line {
	var l line
	l.add("", texttab.Left, faint)
	for _, name := range []string{"cpu", "fixed", "steer", "busy", "sibling busy", "waited", "softirqs", "steal", "cost"} {
		l.add(name, texttab.Right, faint)
	}
	for _, name := range []string{"siblings", "node", "kind", "flags", "why"} {
		l.add(name, texttab.Left, faint)
	}
	return l
}

// line writes a place; busy times are shares of the sample where there is one.
func (row placeRow) line(sample float64) line {
	var l line
	color := map[string]string{"*": green, "&": amber, "!": amber}[row.Mark]
	l.add(row.Mark, texttab.Left, color)
	l.add(strconv.Itoa(row.CPU), texttab.Right, color)
	busy := func(v float64) string {
		if sample > 0 {
			return share(v, sample)
		}
		return span(v)
	}
	l.right(orAbsent(row.Fixed, whole))
	l.right(orAbsent(row.Steerable, whole))
	l.right(orAbsent(row.Busy, busy))
	l.right(orAbsent(row.Beside, busy))
	l.right(orAbsent(row.Waited, span))
	l.right(orAbsent(row.SoftIRQs, whole))
	l.right(orAbsent(row.Steal, span))
	l.right(orAbsent(row.Cost, func(v float64) string { return fmt.Sprintf("%.0f", v) }))
	l.left(dashed(row.Siblings.String()))
	l.left(orAbsent(row.Node, whole))
	l.left(dashed(row.Kind))
	l.left(dashed(row.flags()))
	l.left(row.Why)
	return l
}

func dashed(text string) string {
	if text == "" {
		return absent
	}
	return text
}

func (row placeRow) flags() string {
	var words []string
	if row.Isolated {
		words = append(words, "isolated")
	}
	if row.NoHZFull {
		words = append(words, "nohz")
	}
	if deref(row.RCUNoCBs) {
		words = append(words, "rcu")
	}
	return strings.Join(words, ",")
}

// telemetry writes what happened while the command ran.
func (p *page) telemetry(t *host.Telemetry) {
	if t == nil {
		return
	}
	how := "before and after"
	if t.Interval > 0 {
		how = fmt.Sprintf("%s, every %s", plural(t.Polls, "poll", "polls"), span(t.Interval))
		if t.Stretched {
			how += " or more rarely, to keep the cost down"
		}
	}
	p.head("Telemetry %s", how)
	p.cpuTable(t)
	p.rowTable(t)
	p.fields(
		"threads seen", orAbsent(t.Task.Threads, whole)+" in "+orAbsent(t.Task.Processes, func(n int) string { return plural(n, "process", "processes") }),
		"migrations", orAbsent(t.Task.Migrations, whole),
		"run-queue delay", orAbsent(t.Task.Delay, span),
		"cpu pressure", orAbsent(t.Pressure, func(v float64) string { return span(v) + " (whole machine)" }),
		"temperature", orAbsent(t.Temp, func(s host.SpreadOf) string { return spread(s, func(v float64) string { return digits(v) }) + " °C" }),
		"IRQ drift", driftText(t.Drift),
	)
	for _, off := range t.Off {
		p.note(faint, fmt.Sprintf("%s is not read while a task runs: %s", off.Source, off.Reason))
	}
	for _, u := range t.Failed {
		p.note(amber, fmt.Sprintf("%s could not be read: %s", u.What, u.Cause))
	}
}

func (p *page) cpuTable(t *host.Telemetry) {
	var head line
	for _, name := range []string{"cpu", "fixed", "steer", "busy", "waited", "steal", "throttled", "frequency min/avg/max"} {
		head.add(name, texttab.Right, faint)
	}
	lines := []line{head}
	for _, c := range t.CPUs {
		var l line
		name := strconv.Itoa(c.CPU)
		if c.Sibling {
			name = "sibling " + name
		}
		l.right(name)
		l.right(orAbsent(c.Fixed, whole))
		l.right(orAbsent(c.Steerable, whole))
		l.right(orAbsent(c.Busy, span))
		l.right(orAbsent(c.Waited, span))
		l.right(orAbsent(c.Steal, span))
		l.right(orAbsent(c.Throttled, whole))
		l.right(orAbsent(c.Frequency, func(s host.SpreadOf) string { return spread(s, hertz) }))
		lines = append(lines, l)
	}
	p.table(1, lines)
}

func spread(s host.SpreadOf, format func(float64) string) string {
	return format(s.Min) + "/" + format(s.Mean) + "/" + format(s.Max)
}

func (p *page) rowTable(t *host.Telemetry) {
	if len(t.Rows) == 0 {
		return
	}
	var head line
	for _, name := range []string{"interrupts", "task", "siblings"} {
		head.add(name, texttab.Right, faint)
	}
	head.add("steering", texttab.Left, faint)
	head.add("device", texttab.Left, faint)
	lines := []line{head}
	for i, row := range t.Rows {
		if i == mostRows {
			break
		}
		var l line
		l.right(row.Row)
		l.right(fmt.Sprint(row.Task))
		l.right(fmt.Sprint(row.Siblings))
		l.left(string(row.Steering))
		l.left(row.Device)
		lines = append(lines, l)
	}
	p.table(1, lines)
	if left := len(t.Rows) - mostRows; left > 0 {
		p.note("", "and "+plural(left, "row", "rows")+" more: -json")
	}
}

func driftText(drift []host.Drift) string {
	switch {
	case drift == nil:
		return absent
	case len(drift) == 0:
		return "none"
	}
	var parts []string
	for _, d := range drift {
		parts = append(parts, fmt.Sprintf("IRQ %d (%s) from %s to %s: %d", d.IRQ, d.Device, d.From, dashed(d.To.String()), d.Count))
	}
	return strings.Join(parts, "; ")
}

// run writes how the command went and what was held.
func (p *page) run(r *taskReport) {
	run := r.Run
	p.head("Run %s", strings.Join(run.Command, " "))
	exit := strconv.Itoa(run.Exit)
	if run.Signal != "" {
		exit += " (" + run.Signal + ")"
	}
	memory := size(run.MaxRSS)
	if run.MaxRSS <= run.RSSFloor {
		memory = "at most " + memory
	}
	p.fields(
		"wall", fmt.Sprintf("%s (user %s, sys %s)", span(run.Wall), span(run.User), span(run.Sys)),
		"exit", exit,
		"memory", fmt.Sprintf("%s, %d minor and %d major faults", memory, run.MinorFaults, run.MajorFaults),
		"scheduler", orAbsent(run.Scheduler, func(s string) string { return s }),
		"steering", run.asked("steer"), "partition", run.asked("cgroup"),
		"switches", fmt.Sprintf("%d voluntary, %d involuntary", run.Voluntary, run.Involuntary),
	)
	var lines []line
	for _, s := range run.Layers {
		var l line
		l.add(flagOf(s.Layer), texttab.Left, faint)
		l.left("asked " + s.Asked)
		held, color := "held", green
		if !s.Held {
			held, color = "NOT HELD", amber
		}
		l.left("achieved " + dashed(s.Achieved))
		l.add(held, texttab.Left, color)
		l.left(s.Note)
		lines = append(lines, l)
	}
	p.table(1, lines)
	for _, w := range run.Warnings {
		p.note(amber, "warning: "+w)
	}
}

// asked is what was asked of a layer and achieved, in short.
func (r runReport) asked(layer string) string {
	for _, s := range r.Layers {
		if s.Layer == layer {
			return "asked " + s.Asked + ", achieved " + dashed(s.Achieved)
		}
	}
	return "not asked"
}
