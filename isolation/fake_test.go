//go:build linux

package isolation

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"goset/cpulist"
)

// fakeKernel is a machine in memory: files, threads, units, and as much of what
// cgroups do as the layers rely on. fault, when set, is asked before every
// change.
type fakeKernel struct {
	files   map[string]string
	threads map[int]*fakeThread
	units   map[string]string
	v1      bool
	release string // "6.1.0": masks are overwritten when cpusets change
	changes int
	fault   func(k *fakeKernel, what string) error
	closed  string // a mount that is read-only; "": none
	reason  string // why the kernel makes no partition; "": it does
	log     []string
	boot    string
}

type fakeThread struct {
	start   uint64
	pid     int // of its process; 0: its own number
	parent  int
	flags   uint64
	name    string
	cpus    cpulist.Set
	cgroup  string
	stopped bool
}

const (
	fakeRoot   = "/sys/fs/cgroup"
	fakeRootV1 = "/sys/fs/cgroup/cpuset"
)

// newFake is a machine of 8 CPUs in 4 cores, with some threads.
func newFake(t *testing.T, v1 bool) *fakeKernel {
	t.Helper()
	k := &fakeKernel{
		v1: v1, release: "6.1.0-test", boot: "boot-1", units: map[string]string{"irqbalance.service": valueActive},
		files: map[string]string{
			"/sys/devices/system/cpu/online":      "0-7",
			"/sys/devices/system/cpu/cpu5/online": "1",
			"/sys/devices/system/cpu/smt/active":  "1",
			workqueueMask:                         "ff",
			"/proc/sys/kernel/nmi_watchdog":       "1",
			"/proc/irq/24/smp_affinity_list":      "0-7",
		},
		threads: map[int]*fakeThread{
			1:           {name: "init", start: 1, cpus: cpus(t, "0-7")},
			2:           {name: "kthreadd", start: 1, flags: flagKthread, cpus: cpus(t, "0-7")},
			20:          {name: "ksoftirqd/2", start: 2, flags: flagKthread | flagNoSetAffinity, cpus: cpus(t, "2")},
			30:          {name: "irq/9-acpi", start: 3, flags: flagKthread, cpus: cpus(t, "1")},
			100:         {name: "a b) c", start: 900, cpus: cpus(t, "3")},
			101:         {name: "pinned", start: 901, cpus: cpus(t, "2-3")},
			os.Getpid(): {name: "goset", start: 999, cpus: cpus(t, "0-1,4-7")},
		},
	}
	root := fakeRoot
	if v1 {
		root = fakeRootV1
		k.files["/proc/self/mountinfo"] = "31 1 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n41 1 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
		k.files["/sys/fs/cgroup/unified/cgroup.controllers"] = ""
		k.files[root+"/cpuset.sched_load_balance"] = "1"
		k.files[root+"/cpuset.cpus"] = "0-7"
		k.files[root+"/cpuset.mems"] = "0"
	} else {
		k.files["/proc/self/mountinfo"] = "31 1 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
		k.files[root+"/cgroup.controllers"] = "cpuset cpu memory"
		k.files[root+"/cgroup.subtree_control"] = "memory"
	}
	for _, th := range k.threads {
		th.cgroup = root
	}
	return k
}

// cpus parses a list in a test.
func cpus(t *testing.T, list string) cpulist.Set {
	t.Helper()
	set, err := cpulist.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// before compares the fake's release, which tests choose well formed.
func (k *fakeKernel) before(major, minor int) bool {
	rel, err := parseRelease(k.release)
	return err == nil && rel.before(major, minor)
}

// root is where cpusets hang.
func (k *fakeKernel) root() string {
	if k.v1 {
		return fakeRootV1
	}
	return fakeRoot
}

// snapshot is all that layers can touch.
func (k *fakeKernel) snapshot() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(k.files)) {
		if !strings.HasPrefix(name, "/proc/self") {
			lines = append(lines, name+" "+k.files[name])
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(k.threads)) {
		if pid == os.Getpid() {
			continue // who moves the own threads puts them back
		}
		th := k.threads[pid]
		lines = append(lines, fmt.Sprintf("%d %s %s %t", pid, th.cpus, th.cgroup, th.stopped))
	}
	for _, unit := range slices.Sorted(maps.Keys(k.units)) {
		lines = append(lines, unit+" "+k.units[unit])
	}
	return strings.Join(lines, "\n")
}

