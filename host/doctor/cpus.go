package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goset/host"
)

const smtControl = "/sys/devices/system/cpu/smt/control"

func smt(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: InOrder, Why: "no two hardware threads share a core"}
	threads := 0
	if t := s.Facts.Topology; t != nil && t.ThreadsPerCore != nil {
		threads = *t.ThreadsPerCore
	}
	control, known := "", false
	if x := s.Facts.SMT; x != nil {
		control, known = x.Control, x.Active != nil && x.Control != ""
	}
	if !known && threads == 0 {
		return unknown(s, smtControl, "two threads of one core slow each other down")
	}
	on := threads > 1
	f.Value = fmt.Sprintf("%s per core", counted(threads, "thread", "threads"))
	if known {
		on = *s.Facts.SMT.Active
		f.Value = control
		if threads > 0 {
			f.Value += fmt.Sprintf(" (%s per core)", counted(threads, "thread", "threads"))
		}
	}
	if s.Facts.Hypervisor != nil {
		f.Value += ", as the hypervisor shows it"
	}
	if !on {
		return []Finding{f}
	}
	f.List, f.Why, f.Mode = Advice, "a task shares its core with whatever runs on the sibling: fence = true keeps that empty", "smt = false"
	if control == "on" {
		f.Change = []string{echo("off", smtControl)}
		f.Undo = append([]string{echo("on", smtControl)}, offlineAgain(s)...)
		f.Why += "; put back by hand, interrupts and tasks that were bound to a sibling stay where they went"
	}
	return []Finding{f}
}

// offlineAgain: "on" brings back CPUs that somebody took offline by hand
// (kernel/cpu.c: cpuhp_smt_enable).
func offlineAgain(s *host.Survey) []string {
	var commands []string
	if s.Offline != nil {
		for cpu := range s.Offline.All() {
			commands = append(commands, echo("0", "/sys/devices/system/cpu/cpu"+strconv.Itoa(cpu)+"/online"))
		}
	}
	return commands
}

func numa(c *Case) []Finding {
	s := &c.Survey
	const file = "/proc/sys/kernel/numa_balancing"
	f := Finding{List: InOrder, Why: "no page is moved between nodes behind a task's back"}
	nodes := 0
	if t := s.Facts.Topology; t != nil {
		nodes = len(t.Nodes)
	}
	n := s.Facts.NUMABalancing
	switch {
	case n == nil && nodes != 1:
		if _, ok := s.Cause(file); ok || s.Facts.Kernel.Release == "" {
			return unknown(s, file, "the kernel unmaps pages to see who uses them, and moves them")
		}
		f.Value = "not in this kernel"
	case nodes == 1:
		f.Value = "one node"
	case *n == 0:
		f.Value = "off"
	default:
		f.List, f.Value = Warning, fmt.Sprintf("%d, with %s", *n, counted(nodes, "node", "nodes"))
		f.Why = "the kernel unmaps pages to see who uses them, and moves them: faults that come and go"
		f.Change, f.Undo = []string{sysctl("kernel.numa_balancing", 0)}, []string{sysctl("kernel.numa_balancing", *n)}
	}
	return []Finding{f}
}

func mitigations(c *Case) []Finding {
	s := &c.Survey
	const dir = "/sys/devices/system/cpu/vulnerabilities"
	all := s.Facts.Mitigations
	if len(all) == 0 {
		return lacking(s, dir, "file", "they make system calls and context switches slower")
	}
	var on, open int
	for _, text := range all {
		switch {
		case strings.HasPrefix(text, "Mitigation"):
			on++
		case strings.HasPrefix(text, "Vulnerable"):
			open++
		}
	}
	f := Finding{List: InOrder, Value: fmt.Sprintf("%d mitigated, %d vulnerable, %d not affected", on, open, len(all)-on-open),
		Why: "they cost the same in every run; between machines they differ"}
	if word := offWord(s.Facts.Kernel.CommandLine); word != "" {
		f.List = Advice
		f.Value += "; " + word + " at boot"
		f.Why = "system calls and context switches are faster here than on a machine as it comes"
		f.Undo = []string{"# boot with " + word + " on the kernel's command line"}
		f.Change = []string{"# boot without " + word + " on the kernel's command line"}
	}
	return []Finding{f}
}

