package harness

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// The numbers of these calls are the same on every architecture.
const (
	sysPidfdOpen       = 434
	sysPidfdSendSignal = 424
)

// maxTree bounds a walk over a tree of processes.
const maxTree = 1 << 20

// family is a set of processes.
type family map[int]bool

// proc is a process and the parent that it was found under.
type proc struct{ pid, parent int }

// others returns the children that this process has before a run, and all that
// descends from them: what is not the run's. Nearly always there are none, and
// asking that costs one call.
func (r *Runner) others() family {
	if !anyChild() {
		return nil
	}
	set := family{}
	for _, p := range descendants(r.self) {
		set[p.pid] = true
	}
	return set
}

// anyChild is true when this process has a child, alive or not waited for.
func anyChild() bool {
	const pAll, wNoWait, wAll = 0, 0x1000000, 0x40000000
	var info [128]byte
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, pAll, 0, uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOHANG|wNoWait|wAll, 0, 0)
		if e != syscall.EINTR {
			return e != syscall.ECHILD
		}
	}
}

// descendants returns all that descends from a process, parents before their
// children. Without a frozen tree the list is what was seen in passing; who
// needs all of them asks again.
func descendants(pid int) []proc {
	return (&walker{}).below([]proc{{pid: pid}})
}

// tree returns what is alive of the run's tree: all that descends from this
// process, without the others and what descends from those.
func (r *Runner) tree(others family) []proc {
	w := &walker{}
	var roots []proc
	for _, pid := range w.children(r.self) {
		if !others[pid] {
			roots = append(roots, proc{pid, r.self})
		}
	}
	return append(roots, w.below(roots)...)
}

// walker finds the children of processes.
type walker struct {
	scan map[int][]int // by parent, on kernels without CONFIG_PROC_CHILDREN
}

// below returns all that descends from the roots.
func (w *walker) below(roots []proc) []proc {
	var found []proc
	seen := family{}
	next := roots
	for len(next) > 0 && len(found) < maxTree {
		p := next[0]
		next = next[1:]
		for _, pid := range w.children(p.pid) {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			found = append(found, proc{pid, p.pid})
			next = append(next, proc{pid, p.pid})
		}
	}
	return found
}

// children lists the children of all threads of a process. A process that has
// ended has none.
func (w *walker) children(pid int) []int {
	if w.scan != nil {
		return w.scan[pid]
	}
	task := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(task)
	if err != nil {
		return nil
	}
	var pids []int
	for _, t := range threads {
		text, err := os.ReadFile(task + "/" + t.Name() + "/children")
		if errors.Is(err, fs.ErrNotExist) {
			if _, serr := os.Stat(task + "/" + t.Name()); serr == nil {
				w.scan = scanParents()
				return w.scan[pid]
			}
		}
		for _, f := range bytes.Fields(text) {
			if n, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// scanParents reads the parent of every process of the machine.
func scanParents() map[int][]int {
	byParent := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return byParent
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, ok := readStat(pid); ok {
			byParent[s.parent] = append(byParent[s.parent], pid)
		}
	}
	return byParent
}

// stat is what /proc/PID/stat says about a process.
type stat struct {
	state  byte
	parent int
}

// ended is true for a process that only waits to be waited for.
func (s stat) ended() bool { return s.state == 'Z' || s.state == 'X' }

// readStat reads /proc/PID/stat; false: there is no such process.
func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(text)
}

// parseStat takes state and parent from "PID (NAME) STATE PARENT ...". The name
// is whatever the process likes, parentheses and newlines too, so what counts
// is behind the last one.
func parseStat(text []byte) (stat, bool) {
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return stat{}, false
	}
	f := bytes.Fields(text[i+1:])
	if len(f) < 2 || len(f[0]) != 1 {
		return stat{}, false
	}
	parent, err := strconv.Atoi(string(f[1]))
	if err != nil || parent < 0 {
		return stat{}, false
	}
	return stat{f[0][0], parent}, true
}

// signalTree signals every process of the run's tree and returns those that it
// reached.
func (r *Runner) signalTree(others family, sig syscall.Signal) []int {
	var reached []int
	for _, p := range r.tree(others) {
		if r.signal(p, sig) {
			reached = append(reached, p.pid)
		}
	}
	return reached
}

// signal signals a process that is still where it was found, or has become an
// orphan of the tree since. The pidfd is taken before that is checked, so that
// the signal cannot reach another process that got the same number.
func (r *Runner) signal(p proc, sig syscall.Signal) bool {
	fd, _, e := syscall.Syscall(sysPidfdOpen, uintptr(p.pid), 0, 0)
	if e == 0 {
		defer syscall.Close(int(fd))
	} else if e != syscall.ENOSYS {
		return false
	}
	s, ok := readStat(p.pid)
	if !ok || s.ended() || s.parent != p.parent && s.parent != r.self {
		return false
	}
	if e == syscall.ENOSYS {
		return syscall.Kill(p.pid, sig) == nil
	}
	_, _, e = syscall.Syscall6(sysPidfdSendSignal, fd, uintptr(sig), 0, 0, 0, 0)
	return e == 0
}

// endLeft ends what is left of a run's tree: it waits for the patience, then
// kills, and reaps all of it. It returns how many processes it killed, and
// those that are there in spite of that.
//
// Killing the parents makes their children orphans, and all orphans come to
// this process, so the tree is gone when no child is left.
func (r *Runner) endLeft(others family, patience time.Duration) (killed int, unkilled []int) {
	begin := time.Now()
	hit := family{}
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		left := r.reapTree(others)
		if len(left) == 0 {
			return len(hit), nil
		}
		passed := time.Since(begin)
		if passed > patience+killFor {
			r.stuck = append(r.stuck, left...)
			return len(hit), left
		}
		if passed >= patience {
			for _, pid := range r.signalTree(others, syscall.SIGKILL) {
				hit[pid] = true
			}
		}
		time.Sleep(pause)
	}
}

// reapTree waits for every child of the run's tree that has ended, and returns
// those that have not.
func (r *Runner) reapTree(others family) []int {
	if !anyChild() {
		return nil
	}
	var left []int
	for _, pid := range (&walker{}).children(r.self) {
		if others[pid] {
			continue
		}
		got, err := wait4(pid, nil, syscall.WNOHANG, nil)
		if err == nil && got == 0 {
			left = append(left, pid)
		}
	}
	return left
}

// reapStuck waits for those that SIGKILL did not end in an earlier run, if the
// kernel has let go of them since.
func (r *Runner) reapStuck() {
	var still []int
	for _, pid := range r.stuck {
		if got, err := wait4(pid, nil, syscall.WNOHANG, nil); err == nil && got == 0 {
			still = append(still, pid)
		}
	}
	r.stuck = still
}
