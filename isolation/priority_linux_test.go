package isolation

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseAutogroup(t *testing.T) {
	for text, want := range map[string]int{"/autogroup-91726 nice 0": 0, "/autogroup-1 nice -20": -20} {
		if got, err := parseAutogroup(text); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "/autogroup-1 nice", "/autogroup-1 nice 20", "/autogroup-1 mean 3", "/x nice 3"} {
		if got, err := parseAutogroup(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// throttled is a kernel that takes time from real-time tasks.
func throttled(release, runtime string) *knobKernel {
	return newKnobKernel(map[string]string{
		"/proc/sys/kernel/osrelease": release, "/proc/sys/kernel/sched_rt_runtime_us": runtime, "/proc/sys/kernel/sched_rt_period_us": "1000000",
	})
}

func TestFIFOWhereItIsThrottled(t *testing.T) {
	param := schedParam{1}
	if err := onThrowawayThread(func() error { return setFIFO(&param) }); errors.Is(err, unix.EPERM) {
		t.Skipf("unsupported here: SCHED_FIFO needs CAP_SYS_NICE: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		release, runtime string
		part             string // of the reason; "": it can be had
	}{
		{"6.1.0-50-cloud-amd64", "950000", "would stop the task for 50 ms of every 1000 ms"},
		{"6.1.0-50-cloud-amd64", "-1", ""},
		{"6.1.0-50-cloud-amd64", "1000000", ""},
		{"6.11.2", "950000", "would stop the task"},
		{"6.12.95", "950000", ""},
		{"6.1.0", "much", `"much" is no number`},
	} {
		r := throttled(test.release, test.runtime).run(t, Mode{FIFO: 1}, "")
		u := newFIFOLayer(r).probe(r)
		if (u == nil) != (test.part == "") || u != nil && (!strings.Contains(u.Reason, test.part) || u.Hint == "") {
			t.Errorf("%s with %s: %v", test.release, test.runtime, u)
		}
	}
}

func TestThrowawayThread(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Often enough to be offered the main thread, which never ends.
	for range 200 {
		ran := 0
		if err := onThrowawayThread(func() error { ran = unix.Gettid(); return unix.EPERM }); err != unix.EPERM || ran == 0 || ran == unix.Getpid() {
			t.Fatalf("%v, thread %d of process %d", err, ran, unix.Getpid())
		}
	}
	if after, err := unix.SchedGetAttr(0, 0); err != nil || after.Nice != before.Nice || after.Policy != before.Policy {
		t.Errorf("%+v became %+v, %v", before, after, err)
	}
}
