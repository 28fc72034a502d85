//go:build linux && amd64

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deadline returns a function that tells whether the time is up.
func deadline(text string) (func() bool, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(d)
	return func() bool { return time.Now().After(end) }, nil
}

// pause lies between two looks at something that nothing announces.
func pause() { time.Sleep(20 * time.Millisecond) }

// wr writes a text to a file in one write, without creating it, and prints
// "ok" or the name of the error: what the kernel said is the result.
func wr(args []string) error {
	if len(args) != 2 {
		return errors.New("want a file and a text")
	}
	fd, err := unix.Open(args[0], unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Write(fd, []byte(args[1]))
		unix.Close(fd)
	}
	say(err)
	return nil
}

// say prints "ok" or the name of an error.
func say(err error) {
	var errno syscall.Errno
	switch {
	case err == nil:
		fmt.Println("ok")
	case errors.As(err, &errno):
		fmt.Println(unix.ErrnoName(errno))
	default:
		fmt.Println(err)
	}
}

// set parses a CPU list as "0-2,5".
func set(list string) (*unix.CPUSet, error) {
	cpus := new(unix.CPUSet)
	for part := range strings.SplitSeq(list, ",") {
		low, high, ranged := strings.Cut(part, "-")
		if !ranged {
			high = low
		}
		a, err := strconv.Atoi(low)
		if err != nil {
			return nil, err
		}
		b, err := strconv.Atoi(high)
		if err != nil {
			return nil, err
		}
		for cpu := a; cpu <= b; cpu++ {
			cpus.Set(cpu)
		}
	}
	return cpus, nil
}

// aff sets the affinity of a process and prints "ok" or the error.
func aff(args []string) error {
	if len(args) != 2 {
		return errors.New("want a process ID and a CPU list")
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	cpus, err := set(args[1])
	if err != nil {
		return err
	}
	say(unix.SchedSetaffinity(pid, cpus))
	return nil
}

// on becomes a command that is bound to CPUs.
func on(args []string) error {
	if len(args) < 2 {
		return errors.New("want a CPU list and a command")
	}
	cpus, err := set(args[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := unix.SchedSetaffinity(0, cpus); err != nil {
		return err
	}
	return become(args[1:])
}

// become replaces this process.
func become(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ())
}

// spin keeps as many threads busy as it is told, one by default.
func spin(args []string) error {
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil {
			return err
		}
	}
	runtime.GOMAXPROCS(n + 1)
	for range n - 1 {
		go burn()
	}
	burn()
	return nil
}

// burn never returns; it counts so that the loop has a body.
func burn() {
	for n := 0; ; n++ {
		_ = n
	}
}

// forever sleeps. A bare select would be a deadlock to the Go runtime.
func forever([]string) error {
	for {
		if err := unix.Pause(); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// hold is a workload that lasts as long as the test wants: it writes DIR/pid,
// waits until DIR/go exists, and prints a number. With a second argument it
// burns its CPU meanwhile.
func hold(args []string) error {
	if len(args) < 1 {
		return errors.New("want a folder")
	}
	dir := args[0]
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	name := filepath.Join(dir, "pid")
	if err := os.WriteFile(name+".new", []byte(strconv.Itoa(os.Getpid())), 0o666); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < 5*time.Minute; {
		if _, err := os.Stat(filepath.Join(dir, "go")); err == nil {
			fmt.Println("held: 1 s")
			return nil
		}
		if len(args) == 1 {
			pause()
		}
	}
	return errors.New("nobody said go within five minutes")
}

// where prints the CPUs of the threads of a process that run: field 39 of
// /proc/PID/task/TID/stat.
func where(args []string) error {
	for _, pid := range args {
		stats, err := filepath.Glob("/proc/" + pid + "/task/*/stat")
		if err != nil || len(stats) == 0 {
			return fmt.Errorf("no process %s", pid)
		}
		before := make([]string, len(stats))
		for i, name := range stats {
			before[i] = ranFor(name)
		}
		time.Sleep(20 * time.Millisecond)
		for i, name := range stats {
			text, err := os.ReadFile(name)
			if err != nil || ranFor(name) == before[i] {
				continue // it ended, or slept: where it ran last may be long ago
			}
			fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
			fmt.Println(fields[39-3])
		}
	}
	return nil
}

// ranFor is how long the thread of a stat file has run, as its schedstat says.
func ranFor(stat string) string {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(stat), "schedstat"))
	if err != nil {
		return ""
	}
	ran, _, _ := strings.Cut(string(text), " ")
	return ran
}

// bear waits until a file is there, and then gets three more threads and a child.
func bear(args []string) error {
	if len(args) != 1 {
		return errors.New("want a file")
	}
	for {
		if _, err := os.Stat(args[0]); err == nil {
			break
		}
		pause()
	}
	for range 3 {
		go func() {
			runtime.LockOSThread()
			for {
				// In the kernel, so that the runtime needs a thread for each.
				_ = unix.Pause()
			}
		}()
	}
	child := exec.Command("agent", "sleep")
	if err := child.Start(); err != nil {
		return err
	}
	return child.Wait()
}

// mask prints the CPUs that the threads of processes may use, once each.
func mask(args []string) error {
	for _, pid := range args {
		text, err := os.ReadFile("/proc/" + pid + "/status")
		if err != nil {
			return err
		}
		fmt.Println(allowed(string(text)))
	}
	return nil
}

var allowedList = regexp.MustCompile(`(?m)^Cpus_allowed_list:\s*(.*)$`)

func allowed(status string) string {
	if m := allowedList.FindStringSubmatch(status); m != nil {
		return m[1]
	}
	return ""
}

// addr prints where the kernel put this process's stack and vdso: the same in
// every run when addresses are not randomized.
func addr([]string) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[stack]") || strings.Contains(line, "[vdso]") {
			fmt.Print(line)
		}
	}
	return nil
}

// capabilities are those that the layers use, by their number in
// include/uapi/linux/capability.h.
var capabilities = map[string]uintptr{"dac_override": 1, "kill": 5, "setgid": 6, "setuid": 7, "sys_admin": 21, "sys_nice": 23, "sys_resource": 24}

// without becomes a command that lacks a capability for good: it is taken from
// the bounding set, which exec applies to root's.
func without(args []string) error {
	if len(args) < 2 {
		return errors.New("want capabilities and a command")
	}
	runtime.LockOSThread()
	for name := range strings.SplitSeq(args[0], ",") {
		number, ok := capabilities[name]
		if !ok {
			return fmt.Errorf("unknown capability %q", name)
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, number, 0, 0, 0); err != nil {
			return err
		}
	}
	return become(args[1:])
}

// fifo becomes a command of real-time priority.
func fifo(args []string) error {
	if len(args) < 2 {
		return errors.New("want a priority and a command")
	}
	priority, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: uint32(priority)}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return err
	}
	return become(args[1:])
}

// gap runs a busy loop for a time and prints the longest stretch, in
// milliseconds, in which it did not run.
func gap(args []string) error {
	if len(args) != 1 {
		return errors.New("want a duration")
	}
	over, err := deadline(args[0])
	if err != nil {
		return err
	}
	var longest time.Duration
	for last := time.Now(); !over(); {
		now := time.Now()
		longest, last = max(longest, now.Sub(last)), now
	}
	fmt.Printf("gap: %d ms\n", longest.Milliseconds())
	return nil
}
