//go:build linux && amd64

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

// snapshotTool prints all state of the machine that a layer of isolation can
// touch, one fact a line, in a fixed order. Arguments name sections to leave
// out.
func snapshotTool(args []string) error {
	var out bytes.Buffer
	for _, section := range sections {
		if slices.Contains(args, section.name) {
			continue
		}
		fmt.Fprintf(&out, "[%s]\n", section.name)
		if err := section.print(&out); err != nil {
			return err
		}
	}
	_, err := os.Stdout.Write(out.Bytes())
	return err
}

// sections are the parts of a snapshot.
var sections = []struct {
	name  string
	print func(*bytes.Buffer) error
}{
	{"mounts", files("/proc/self/mountinfo")},
	{"cgroups", cgroups},
	{"irq", files("/proc/irq/default_smp_affinity", "/proc/irq/*/smp_affinity", "/proc/irq/*/smp_affinity_list")},
	{"cpus", files("/sys/devices/system/cpu/online", "/sys/devices/system/cpu/offline", "/sys/devices/system/cpu/isolated",
		"/sys/devices/system/cpu/smt/*", "/sys/devices/system/cpu/cpu[0-9]*/online")},
	{"frequency", files("/sys/devices/system/cpu/intel_pstate/*", "/sys/devices/system/cpu/amd_pstate/*", "/sys/devices/system/cpu/cpufreq/*",
		"/sys/devices/system/cpu/cpufreq/policy*/*", "/sys/devices/system/cpu/cpufreq/ondemand/*")},
	{"sysctl", files("/proc/sys/kernel/sched_rt_*_us", "/proc/sys/kernel/watchdog_cpumask", "/proc/sys/kernel/nmi_watchdog",
		"/proc/sys/kernel/timer_migration", "/proc/sys/kernel/numa_balancing", "/proc/sys/kernel/sched_autogroup_enabled",
		"/proc/sys/kernel/randomize_va_space", "/proc/sys/kernel/perf_event_paranoid", "/proc/sys/vm/stat_interval",
		"/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/debug/sched/fair_server/*/runtime")},
	{"workqueues", files("/sys/devices/virtual/workqueue/cpumask*", "/sys/devices/virtual/workqueue/*/cpumask", "/sys/devices/virtual/workqueue/*/nice")},
	{"tasks", tasks},
	{"irqbalance", irqbalance},
	{"goset", gosetFiles},
}

// changing are files that change by themselves.
var changing = regexp.MustCompile(`/(scaling_cur_freq|cpuinfo_cur_freq|cpuinfo_avg_freq|cpuset\.memory_pressure)$`)

// files returns a printer of all files that match patterns.
func files(patterns ...string) func(*bytes.Buffer) error {
	return func(out *bytes.Buffer) error {
		for _, pattern := range patterns {
			names, err := filepath.Glob(pattern)
			if err != nil {
				return err
			}
			sort.Slice(names, func(i, j int) bool {
				return len(names[i]) < len(names[j]) || len(names[i]) == len(names[j]) && names[i] < names[j]
			})
			for _, name := range names {
				printFile(out, name)
			}
		}
		return nil
	}
}

// printFile prints a file's text, or what reading it said: a file of an
// offline CPU reads as an error, and that is its state.
func printFile(out *bytes.Buffer, name string) {
	if st, err := os.Stat(name); err != nil || st.IsDir() || changing.MatchString(name) {
		return
	}
	text, err := os.ReadFile(name)
	if err != nil {
		var errno syscall.Errno
		if !errors.As(err, &errno) {
			errno = 0
		}
		fmt.Fprintf(out, "%s: (%v)\n", name, errno)
		return
	}
	fmt.Fprintf(out, "%s: %s\n", name, strings.ReplaceAll(strings.TrimRight(string(text), "\n"), "\n", "\n\t"))
}

