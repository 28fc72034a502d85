package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"goset/cpulist"
)

// rehearsal is a kernel that is read and not changed: what a layer writes to it, it
// reads back from it, and the machine stays as it is. It knows what the kernel
// makes of a write as far as layers depend on that: which files a new cgroup has,
// what switches a CPU off, who refuses to be moved. What only a try can tell it
// takes for granted; see doubts.
type rehearsal struct {
	real    kernel
	files   map[string]string
	made    map[string]bool // cgroups
	masks   map[int]cpulist.Set
	moved   map[int]string // the cgroup that a process was moved to
	stopped map[int]bool
	units   map[string]string
}

func newRehearsal(real kernel) *rehearsal {
	return &rehearsal{
		real: real, files: map[string]string{}, made: map[string]bool{}, masks: map[int]cpulist.Set{},
		moved: map[int]string{}, stopped: map[int]bool{}, units: map[string]string{},
	}
}

func (k *rehearsal) readFile(name string) (string, error) {
	if text, ok := k.files[name]; ok {
		return text, nil
	}
	dir, file := path.Dir(name), path.Base(name)
	switch {
	case file == "cgroup.procs" && (k.made[dir] || len(k.moved) > 0):
		return k.procs(dir)
	case k.made[dir]:
		return k.newFile(dir, file)
	}
	text, err := k.real.readFile(name)
	if err != nil {
		return "", err
	}
	return k.ofTask(name, text), nil
}

// ofTask puts what was done to a process into what its files say.
func (k *rehearsal) ofTask(name, text string) string {
	number, file := path.Split(strings.TrimPrefix(name, "/proc/"))
	pid, err := strconv.Atoi(strings.TrimSuffix(number, "/"))
	if err != nil || !strings.HasPrefix(name, "/proc/") {
		return text
	}
	if before, after, ok := cutLast(text, ") "); ok && file == "stat" && k.stopped[pid] && after != "" {
		return before + ") T" + after[1:]
	}
	if dir, ok := k.moved[pid]; ok && file == "cgroup" {
		return k.movedTo(text, dir)
	}
	return text
}

// procs lists the processes of a cgroup.
func (k *rehearsal) procs(dir string) (string, error) {
	text := ""
	if !k.made[dir] {
		var err error
		if text, err = k.real.readFile(dir + "/cgroup.procs"); err != nil {
			return "", err
		}
	}
	pids := slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		pid, err := strconv.Atoi(word)
		_, moved := k.moved[pid]
		return err == nil && moved
	})
	for _, pid := range sortedKeys(k.moved) {
		if k.moved[pid] == dir {
			pids = append(pids, strconv.Itoa(pid))
		}
	}
	return strings.Join(pids, "\n"), nil
}

// newFile is a file of a cgroup that was made, as the kernel makes it.
func (k *rehearsal) newFile(dir, file string) (string, error) {
	above := path.Dir(dir)
	if _, err := k.readFile(above + "/cgroup.controllers"); err != nil {
		return k.newFileV1(dir, file)
	}
	controllers, err := k.readFile(above + "/cgroup.subtree_control")
	if err != nil {
		return "", err
	}
	controller, _, _ := strings.Cut(file, ".")
	switch {
	case controller != "cgroup" && !slices.Contains(strings.Fields(controllers), controller):
		return "", &fs.PathError{Op: "open", Path: dir + "/" + file, Err: fs.ErrNotExist}
	case file == "cgroup.controllers":
		return controllers, nil
	case file == "cpuset.cpus.effective":
		return k.effective(dir, "cpuset.cpus", file)
	}
	return newValue(file), nil
}

// newValue is what a file of a new cgroup holds where that is not nothing.
func newValue(file string) string {
	return map[string]string{
		"cpuset.cpus.partition": cgroupMember, "memory.max": "max", "cpu.max": "max 100000",
		"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "-1",
		// The most that fits, in whole pages (mm/page_counter.c).
		"memory.limit_in_bytes": strconv.FormatInt(math.MaxInt64/int64(os.Getpagesize())*int64(os.Getpagesize()), 10),
	}[file]
}

// newFileV1 is such a file in version 1: of those that the cgroup above has.
func (k *rehearsal) newFileV1(dir, file string) (string, error) {
	if own, ok := strings.CutSuffix(file, "effective_cpus"); ok {
		return k.effective(dir, own+"cpus", file)
	}
	_, err := k.readFile(path.Dir(dir) + "/" + file)
	return newValue(file), err
}

// effective is the CPUs of a cpuset: its own, or those of the one above.
func (k *rehearsal) effective(dir, own, file string) (string, error) {
	if list := strings.TrimSpace(k.files[dir+"/"+own]); list != "" {
		return list, nil
	}
	return k.readFile(path.Dir(dir) + "/" + file)
}

// movedTo is the text of /proc/PID/cgroup with another cgroup in the hierarchy that
// it lies in.
func (k *rehearsal) movedTo(text, dir string) string {
	mounts, err := cgroupMounts(k.real)
	if err != nil {
		return text
	}
	at := slices.IndexFunc(mounts, func(m cgroupMount) bool { return dir == m.path || strings.HasPrefix(dir, m.path+"/") })
	if at < 0 {
		return text
	}
	m := mounts[at]
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		number, rest, _ := strings.Cut(line, ":")
		names, _, ok := strings.Cut(rest, ":")
		mine := names == "" && m.unified || names != "" && slices.ContainsFunc(strings.Split(names, ","), m.has)
		if ok && mine {
			lines[i] = number + ":" + names + ":" + path.Join("/", strings.TrimPrefix(dir, m.path))
		}
	}
	return strings.Join(lines, "\n")
}

