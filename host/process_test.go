package host

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestParseProcessStat(t *testing.T) {
	const tail = " S 1 2 3 0 -1 2129984 5 6 7 8 9 10 11 12 20 -5 4 0 1234 1000 10 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 3 2 1 0 0 0"
	p, err := parseProcessStat("42 (a) (b c" + ")" + tail)
	if err != nil {
		t.Fatal(err)
	}
	want := Process{PID: 42, Name: "a) (b c", State: 'S', Parent: 1, Flags: 2129984, MinorFaults: 5, MajorFaults: 7,
		User: 9 * Tick, System: 10 * Tick, Threads: 4, Start: 1234 * Tick, CPU: 3,
		Nice: -5, Policy: new(1), Priority: new(2)}
	if !reflect.DeepEqual(*p, want) || !p.KernelThread() {
		t.Errorf("got %+v, want %+v", *p, want)
	}
	for _, bad := range []string{"", "42", "42 (a", "42 a)", "x (a)" + tail, "42 (a) S 1 2", "42 (a)" + strings.Replace(tail, "1234", "-1", 1),
		"42 (a)" + strings.Replace(tail, " -5 ", " x ", 1), ")("} {
		if p, err := parseProcessStat(bad); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func TestProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc")
	}
	p, err := Local.Process(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if p.PID != os.Getpid() || p.Parent != os.Getppid() || p.KernelThread() || p.Voluntary == nil || p.Allowed == nil {
		t.Errorf("got %+v", p)
	}
	if name := filepath.Base(os.Args[0]); !strings.HasPrefix(name, p.Name) {
		t.Errorf("name %q of %q", p.Name, name)
	}
	threads, err := Local.Threads(os.Getpid())
	if err != nil || !slices.Contains(threads, os.Getpid()) {
		t.Errorf("threads %v, %v", threads, err)
	}
	thread, err := Local.Thread(os.Getpid(), threads[0])
	if err != nil || thread.PID != threads[0] {
		t.Errorf("thread %+v, %v", thread, err)
	}
	if _, err := Local.Process(1 << 30); !absent(err) {
		t.Errorf("a process that is none: %v", err)
	}
	if threads, err := Local.Threads(1 << 30); err != nil || threads != nil {
		t.Errorf("threads of none: %v, %v", threads, err)
	}
}

func TestAffinity(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip(ErrUnsupported)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	allowed, err := Affinity(0)
	if err != nil || allowed.Empty() {
		t.Fatalf("%v, %v", allowed, err)
	}
	// The kernel says the same of the main thread in two ways.
	main, err := Affinity(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p, err := Local.Process(os.Getpid())
	if err != nil || p.Allowed == nil || !p.Allowed.Equal(main) {
		t.Errorf("sched_getaffinity %v, status %v, %v", main, p.Allowed, err)
	}
	if set, err := Affinity(1 << 30); err == nil {
		t.Errorf("affinity of no thread: %v", set)
	}
}

func TestTaskSchedstat(t *testing.T) {
	if q, err := parseTaskSchedstat("100 20 3\n"); err != nil || *q != (RunQueue{100, 20, 3}) {
		t.Errorf("%v, %v", q, err)
	}
	// Three zeros are a kernel that does not count.
	if q, err := parseTaskSchedstat("0 0 0\n"); err != nil || q != nil {
		t.Errorf("%v, %v", q, err)
	}
	for _, bad := range []string{"", "1 2", "1 2 x", "1 2 -3"} {
		if q, err := parseTaskSchedstat(bad); err == nil {
			t.Errorf("%q: %v", bad, q)
		}
	}
}

func TestCPUInfo(t *testing.T) {
	info, err := parseCPUInfo([]byte("vendor_id       : IBM/S390\nprocessor 0: version = 00\n\ncpu number      : 0\ncpu MHz dynamic : 5200\n\ncpu number      : 1\n"))
	if err != nil || info[-1]["vendor_id"] != "IBM/S390" || info[0]["cpu MHz dynamic"] != "5200" || len(info) != 3 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := parseCPUInfo([]byte("Processor\t: ARMv7\nprocessor\t: none\n")); err != nil || len(info) != 1 {
		t.Errorf("%v, %v", info, err)
	}
}