// change is called before every change.
func (k *fakeKernel) change(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	k.changes++
	k.log = append(k.log, what)
	if k.fault != nil {
		return k.fault(k, what)
	}
	return nil
}

func (k *fakeKernel) ticks() (uint64, error)  { return fakeNow, nil }
func (k *fakeKernel) self() (int, error)      { return os.Getpid(), nil }
func (k *fakeKernel) bootID() (string, error) { return k.boot, nil }
func absentFile(op, name string) error        { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }
func (k *fakeKernel) isCgroup(dir string) bool {
	return ownName().MatchString(path.Base(dir)) || path.Base(dir) == jobName
}

func (k *fakeKernel) readFile(name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "/proc/"); ok {
		if text, err, ok := k.readTask(rest); ok {
			return text, err
		}
	}
	dir, file := path.Split(name)
	dir = path.Clean(dir)
	switch file {
	case "cgroup.procs", "cgroup.threads", "tasks":
		if _, ok := k.files[dir]; !ok && dir != k.root() {
			return "", absentFile("open", name)
		}
		var pids []string
		for _, pid := range slices.Sorted(maps.Keys(k.threads)) {
			if k.threads[pid].cgroup == dir {
				pids = append(pids, strconv.Itoa(pid))
			}
		}
		return strings.Join(pids, "\n"), nil
	case "cpuset.cpus.effective", "cpuset.effective_cpus":
		set, err := k.effective(dir)
		return set.String(), err
	case "osrelease":
		return k.release, nil
	}
	text, ok := k.files[name]
	if !ok {
		return "", absentFile("open", name)
	}
	return text, nil
}

func (k *fakeKernel) readPart(name string, size int) (string, error) {
	text, err := k.readFile(name)
	return text[:min(len(text), size)], err
}

func (k *fakeKernel) readTask(rest string) (string, error, bool) {
	num, file, _ := strings.Cut(rest, "/")
	if num == "self" && file == "cgroup" {
		num = strconv.Itoa(os.Getpid())
	}
	pid, err := strconv.Atoi(num)
	if err != nil {
		return "", nil, false
	}
	th, ok := k.threads[pid]
	if !ok {
		return "", absentFile("open", "/proc/"+rest), true
	}
	switch file {
	case "stat":
		state := "S"
		if th.stopped {
			state = "T"
		}
		return fmt.Sprintf("%d (%s) %s %d 1 1 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0", pid, th.name, state, th.parent, th.flags, th.start), nil, true
	case "cgroup":
		p := "/" + strings.TrimPrefix(strings.TrimPrefix(th.cgroup, k.root()), "/")
		if k.v1 {
			return "3:cpuset:" + p + "\n0::/", nil, true
		}
		return "0::" + p, nil, true
	}
	return "", absentFile("open", "/proc/"+rest), true
}

// effective is what the CPUs of a cpuset are: its own, without those of
// partitions beside and below.
func (k *fakeKernel) effective(dir string) (cpulist.Set, error) {
	if dir != k.root() {
		if _, ok := k.files[dir]; !ok {
			return cpulist.Set{}, absentFile("open", dir)
		}
		list := k.files[dir+"/cpuset.cpus"]
		if strings.TrimSpace(list) == "" {
			return k.effective(path.Dir(dir))
		}
		return cpulist.Parse(list)
	}
	set, err := cpulist.Parse(k.files["/sys/devices/system/cpu/online"])
	for name, text := range k.files {
		if path.Base(name) == "cpuset.cpus.partition" && (text == cgroupIsolated || text == cgroupRoot) {
			taken, _ := cpulist.Parse(k.files[path.Dir(name)+"/cpuset.cpus"])
			set = set.Minus(taken)
		}
	}
	return set, err
}

