//go:build amd64 || arm64

package workloads

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

const spinEnv = "GOSET_TEST_SPIN"

// TestMain is a Go process with a child that never ends, when it is asked to.
func TestMain(m *testing.M) {
	if threads, err := strconv.Atoi(os.Getenv(spinEnv)); err == nil {
		_, err := Measure(spinning(threads))
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(m.Run())
}

//go:nosplit
//go:norace
//go:nocheckptr
func spinRun(c *Child, _ int) {
	for c.Args[0] == 0 {
		c.clock.now()
	}
}

//go:nosplit
//go:norace
func afterNothing(*Child, int64) {}

func spinning(threads int) Measurement {
	return Measurement{
		Kernel: "spin", Threads: threads, Iterations: 1, Sections: 1,
		Body: Body{Start: Nothing, Run: spinRun, After: afterNothing, End: Nothing},
	}
}

// startSpinning starts the Go process and returns when its children exist.
func startSpinning(t *testing.T, threads int) (cmd *exec.Cmd, stderr *bytes.Buffer, children []int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, stderr = exec.Command(exe), &bytes.Buffer{}
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", spinEnv, threads))
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Both fail when the test has done it already.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(30 * time.Second); len(children) < threads; {
		if time.Now().After(end) {
			t.Fatalf("%d children after 30 s, want %d", len(children), threads)
		}
		children = childrenOf(t, cmd.Process.Pid)
	}
	return cmd, stderr, children
}

// What is measured has the kernel's own timer slack, whatever its process was
// started with.
func TestTimerSlackOfChildren(t *testing.T) {
	// The thread ends with the test, and its slack with it.
	runtime.LockOSThread()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 7_000_000, 0); errno != 0 {
		t.Fatal(errno)
	}
	cmd, _, children := startSpinning(t, 1)
	for pid, want := range map[int]string{cmd.Process.Pid: "7000000\n", children[0]: "50000\n"} {
		name := fmt.Sprintf("/proc/%d/timerslack_ns", pid)
		got := ""
		// The child exists before it has set itself up.
		for end := time.Now().Add(10 * time.Second); got != want && time.Now().Before(end); {
			b, err := os.ReadFile(name)
			if errors.Is(err, syscall.EPERM) && os.Geteuid() != 0 {
				t.Skip("unsupported here: reading another process's timer slack takes CAP_SYS_NICE")
			}
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// childrenOf finds the processes whose parent is pid.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended meanwhile
		}
		// "pid (comm) state ppid": comm may hold anything (proc_pid_stat(5)).
		_, rest, _ := bytes.Cut(b[bytes.LastIndexByte(b, ')'):], []byte(" "))
		f := strings.Fields(string(rest))
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if len(f) > 1 && err == nil && f[1] == strconv.Itoa(pid) {
			children = append(children, child)
		}
	}
	return children
}

// pidfd outlives the process it names: it becomes readable at its end.
func pidfd(t *testing.T, pid int) int32 {
	t.Helper()
	fd, _, errno := syscall.RawSyscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		t.Fatal("pidfd_open:", errno)
	}
	t.Cleanup(func() {
		if err := syscall.Close(int(fd)); err != nil {
			t.Error(err)
		}
	})
	return int32(fd)
}

func waitEnded(t *testing.T, fd int32) {
	t.Helper()
	p := pollFD{fd: fd, events: pollIn}
	limit := syscall.Timespec{Sec: 30}
	for {
		n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
		switch {
		case errno == syscall.EINTR:
			continue
		case errno != 0:
			t.Fatal("ppoll:", errno)
		case n == 0:
			t.Fatal("the child lives 30 s after its end was due")
		}
		return
	}
}

func TestChildrenHaveOneThread(t *testing.T) {
	_, _, children := startSpinning(t, 2)
	for _, pid := range children {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), "\nThreads:\t1\n") {
			t.Errorf("child %d has more than one thread:\n%s", pid, b)
		}
	}
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	cmd, _, children := startSpinning(t, 2)
	fds := []int32{pidfd(t, children[0]), pidfd(t, children[1])}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		waitEnded(t, fd)
	}
}

