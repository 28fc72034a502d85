package isolation

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHurryIsTheThreadsAlone(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	nice := func(tid int) int {
		t.Helper()
		v, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
		if err != nil {
			t.Fatal(err)
		}
		return 20 - v
	}
	before, main := nice(0), nice(os.Getpid())
	leave, err := Hurry()
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		t.Skip("unsupported here: raising the priority needs CAP_SYS_NICE")
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := nice(0); got != -20 {
		t.Errorf("nice is %d, want -20", got)
	}
	if got := nice(os.Getpid()); unix.Gettid() != os.Getpid() && got != main {
		t.Errorf("nice of the main thread is %d, want %d", got, main)
	}
	if err := leave(); err != nil {
		t.Fatal(err)
	}
	if got := nice(0); got != before {
		t.Errorf("nice is %d afterwards, want %d", got, before)
	}
}
