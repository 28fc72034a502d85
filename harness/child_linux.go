package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"goset/isolation"
)

// What package syscall lacks.
const (
	prSetChildSubreaper = 36
	prGetChildSubreaper = 37
	fSetPipeSize        = 1031
	pollIn              = 1
)

// pipeSize is how much a child can write before it waits for the harness. It
// is the most that an unprivileged process gets by default. A pipe that is made
// so large costs 4 µs, so children are given the usual 64 KiB until one has
// written more than half of that.
const (
	pipeSize  = 1 << 20
	littleOut = 32 << 10
)

// system is what a Runner needs of Linux.
type system struct {
	null      int    // /dev/null, for stdin
	wake      [2]int // a pipe, written to when the context ends
	subreaper int32  // as it was
	noPidfd   bool   // for tests: do as on kernels before 5.2
	forker    *forker
	irqs      interrupts
	machine   machine
	buf       []byte
	self      int
	most      int64           // bytes that a child has written to one stream so far
	spare     [][2]int        // empty pipes of a run that nothing is left of: see keepPipes
	watched   <-chan struct{} // closed when the context ends that wakes: see wakeOn
	unwatch   func()          // nil: none does
	onChild   sigaction       // what SIGCHLD did before
	stuck     []int           // children that SIGKILL did not end, not yet waited for
}

// open makes this process the one that orphans of its children are handed to.
func (s *system) open() error {
	s.self = os.Getpid()
	if _, err := os.Stat("/proc/self/task"); err != nil {
		return fmt.Errorf("cannot see processes: %w (mount -t proc proc /proc)", err)
	}
	s.buf = make([]byte, pipeSize)
	null, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot open /dev/null: %w", err)
	}
	s.null = null
	if err := syscall.Pipe2(s.wake[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		syscall.Close(null)
		return fmt.Errorf("cannot make a pipe: %w", err)
	}
	_, _, e1 := syscall.RawSyscall(syscall.SYS_PRCTL, prGetChildSubreaper, uintptr(unsafe.Pointer(&s.subreaper)), 0)
	_, _, e2 := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	if e1 != 0 || e2 != 0 {
		s.closeFiles()
		return fmt.Errorf("cannot become the reaper of orphans: %w", max(e1, e2))
	}
	s.onChild = setChildSignal(sigaction{})
	s.forker = newForker()
	s.irqs.open()
	s.machine = newMachine()
	return nil
}

// close undoes open.
func (s *system) close() error {
	if s.unwatch != nil {
		s.unwatch()
	}
	s.forker.settle()
	s.closeFiles()
	for _, p := range s.spare {
		closeAll(p[0], p[1])
	}
	s.irqs.close()
	setChildSignal(s.onChild)
	_, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, uintptr(s.subreaper), 0)
	if e != 0 {
		return fmt.Errorf("cannot stop being the reaper of orphans: %w", e)
	}
	return nil
}

func (s *system) closeFiles() { closeAll(s.null, s.wake[0], s.wake[1]) }

// sigaction is at least as large as the kernel's struct sigaction is anywhere.
// All zero, it is SIG_DFL.
type sigaction [8]uint64

// setChildSignal says what SIGCHLD does, and gives what it did. A Runner leaves it
// at its default, by which the kernel drops it (signal(7)): a child's end is seen
// by polling, and a handler would first run in the thread that polls, within the
// time that is measured, or wake another one. Children stay to be waited for,
// which they would not if it were ignored.
func setChildSignal(to sigaction) (was sigaction) {
	const setSize = 8 // bytes of a signal mask
	// Where it is refused the handler stays, which only costs time.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGCHLD), uintptr(unsafe.Pointer(&to)), uintptr(unsafe.Pointer(&was)), setSize, 0, 0)
	return was
}

// closeAll closes descriptors of which nothing can be lost: close reports
// nothing of a pipe's read end, a pidfd or /dev/null.
func closeAll(fds ...int) {
	for _, fd := range fds {
		syscall.Close(fd)
	}
}

// child is one process from its start to its reaping.
type child struct {
	pid    int
	exit   int    // readable once its last thread has ended
	stdout [2]int // the pipes, both ends: see pipes
	stderr [2]int
	out    capture
	err    capture
	start  time.Time
}

// pipes makes the pipes for a child's streams. The harness keeps the write ends
// open until the child is reaped: the child's own end, which closes before it
// has ended, then wakes nobody.
func (r *Runner) pipes(c *child, job Job) error {
	if job.Foreground {
		c.stdout, c.stderr = [2]int{-1, -1}, [2]int{-1, -1} // poll passes them over
		return nil
	}
	for _, p := range []*[2]int{&c.stdout, &c.stderr} {
		if last := len(r.spare) - 1; last >= 0 {
			*p, r.spare = r.spare[last], r.spare[:last]
			continue
		}
		if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
			c.close()
			return fmt.Errorf("cannot make a pipe for the output: %w", err)
		}
		if r.most <= littleOut {
			continue
		}
		// A refusal leaves the usual 64 KiB, which only costs speed.
		_, _, _ = syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(p[1]), fSetPipeSize, pipeSize)
	}
	return nil
}

