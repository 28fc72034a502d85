package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goset/host"
)

// movers judges the programs that move tasks and interrupts, or set
// frequencies, by themselves: the one of a name, or with "" all that have no
// check of their own.
func movers(name string) func(*Case) []Finding {
	return func(c *Case) []Finding {
		s := &c.Survey
		f := Finding{List: InOrder, Value: "not running", Why: "nobody moves interrupts or tasks, or sets the clock, in the middle of a run"}
		if name != "" {
			f.Why = "it does not undo what a run asks for"
		}
		if s.Movers == nil || s.Hidden && !slices.ContainsFunc(s.Movers, named(name)) {
			return unseen(s, "programs that move interrupts and tasks change a run in its middle")
		}
		var parts []string
		for _, m := range s.Movers {
			if !named(name)(m) {
				continue
			}
			parts = append(parts, fmt.Sprintf("%s (process %d) %s", m.Name, m.PID, m.Does))
			if f.List = Warning; strings.HasPrefix(m.Does, "sets") || strings.HasPrefix(m.Does, "merges") {
				f.List = Advice
			}
			change, undo := stop(m)
			f.Change = append(f.Change, change)
			f.Undo = append(f.Undo, undo...)
		}
		if len(parts) > 0 {
			f.Value, f.Why = strings.Join(parts, ", "), "it does so at times of its own, in the middle of a run too"
			if name == "irqbalance" {
				f.Mode = "steer = true"
			}
		}
		f.Change, f.Undo = unique(f.Change), unique(f.Undo)
		return []Finding{f}
	}
}

func named(name string) func(host.Mover) bool {
	return func(m host.Mover) bool {
		if name == "" {
			return m.Name != "irqbalance" && m.Name != "tuned"
		}
		return m.Name == name
	}
}

// stop is how to stop a program, and start it again. A service that was stopped
// and started too often stays dead unless its count is reset (systemd.unit(5),
// StartLimitBurst).
func stop(m host.Mover) (change string, undo []string) {
	if m.Unit == "" {
		pid := strconv.Itoa(m.PID)
		return "kill -STOP " + pid, []string{"kill -CONT " + pid}
	}
	return "systemctl stop " + word(m.Unit), []string{"systemctl reset-failed " + word(m.Unit), "systemctl start " + word(m.Unit)}
}

func unique(all []string) []string {
	var out []string
	for _, s := range all {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// unseen is where processes are not to be seen, or not those of others.
func unseen(s *host.Survey, why string) []Finding {
	if s.Hidden {
		return []Finding{{List: CannotTell, Value: "/proc shows the processes of this user alone (hidepid)", Why: why, File: "/proc"}}
	}
	if _, ok := s.Cause("/proc"); ok {
		return unknown(s, "/proc", why)
	}
	return []Finding{{List: CannotTell, Value: "/proc shows no processes", Why: why, File: "/proc"}}
}

// What is busy, in CPUs. On a machine of one or two CPUs, a tenth of one is in
// every run.
const busyMuch, busySome = 0.5, 0.05

func load(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: InOrder, Why: "next to nothing waits for a CPU"}
	const why = "what else runs takes CPUs, caches and memory bandwidth from the runs"
	l := s.Facts.Load
	if len(l) < 3 {
		return unknown(s, "/proc/loadavg", why)
	}
	f.Value = fmt.Sprintf("%.2f %.2f %.2f (1, 5, 15 minutes)", l[0], l[1], l[2])
	online := 0
	if t := s.Facts.Topology; t != nil {
		online = t.CPUs
	}
	busy := l[0]
	if a := s.Activity; a != nil {
		f.Value += fmt.Sprintf("; %.2f CPUs busy just now", a.Busy)
		if rest := a.Busy - a.Listed; rest > busySome {
			f.Value += fmt.Sprintf(", %.2f of them by no process that stayed", rest)
		}
		busy = max(busy, a.Busy)
	}
	if online > 0 {
		f.Value += fmt.Sprintf("; %s online", counted(online, "CPU", "CPUs"))
	}
	switch {
	case busy >= 1 || online > 0 && busy >= 0.5*float64(online):
		f.List, f.Why = Warning, why
	case busy > 2*busySome:
		f.List, f.Why = Advice, why
	}
	return []Finding{f}
}

// busiest names the processes. They are stopped, not ended: what was stopped
// can go on.
func busiest(c *Case) []Finding {
	s := &c.Survey
	const why = "they take CPUs, caches and memory bandwidth from the runs: end them, or stop them for the time"
	if s.Activity == nil {
		return unwatched(s, "/proc", why)
	}
	if s.Hidden {
		return unseen(s, why)
	}
	f := busiestOf(s.Activity.Busiest, why)
	if f.Value == "" {
		f.Value = "none used a CPU in " + s.Activity.Over.Round(100e6).String()
	}
	return []Finding{f}
}

func busiestOf(processes []host.BusyProcess, why string) Finding {
	f := Finding{List: InOrder, Why: "no process uses much of a CPU"}
	var parts []string
	for _, p := range processes {
		parts = append(parts, fmt.Sprintf("%s (%d) %.0f%%", p.Name, p.PID, 100*p.CPUs))
		switch {
		case p.CPUs >= busyMuch:
			f.List, f.Why = Warning, why
		case p.CPUs >= busySome && f.List == InOrder:
			f.List, f.Why = Advice, why
		}
		// Threads of the kernel cannot be stopped, and init must not be.
		if p.CPUs >= busySome && !p.Kernel && p.PID > 1 {
			f.Change = append(f.Change, "kill -STOP "+strconv.Itoa(p.PID))
			f.Undo = append(f.Undo, "kill -CONT "+strconv.Itoa(p.PID))
		}
	}
	f.Value = strings.Join(parts, ", ")
	return f
}

func quota(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: InOrder, Value: "none", Why: "the control groups of this process do not limit its CPU time"}
	const why = "when the time of a period is used up, all threads stand still until the next"
	if file, ok := unreadLimits(s); ok {
		return unknown(s, file, why)
	}
	q := s.Limits.Quota
	if q == nil {
		return []Finding{f}
	}
	f.List, f.Why = Warning, why
	f.Value = fmt.Sprintf("%.4g CPUs in periods of %s (%s)", q.CPUs(), q.Period, q.Path)
	if n := s.Limits.Throttled; n != nil {
		f.Value += fmt.Sprintf(", used up %d times", *n)
	}
	if strings.HasSuffix(q.Path, "cfs_quota_us") {
		f.Change, f.Undo = []string{echo("-1", q.Path)}, []string{echo(q.Text, q.Path)}
		return []Finding{f}
	}
	f.Change, f.Undo = []string{echo("max", q.Path)}, []string{echo(q.Text, q.Path)}
	return []Finding{f}
}

