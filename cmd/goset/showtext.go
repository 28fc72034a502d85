package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"goset/cpulist"
	"goset/internal/texttab"
)

// text is the machine as people read it.
func (m *machine) text(p *page) string {
	f := m.Facts
	p.head("Machine")
	p.fields(
		"kernel", dashed(strings.TrimSpace(f.Kernel.Type+" "+f.Kernel.Release)),
		"cpu", dashed(f.CPU.Model),
		"hypervisor", orAbsent(f.Hypervisor, func(s string) string { return s + ": cores and siblings may not be real ones" }),
		"container", dashed(f.Container),
	)
	p.head("Topology")
	p.fields(m.topology()...)
	p.head("Isolation at boot and now")
	p.fields(
		"isolated", set(m.CPUs.Isolated), "nohz_full", set(m.CPUs.NoHZFull), "rcu_nocbs", set(m.CPUs.RCUNoCBs),
		"allowed", set(m.CPUs.Allowed),
		"cgroups", m.cgroups(), "partitions", m.partitions(),
		"leftovers", m.leftovers(),
	)
	p.head("State")
	p.fields(m.state()...)
	if len(m.Layers) > 0 {
		p.head("Layers")
		p.layers(m.Layers)
	}
	for _, off := range m.Sources {
		p.note(faint, fmt.Sprintf("%s is not read while a task runs: %s", off.Source, off.Reason))
	}
	return p.String()
}

func set(s *cpulist.Set) string {
	if s == nil {
		return absent
	}
	if s.Empty() {
		return "none"
	}
	return s.String()
}

func (m *machine) topology() []string {
	dies, threads := 0, 0
	for _, p := range m.Packages {
		dies += p.Dies
	}
	for _, c := range m.Cores {
		threads = max(threads, c.CPUs.Len())
	}
	fields := []string{
		"online", set(m.CPUs.Online) + " of possible " + set(m.CPUs.Possible),
		"packages", counted(len(m.Packages)) + " with " + things(dies, "die", "dies"),
		"cores", counted(len(m.Cores)) + " with up to " + things(threads, "thread", "threads"),
	}
	var kinds, nodes []string
	for _, k := range m.Kinds {
		kinds = append(kinds, k.Name+" "+k.CPUs.String())
	}
	for _, n := range m.Nodes {
		nodes = append(nodes, fmt.Sprintf("%d: %s", n.ID, dashed(n.CPUs.String())))
	}
	fields = append(fields, "kinds", cmp.Or(strings.Join(kinds, ", "), "one"), "nodes", dashed(strings.Join(nodes, ", ")))
	return append(fields, "caches", dashed(strings.Join(m.caches(), ", ")))
}

// counted is a number of things of which none means that it is not known.
func counted(n int) string {
	if n == 0 {
		return absent
	}
	return fmt.Sprint(n)
}

// things is counted with its noun.
func things(n int, one, many string) string {
	if n == 0 {
		return absent + " " + many
	}
	return plural(n, one, many)
}

// caches counts the caches of each level, type and size.
func (m *machine) caches() []string {
	var words []string
	counts := map[string]int{}
	for _, c := range m.Caches {
		kind := map[string]string{"Data": "d", "Instruction": "i"}[c.Type]
		word := fmt.Sprintf("L%d%s %s", c.Level, kind, orAbsent(c.Bytes, size))
		if counts[word] == 0 {
			words = append(words, word)
		}
		counts[word]++
	}
	for i, word := range words {
		words[i] = fmt.Sprintf("%d× %s", counts[word], word)
	}
	return words
}

func (m *machine) cgroups() string {
	if m.Cgroups == nil || m.Cgroups.Version == "" {
		return absent
	}
	cpuset := "no cpuset controller"
	if m.Cgroups.CPUSet != "" {
		cpuset = "cpuset in version " + m.Cgroups.CPUSet
	}
	return "version " + m.Cgroups.Version + ", " + cpuset
}

func (m *machine) partitions() string {
	if m.Cgroups == nil {
		return absent
	}
	var parts []string
	for _, p := range m.Cgroups.Partitions {
		parts = append(parts, fmt.Sprintf("%s %s (%s)", p.Path, p.State, dashed(p.CPUs)))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func (m *machine) leftovers() string {
	if m.Leftovers == nil {
		return absent
	}
	if len(m.Leftovers) == 0 {
		return "none"
	}
	return strings.Join(m.Leftovers, "; ") + ": " + m.undo
}

func (m *machine) state() []string {
	f := m.Facts
	governor, turbo := absent, absent
	if q := f.Frequency; q != nil {
		governor = dashed(strings.Join(q.Governor, ", "))
		turbo = orAbsent(q.Turbo, onOff)
	}
	smt := absent
	if f.SMT != nil {
		smt = dashed(f.SMT.Control)
	}
	var load []string
	for _, v := range f.Load {
		load = append(load, fmt.Sprintf("%.2f", v))
	}
	aslr := orAbsent(f.ASLR, func(n int64) string {
		words := map[int64]string{0: "off", 1: "stack and libraries", 2: "full"}
		return cmp.Or(words[n], fmt.Sprint(n))
	})
	return []string{
		"governor", governor, "turbo", turbo, "smt", smt, "aslr", aslr, "thp", dashed(f.THP),
		"load", dashed(strings.Join(load, " ")), "movers", m.movers(),
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// movers says who else moves tasks or interrupts.
func (m *machine) movers() string {
	if m.Movers == nil {
		return absent
	}
	var parts []string
	for _, mover := range m.Movers {
		parts = append(parts, fmt.Sprintf("%s (%d) %s", mover.Name, mover.PID, mover.Does))
	}
	slices.Sort(parts)
	return cmp.Or(strings.Join(slices.Compact(parts), ", "), "nobody known")
}

func (p *page) layers(layers []layerReport) {
	var lines []line
	for _, l := range layers {
		var row line
		row.left(layerName(l.Layer))
		if l.Available {
			row.add("available", texttab.Left, green)
			row.left(l.Note)
		} else {
			row.add("not here", texttab.Left, amber)
			text := l.Reason
			if l.Hint != "" {
				text += " (" + l.Hint + ")"
			}
			row.left(text)
		}
		lines = append(lines, row)
	}
	p.table(1, lines)
}
