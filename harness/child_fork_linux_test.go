//go:build linux && (amd64 || arm64)

package harness

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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