// unreadLimits names a file about this process's control groups that could not
// be read, or is not there at all.
func unreadLimits(s *host.Survey) (string, bool) {
	for _, at := range []string{"/proc/self/cgroup", "/proc/self/mountinfo", "/sys/fs/cgroup"} {
		if u, ok := s.Below(at); ok {
			return u.What, true
		}
	}
	return "/proc/self/cgroup", !s.Limits.Read
}

// gomaxprocs holds what Go programs will use against the CPUs that they may.
func gomaxprocs(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: InOrder, Why: "a Go program uses the CPUs that it may"}
	const why = "Go programs take GOMAXPROCS from the mask they start under: another mask is another garbage collector (procs = \"same\" in go = {…} fixes it)"
	if s.Allowed == nil {
		return unknown(s, "/proc/self/status", why)
	}
	may := s.Allowed.Len()
	f.Value = fmt.Sprintf("%s allowed (%s)", counted(may, "CPU", "CPUs"), s.Allowed)
	online := may
	if t := s.Facts.Topology; t != nil {
		online = t.CPUs
		f.Value += fmt.Sprintf(" of %d online", online)
	}
	if c.Process.Procs > 0 {
		f.Value = fmt.Sprintf("%d, with %s", c.Process.Procs, f.Value)
	}
	env := c.Process.Env
	set, err := strconv.Atoi(env)
	switch {
	case env != "" && (err != nil || set != may):
		f.List = Warning
		f.Value += ", GOMAXPROCS=" + env + " in the environment"
		f.Why = "Go programs start more threads than they may use CPUs, or fewer"
		f.Change, f.Undo = []string{"unset GOMAXPROCS"}, []string{"export GOMAXPROCS=" + word(env)}
	case may < online:
		f.List, f.Why = Advice, why
	case c.Process.Procs > 0 && c.Process.Procs < may:
		f.List, f.Value, f.Why = Advice, f.Value+": the quota lowers it", why
	}
	return []Finding{f}
}

// perflock is another program that takes turns; goset knows nothing of its lock.
func perflock(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: InOrder, Value: "not running", Why: "nobody measures under another lock than goset's"}
	const why = "whoever measures under perflock does not wait for goset, nor goset for them"
	if s.Perflocks == nil || s.Hidden && len(s.Perflocks) == 0 {
		return unseen(s, why)
	}
	var pids []string
	for _, p := range s.Perflocks {
		pids = append(pids, strconv.Itoa(p.PID))
	}
	switch len(pids) {
	case 0:
	case 1:
		// The daemon alone holds nothing.
		f.List, f.Value, f.Why = Advice, "one process ("+pids[0]+"): the daemon, or a command under its lock", why+" (perflock -list)"
	default:
		f.List, f.Value, f.Why = Warning, "processes "+strings.Join(pids, ", ")+": commands have its lock or wait for it", why+" (perflock -list)"
	}
	return []Finding{f}
}

// turn is about goset's own lock and what its sessions left.
func turn(c *Case) []Finding {
	t := &c.Turn
	f := Finding{List: InOrder, Value: "nobody has the lock, nothing is left over", Why: "nobody else measures, and all that was changed is undone"}
	const why = "a session that runs changes the machine and is disturbed by another; one that was killed may have left it changed"
	if t.Unasked {
		return []Finding{{List: CannotTell, Value: "the lock of another machine cannot be asked for (/proc/locks)", Why: why, File: "/proc/locks"}}
	}
	var all []Finding
	for _, u := range t.Unread {
		all = append(all, Finding{List: CannotTell, Value: "cannot read " + u.What + ": " + u.Cause, Why: why, File: u.What})
	}
	if t.Holder != "" {
		all = append(all, Finding{List: Warning, Value: "this machine is taken: " + t.Holder, Why: "that session changes the machine, and would be disturbed"})
	}
	if len(t.Leftovers) > 0 {
		all = append(all, Finding{List: Warning, Value: "not undone: " + strings.Join(t.Leftovers, ", "),
			Why: "a session was killed before it had put back what it changed", Change: []string{"goset-bench restore"}})
	}
	if len(all) == 0 {
		all = []Finding{f}
	}
	return all
}