func (k *rehearsal) writeFile(name, value string) error {
	if err := k.writable(name); err != nil {
		return err
	}
	now, err := k.readFile(name)
	if err != nil {
		return err
	}
	switch dir, file := path.Split(name); {
	case file == "cgroup.procs":
		return k.move(value, path.Clean(dir))
	case file == "cgroup.subtree_control" && value != "":
		words := slices.DeleteFunc(strings.Fields(now), func(w string) bool { return w == value[1:] })
		if value[0] == '+' {
			words = append(words, value[1:])
		}
		k.files[name] = strings.Join(words, " ")
	case name == workqueueMask && exists(k.real, workqueueRequested):
		k.files[name], k.files[workqueueRequested] = value, value
	case file == "online" && strings.HasPrefix(name, cpuFolder+"/cpu"):
		k.files[name] = value
		return k.switchCPU(path.Base(path.Clean(dir)), value)
	default:
		k.files[name] = value
	}
	return nil
}

// move moves a process into a cgroup. Threads of the kernel that belong to a CPU,
// and the one that makes them, refuse (kernel/cgroup/cgroup.c:
// cgroup_procs_write_start).
func (k *rehearsal) move(value, dir string) error {
	pid, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil {
		return syscall.EINVAL
	}
	t, err := readTask(k, strconv.Itoa(pid))
	if err != nil {
		return err
	}
	if t.bound() || t.flags&flagKthread != 0 && t.name == "kthreadd" {
		return syscall.EINVAL
	}
	k.moved[pid] = dir
	return nil
}

// switchCPU switches a CPU, named as cpu3, off or on. One that is off is nobody's
// sibling (drivers/base/topology.c).
func (k *rehearsal) switchCPU(name, value string) error {
	number, err := strconv.Atoi(strings.TrimPrefix(name, "cpu"))
	if err != nil {
		return err
	}
	cpu := cpulist.Of(number)
	online, err := everyone(k)
	if err != nil {
		return err
	}
	core, err := siblingsOf(k, cpu)
	if err != nil {
		return err
	}
	change := cpulist.Set.Minus
	if value == "1" {
		change = cpulist.Set.Union
		if core, err = siblingsOf(k.real, cpu); err != nil {
			return err
		}
	}
	k.files[cpuFolder+"/online"] = change(online, cpu).String()
	for sibling := range core.Minus(cpu).All() {
		file := fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", cpuFolder, sibling)
		if siblings, err := readSet(k, file); err == nil {
			k.files[file] = change(siblings, cpu).String()
		}
	}
	return nil
}

// open is for the task's cgroup, which there will not be.
func (k *rehearsal) open(string, int) (*os.File, error) { return os.Open(os.DevNull) }

func (k *rehearsal) mkdir(dir string) error {
	if err := k.writable(path.Dir(dir)); err != nil {
		return err
	}
	if k.made[dir] {
		return fs.ErrExist
	}
	k.made[dir] = true
	return nil
}

func (k *rehearsal) rmdir(dir string) error {
	if !k.made[dir] {
		return fmt.Errorf("cannot remove %s in a rehearsal: %w", dir, syscall.EPERM)
	}
	delete(k.made, dir)
	for name := range k.files {
		if path.Dir(name) == dir {
			delete(k.files, name)
		}
	}
	return nil
}

func (k *rehearsal) entries(dir string) ([]string, error) {
	if k.made[dir] {
		return nil, nil
	}
	return k.real.entries(dir)
}

func (k *rehearsal) writable(name string) error {
	if k.made[name] || k.made[path.Dir(name)] {
		return nil
	}
	return k.real.writable(name)
}

func (k *rehearsal) affinity(tid int) (cpulist.Set, error) {
	if mask, ok := k.masks[tid]; ok {
		return mask, nil
	}
	return k.real.affinity(tid)
}

func (k *rehearsal) setAffinity(tid int, cpus cpulist.Set) error {
	t, err := readTask(k, strconv.Itoa(tid))
	if err != nil {
		return err
	}
	if t.bound() {
		return syscall.EINVAL
	}
	k.masks[tid] = cpus
	return nil
}

func (k *rehearsal) signal(pid int, start uint64, sig syscall.Signal) error {
	if now, err := startOf(k, pid); err != nil || now != start {
		return syscall.ESRCH
	}
	switch sig {
	case syscall.SIGSTOP, syscall.SIGCONT:
		k.stopped[pid] = sig == syscall.SIGSTOP
		return nil
	}
	return fmt.Errorf("cannot send signal %v in a rehearsal: %w", sig, syscall.EPERM)
}

func (k *rehearsal) systemctl(args ...string) (string, error) {
	if len(args) < 2 {
		return "", errors.New("cannot rehearse systemctl without a unit")
	}
	unit := args[len(args)-1]
	switch args[0] {
	case "start":
		k.units[unit] = valueActive
		return "", nil
	case "stop":
		k.units[unit] = valueInactive
		return "", nil
	case "reset-failed":
		return "", nil
	}
	text, err := k.real.systemctl(args...)
	state, ok := k.units[unit]
	if !ok || err != nil {
		return text, err
	}
	if slices.Contains(args, "--value") {
		return state, nil
	}
	return strings.Replace(text, "ActiveState="+parseProperties(text)["ActiveState"], "ActiveState="+state, 1), nil
}

func (k *rehearsal) readPart(name string, size int) (string, error) {
	return k.real.readPart(name, size)
}
func (k *rehearsal) self() (int, error)      { return k.real.self() }
func (k *rehearsal) bootID() (string, error) { return k.real.bootID() }
func (k *rehearsal) ticks() (uint64, error)  { return k.real.ticks() }
