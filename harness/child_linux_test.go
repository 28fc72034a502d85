package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"goset/cpulist"
	"goset/isolation"
)

// roleVar makes the test binary a child with a role of its own.
const roleVar = "GOSET_TEST_ROLE"

// fifoVar names the file that the child of role "harness" holds open.
const fifoVar = "GOSET_TEST_FIFO"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == loadRole {
		playLoad(os.Args[2:])
		return
	}
	switch os.Getenv(roleVar) {
	case "":
		os.Exit(m.Run())
	case "threads":
		printMasks()
	case "clock": // CLOCK_MONOTONIC
		var now syscall.Timespec
		_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
		fmt.Println(now.Nano())
	case "spin":
		var ended atomic.Bool
		go func() {
			_, _ = os.Stdin.Read(make([]byte, 1))
			ended.Store(true)
		}()
		for !ended.Load() {
			continue
		}
	case "harness":
		r, err := NewRunner()
		if err != nil {
			panic(err)
		}
		_, err = r.Execute(context.Background(), Job{Argv: []string{"sh", "-c", `exec sleep 1000 > "$0"`, os.Getenv(fifoVar)}, Env: os.Environ()})
		panic(err)
	case "repin":
		// The main thread, whichever thread this goroutine runs on: the last
		// read-back asks for the mask of the process that has ended.
		mask := [128]byte{}
		for i := range mask {
			mask[i] = 0xff
		}
		affinityCall(syscall.SYS_SCHED_SETAFFINITY, os.Getpid(), mask[:])
	}
}

// affinityCall is sched_setaffinity or sched_getaffinity.
func affinityCall(call uintptr, tid int, mask []byte) {
	if _, _, e := syscall.RawSyscall(call, uintptr(tid), uintptr(len(mask)), uintptr(unsafe.Pointer(&mask[0]))); e != 0 {
		panic(e)
	}
}

// printMasks prints the mask of each of eight threads that live side by side.
func printMasks() {
	var here, done sync.WaitGroup
	var out sync.Mutex
	here.Add(8)
	for range 8 {
		done.Go(func() {
			runtime.LockOSThread()
			here.Done()
			here.Wait()
			mask := make([]byte, 128)
			affinityCall(syscall.SYS_SCHED_GETAFFINITY, 0, mask)
			var cpus []int
			for cpu := range 1024 {
				if mask[cpu/8]>>(cpu%8)&1 == 1 {
					cpus = append(cpus, cpu)
				}
			}
			out.Lock()
			defer out.Unlock()
			fmt.Println(cpulist.Of(cpus...))
		})
	}
	done.Wait()
}