// offWord finds what turned mitigations off at boot
// (Documentation/admin-guide/kernel-parameters.txt).
func offWord(cmdline string) string {
	for word := range strings.FieldsSeq(cmdline) {
		if slices.Contains([]string{"mitigations=off", "nopti", "pti=off", "nospectre_v1", "nospectre_v2", "spectre_v2=off", "mds=off"}, word) {
			return word
		}
	}
	return ""
}

func hypervisor(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: InOrder, Value: "none", Why: "no host gives these CPUs to somebody else"}
	switch h := s.Facts.Hypervisor; {
	case h != nil:
		f.List, f.Value = Warning, *h
		if *h == "unknown" {
			f.Value = "one that does not name itself"
		}
		f.Why = "the host moves and halts these CPUs, unseen; cores, siblings and caches may be other than they look"
	case len(s.Facts.CPU.Flags) > 0 && !slices.Contains(s.Facts.CPU.Flags, "tsc"):
		// Only x86 has a flag that tells; all of x86 has that of its counter.
		return []Finding{{List: CannotTell, Value: "no sign of one; the flags of this architecture do not tell (/proc/cpuinfo)",
			Why: "a host would move and halt these CPUs, unseen", File: "/proc/cpuinfo"}}
	case len(s.Facts.CPU.Flags) == 0:
		return unknown(s, "/proc/cpuinfo", "a host would move and halt these CPUs, unseen")
	}
	if s.Facts.Container != "" {
		f.Value += "; in a container (" + s.Facts.Container + ")"
	}
	return []Finding{f}
}

// The shares of CPU time from which on stealing is worth a word.
const stolenMuch, stolenSome = 0.01, 0.0

func steal(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: InOrder, Why: "the host takes no time from these CPUs"}
	const why = "time that the host gives to others is missing from the runs"
	if s.Activity == nil {
		return unwatched(s, "/proc/stat", why)
	}
	if s.Activity.Steal == nil {
		return unknown(s, "/proc/stat", why)
	}
	share := *s.Activity.Steal
	f.Value = fmt.Sprintf("%s of the CPU time in %s", percent(share), s.Activity.Over.Round(100e6))
	switch {
	case share >= stolenMuch:
		f.List, f.Why = Warning, why
	case share > stolenSome:
		f.List, f.Why = Advice, why
	case s.Facts.Hypervisor != nil:
		f.Why = "the host took no time, or does not say so"
	}
	return []Finding{f}
}

// unwatched is for what only two readings tell.
func unwatched(s *host.Survey, file, why string) []Finding {
	if s.Local {
		return unknown(s, "/proc/stat", why)
	}
	return []Finding{{List: CannotTell, Value: file + " was not read twice: this is another machine's", Why: why, File: file}}
}

// slowClock is true of a clocksource that every reading of the time goes to the
// kernel for, or to a device: a microsecond instead of 20 ns (arch/*/kernel,
// clocksource/).
func slowClock(name string) bool {
	return slices.Contains([]string{"hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies", "xen", "hyperv_clocksource_msr"}, name)
}

func timer(c *Case) []Finding {
	s := &c.Survey
	const dir = "/sys/devices/system/clocksource/clocksource0"
	f := Finding{List: InOrder, Value: s.Facts.Clocksource, Why: "the time is read without the kernel's help"}
	if f.Value == "" {
		return unknown(s, dir+"/current_clocksource", "a slow clock makes every reading of the time part of what is measured")
	}
	if !slowClock(f.Value) {
		return []Finding{f}
	}
	f.List, f.Why = Warning, "every reading of the time is a system call or a slow device: about a microsecond, which short iterations have in them"
	fast := slices.DeleteFunc(slices.Clone(s.Clocksources), slowClock)
	if len(fast) == 0 {
		f.Value += "; the kernel found no faster one (" + dir + "/available_clocksource)"
		return []Finding{f}
	}
	f.Change, f.Undo = []string{echo(fast[0], dir+"/current_clocksource")}, []string{echo(f.Value, dir+"/current_clocksource")}
	return []Finding{f}
}

// percent writes a share.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + "%" }
