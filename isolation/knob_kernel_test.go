//go:build linux

package isolation

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"goset/cpulist"
)

// knobKernel is a machine of files in memory that answers writes as a kernel
// does: a write can be refused, or change other files.
type knobKernel struct {
	files map[string]string
	// writes answer a write, in place of storing the value.
	writes map[string]func(value string) error
	reads  map[string]error  // of files that cannot be read
	onRead func(path string) // is told of every read before it
	masks  map[int]string    // of threads
	closed string            // a mount that is read-only; "": none
	clips  bool              // setAffinity takes offline CPUs out, as on 6.1
	unit   string            // the state of irqbalance.service; "": no systemd
	starts int               // of the unit
	log    []string          // every write, as PATH=VALUE
	// fails is what the write with this number, from 0, fails with.
	fails map[int]syscall.Errno
	count int // of writes
}

func newKnobKernel(files map[string]string) *knobKernel {
	return &knobKernel{files: maps.Clone(files), writes: map[string]func(string) error{}, reads: map[string]error{}, masks: map[int]string{}}
}

func (k *knobKernel) readFile(path string) (string, error) {
	if k.onRead != nil {
		k.onRead(path)
	}
	if err := k.reads[path]; err != nil {
		return "", &fs.PathError{Op: "read", Path: path, Err: err}
	}
	text, ok := k.files[path]
	if rest, status := strings.CutSuffix(path, "/status"); status && !ok {
		if tid, err := strconv.Atoi(strings.TrimPrefix(rest, "/proc/")); err == nil && k.masks[tid] != "" {
			return "Name:\tx\nCpus_allowed_list:\t" + k.masks[tid] + "\nMems_allowed_list:\t0", nil
		}
	}
	if !ok {
		return "", &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	}
	return text, nil
}

func (k *knobKernel) readPart(path string, size int) (string, error) {
	text, err := k.readFile(path)
	return text[:min(len(text), size)], err
}

func (k *knobKernel) writeFile(path, value string) error {
	if errno := k.fails[k.next()]; errno != 0 {
		return &fs.PathError{Op: "write", Path: path, Err: errno}
	}
	k.log = append(k.log, path+"="+value)
	if _, ok := k.files[path]; !ok {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	}
	if write := k.writes[path]; write != nil {
		return write(value)
	}
	k.files[path] = value
	return nil
}

func (k *knobKernel) open(string, int) (*os.File, error) { return os.Open(os.DevNull) }

func (k *knobKernel) mkdir(string) error { return syscall.EPERM }
func (k *knobKernel) rmdir(string) error { return syscall.EPERM }

func (k *knobKernel) entries(dir string) ([]string, error) {
	var names []string
	for _, file := range slices.Sorted(maps.Keys(k.files)) {
		if rest, ok := strings.CutPrefix(file, dir+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOENT}
	}
	return names, nil
}

func (k *knobKernel) affinity(tid int) (cpulist.Set, error) {
	mask, ok := k.masks[tid]
	if !ok {
		return cpulist.Set{}, syscall.ESRCH
	}
	cpus, err := cpulist.Parse(mask)
	if online, oerr := cpulist.Parse(k.files[cpuFolder+"/online"]); oerr == nil && !online.Empty() {
		cpus = cpus.Intersect(online) // as sched_getaffinity does
	}
	return cpus, err
}

func (k *knobKernel) setAffinity(tid int, cpus cpulist.Set) error {
	k.log = append(k.log, fmt.Sprintf("thread %d=%s", tid, cpus))
	if online, err := cpulist.Parse(k.files[cpuFolder+"/online"]); err == nil && k.clips {
		cpus = cpus.Intersect(online)
	}
	k.masks[tid] = cpus.String()
	return nil
}

// next counts a write.
func (k *knobKernel) next() int {
	k.count++
	return k.count - 1
}

func (k *knobKernel) signal(pid int, start uint64, sig syscall.Signal) error {
	file := fmt.Sprintf("/proc/%d/stat", pid)
	if now, err := startOf(k, pid); err != nil || now != start {
		return syscall.ESRCH
	}
	k.log = append(k.log, fmt.Sprintf("signal %d %d", pid, sig))
	state := map[syscall.Signal]string{syscall.SIGSTOP: ") T ", syscall.SIGCONT: ") S "}[sig]
	before, after, _ := cutLast(k.files[file], ") ")
	k.files[file] = before + state + after[2:]
	return nil
}

func (k *knobKernel) systemctl(args ...string) (string, error) {
	if k.unit == "" {
		return "", os.ErrNotExist
	}
	k.log = append(k.log, "systemctl "+strings.Join(args, " "))
	switch args[0] {
	case "stop":
		k.unit = strings.Replace(k.unit, "ActiveState=active", "ActiveState=inactive", 1)
	case "start":
		k.starts++
		k.unit = strings.Replace(k.unit, "ActiveState=inactive", "ActiveState=active", 1)
	case "show":
		if slices.Contains(args, "--value") {
			return parseProperties(k.unit)["ActiveState"], nil
		}
		return k.unit, nil
	}
	return "", nil
}

func (k *knobKernel) self() (int, error)      { return 1, nil }
func (k *knobKernel) bootID() (string, error) { return "boot", nil }
func (k *knobKernel) ticks() (uint64, error)  { return 0, nil }

// state is everything that a layer could have changed.
func (k *knobKernel) state() map[string]string {
	s := maps.Clone(k.files)
	for tid, mask := range k.masks {
		s["thread "+strconv.Itoa(tid)] = mask
	}
	s["unit"] = k.unit
	return s
}

// addTask adds a process with one thread.
func (k *knobKernel) addTask(pid int, name, mask string, flags uint64) {
	stat := fmt.Sprintf("%d (%s) S 1 1 1 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0", pid, name, flags, 100+pid)
	dir := fmt.Sprintf("/proc/%d", pid)
	for _, d := range []string{dir, fmt.Sprintf("%s/task/%d", dir, pid)} {
		k.files[d+"/stat"] = stat
		k.files[d+"/comm"] = name
		k.files[d+"/cgroup"] = "0::/"
	}
	k.masks[pid] = mask
}

// run is a run on the fake machine with a journal of its own.
func (k *knobKernel) run(t *testing.T, m Mode, cpus string) *applied {
	t.Helper()
	set, err := cpulist.Parse(cpus)
	if err != nil {
		t.Fatal(err)
	}
	file, err := memoryFile()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &applied{mode: m, cpus: set, fenced: set, kernel: k, journal: newJournal(k, file, "boot")}
}

// undo undoes a run and compares the machine with what it was.
func (k *knobKernel) undo(t *testing.T, r *applied, before map[string]string) Undone {
	t.Helper()
	u := r.journal.UndoTo(0)
	if u.Err != nil {
		t.Errorf("undo: %v", u.Err)
	}
	after := k.state()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != before[name] {
			t.Errorf("%s is %q after the undo and was %q", name, after[name], before[name])
		}
	}
	return u
}

// enforce puts layers in force and checks them before and after a run.
func enforce(t *testing.T, r *applied, layers ...layer) {
	t.Helper()
	for _, l := range layers {
		if err := l.enforce(r); err != nil {
			t.Fatalf("%s: %v", l.key(), err)
		}
		l.check(r, moment{phase: beforeRun})
	}
	for _, l := range layers {
		l.check(r, moment{phase: afterRun})
	}
}