// respread does to masks what kernels before 6.2 do whenever a cpuset changes.
func (k *fakeKernel) respread() {
	if k.v1 {
		return // there it is who is moved that loses the mask
	}
	for _, th := range k.threads {
		if th.flags&flagNoSetAffinity != 0 || !k.before(6, 2) && th.flags&flagKthread == 0 {
			continue
		}
		if set, err := k.effective(th.cgroup); err == nil {
			th.cpus = set
		}
	}
}

func (k *fakeKernel) writeFile(name, value string) error {
	dir, file := path.Split(name)
	dir = path.Clean(dir)
	if err := k.change("write %s %q", name, value); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	switch file {
	case "cgroup.kill":
		if k.v1 {
			return absentFile("open", name)
		}
		maps.DeleteFunc(k.threads, func(_ int, th *fakeThread) bool { return strings.HasPrefix(th.cgroup, dir) })
		return nil
	case "cgroup.procs":
		pid, err := strconv.Atoi(value)
		th := k.threads[pid]
		if err != nil || th == nil {
			return &fs.PathError{Op: "write", Path: name, Err: syscall.ESRCH}
		}
		if th.flags&flagNoSetAffinity != 0 || pid == 2 {
			return &fs.PathError{Op: "write", Path: name, Err: syscall.EINVAL}
		}
		th.cgroup = dir
		th.cpus, err = k.effective(dir)
		return err
	}
	if _, ok := k.files[name]; !ok {
		return absentFile("open", name)
	}
	switch file {
	case "cgroup.subtree_control":
		return k.control(dir, name, value)
	case "cpuset.cpus.partition":
		k.files[name] = value
		if value != cgroupMember && k.reason != "" {
			k.files[name] = value + " invalid (" + k.reason + ")"
		}
		k.respread()
		return nil
	}
	k.files[name] = value
	return nil
}

// control switches controllers, which makes and removes the files below.
func (k *fakeKernel) control(dir, name, value string) error {
	words := slices.DeleteFunc(strings.Fields(k.files[name]), func(w string) bool { return w == value[1:] })
	if value[0] == '+' {
		words = append(words, value[1:])
	} else {
		for other, text := range k.files {
			if path.Dir(path.Dir(other)) == dir && path.Base(other) == "cgroup.subtree_control" && slices.Contains(strings.Fields(text), value[1:]) {
				return syscall.EBUSY
			}
		}
	}
	k.files[name] = strings.Join(words, " ")
	for d := range k.files {
		if path.Dir(d) == dir && k.isCgroup(d) {
			k.limitFiles(d, value[1:], value[0] == '+')
		}
	}
	if value[1:] == "cpuset" {
		for d := range k.files {
			if path.Dir(d) == dir && k.isCgroup(d) {
				k.cpusetFiles(d, value[0] == '+')
			}
		}
		k.respread()
	}
	return nil
}

// limitFiles makes the files of the controllers of limits, or removes them.
func (k *fakeKernel) limitFiles(dir, controller string, there bool) {
	for file, text := range map[string]string{"memory.max": "max", "cpu.max": "max 100000"} {
		if !strings.HasPrefix(file, controller+".") {
			continue
		}
		delete(k.files, dir+"/"+file)
		if there {
			k.files[dir+"/"+file] = text
		}
	}
}

func (k *fakeKernel) cpusetFiles(dir string, there bool) {
	for _, f := range []string{"cpuset.cpus", "cpuset.mems", "cpuset.cpus.partition", "cpuset.sched_load_balance"} {
		if strings.HasSuffix(f, "partition") == k.v1 && k.v1 || strings.HasSuffix(f, "balance") && !k.v1 {
			continue
		}
		delete(k.files, dir+"/"+f)
		if there {
			k.files[dir+"/"+f] = map[bool]string{true: cgroupMember}[strings.HasSuffix(f, "partition")]
		}
	}
}

