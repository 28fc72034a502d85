package isolation

import (
	"fmt"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"goset/cpulist"
)

// wrapLayer puts a program before the task's command, as a container runtime,
// and checks the task inside.
//
// The task inside is the process that runs the command itself: the one whose
// command line is the command's, first among the descendants of the wrapper,
// then among all processes that were started since, since a container's tasks
// descend from a daemon. Where there is none (a command that is a script, or
// that a runtime starts under another line), it is the youngest descendant
// that has no child, which may be the wrapper itself.
type wrapLayer struct {
	words []string
	inner []string // the task's command
	seen  *innerTask
	count int
	bad   string
}

// innerTask is a process taken for the task inside, and what it is held to.
type innerTask struct {
	pid    int
	start  uint64
	sure   bool // its command line is the command's
	cpus   cpulist.Set
	cgroup string
	// outside is a cgroup of the run that it is not in; "": there is none.
	outside string
	cpuset  cpulist.Set
}

func newWrapLayer(r *applied) layer {
	if len(r.mode.Wrap) == 0 {
		return nil
	}
	return &wrapLayer{words: r.mode.Wrap}
}

func (*wrapLayer) key() string { return "wrap" }

func (l *wrapLayer) probe(r *applied) *Unsupported {
	if r.mode.CPUs == "" && slices.ContainsFunc(l.words, func(w string) bool { return strings.Contains(w, cpusPlace) }) {
		return &Unsupported{Reason: "{cpus} stands in wrap, and the mode names no CPUs", Hint: `add cpus, as cpus = "quietest"`}
	}
	// A path starts at a folder that is not known here.
	if name := l.words[0]; !strings.Contains(name, "/") {
		if _, err := exec.LookPath(name); err != nil {
			return &Unsupported{Reason: fmt.Sprintf("%q is not found in PATH", name), Hint: "install it, or put what this machine has into wrap"}
		}
	}
	return nil
}

// cpusPlace is what the CPU list of a run stands for in a wrapper's words.
const cpusPlace = "{cpus}"

func (*wrapLayer) enforce(*applied) error { return nil }

func (l *wrapLayer) command(r *applied, c *Command) error {
	l.inner = c.Argv
	words := make([]string, len(l.words))
	for i, w := range l.words {
		words[i] = strings.ReplaceAll(w, cpusPlace, r.cpus.String())
	}
	c.Argv = slices.Concat(words, c.Argv)
	return nil
}

func (l *wrapLayer) check(r *applied, at moment) {
	if at.pid == 0 {
		return
	}
	t, err := findInner(r.kernel, at.pid, l.inner)
	// Once the task itself was seen, nothing else is taken for it.
	if err != nil || t == nil || l.seen != nil && l.seen.sure && !t.sure {
		return
	}
	if !l.read(r, t) {
		return
	}
	if l.seen != nil && !l.seen.sure && t.sure {
		l.bad = ""
	}
	l.count++
	l.seen = t
	switch {
	case l.bad != "":
	case !r.cpus.Empty() && !t.cpus.SubsetOf(r.cpus):
		l.bad = fmt.Sprintf("process %d inside the wrapper was allowed on %s", t.pid, named(t.cpus))
	case t.outside != "":
		l.bad = fmt.Sprintf("process %d inside the wrapper is in cgroup %s and not in %s, which the mode made for it", t.pid, t.cgroup, t.outside)
	}
}

// outside names a cgroup that the run made for its task and that a process is not
// in, by the text of its /proc/PID/cgroup; "": it is in all of them. Runtimes of
// containers put their tasks into cgroups of their own, where none of the run's
// cpusets and limits reach.
func outside(r *applied, text string) string {
	if r.journal == nil {
		return ""
	}
	for _, e := range r.journal.entries {
		if e.Kind != KindCgroup {
			continue
		}
		name := strings.TrimSuffix(e.Object, "/"+jobName)
		if !strings.Contains(text, "/"+path.Base(name)) {
			return e.Object
		}
	}
	return ""
}

// read fills in what holds the process; false: it has ended.
func (l *wrapLayer) read(r *applied, t *innerTask) bool {
	tids, err := r.kernel.entries(fmt.Sprintf("/proc/%d/task", t.pid))
	if err != nil || len(tids) == 0 {
		tids = []string{strconv.Itoa(t.pid)}
	}
	for _, name := range tids {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if mask, err := r.kernel.affinity(tid); err == nil {
			t.cpus = t.cpus.Union(mask)
		}
	}
	text, err := r.kernel.readFile(fmt.Sprintf("/proc/%d/cgroup", t.pid))
	if err != nil || t.cpus.Empty() {
		return !t.cpus.Empty()
	}
	t.cgroup = shownCgroup(text)
	if !ended(r.kernel, t.pid) { // in version 1 one that has ended is at the root
		t.outside = outside(r, text)
	}
	if t.cpuset, err = cpusetOf(r.kernel, t.pid); err != nil {
		t.cpuset = cpulist.Set{}
	}
	return true
}