// controls are the files of a control group that a layer may write or that
// show what it wrote.
var controls = []string{"cgroup.subtree_control", "cgroup.type", "cgroup.freeze", "cpuset.*", "cpu.max", "cpu.weight", "cpu.idle",
	"memory.max", "memory.high", "memory.limit_in_bytes", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares", "cgroup.clone_children"}

// cgroups prints every control group of every hierarchy with its controls.
func cgroups(out *bytes.Buffer) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		front, back, _ := strings.Cut(line, " - ")
		fields := strings.Fields(front)
		if !strings.HasPrefix(back, "cgroup") || len(fields) < 5 {
			continue
		}
		err := filepath.WalkDir(fields[4], func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil //nolint:nilerr // a group that went away while it was walked is no longer state
			}
			fmt.Fprintf(out, "%s/\n", path)
			for _, pattern := range controls {
				if err := files(filepath.Join(path, pattern))(out); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// The flags of a task, field 9 of its stat (include/linux/sched.h).
const (
	pfWorker  = 0x20
	pfKthread = 0x200000
)

var (
	boundWorker   = regexp.MustCompile(`^kworker/(\d+):\d+(H?).*`)
	unboundWorker = regexp.MustCompile(`^kworker/u\d+:.*`)
)

// taskName is the name under which tasks are compared. Workers of the kernel
// come and go by number, as do their pools, so that a kind of worker stands
// for all of its kind; a kernel thread has no lasting number otherwise.
func taskName(comm string) string {
	comm = boundWorker.ReplaceAllString(comm, "kworker/$1$2")
	return unboundWorker.ReplaceAllString(comm, "kworker/u")
}

// passing are processes that come and go by themselves where systemd runs.
var passing = regexp.MustCompile(`^(\(udev-worker\)|udev-worker|systemd-userwor.*|\(sd-.*|irqbalance|agetty|\(agetty\))$`)

// tasks prints the CPUs, priority and policy of every task: of a kernel thread
// by name, of a process by number and name. Threads of one process that are
// alike are one line.
func tasks(out *bytes.Buffer) error {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	// The observer and the one that started it are no state of the machine:
	// their threads come and go.
	self, server := strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid())
	seen := map[string]bool{}
	for _, dir := range dirs {
		if name := filepath.Base(dir); name == self || name == server {
			continue
		}
		threads, err := filepath.Glob(dir + "/task/*")
		if err != nil {
			return err
		}
		for _, thread := range threads {
			if line := task(filepath.Base(dir), dir, thread); line != "" {
				seen[line] = true
			}
		}
	}
	lines := make([]string, 0, len(seen))
	for line := range seen {
		lines = append(lines, line)
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	return nil
}

// task is the line of one thread; "" for one that ended or does not count.
func task(pid, process, thread string) string {
	stat, err := os.ReadFile(thread + "/stat")
	if err != nil {
		return ""
	}
	status, err := os.ReadFile(thread + "/status")
	if err != nil {
		return ""
	}
	comm, err := os.ReadFile(process + "/comm")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	field := func(n int) string { return fields[n-3] }
	name := strings.TrimSpace(string(comm))
	if field(3) == "Z" || field(3) == "X" || passing.MatchString(name) {
		return ""
	}
	flags, err := strconv.ParseUint(field(9), 10, 64)
	if err != nil {
		return ""
	}
	cpus := allowed(string(status))
	switch {
	case flags&pfKthread == 0:
		name = pid + " " + name
	case flags&pfWorker != 0 && taskName(name) == name:
		// The rescuer of a workqueue: it takes over the mask of the pool that
		// it last helped (workqueue.c:worker_attach_to_pool), whenever that
		// was, and nobody else can set it.
		cpus = "any"
	case strings.HasPrefix(name, "irq/") && !strings.ContainsAny(cpus, ",-"):
		// The thread of an interrupt goes where the interrupt goes, and which
		// CPU of its mask that is the kernel picks anew at every write of the
		// mask and at every hotplug.
		cpus = "one"
	case unboundWorker.MatchString(name):
		// Whenever a CPU comes online, the workers of an unbound pool get the
		// pool's CPUs that are online then (workqueue.c:
		// restore_unbound_workers_cpumask), and nobody else can set them.
		name, cpus = taskName(name), present(cpus)
	default:
		name = taskName(name)
	}
	return fmt.Sprintf("%s: cpus %s nice %s rt %s policy %s stopped %t", name, cpus, field(19), field(40), field(41), field(3) == "T")
}

// present is the part of a CPU list that is online; the list itself where that
// cannot be told.
func present(list string) string {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return list
	}
	online, err := set(strings.TrimSpace(string(text)))
	if err != nil {
		return list
	}
	cpus, err := set(list)
	if err != nil {
		return list
	}
	var names []string
	for cpu := range 1024 {
		if cpus.IsSet(cpu) && online.IsSet(cpu) {
			names = append(names, strconv.Itoa(cpu))
		}
	}
	return strings.Join(names, ",")
}

// irqbalance prints whether the service runs and whether the process is
// stopped. Its process ID is not state: it is started anew.
func irqbalance(out *bytes.Buffer) error {
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		// The exit status only says the same as the word.
		word, _ := exec.Command("systemctl", "is-active", "irqbalance").Output()
		fmt.Fprintf(out, "service: %s\n", bytes.TrimSpace(word))
		drop, _ := filepath.Glob("/run/systemd/system*/*")
		for _, name := range drop {
			fmt.Fprintln(out, name)
		}
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		comm, err := os.ReadFile(dir + "/comm")
		if err == nil && strings.TrimSpace(string(comm)) == "irqbalance" {
			if line := strings.SplitN(task("0", dir, dir), ":", 2); len(line) == 2 {
				fmt.Fprintf(out, "process:%s\n", line[1])
			} else {
				fmt.Fprintln(out, "process: running")
			}
		}
	}
	return nil
}

// gosetFiles lists what the project left in /run, but for the lock, which
// stays as a file so that two starts cannot lock two of them.
func gosetFiles(out *bytes.Buffer) error {
	err := filepath.WalkDir("/run/goset", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !d.IsDir() && filepath.Base(path) != "lock" {
			fmt.Fprintln(out, path)
		}
		return nil
	})
	return err
}