// keepPipes sets the pipes of a run aside for the next one, which saves a tenth
// of the time between two short runs. Nothing of the run's tree is left that
// could write to them; a longer run may have handed them to a process outside of
// it, so its pipes go.
func (r *Runner) keepPipes(c *child, job Job, res *Result) {
	if job.Foreground || res.Wall >= shortRun || res.Leftover > 0 || len(res.Unkilled) > 0 || r.most > littleOut {
		return
	}
	r.spare = append(r.spare, c.stderr, c.stdout)
	c.stdout, c.stderr = [2]int{-1, -1}, [2]int{-1, -1}
}

// close closes what the child's run opened.
func (c *child) close() {
	for _, fd := range []int{c.stdout[0], c.stdout[1], c.stderr[0], c.stderr[1], c.exit} {
		if fd > 0 {
			syscall.Close(fd)
		}
	}
}

// run starts the child, waits for it and ends its tree.
func (r *Runner) run(ctx context.Context, job Job, path string, held *isolation.Held) (Result, error) {
	// PDEATHSIG is sent when the thread that forked ends, so the thread stays
	// with this goroutine for the child's whole life; and it wears the run's
	// mask while it forks.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r.wakeOn(ctx)

	r.forker.settle()
	r.reapStuck()
	others := r.others()
	var res Result
	c := &child{exit: -1, out: capture{limit: job.OutputLimit}, err: capture{limit: job.OutputLimit}}
	if err := r.pipes(c, job); err != nil {
		return res, err
	}
	defer c.close()
	r.irqs.begin(r.machine.begin(job, held.Pinned()))
	if job.Starting != nil {
		job.Starting()
	}
	if err := r.start(c, job, path, held); err != nil {
		if c.pid > 0 {
			_, res.Unkilled = r.endLeft(others, 0)
		}
		return res, err
	}
	res.Start = c.start
	if job.Started != nil {
		job.Started(c.pid)
	}
	end, werr := r.wait(ctx, c, job, held, &res, others)
	res.Wall = end.Sub(c.start)
	res.Counters = r.irqs.end(job.CPUs)
	r.machine.ended(job, c.pid, res.Wall)
	if job.Ended != nil {
		job.Ended(c.pid)
	}
	rerr := r.reap(c, job, &res, others)
	r.machine.count(job, &res, &r.irqs)
	res.Stdout, res.Stderr = c.out.stream(), c.err.stream()
	r.most = max(r.most, res.Stdout.Total, res.Stderr.Total)
	if werr == nil && rerr == nil {
		r.keepPipes(c, job, &res)
	}
	return res, errors.Join(werr, rerr)
}

// wakeOn makes the end of a context end the ppoll of wait, from here on until
// it is called with another one: runs that follow each other share theirs.
func (r *Runner) wakeOn(ctx context.Context) {
	if ctx.Done() == r.watched {
		return
	}
	if r.unwatch != nil {
		r.unwatch()
	}
	r.watched, r.unwatch = ctx.Done(), nil
	if r.watched == nil {
		return
	}
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		// A full pipe wakes as well.
		_, _ = syscall.Write(r.wake[1], []byte{0})
	})
	r.unwatch = func() {
		if !cancel() {
			<-done
			_, _ = syscall.Read(r.wake[0], r.buf)
		}
	}
}

// Forward passes a signal on to the child that runs, or to the next one that
// starts. It may be called at any time from any goroutine.
func (r *Runner) Forward(sig syscall.Signal) {
	// A pipe that is full holds as many signals that nobody has read.
	_, _ = syscall.Write(r.wake[1], []byte{byte(sig)})
}

// passOn reads what woke the poll and sends the child what Forward was given.
// The child is not reaped yet, so that its number is still its own.
func (r *Runner) passOn(c *child, job Job) {
	n, err := syscall.Read(r.wake[0], r.buf)
	if err != nil {
		return
	}
	for _, sig := range r.buf[:n] {
		if sig != 0 {
			// What has ended meanwhile needs no signal.
			_ = syscall.Kill(c.pid, syscall.Signal(sig))
			if job.Forwarded != nil {
				job.Forwarded(syscall.Signal(sig))
			}
		}
	}
}

// execError is what kept a child from its exec.
type execError struct{ error }

func (e execError) Unwrap() error { return e.error }

// start forks and execs.
func (r *Runner) start(c *child, job Job, path string, held *isolation.Held) error {
	_, err := held.Start(func(b isolation.Birth) (int, error) {
		err := r.forker.fork(c, job, path, r.null, !r.noPidfd, b)
		return c.pid, err
	})
	var refused execError
	if errors.As(err, &refused) {
		clear(r.paths)
		return r.startFault(job, path, refused.error)
	}
	if err != nil {
		return err
	}
	if c.exit < 0 {
		return c.watchExit()
	}
	return nil
}