// shownCgroup is the cgroup that tells most: the cpuset's of version 1, or that
// of version 2.
func shownCgroup(text string) string {
	for _, controller := range []string{"cpuset", ""} {
		if p, err := cgroupPath(text, controller); err == nil && p != "/" {
			return p
		}
	}
	return "/"
}

func (l *wrapLayer) state() LayerState {
	s := LayerState{Layer: l.key(), Asked: strings.Join(l.words, " "), Held: l.count > 0 && l.bad == "", Note: l.bad}
	if !seesInside {
		s.Held, s.Achieved = true, "put before the command"
		return s.with("what holds the task inside the wrapper cannot be read back on " + runtime.GOOS)
	}
	if l.seen == nil {
		return s.with("no process could be read back inside the wrapper")
	}
	s.Achieved = named(l.seen.cpus) + ", cgroup " + l.seen.cgroup
	if !l.seen.cpuset.Empty() {
		s.Achieved += fmt.Sprintf(" (cpuset %s)", l.seen.cpuset)
	}
	if !l.seen.sure {
		s = s.with(fmt.Sprintf("no process with the task's own command line was seen: this is process %d, the youngest that the wrapper had", l.seen.pid))
	}
	return s
}

// proc is what the search for the task inside knows of a process.
type proc struct {
	pid, parent int
	start       uint64
	line        string // NUL-separated
}

// findInner looks for the process that runs a command inside a wrapper; nil:
// there is none any more.
func findInner(k kernel, wrapper int, command []string) (*innerTask, error) {
	start, err := startOf(k, wrapper)
	if err != nil {
		return nil, err
	}
	procs, err := procsSince(k, start)
	if err != nil {
		return nil, err
	}
	return pickInner(procs, wrapper, command), nil
}

// procsSince lists the processes that were started at a time or later.
func procsSince(k kernel, since uint64) ([]proc, error) {
	names, err := k.entries("/proc")
	if err != nil {
		return nil, err
	}
	var procs []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := k.readFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		stat, err := parseTaskStat(text)
		if err != nil || stat.start < since {
			continue
		}
		p := proc{pid: pid, start: stat.start, parent: stat.parent}
		// One that has ended, or is the kernel's, has no line.
		if p.line, err = k.readFile("/proc/" + name + "/cmdline"); err != nil {
			continue
		}
		procs = append(procs, p)
	}
	return procs, nil
}

// pickInner chooses, as wrapLayer says.
func pickInner(procs []proc, wrapper int, command []string) *innerTask {
	tree := descendantsIn(procs, wrapper)
	var best *proc
	bestRank := 0
	for i := range procs {
		p := &procs[i]
		rank := 0
		ours := runsCommand(p.line, command)
		switch {
		case ours && tree[p.pid]:
			rank = 3
		case ours:
			rank = 2
		case tree[p.pid] && !slices.ContainsFunc(procs, func(c proc) bool { return c.parent == p.pid }):
			rank = 1
		}
		if rank > bestRank || rank > 0 && rank == bestRank && (p.start > best.start || p.start == best.start && p.pid > best.pid) {
			best, bestRank = p, rank
		}
	}
	if best == nil {
		return nil
	}
	return &innerTask{pid: best.pid, start: best.start, sure: bestRank > 1}
}

// descendantsIn are the processes below one, and itself.
func descendantsIn(procs []proc, root int) map[int]bool {
	tree := map[int]bool{root: true}
	for grown := true; grown; {
		grown = false
		for _, p := range procs {
			if !tree[p.pid] && tree[p.parent] {
				tree[p.pid], grown = true, true
			}
		}
	}
	return tree
}

// runsCommand compares a command line with a command. The first word may have
// become a path in between, by a search.
func runsCommand(line string, command []string) bool {
	words := strings.Split(strings.TrimSuffix(line, "\x00"), "\x00")
	if len(command) == 0 || len(words) != len(command) {
		return false
	}
	return path.Base(words[0]) == path.Base(command[0]) && slices.Equal(words[1:], command[1:])
}
