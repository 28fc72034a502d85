//go:build linux && amd64

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracer runs a command and looks at every system call of its threads, but not
// of its children, by which it changes the machine or its journal: the points.
type tracer struct {
	stateDir string
	killAt   int // the number of the point before which it is killed; 0: none
	// first is done before the kill, while the command stands still.
	first func(pid int)

	pid    int
	points int
	killed string // what the point was
}

// trace runs the command to its end and returns what it printed.
func (t *tracer) trace(argv []string) (string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out bytes.Buffer
	file, err := scratch()
	if err != nil {
		return "", err
	}
	defer file.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	t.pid = cmd.Process.Pid
	if err := t.follow(); err != nil {
		return "", err
	}
	if _, err := file.Seek(0, 0); err != nil {
		return "", err
	}
	_, err = out.ReadFrom(file)
	return out.String(), err
}

// follow drives the command from stop to stop until it is gone.
func (t *tracer) follow() error {
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &status, unix.WALL, nil); err != nil {
		return err
	}
	const options = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(t.pid, options); err != nil {
		return err
	}
	if err := unix.PtraceSyscall(t.pid, 0); err != nil {
		return err
	}
	for {
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return err
		}
		if status.Exited() || status.Signaled() {
			if tid == t.pid {
				return nil
			}
			continue
		}
		t.stopped(tid, status)
	}
}

// stopped deals with one stop and lets the thread go on. Its errors are those
// of a thread that was killed meanwhile: the next wait tells.
func (t *tracer) stopped(tid int, status unix.WaitStatus) {
	signal := 0
	switch {
	case status.StopSignal() == unix.SIGTRAP|0x80:
		if what := t.point(tid); what != "" {
			t.points++
			if t.points == t.killAt {
				t.killed = what
				if t.first != nil {
					t.first(t.pid)
				}
				_ = unix.Kill(t.pid, unix.SIGKILL)
				return
			}
		}
	case status.StopSignal() == unix.SIGTRAP, status.StopSignal() == unix.SIGSTOP:
		// Of the tracing itself: a new program, a new thread.
	default:
		signal = int(status.StopSignal())
	}
	_ = unix.PtraceSyscall(tid, signal)
}

// syscallInfo is struct ptrace_syscall_info of include/uapi/linux/ptrace.h.
type syscallInfo struct {
	op   uint8
	_    [3]uint8
	arch uint32
	_    [2]uint64 // instruction and stack pointer
	nr   uint64
	args [6]uint64
}

const (
	ptraceGetSyscallInfo = 0x420e
	syscallEntry         = 1
)

// point says what a thread is about to change; "": nothing that counts.
func (t *tracer) point(tid int) string {
	var info syscallInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, ptraceGetSyscallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 || info.op != syscallEntry {
		return ""
	}
	onFile := func(name string) string { return t.onPath(name, t.link(fmt.Sprintf("fd/%d", int32(info.args[0])))) }
	switch info.nr {
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV:
		return onFile("write")
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		return onFile("sync")
	case unix.SYS_FTRUNCATE:
		return onFile("truncate")
	case unix.SYS_MKDIR:
		return t.onPath("mkdir", t.at(tid, unix.AT_FDCWD, info.args[0]))
	case unix.SYS_RMDIR, unix.SYS_UNLINK:
		return t.onPath("remove", t.at(tid, unix.AT_FDCWD, info.args[0]))
	case unix.SYS_MKDIRAT:
		return t.onPath("mkdir", t.at(tid, int32(info.args[0]), info.args[1]))
	case unix.SYS_UNLINKAT:
		return t.onPath("remove", t.at(tid, int32(info.args[0]), info.args[1]))
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		return t.onPath("rename", t.at(tid, int32(info.args[0]), info.args[1]))
	case unix.SYS_SCHED_SETAFFINITY:
		return t.onTask("affinity", int(int32(info.args[0])))
	case unix.SYS_SCHED_SETSCHEDULER:
		return t.onTask("policy", int(int32(info.args[0])))
	case unix.SYS_KILL:
		return t.onTask("signal", int(int32(info.args[0])))
	}
	return ""
}

// onPath keeps to what lies in the kernel's file systems and to the journal.
func (t *tracer) onPath(what, name string) string {
	for _, root := range []string{"/proc", "/sys", t.stateDir} {
		if strings.HasPrefix(name, root+"/") {
			return what + " " + name
		}
	}
	return ""
}

// onTask keeps to tasks other than the command's own threads.
func (t *tracer) onTask(what string, pid int) string {
	if pid <= 0 {
		return ""
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", t.pid, pid)); err == nil {
		return ""
	}
	return fmt.Sprintf("%s of task %d", what, pid)
}

func (t *tracer) link(name string) string {
	target, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", t.pid, name))
	if err != nil {
		return ""
	}
	return target
}

// at reads a path argument and makes it absolute.
func (t *tracer) at(tid int, dirfd int32, address uint64) string {
	var text [4096]byte
	n, err := unix.PtracePeekData(tid, uintptr(address), text[:256])
	if err != nil || n == 0 {
		return ""
	}
	name, _, _ := strings.Cut(string(text[:n]), "\x00")
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	dir := t.link("cwd")
	if dirfd != unix.AT_FDCWD {
		dir = t.link(fmt.Sprintf("fd/%d", dirfd))
	}
	return path.Join(dir, name)
}

// guards lists the guards of a process: its children of the same program whose
// command line says so.
func guards(pid int) []int {
	var found []int
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, dir := range dirs {
		child, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || child == pid {
			continue
		}
		line, err := os.ReadFile(dir + "/cmdline")
		if err != nil || !isGuard(line) {
			continue
		}
		if pid == 0 || parentOf(dir) == pid {
			found = append(found, child)
		}
	}
	return found
}

// printGuards prints the process IDs of all guards.
func printGuards([]string) error {
	for _, pid := range guards(0) {
		fmt.Println(pid)
	}
	return nil
}

// isGuard looks for the word in the second place of a command line.
func isGuard(line []byte) bool {
	words := bytes.Split(line, []byte{0})
	return len(words) > 1 && strings.HasSuffix(string(words[1]), "guard")
}

func parentOf(dir string) int {
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	parent, err := strconv.Atoi(fields[4-3])
	if err != nil {
		return 0
	}
	return parent
}

// killGuards ends the guards of a process and waits until they are gone.
func killGuards(pid int) {
	for _, guard := range guards(pid) {
		_ = unix.Kill(guard, unix.SIGKILL)
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); pause() {
			if state(guard) == "" || state(guard) == "Z" {
				break
			}
		}
	}
}

// state is the letter of a process's state; "" when it is gone.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[0]
}
