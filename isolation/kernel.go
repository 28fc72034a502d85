package isolation

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"goset/cpulist"
)

// kernel is everything through which a layer changes the machine. Paths are the
// kernel's own, as /proc/irq/24/smp_affinity_list; where they lie is the
// implementation's business. Tests put a tree of files and failing writes in
// its place.
type kernel interface {
	// readFile returns a kernel file without its line end.
	readFile(path string) (string, error)
	// readPart returns the first bytes of a kernel file, at most size of them,
	// in one read: of a process that ends between two reads, the second finds
	// the end of the file.
	readPart(path string, size int) (string, error)
	// writeFile writes a value into a file that exists, in one write.
	writeFile(path, value string) error
	// open opens a cgroup's folder or file for a child.
	open(path string, flags int) (*os.File, error)
	// mkdir and rmdir make and remove a cgroup.
	mkdir(path string) error
	rmdir(path string) error
	// entries lists the names in a folder.
	entries(path string) ([]string, error)
	// writable says, without writing, why a file or folder cannot be written:
	// EROFS on a mount that is read-only; nil: nothing is known against it.
	writable(path string) error
	// affinity and setAffinity are for one thread.
	affinity(tid int) (cpulist.Set, error)
	setAffinity(tid int, cpus cpulist.Set) error
	// signal signals the process that had the pid since start, in clock ticks
	// since boot, and no other: ESRCH when it is gone.
	signal(pid int, start uint64, sig syscall.Signal) error
	// systemctl runs systemctl and returns what it printed. The error is for
	// what kept it from running, and for an exit status other than 0.
	systemctl(args ...string) (string, error)
	// self is the pid of this process.
	self() (int, error)
	// bootID names this boot.
	bootID() (string, error)
	// ticks is the time since boot, in the clock ticks that the starts of
	// tasks are told in.
	ticks() (uint64, error)
}

// startOf reads when a process or thread was started, in clock ticks since
// boot. With its number it names a task of this boot for good.
func startOf(k kernel, pid int) (uint64, error) {
	text, err := k.readFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	stat, err := parseTaskStat(text)
	if err != nil {
		return 0, fmt.Errorf("cannot read the start of process %d: %v", pid, err)
	}
	return stat.start, nil
}

// taskStat is what is used of a stat line.
type taskStat struct {
	ended  bool   // field 3: it is only waited for, or not even that
	parent int    // field 4
	flags  uint64 // field 9
	start  uint64 // field 22, in clock ticks since boot
}

// parseTaskStat reads a stat line. The name in parentheses is whatever the task
// likes, so what counts is behind the last one.
func parseTaskStat(text string) (s taskStat, err error) {
	_, rest, ok := cutLast(text, ")")
	f := strings.Fields(rest)
	if !ok || len(f) < 20 {
		return s, fmt.Errorf("%.60q is no stat line", text)
	}
	s.ended = f[0] == "Z" || f[0] == "X"
	if s.parent, err = strconv.Atoi(f[1]); err != nil {
		return s, fmt.Errorf("parent %q is no number", f[1])
	}
	if s.flags, err = strconv.ParseUint(f[6], 10, 64); err != nil {
		return s, fmt.Errorf("flags %q are no number", f[6])
	}
	if s.start, err = strconv.ParseUint(f[19], 10, 64); err != nil {
		return s, fmt.Errorf("start %q is no number", f[19])
	}
	return s, nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
