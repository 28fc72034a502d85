package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

func thp(c *Case) []Finding {
	const file = "/sys/kernel/mm/transparent_hugepage/enabled"
	s := &c.Survey
	f := Finding{List: InOrder, Value: s.Facts.THP, Why: "only who asks for huge pages has them"}
	switch f.Value {
	case "":
		return unknown(s, file, "whether memory comes in huge pages changes from run to run")
	case "always":
		f.List = Advice
		f.Why = "whether a run's memory comes in huge pages depends on what is free just then, and khugepaged changes it meanwhile"
		f.Change, f.Undo, f.Mode = []string{echo("madvise", file)}, []string{echo(f.Value, file)}, `thp = "never"`
	case "never":
		f.Why = "nobody has huge pages"
	}
	return []Finding{f}
}

func swap(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: InOrder, Why: "nothing is read back from a disk in the middle of a run"}
	const why = "what was swapped out is read back when it is touched, in the middle of a run"
	m := s.Facts.Memory
	if m == nil || m.SwapTotal == nil {
		return unknown(s, "/proc/meminfo", why)
	}
	if *m.SwapTotal == 0 {
		f.Value = "none"
		return []Finding{f}
	}
	if m.SwapFree == nil {
		return unknown(s, "/proc/meminfo", why)
	}
	used := *m.SwapTotal - *m.SwapFree
	f.Value = fmt.Sprintf("%s, %s of it used", bytes(*m.SwapTotal), bytes(used))
	if used == 0 {
		return []Finding{f}
	}
	f.List, f.Why = Warning, why
	if m.Available != nil && *m.Available < used {
		f.Value += fmt.Sprintf("; %s of memory is available, too little to take it back", bytes(*m.Available))
		return []Finding{f}
	}
	for _, w := range s.Swaps {
		f.Change = append(f.Change, "swapoff "+word(w.Path))
		// The kernel hands out negative priorities by itself, in this order.
		if w.Priority >= 0 {
			f.Undo = append(f.Undo, "swapon -p "+strconv.Itoa(w.Priority)+" "+word(w.Path))
		} else {
			f.Undo = append(f.Undo, "swapon "+word(w.Path))
		}
	}
	return []Finding{f}
}

// aslr judges kernel.randomize_va_space. Off is not better: one layout for all
// runs of a program makes the luck of that layout a difference between two
// programs (Mytkowicz et al. 2009).
func aslr(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: InOrder, Mode: "aslr = false"}
	n := s.Facts.ASLR
	if n == nil {
		return unknown(s, "/proc/sys/kernel/randomize_va_space", "where stack and heap lie decides how they meet in the caches")
	}
	if *n != 0 {
		f.Value = strconv.FormatInt(*n, 10) + ": " + map[bool]string{true: "stack, libraries and heap", false: "stack and libraries"}[*n == 2]
		f.Why = "every run has a layout of its own, so that the luck of one is in the spread and not in a difference; setarch -R COMMAND goes without"
		return []Finding{f}
	}
	f.List, f.Value, f.Mode = Advice, "0: off for the whole machine", ""
	f.Why = "all runs of a program have one layout, whose luck looks like a difference between programs; and it is a defence less"
	f.Change, f.Undo = []string{sysctl("kernel.randomize_va_space", 2)}, []string{sysctl("kernel.randomize_va_space", 0)}
	return []Finding{f}
}

func memory(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: InOrder, Value: "none", Why: "the control groups of this process do not limit its memory"}
	const why = "at the limit, the kernel takes pages away or ends the process"
	if file, ok := unreadLimits(s); ok {
		return unknown(s, file, why)
	}
	k := s.Limits.Memory
	if k == nil {
		return []Finding{f}
	}
	f.Value = bytes(k.Value) + " (" + k.Path + ")"
	if m := s.Facts.Memory; m != nil && m.Total != nil && k.Value >= *m.Total {
		f.Value += ", more than there is"
		return []Finding{f}
	}
	f.List, f.Why = Advice, why
	none := "max"
	if strings.HasSuffix(k.Path, ".limit_in_bytes") {
		none = "-1"
	}
	f.Change, f.Undo = []string{echo(none, k.Path)}, []string{echo(strconv.FormatInt(k.Value, 10), k.Path)}
	return []Finding{f}
}

// bytes writes a size in binary units.
func bytes(n int64) string {
	x, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if x < 1024 {
			break
		}
		x, unit = x/1024, u
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + " " + unit
}