// A signal that Go handles must end a child as it ends any program, and the
// death of one child must end the others.
func TestChildEndedBySignal(t *testing.T) {
	for _, c := range []struct {
		threads int
		signal  syscall.Signal
		want    string
	}{
		{1, syscall.SIGTERM, "child 1 of 1 was ended by a signal: terminated"},
		{1, syscall.SIGINT, "child 1 of 1 was ended by a signal: interrupt"},
		{1, syscall.SIGKILL, "child 1 of 1 was killed"},
		{3, syscall.SIGTERM, "of 3 was ended by a signal: terminated"},
	} {
		t.Run(fmt.Sprintf("%d/%v", c.threads, c.signal), func(t *testing.T) {
			cmd, stderr, children := startSpinning(t, c.threads)
			var fds []int32
			for _, pid := range children {
				fds = append(fds, pidfd(t, pid))
			}
			// A signal that comes before the child's set-up is pending and
			// works after it; only once, so it must not be ignored.
			if err := syscall.Kill(children[c.threads-1], c.signal); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
				t.Fatalf("got %v, want exit status 3; stderr %q", err, stderr)
			}
			if !strings.Contains(stderr.String(), c.want) {
				t.Errorf("got %q, want %q", stderr, c.want)
			}
			for _, fd := range fds {
				waitEnded(t, fd)
			}
		})
	}
}

//go:nosplit
//go:norace
//go:nocheckptr
func faultRun(c *Child, _ int) {
	if c.Thread == 1 {
		*(*uint64)(unsafe.Add(unsafe.Pointer(nil), c.Args[0])) = 1
	}
}

// The first child waits at the second section's barrier for one that is dead.
func TestChildFaults(t *testing.T) {
	m := spinning(2)
	m.Sections, m.Args[0], m.Body.Run = 2, 64, faultRun
	_, err := Measure(m)
	if err == nil || !strings.Contains(err.Error(), "child 2 of 2 was ended by a signal: segmentation fault") {
		t.Errorf("got %v", err)
	}
	checkNoChildren(t)
}

func TestChildCannotMap(t *testing.T) {
	m := counting(2, 1, 1)
	m.Private = 1 << 55
	_, err := Measure(m)
	if err == nil || !strings.Contains(err.Error(), "cannot map 36028797018963968 bytes: cannot allocate memory") {
		t.Errorf("got %v", err)
	}
	checkNoChildren(t)
}

// checkNoChildren finds children of this process that nobody waited for.
func checkNoChildren(t *testing.T) {
	t.Helper()
	if pids := childrenOf(t, os.Getpid()); len(pids) > 0 {
		t.Errorf("children %v are left", pids)
	}
}

func TestMeasureLeavesNothing(t *testing.T) {
	before := openFiles(t)
	for _, threads := range []int{1, 3} {
		if _, err := Measure(counting(threads, 1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	checkNoChildren(t)
	if after := openFiles(t); after != before {
		t.Errorf("%d open files, %d before", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestHugeKiB(t *testing.T) {
	for _, c := range []struct{ length, faults, want uint64 }{
		{4096, 1, 0},
		{4096, 0, 0},
		{2 << 20, 512, 0},
		{2 << 20, 513, 0},
		{2 << 20, 1, 2048},
		{8 << 20, 4, 8192},
		{8 << 20, 3 + 512, 6144},
	} {
		if got := hugeKiB(c.length, c.faults); got != c.want {
			t.Errorf("%d bytes, %d faults: got %d, want %d", c.length, c.faults, got, c.want)
		}
	}
}

// gateRun arrives in the first section and looks in the second, behind the
// barrier, whether all have arrived. It cannot be tested with goroutines: they
// would sleep in a system call that Go's scheduler does not see.
//
//go:nosplit
//go:norace
//go:nocheckptr
func gateRun(c *Child, section int) {
	arrived := *(**uint32)(unsafe.Pointer(&c.Args[0]))
	if section == 0 {
		*c.Sum(0)++
		add32(arrived, 1)
	} else if uint64(load32(arrived)) != *c.Sum(0)*c.Args[1] {
		*c.Sum(1)++
	}
}

func TestSharedGate(t *testing.T) {
	const iterations = 300
	for _, n := range []int{1, 2, 5} {
		shared, err := mapShared("gate", 4096)
		if err != nil {
			t.Fatal(err)
		}
		m := Measurement{
			Kernel: "gate", Threads: n, Iterations: iterations, Sections: 2, Sums: 2,
			Body: Body{Start: Nothing, Run: gateRun, After: afterNothing, End: Nothing},
		}
		m.Args[0], m.Args[1] = uint64(uintptr(unsafe.Pointer(&shared[0]))), uint64(n)
		r, err := Measure(m)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range r.Sums {
			if s[0] != iterations+1 || s[1] != 0 {
				t.Errorf("%d children: child %d arrived %d times, want %d, and passed %d times before the others", n, i, s[0], iterations+1, s[1])
			}
		}
		if err := unmap("gate", shared); err != nil {
			t.Error(err)
		}
	}
}
