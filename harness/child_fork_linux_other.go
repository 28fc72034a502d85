//go:build linux && !amd64 && !arm64

package harness

import (
	"runtime"
	"syscall"
	"time"

	"goset/isolation"
)

// forker forks with syscall.ForkExec. The start is read by the parent after the
// exec, and so is late where the parent has to wait for a CPU.
type forker struct{}

func newForker() *forker { return &forker{} }

// settle has nothing to wait for.
func (*forker) settle() {}

// fork starts the command and fills in the child's pid, pidfd (-1: none) and
// start.
func (*forker) fork(c *child, job Job, path string, null int, wantPidfd bool, b isolation.Birth) error {
	if len(b.Calls) > 0 {
		return &isolation.Unsupported{Layer: b.Calls[0].Layer, Reason: "cannot " + b.Calls[0].What + ": not on " + runtime.GOARCH}
	}
	pidfd := -1
	files := []uintptr{uintptr(null), uintptr(c.stdout[1]), uintptr(c.stderr[1])}
	if job.Foreground {
		files = []uintptr{0, 1, 2}
	}
	sys := &syscall.SysProcAttr{Setpgid: !job.Foreground && !b.Session, Setsid: !job.Foreground && b.Session, Pdeathsig: syscall.SIGKILL, UseCgroupFD: b.Cgroup >= 0, CgroupFD: b.Cgroup}
	if wantPidfd {
		sys.PidFD = &pidfd
	}
	pid, err := syscall.ForkExec(path, job.Argv, &syscall.ProcAttr{
		Dir:   job.Dir,
		Env:   job.Env,
		Files: files,
		Sys:   sys,
	})
	if err != nil {
		return execError{err}
	}
	c.pid, c.exit, c.start = pid, pidfd, time.Now()
	return nil
}