func (k *fakeKernel) mkdir(name string) error {
	if err := k.change("mkdir %s", name); err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	if _, ok := k.files[name]; ok {
		return fs.ErrExist
	}
	k.files[name] = "folder"
	if !k.v1 {
		k.files[name+"/cgroup.subtree_control"], k.files[name+"/cgroup.controllers"] = "", k.files[path.Dir(name)+"/cgroup.subtree_control"]
	}
	above := k.files[path.Dir(name)+"/cgroup.subtree_control"]
	for _, controller := range strings.Fields(above) {
		k.limitFiles(name, controller, true)
	}
	k.cpusetFiles(name, k.v1 || strings.Contains(above, "cpuset"))
	return nil
}

func (k *fakeKernel) rmdir(name string) error {
	if err := k.change("rmdir %s", name); err != nil {
		return &fs.PathError{Op: "rmdir", Path: name, Err: err}
	}
	if _, ok := k.files[name]; !ok {
		return absentFile("rmdir", name)
	}
	for _, th := range k.threads {
		if th.cgroup == name {
			return syscall.EBUSY
		}
	}
	for other, text := range k.files {
		if path.Dir(other) == name && text == "folder" {
			return syscall.EBUSY
		}
	}
	_, isCpuset := k.files[name+"/cpuset.cpus"]
	maps.DeleteFunc(k.files, func(f, _ string) bool { return f == name || path.Dir(f) == name })
	if isCpuset {
		k.respread()
	}
	return nil
}

func (k *fakeKernel) open(string, int) (*os.File, error) { return os.Open(os.DevNull) }

func (k *fakeKernel) entries(dir string) ([]string, error) {
	if rest, ok := strings.CutPrefix(dir, "/proc/"); ok {
		num, _, _ := strings.Cut(rest, "/")
		if pid, _ := strconv.Atoi(num); k.threads[pid] == nil {
			return nil, absentFile("open", dir)
		}
		tids := []string{num}
		for tid, th := range k.threads {
			if strconv.Itoa(th.pid) == num {
				tids = append(tids, strconv.Itoa(tid))
			}
		}
		return tids, nil
	}
	names := []string{"self", "irq"}
	for pid, th := range k.threads {
		if th.pid == 0 {
			names = append(names, strconv.Itoa(pid))
		}
	}
	return names, nil
}

func (k *fakeKernel) affinity(tid int) (cpulist.Set, error) {
	if th := k.threads[tid]; th != nil {
		return th.cpus, nil
	}
	return cpulist.Set{}, syscall.ESRCH
}

func (k *fakeKernel) setAffinity(tid int, cpus cpulist.Set) error {
	if err := k.change("affinity %d %s", tid, cpus); err != nil {
		return err
	}
	th := k.threads[tid]
	switch {
	case th == nil:
		return syscall.ESRCH
	case th.flags&flagNoSetAffinity != 0:
		return syscall.EINVAL
	}
	th.cpus = cpus
	return nil
}

func (k *fakeKernel) signal(pid int, start uint64, sig syscall.Signal) error {
	if err := k.change("signal %d %v", pid, sig); err != nil {
		return err
	}
	th := k.threads[pid]
	if th == nil || th.start != start {
		return syscall.ESRCH
	}
	switch sig {
	case syscall.SIGKILL:
		delete(k.threads, pid)
	default:
		th.stopped = sig == syscall.SIGSTOP
	}
	return nil
}

func (k *fakeKernel) systemctl(args ...string) (string, error) {
	unit := args[len(args)-1]
	switch args[0] {
	case "show":
		if state := k.units[unit]; state != "" {
			return state, nil
		}
		return valueInactive, nil
	case "start", "stop":
		if err := k.change("systemctl %s", strings.Join(args, " ")); err != nil {
			return "", err
		}
		k.units[unit] = map[string]string{"start": valueActive, "stop": valueInactive}[args[0]]
	}
	return "", nil
}

// memoryFile is a file that can be opened again by its name and whose sync
// costs nothing.
func memoryFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("journal", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), fmt.Sprintf("/proc/self/fd/%d", fd)), nil
}
