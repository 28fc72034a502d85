//go:build linux && (amd64 || arm64)

package harness

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"goset/cpulist"
	"goset/isolation"
)

// TestStartIsNotLate compares the start with the first thing that the child
// does, on a machine with more to do than CPUs: the parent gets to run late
// there, and must not take that for the child's start.
func TestStartIsNotLate(t *testing.T) {
	r := newRunner(t)
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVar+"=spin")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		busy.Go(func() {
			<-stop
			in.Close()
			_ = cmd.Wait()
		})
	}
	defer busy.Wait()
	defer close(stop)
	job := role("clock", cpulist.Set{})
	job.Layers = isolation.Mode{}
	for range 20 {
		before := time.Now()
		res := execute(t, r, job)
		said, err := strconv.ParseInt(strings.TrimSpace(string(res.Stdout.Head)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first := sinceMonotonic(syscall.NsecToTimespec(said))
		// Both come out of sinceMonotonic, which is not exact: the child takes
		// far longer from its exec to its main function.
		if res.Start.Before(before) || !res.Start.Before(first) {
			t.Errorf("the start is %v after the call and %v after the child's first reading", res.Start.Sub(before), res.Start.Sub(first))
		}
	}
}

// TestChildInherits checks what a fork must not pass on from this process, or
// must.
func TestChildInherits(t *testing.T) {
	r := newRunner(t)
	checkInherits(t, r)
	// As on kernels before 5.5.
	r.forker.clone3 = false
	r.forker.common()
	checkInherits(t, r)
}

func checkInherits(t *testing.T, r *Runner) {
	t.Helper()
	// Programs rather than a shell, which catches signals and opens files of
	// its own.
	says := func(argv ...string) string {
		return string(execute(t, r, Job{Argv: argv, Env: os.Environ(), OutputLimit: 1 << 16}).Stdout.Head)
	}
	// This process may have inherited files that it passes on.
	want, err := exec.Command("ls", "/proc/self/fd").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := says("ls", "/proc/self/fd"); got != string(want) {
		t.Errorf("its descriptors are %q, those of os/exec's child %q", got, want)
	}
	for _, line := range strings.Split(says("cat", "/proc/self/status"), "\n") {
		name, mask, _ := strings.Cut(line, ":")
		if (name == "SigBlk" || name == "SigCgt") && strings.Trim(mask, "\t0") != "" {
			t.Errorf("it starts with signals: %s", line)
		}
	}
	got := strings.Fields(says("sh", "-c", "ulimit -n; cut -d' ' -f5 /proc/$$/stat; echo $$"))
	if len(got) != 3 {
		t.Fatalf("the child says %q", got)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if want, ok := foundLimit(); !ok || got[0] != strconv.FormatUint(want.Cur, 10) {
		t.Errorf("its limit of files is %s, want %d (this process has raised its own to %d)", got[0], want.Cur, limit.Cur)
	}
	own, err := os.ReadFile("/proc/self/timerslack_ns")
	if err != nil {
		t.Fatal(err)
	}
	for job, want := range map[time.Duration]string{0: string(own), KernelSlack: "10000000\n"} {
		res := execute(t, r, Job{Argv: []string{"cat", "/proc/self/timerslack_ns"}, Env: os.Environ(), OutputLimit: 1 << 10, TimerSlack: job})
		if got := string(res.Stdout.Head); got != want {
			t.Errorf("asked for a timer slack of %v, it has %q, want %q", job, got, want)
		}
	}
	if got[1] != got[2] {
		t.Errorf("its process group is %s, want its own, %s", got[1], got[2])
	}
}

// execMode has every layer of what a child has from its exec on.
func execMode() isolation.Mode {
	no := false
	return isolation.Mode{Name: "m", ASLR: &no, StableEnv: true, EnvSize: 64 << 10, THP: "never"}
}

// TestNothingIsReadBeforeTheExec holds a child between its fork and its exec,
// where its memory is this process's, and lets it go on.
func TestNothingIsReadBeforeTheExec(t *testing.T) {
	r := newRunner(t)
	r.forker.settle()
	held, err := (*isolation.Session)(nil).Apply(execMode(), cpulist.Set{})
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := held.Command(isolation.Command{Argv: []string{"sleep", sleepTime(t)}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	var hold [2]int
	if err := syscall.Pipe2(hold[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer closeAll(hold[0], hold[1])
	var waits [1]byte
	c := &child{exit: -1}
	thread, done, over := make(chan int, 1), make(chan error, 1), make(chan struct{})
	defer close(over)
	go func() {
		runtime.LockOSThread()
		defer func() { <-over }() // the child ends with the thread
		thread <- syscall.Gettid()
		_, err := held.Start(func(b isolation.Birth) (int, error) {
			b.Calls = append(b.Calls, isolation.Call{What: "wait", Nr: syscall.SYS_READ, Args: [5]uintptr{uintptr(hold[0]), uintptr(unsafe.Pointer(&waits)), 1}, Hold: &waits})
			err := r.forker.fork(c, Job{Argv: cmd.Argv, Env: cmd.Env, Foreground: true}, path, r.null, true, b)
			return c.pid, err
		})
		done <- err
	}()
	// Only the kernel knows the child's number before its exec.
	children := fmt.Sprintf("/proc/self/task/%d/children", <-thread)
	pid := 0
	for pid == 0 {
		text, err := os.ReadFile(children)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Sscan(string(text), &pid)
	}
	held.Check(pid)
	held.CheckExec(pid)
	if !held.Unread() {
		t.Errorf("before its exec the child was read: %+v", held.States())
	}
	later := newExecLooks(&child{pid: pid}, held)
	due, pause := later.due, later.pause
	if later.look(due.Add(-1)); later.due != due {
		t.Error("it looked before it was due")
	}
	if later.look(due); later.due != due.Add(2*pause) {
		t.Errorf("it looks %v after a look in vain, want %v", later.due.Sub(due), 2*pause)
	}
	if _, err := syscall.Write(hold[1], []byte{0}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); held.Unread(); held.CheckExec(pid) {
		if time.Now().After(end) {
			t.Fatalf("never past its exec: %+v", held.States())
		}
	}
	if later.look(later.due); !later.due.IsZero() {
		t.Error("it goes on looking when all was read")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if _, err := wait4(pid, nil, 0, nil); err != nil {
		t.Error(err)
	}
	closeAll(c.exit)
	if err := held.Release(); err != nil {
		t.Error(err)
	}
	for _, s := range held.States() {
		if !s.Held || s.Unread {
			t.Errorf("%+v", s)
		}
	}
}

// TestExecLooksEnd leaves what cannot be read to the other looks.
func TestExecLooksEnd(t *testing.T) {
	held, err := (*isolation.Session)(nil).Apply(execMode(), cpulist.Set{})
	if err != nil {
		t.Fatal(err)
	}
	looks := newExecLooks(&child{pid: 1 << 30}, held) // there is no such process
	n := 0
	for ; !looks.due.IsZero() && n < 100; n++ {
		looks.look(looks.due)
	}
	if n == 0 || n == 100 || looks.pause < firstLook {
		t.Errorf("%d looks up to a pause of %v", n, looks.pause)
	}
	if err := held.Release(); err != nil {
		t.Error(err)
	}
}

// TestShortChildrenAreNotTorn runs commands that end while they are read.
func TestShortChildrenAreNotTorn(t *testing.T) {
	r := newRunner(t)
	read := 0
	for range 300 {
		res := execute(t, r, Job{Argv: []string{"true"}, Env: os.Environ(), Layers: execMode()})
		for _, s := range res.Layers {
			if !s.Held || s.Achieved != s.Asked {
				t.Fatalf("%+v", s)
			}
			if !s.Unread {
				read++
			}
		}
	}
	t.Logf("%d of %d layers were read back", read, 300*4)
}
