package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// terminal is a pseudo-terminal with an interactive shell on it.
type terminal struct {
	t      *testing.T
	master *os.File
	said   bytes.Buffer
}

// newTerminal starts a shell with job control, as a person has it.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("unsupported here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	var unlock, number int32
	control := func(request uintptr, arg *int32) {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(arg))); e != 0 {
			t.Fatal(e)
		}
	}
	control(syscall.TIOCSPTLCK, &unlock)
	control(syscall.TIOCGPTN, &number)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	shell := exec.Command("/bin/sh", "-i")
	shell.Env = append(os.Environ(), "PS1=", "ENV=")
	shell.Stdin, shell.Stdout, shell.Stderr = slave, slave, slave
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shell.Process.Kill(); err != nil {
			t.Log(err)
		}
		_, _ = shell.Process.Wait()
	})
	return &terminal{t: t, master: master}
}

func (x *terminal) write(text string) {
	x.t.Helper()
	if _, err := x.master.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
}

// until reads up to a text, and fails when it does not come.
func (x *terminal) until(text string) string {
	x.t.Helper()
	deadline := time.Now().Add(time.Minute)
	buf := make([]byte, 4096)
	for !strings.Contains(x.said.String(), text) {
		if time.Now().After(deadline) {
			x.t.Fatalf("no %q in %q", text, x.said.String())
		}
		if err := waitReadable(x.master, time.Second); err != nil {
			continue
		}
		n, err := x.master.Read(buf)
		if err != nil {
			x.t.Fatalf("%v, after %q", err, x.said.String())
		}
		x.said.Write(buf[:n])
	}
	all := x.said.String()
	before, after, _ := strings.Cut(all, text)
	x.said.Reset()
	x.said.WriteString(after)
	return before
}

// untilStopped waits for a process to be stopped.
func (x *terminal) untilStopped(pid string) {
	x.t.Helper()
	x.untilFile("/proc/"+pid+"/stat", "stopped", func(text string) bool { return strings.Contains(text, ") T ") })
}

// untilReading waits for a process to wait for its input. A shell that gets a
// signal just before runs its trap only after the next line. Kernels may be built
// without the file that tells; there the signal is hoped to come later.
func (x *terminal) untilReading(pid string) {
	x.t.Helper()
	call, path := fmt.Sprintf("%d 0x0 ", syscall.SYS_READ), "/proc/"+pid+"/syscall"
	if _, err := os.ReadFile(path); errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return
	}
	x.untilFile(path, "reading", func(text string) bool { return strings.HasPrefix(text, call) })
}

// untilFile waits for a file of a process to say that it is so.
func (x *terminal) untilFile(path, what string, is func(text string) bool) {
	x.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		text, err := os.ReadFile(path)
		if err != nil {
			x.t.Fatal(err)
		}
		if is(string(text)) {
			return
		}
		_ = waitReadable(x.master, 10*time.Millisecond)
	}
	x.t.Fatalf("who has %s is not %s", path, what)
}

// waitReadable bounds a read of a file that has no deadlines.
func waitReadable(f *os.File, limit time.Duration) error {
	type pollFD struct {
		fd     int32
		events int16
		_      int16
	}
	fds := [1]pollFD{{fd: int32(f.Fd()), events: 1}}
	wait := syscall.NsecToTimespec(int64(limit))
	n, _, e := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1, uintptr(unsafe.Pointer(&wait)), 0, 0, 0)
	if e != 0 {
		return e
	}
	if n == 0 {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// counting is a task that says what signals it gets, and ends when told so by
// its input.
const counting = `goset -sample 0 -quiet -- sh -c 'trap "echo got-INT" INT; trap "echo got-TERM" TERM; echo u""p-$$-; while ! read x; do :; done; echo read-"$x"; exit 6'` + "\n"

// TestTerminalSignals: what the terminal sends comes to the task once, and the
// task reads from the terminal.
func TestTerminalSignals(t *testing.T) {
	x := newTerminal(t)
	x.write(counting)
	x.until("up-")
	x.untilReading(x.until("-\r\n"))
	x.write("\x03")
	x.until("got-INT\r\n")
	x.write("hello\n")
	if before := x.until("read-hello\r\n"); strings.Contains(before, "got-INT") {
		t.Errorf("one Ctrl-C came twice: %q", before)
	}
	x.write("echo status-$?\n")
	x.until("status-6\r\n")
}

// TestJobControl: Ctrl-Z stops goset with its task, and fg continues both.
func TestJobControl(t *testing.T) {
	x := newTerminal(t)
	x.write(counting)
	x.until("up-")
	task := x.until("-\r\n")
	x.write("\x1a")
	x.until("Stopped")
	// The shell is told that goset has stopped. A task that has not yet, on a
	// busy machine, would take a part of what is typed next.
	x.untilStopped(task)
	x.write("fg\n")
	x.until("goset -sample")
	x.write("again\n")
	x.until("read-again\r\n")
	x.write("echo status-$?\n")
	x.until("status-6\r\n")
}

// TestPipelineReadsTheTerminal: in a pipeline, too, the task is in the
// foreground.
func TestPipelineReadsTheTerminal(t *testing.T) {
	x := newTerminal(t)
	x.write(strings.TrimSuffix(counting, "\n") + " | cat\n")
	x.until("up-")
	x.until("-\r\n")
	x.write("there\n")
	x.until("read-there\r\n")
}