// newRunner returns a Runner that the test closes.
func newRunner(t testing.TB) *Runner {
	t.Helper()
	r, err := NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// shell is a job for a shell script; "$0" is its first argument.
func shell(script string, args ...string) Job {
	return Job{Argv: append([]string{"sh", "-c", script}, args...), Env: os.Environ(), OutputLimit: 1 << 20, Timeout: time.Minute}
}

// execute runs a job that starts.
func execute(t *testing.T, r *Runner, job Job) Result {
	t.Helper()
	res, err := r.Execute(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// sleepTime returns a duration for sleep that no other process sleeps, so that
// the sleepers of a test can be found in the process table.
func sleepTime(t *testing.T) string {
	h := uint32(os.Getpid())
	for _, c := range t.Name() {
		h = h*31 + uint32(c)
	}
	return fmt.Sprintf("1000.%d", h)
}

// alive returns the processes of the machine that have the argument and have
// not ended.
func alive(t *testing.T, arg string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("sleep\x00"+arg+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := readStat(pid); ok && !s.ended() {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestExecuteEnds(t *testing.T) {
	r := newRunner(t)
	for _, noPidfd := range []bool{false, true} {
		r.noPidfd = noPidfd
		for _, test := range []struct {
			script string
			exit   int
			signal string
			stdout string
			stderr string
		}{
			{script: ":"},
			{script: "exit 3", exit: 3},
			{script: "kill -SEGV $$", exit: 139, signal: "SIGSEGV"},
			{script: "kill -KILL $$", exit: 137, signal: "SIGKILL"},
			{script: "echo out; echo err >&2; exit 1", exit: 1, stdout: "out\n", stderr: "err\n"},
			{script: "cat", stdout: ""},
			{script: "sleep 0.01 && echo late", stdout: "late\n"},
		} {
			res := execute(t, r, shell(test.script))
			if res.Exit != test.exit || res.Signal != test.signal || string(res.Stdout.Head) != test.stdout || string(res.Stderr.Head) != test.stderr {
				t.Errorf("%q: exit %d, signal %q, stdout %q, stderr %q; want %d, %q, %q, %q", test.script,
					res.Exit, res.Signal, res.Stdout.Head, res.Stderr.Head, test.exit, test.signal, test.stdout, test.stderr)
			}
			if res.TimedOut || res.Interrupted || res.Leftover != 0 || res.Unkilled != nil || len(res.Layers) != 0 {
				t.Errorf("%q: timed out %t, interrupted %t, leftover %d, unkilled %v, layers %v; want none of it", test.script,
					res.TimedOut, res.Interrupted, res.Leftover, res.Unkilled, res.Layers)
			}
			if floor := RSSFloor(); res.Wall <= 0 || res.MaxRSS <= 0 || floor <= 0 || res.Start.IsZero() {
				t.Errorf("%q: wall %v, peak %d, floor %d, start %v; want all of them", test.script, res.Wall, res.MaxRSS, floor, res.Start)
			}
		}
	}
}

func TestExecuteTakesUsage(t *testing.T) {
	// A buffer of 128 MiB, which is above any floor of this test.
	job := shell("dd if=/dev/zero of=/dev/null bs=134217728 count=4 2>/dev/null; sleep 0.01")
	res := execute(t, newRunner(t), job)
	if res.Wall < 10*time.Millisecond {
		t.Errorf("wall is %v for a child that sleeps 10 ms", res.Wall)
	}
	if res.User+res.Sys <= 0 || res.MinorFaults == 0 || res.Voluntary == 0 {
		t.Errorf("user %v, system %v, minor faults %d, voluntary switches %d; want all of them", res.User, res.Sys, res.MinorFaults, res.Voluntary)
	}
	if res.MaxRSS < 128<<20 || res.MaxRSS > 1<<30 {
		t.Errorf("peak RSS is %d bytes for a child that touches 128 MiB", res.MaxRSS)
	}
}

func TestExecuteGivesTheWholeEnvironment(t *testing.T) {
	r := newRunner(t)
	dir := t.TempDir()
	job := Job{Argv: []string{"env"}, Env: []string{"A=1", "B=x y"}, Dir: dir, OutputLimit: 1 << 10}
	if got := string(execute(t, r, job).Stdout.Head); got != "A=1\nB=x y\n" {
		t.Errorf("the child sees %q", got)
	}
	job.Argv = []string{"pwd", "-P"}
	if got := string(execute(t, r, job).Stdout.Head); got != dir+"\n" {
		t.Errorf("the child works in %q, want %q", got, dir)
	}
	job.Argv, job.Env = []string{"env"}, nil
	if got := string(execute(t, r, job).Stdout.Head); got != "" {
		t.Errorf("a child without environment sees %q", got)
	}
}

func TestExecuteTimesOut(t *testing.T) {
	r := newRunner(t)
	arg := sleepTime(t)
	job := shell(`setsid sleep $0 & setsid sh -c "sleep $0 & sleep $0 &" & (sleep $0 &) ; sleep $0`, arg)
	job.Timeout = 300 * time.Millisecond
	res := execute(t, r, job)
	if !res.TimedOut || res.Interrupted {
		t.Errorf("timed out %t, interrupted %t", res.TimedOut, res.Interrupted)
	}
	if res.Signal != "SIGTERM" || res.Exit != 143 {
		t.Errorf("signal %q, exit %d; want SIGTERM, 143", res.Signal, res.Exit)
	}
	if left := alive(t, arg); left != nil {
		t.Errorf("processes %v outlived the run", left)
	}
	if anyChild() {
		t.Error("a process was not waited for")
	}
}

func TestExecuteKillsWhatIgnoresSIGTERM(t *testing.T) {
	arg := sleepTime(t)
	job := shell(`trap '' TERM; setsid sleep $0 & while :; do sleep $0; done`, arg)
	job.Timeout = 200 * time.Millisecond
	res := execute(t, newRunner(t), job)
	if !res.TimedOut || res.Signal != "SIGKILL" || res.Exit != 137 {
		t.Errorf("timed out %t, signal %q, exit %d; want true, SIGKILL, 137", res.TimedOut, res.Signal, res.Exit)
	}
	if left := alive(t, arg); left != nil {
		t.Errorf("processes %v outlived the run", left)
	}
}

// TestNobodyHandlesTheEndOfAChild: while there is a Runner, SIGCHLD reaches no
// handler of this process, and afterwards the Go runtime's again.
func TestNobodyHandlesTheEndOfAChild(t *testing.T) {
	caught := func() bool {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\nSigCgt:\t")
		mask, err := strconv.ParseUint(rest[:16], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return mask>>(syscall.SIGCHLD-1)&1 != 0
	}
	before := caught()
	r, err := NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	if execute(t, r, shell("exit 3")).Exit != 3 || caught() {
		t.Errorf("SIGCHLD is caught: %t, want a child that is waited for without it", caught())
	}
	if err := r.Close(); err != nil || caught() != before {
		t.Errorf("after the last run SIGCHLD is caught: %t, before the first: %t (%v)", caught(), before, err)
	}
}

func TestExecuteIsInterrupted(t *testing.T) {
	r := newRunner(t)
	arg := sleepTime(t)
	ready := filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Runs of one context share what wakes them at its end.
	if res, err := r.Execute(ctx, shell("echo first")); err != nil || res.Interrupted || string(res.Stdout.Head) != "first\n" {
		t.Errorf("a run before: %+v, %v", res, err)
	}
	started := make(chan error, 1)
	go func() {
		// Opens once the child opens it, after it has started its own.
		_, err := os.ReadFile(ready)
		started <- err
		cancel()
	}()
	res, err := r.Execute(ctx, shell(`setsid sleep $0 & echo begun; : > "$1"; sleep $0`, arg, ready))
	if err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if !res.Interrupted || res.TimedOut || string(res.Stdout.Head) != "begun\n" {
		t.Errorf("interrupted %t, timed out %t, stdout %q", res.Interrupted, res.TimedOut, res.Stdout.Head)
	}
	if left := alive(t, arg); left != nil {
		t.Errorf("processes %v outlived the run", left)
	}
	if n, err := syscall.Read(r.wake[0], make([]byte, 1)); err != syscall.EAGAIN {
		t.Errorf("what woke the run is left for the next one: %d, %v", n, err)
	}
	if res, err := r.Execute(ctx, shell("echo never")); err != nil || !res.Interrupted || res.Stdout.Total != 0 {
		t.Errorf("after the context has ended: %+v, %v", res, err)
	}
	// What woke the interrupted run must not end the next one.
	if res := execute(t, r, shell("echo again")); res.Interrupted || string(res.Stdout.Head) != "again\n" {
		t.Errorf("the next run: interrupted %t, stdout %q", res.Interrupted, res.Stdout.Head)
	}
}

func TestExecuteEndsWhatHoldsThePipe(t *testing.T) {
	r := newRunner(t)
	arg := sleepTime(t)
	for _, test := range []struct {
		summary, script string
		left            int
	}{
		{"in the background", "sleep $0 & echo hi", 1},
		{"in a session of its own", "setsid sleep $0 & echo hi", 1},
		{"a daemon", `setsid sh -c "sleep $0 & sleep $0 &" ; echo hi`, 2},
		{"it ignores everything", "trap '' TERM HUP INT; sleep $0 & echo hi", 1},
	} {
		res := execute(t, r, shell(test.script, arg))
		if res.Exit != 0 || string(res.Stdout.Head) != "hi\n" || res.Leftover != test.left || res.TimedOut {
			t.Errorf("%s: exit %d, stdout %q, leftover %d, timed out %t; want 0, hi, %d, false", test.summary, res.Exit, res.Stdout.Head, res.Leftover, res.TimedOut, test.left)
		}
		if res.Wall > 30*time.Second {
			t.Errorf("%s: the wall time %v holds the leftover's", test.summary, res.Wall)
		}
		if left := alive(t, arg); left != nil {
			t.Errorf("%s: processes %v outlived the run", test.summary, left)
		}
	}
	// One that never stops writing.
	res := execute(t, r, shell("yes & echo hi"))
	if res.Leftover != 1 || res.Stdout.Total < 3 {
		t.Errorf("yes: leftover %d, %d bytes", res.Leftover, res.Stdout.Total)
	}
}

// TestExecuteKeepsLastWords has a grandchild write once its parent is reaped. It
// has only a moment for that before it is killed, so it gets some tries.
func TestExecuteKeepsLastWords(t *testing.T) {
	r := newRunner(t)
	for range 100 {
		res := execute(t, r, shell(`(while kill -0 $$ 2>/dev/null; do :; done; echo late) & :`))
		if string(res.Stdout.Head) == "late\n" {
			return
		}
	}
	t.Error("what a grandchild writes after the child's end is lost")
}

func TestChildDiesWithTheHarness(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=harness", fifoVar+"="+fifo)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Opens when the child opens it, and ends with the child.
	held, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = held.Read(make([]byte, 1))
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the child is alive 30 s after the harness was killed")
	}
}

func TestExecuteSparesWhatIsNotTheRuns(t *testing.T) {
	r := newRunner(t)
	arg := sleepTime(t)
	start := func() *exec.Cmd {
		cmd := exec.Command("sleep", arg)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	first, second := start(), start()
	for _, script := range []string{"sleep $0 & :", ":"} {
		execute(t, r, shell(script, arg))
	}
	job := shell("sleep $0", arg)
	job.Timeout = 50 * time.Millisecond
	if res := execute(t, r, job); !res.TimedOut {
		t.Error("the run did not time out")
	}
	want := map[int]bool{first.Process.Pid: true, second.Process.Pid: true}
	got := alive(t, arg)
	for _, pid := range got {
		if !want[pid] {
			t.Errorf("process %d of a run is alive", pid)
		}
	}
	if len(got) != len(want) {
		t.Errorf("alive are %v, want %v", got, want)
	}
}

func TestExecuteBoundsMemory(t *testing.T) {
	r := newRunner(t)
	const size = 200_000_000
	job := Job{Argv: []string{"head", "-c", strconv.Itoa(size), "/dev/zero"}, Env: os.Environ(), OutputLimit: 1 << 20, Timeout: time.Minute}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := execute(t, r, job)
	runtime.ReadMemStats(&after)
	if res.Stdout.Total != size || len(res.Stdout.Head) != 1<<20 || len(res.Stdout.Tail) != tailSize {
		t.Errorf("total %d, head %d, tail %d", res.Stdout.Total, len(res.Stdout.Head), len(res.Stdout.Tail))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d bytes were allocated for 1 MiB of kept output", used)
	}
}

func TestExecuteInOrder(t *testing.T) {
	res := execute(t, newRunner(t), shell("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done"))
	var want strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if string(res.Stdout.Head) != want.String() {
		t.Errorf("%d bytes arrived, want %d in their order", res.Stdout.Total, want.Len())
	}
}

func TestStartErrors(t *testing.T) {
	r := newRunner(t)
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	path := []string{"PATH=" + dir + ":relative"}
	for _, test := range []struct {
		summary string
		job     Job
		exit    int
		part    string
	}{
		{"no such name", Job{Argv: []string{"nowhere"}, Env: path}, 127, `cannot start "nowhere": not found in PATH`},
		{"no such file", Job{Argv: []string{dir + "/nowhere"}}, 127, "no such file"},
		{"no mode bit, by name", Job{Argv: []string{filepath.Base(write("plain", "#!/bin/sh\n", 0o600))}, Env: path}, 126, "not executable"},
		{"no mode bit, by path", Job{Argv: []string{dir + "/plain"}}, 126, "chmod +x"},
		{"a folder", Job{Argv: []string{dir}}, 126, "it is a folder"},
		{"no format", Job{Argv: []string{write("text", "echo hi\n", 0o700)}}, 126, "#! line"},
		{"no interpreter", Job{Argv: []string{write("script", "#!/nowhere/sh\n", 0o700)}}, 126, "interpreter"},
		{"no working folder", Job{Argv: []string{"/bin/sh"}, Dir: dir + "/gone"}, 126, "working folder"},
		{"relative to the working folder", Job{Argv: []string{"./nowhere"}, Dir: dir}, 127, dir + "/nowhere"},
		{"too long", Job{Argv: []string{"/bin/sh", strings.Repeat("x", 1<<20)}}, 126, "too long"},
	} {
		_, err := r.Execute(context.Background(), test.job)
		var fault *StartError
		if !errors.As(err, &fault) || fault.ExitCode() != test.exit || !strings.Contains(err.Error(), test.part) {
			t.Errorf("%s: %v; want a StartError of %d with %q", test.summary, err, test.exit, test.part)
		}
	}
	if _, err := r.Execute(context.Background(), Job{}); err == nil {
		t.Error("an empty command was started")
	}
	if anyChild() {
		t.Error("a process was not waited for")
	}
}

func TestCommandVanishes(t *testing.T) {
	r := newRunner(t)
	first, second := t.TempDir(), t.TempDir()
	script := func(dir, says string) {
		if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\necho "+says+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	job := Job{Argv: []string{"tool"}, Env: []string{"PATH=" + first + ":" + second}, OutputLimit: 100}
	script(first, "one")
	if got := string(execute(t, r, job).Stdout.Head); got != "one\n" {
		t.Fatalf("the tool says %q", got)
	}
	if err := os.Remove(filepath.Join(first, "tool")); err != nil {
		t.Fatal(err)
	}
	var fault *StartError
	if _, err := r.Execute(context.Background(), job); !errors.As(err, &fault) || !fault.Missing {
		t.Fatalf("after it vanished: %v", err)
	}
	script(second, "two")
	if got := string(execute(t, r, job).Stdout.Head); got != "two\n" {
		t.Errorf("the other tool says %q", got)
	}
}

// twoCPUs returns the CPUs of this process, of which the tests need two.
func twoCPUs(t *testing.T) cpulist.Set {
	t.Helper()
	allowed, err := isolation.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	if allowed.Len() < 2 {
		t.Skip("unsupported here: only one CPU is allowed")
	}
	return allowed
}

// role is a job that runs this test binary in a role, on a CPU.
func role(name string, cpus cpulist.Set) Job {
	return Job{
		Argv: []string{os.Args[0]}, Env: append(os.Environ(), roleVar+"="+name), OutputLimit: 1 << 20, Timeout: time.Minute,
		Layers: isolation.Mode{Name: "pinned", CPUs: cpus.String()}, CPUs: cpus,
	}
}

func TestAffinityHoldsForEveryThread(t *testing.T) {
	allowed := twoCPUs(t)
	r := newRunner(t)
	for _, cpu := range allowed.CPUs()[:2] {
		res := execute(t, r, role("threads", cpulist.Of(cpu)))
		if want := strings.Repeat(fmt.Sprintf("%d\n", cpu), 8); string(res.Stdout.Head) != want {
			t.Errorf("the threads saw %q, want %q", res.Stdout.Head, want)
		}
		if len(res.Layers) != 1 {
			t.Fatalf("layers %+v", res.Layers)
		}
		s := res.Layers[0]
		if s.Layer != "cpus" || s.Asked != strconv.Itoa(cpu) || s.Achieved != s.Asked || !s.Held {
			t.Errorf("state %+v", s)
		}
		all, ok := res.Counters[CounterInterrupts]
		if device := res.Counters[CounterDevice]; !ok && r.irqs.file != nil || all < device {
			t.Errorf("counters %v", res.Counters)
		}
	}
	if now, err := isolation.Allowed(); err != nil || !now.Equal(allowed) {
		t.Errorf("the harness is left on %v, %v; want %v", now, err, allowed)
	}
}

func TestAffinityThatTheChildResetsIsNotHeld(t *testing.T) {
	allowed := twoCPUs(t)
	res := execute(t, newRunner(t), role("repin", cpulist.Of(allowed.First())))
	if res.Exit != 0 || len(res.Layers) != 1 {
		t.Fatalf("exit %d, stderr %q, layers %+v", res.Exit, res.Stderr.Head, res.Layers)
	}
	s := res.Layers[0]
	if s.Held || s.Achieved != allowed.String() || !strings.Contains(s.Note, "allowed on CPUs") {
		t.Errorf("state %+v; want it not held, with the thread named", s)
	}
}

func TestAffinityOfGrandchildrenIsReadBack(t *testing.T) {
	allowed := twoCPUs(t)
	// The grandchild widens its mask and lives beyond the first look.
	job := role("threads", cpulist.Of(allowed.First()))
	job.Argv = []string{"sh", "-c", `"$0"; taskset -c "$1" sleep 0.2; :`, "true", allowed.String()}
	res := execute(t, newRunner(t), job)
	if res.Exit != 0 || len(res.Layers) != 1 || res.Layers[0].Held {
		t.Errorf("exit %d, stderr %q, layers %+v; want them not held", res.Exit, res.Stderr.Head, res.Layers)
	}
}

// A nice value counts against other sessions in a session of its own alone.
func TestNiceTaskLeadsASession(t *testing.T) {
	switch text, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled"); {
	case errors.Is(err, fs.ErrNotExist), err == nil && string(text) == "0\n":
		t.Skipf("unsupported here: no autogroups (%q, %v)", text, err)
	case err != nil:
		t.Fatal(err)
	}
	job := shell(`read -r pid name state parent group session rest < /proc/$$/stat; echo $pid $group $session`)
	nice := 5
	for _, job.Layers.Nice = range []*int{nil, &nice} {
		res := execute(t, newRunner(t), job)
		f := strings.Fields(string(res.Stdout.Head))
		if len(f) != 3 || f[0] != f[1] || (f[0] == f[2]) != (job.Layers.Nice != nil) {
			t.Errorf("nice %v: process, group and session are %v", job.Layers.Nice != nil, f)
		}
	}
}

func TestLayersAreRefusedOrRecorded(t *testing.T) {
	r := newRunner(t)
	job := shell("echo ran")
	job.Layers = isolation.Mode{Name: "goset", Steer: true}
	var u *isolation.Unsupported
	if res, err := r.Execute(context.Background(), job); !errors.As(err, &u) || u.Layer != "steer" || res.Stdout.Total != 0 {
		t.Errorf("a layer that is not there: %+v, %v", res, err)
	}
	job.Layers.Optional = []string{"steer"}
	res := execute(t, r, job)
	if string(res.Stdout.Head) != "ran\n" || len(res.Layers) != 1 || res.Layers[0].Layer != "steer" || res.Layers[0].Held || !res.Layers[0].Optional {
		t.Errorf("stdout %q, layers %+v", res.Stdout.Head, res.Layers)
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestManyRunsLeakNothing(t *testing.T) {
	r := newRunner(t)
	for _, noPidfd := range []bool{false, true} {
		r.noPidfd = noPidfd
		job := Job{Argv: []string{"true"}, Env: os.Environ()}
		ctx, cancel := context.WithCancel(context.Background())
		if _, err := r.Execute(ctx, job); err != nil {
			t.Fatal(err)
		}
		// The pipes that are kept for the next run come and go with how long a
		// run took.
		held := func() int { return openFiles(t) - 2*len(r.spare) }
		before := held()
		for range 1000 {
			if res, err := r.Execute(ctx, job); err != nil || res.Exit != 0 {
				t.Fatalf("%+v, %v", res, err)
			}
			r.Quiet()
		}
		cancel()
		if len(r.spare) > 2 {
			t.Errorf("%d pipes are kept", len(r.spare))
		}
		if after := held(); after > before+1 {
			t.Errorf("descriptors went from %d to %d", before, after)
		}
		if anyChild() {
			t.Error("a process was not waited for")
		}
	}
}

func TestRunnerTurnsTheCollectorOff(t *testing.T) {
	was := debug.SetGCPercent(123)
	defer debug.SetGCPercent(was)
	r, err := NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	if got := debug.SetGCPercent(-1); got != -1 {
		t.Errorf("GOGC is %d while a Runner is open", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := debug.SetGCPercent(123); got != 123 {
		t.Errorf("GOGC is %d after Close, want 123", got)
	}
}

func TestQuietCollects(t *testing.T) {
	r := newRunner(t)
	var count debug.GCStats
	debug.ReadGCStats(&count)
	was := count.NumGC
	r.Quiet()
	if debug.ReadGCStats(&count); count.NumGC != was {
		t.Error("Quiet collected though nothing had grown")
	}
	sink := make([][]byte, 0, 64)
	for range 2 * heapGrowth >> 20 {
		sink = append(sink, make([]byte, 1<<20))
	}
	r.Quiet()
	if debug.ReadGCStats(&count); count.NumGC == was {
		t.Errorf("Quiet did not collect after %d MiB", len(sink))
	}
	runtime.KeepAlive(sink)
}
