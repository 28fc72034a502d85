//go:build !linux

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"goset/isolation"
)

// system is what a Runner needs of other Unix systems: only process groups are
// to be had, so a process that makes a session of its own escapes, and nothing
// can be pinned.
type system struct{ null *os.File }

func (s *system) open() (err error) {
	s.null, err = os.Open(os.DevNull)
	return err
}

func (s *system) close() error { return s.null.Close() }

// pipe is one stream of a child with what was read from it.
type pipe struct {
	r, w *os.File
	capture
	done chan struct{}
}

// newPipe makes a pipe for a stream of which limit bytes are kept.
func newPipe(limit int64) (*pipe, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe for the output: %w", err)
	}
	return &pipe{r: r, w: w, capture: capture{limit: limit}, done: make(chan struct{})}, nil
}

// drain reads until the last writer has gone or the deadline of the pipe.
func (p *pipe) drain() {
	defer close(p.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := p.r.Read(buf)
		p.write(buf[:n])
		if err != nil {
			return
		}
	}
}

// finish gives writers that outlived the child a moment, and closes.
func (p *pipe) finish() Stream {
	_ = p.r.SetReadDeadline(time.Now().Add(linger))
	<-p.done
	p.r.Close()
	return p.stream()
}

// exit is what wait4 returned.
type exit struct {
	at     time.Time
	status syscall.WaitStatus
	use    syscall.Rusage
	err    error
}

// Forward does nothing: on this system no child is in the foreground.
func (r *Runner) Forward(syscall.Signal) {}

// run starts the child, waits for it and ends its process group.
func (r *Runner) run(ctx context.Context, job Job, path string, held *isolation.Held) (Result, error) {
	var res Result
	if job.Foreground {
		return res, fmt.Errorf("cannot run a command in the foreground: %w", errors.ErrUnsupported)
	}
	out, err := newPipe(job.OutputLimit)
	if err != nil {
		return res, err
	}
	errs, err := newPipe(job.OutputLimit)
	if err != nil {
		out.r.Close()
		out.w.Close()
		return res, err
	}
	pid, err := syscall.ForkExec(path, job.Argv, &syscall.ProcAttr{
		Dir:   job.Dir,
		Env:   job.Env,
		Files: []uintptr{r.null.Fd(), out.w.Fd(), errs.w.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	res.Start = time.Now()
	out.w.Close()
	errs.w.Close()
	go out.drain()
	go errs.drain()
	if err != nil {
		clear(r.paths)
		out.finish()
		errs.finish()
		return res, r.startFault(job, path, err)
	}
	end := r.wait(ctx, pid, job.Timeout, &res)
	res.Wall = end.at.Sub(res.Start)
	if errors.Is(syscall.Kill(-pid, syscall.SIGKILL), nil) {
		res.Leftover = 1 // at least: groups do not tell how many
	}
	res.Stdout, res.Stderr = out.finish(), errs.finish()
	if end.err != nil {
		return res, fmt.Errorf("cannot wait for process %d: %w", pid, end.err)
	}
	res.addUsage(end.status, &end.use)
	return res, nil
}

// wait waits for the child's end, and ends its group when the time is up or
// the context has ended.
func (r *Runner) wait(ctx context.Context, pid int, timeout time.Duration, res *Result) exit {
	ended := make(chan exit, 1)
	go func() {
		var e exit
		for e.err = syscall.EINTR; e.err == syscall.EINTR; {
			_, e.err = syscall.Wait4(pid, &e.status, 0, &e.use)
		}
		e.at = time.Now()
		ended <- e
	}()
	var due <-chan time.Time
	if timeout > 0 {
		due = time.After(timeout)
	}
	done := ctx.Done()
	sig := syscall.SIGTERM
	for {
		select {
		case e := <-ended:
			return e
		case <-done:
			done, res.Interrupted = nil, true
		case <-due:
			res.TimedOut = res.TimedOut || !res.Interrupted
		}
		// ESRCH: the group ended meanwhile.
		_ = syscall.Kill(-pid, sig)
		sig, due = syscall.SIGKILL, time.After(grace)
	}
}
