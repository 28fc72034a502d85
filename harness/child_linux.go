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

// When a pinned child's affinity is read back after its start: first after
// firstLook, then at doubling intervals up to lastLook; up to wrapLook where the
// task is not the child but somewhere inside of it, and may live for a part of
// the time only.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
	wrapLook  = 200 * time.Millisecond
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
	most      int64    // bytes that a child has written to one stream so far
	spare     [][2]int // empty pipes of a run that nothing is left of: see keepPipes
	stuck     []int    // children that SIGKILL did not end, not yet waited for
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
	s.forker = newForker()
	s.irqs.open()
	s.machine = newMachine()
	return nil
}

// close undoes open.
func (s *system) close() error {
	s.forker.settle()
	s.closeFiles()
	for _, p := range s.spare {
		closeAll(p[0], p[1])
	}
	s.irqs.close()
	_, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, uintptr(s.subreaper), 0)
	if e != 0 {
		return fmt.Errorf("cannot stop being the reaper of orphans: %w", e)
	}
	return nil
}

func (s *system) closeFiles() { closeAll(s.null, s.wake[0], s.wake[1]) }

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
	defer r.wakeOn(ctx)()

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
	res.RSSFloor = ownPeak()
	return res, errors.Join(werr, rerr)
}

// wakeOn makes the end of a context end the ppoll of wait. It returns what ends
// that again.
func (r *Runner) wakeOn(ctx context.Context) (stop func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		// A full pipe wakes as well.
		_, _ = syscall.Write(r.wake[1], []byte{0})
	})
	return func() {
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

// watchExit stands in for a pidfd on kernels before 5.2: a goroutine waits for
// the child without reaping it, and closes the pipe that wait polls.
func (c *child) watchExit() error {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		c.exit = -1
		return fmt.Errorf("cannot make a pipe to wait with: %w", err)
	}
	c.exit = p[0]
	pid := c.pid
	go func() {
		defer syscall.Close(p[1])
		const pPid, wNoWait = 1, 0x1000000
		var info [128]byte
		for {
			_, _, e := syscall.Syscall6(syscall.SYS_WAITID, pPid, uintptr(pid), uintptr(unsafe.Pointer(&info)), syscall.WEXITED|wNoWait, 0, 0)
			if e != syscall.EINTR {
				return
			}
		}
	}()
	return nil
}

// events is what a poll found.
type events struct{ exited, woken, out, err bool }

// poll waits until something happens or the time has come; the zero time never
// comes. The exit stands first: the kernel looks at the descriptors in order,
// so what a poll that saw the exit says about the pipes is final for the child.
func (r *Runner) poll(c *child, until time.Time) (events, error) {
	type pollFD struct {
		fd              int32
		events, revents int16
	}
	fds := [4]pollFD{{fd: int32(c.exit), events: pollIn}, {fd: int32(r.wake[0]), events: pollIn}, {fd: int32(c.stdout[0]), events: pollIn}, {fd: int32(c.stderr[0]), events: pollIn}}
	for {
		var wait *syscall.Timespec
		if !until.IsZero() {
			ts := syscall.NsecToTimespec(max(0, int64(time.Until(until))))
			wait = &ts
		}
		_, _, e := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), uintptr(len(fds)), uintptr(unsafe.Pointer(wait)), 0, 0, 0)
		switch e {
		case 0:
			return events{fds[0].revents != 0, fds[1].revents != 0, fds[2].revents != 0, fds[3].revents != 0}, nil
		case syscall.EINTR:
		default:
			return events{}, fmt.Errorf("cannot wait for process %d: %w", c.pid, e)
		}
	}
}

// wait waits for the child's end, reads what it writes, reads its affinity
// back, and ends the tree when the time is up or the context has ended. It
// returns the moment of the end.
func (r *Runner) wait(ctx context.Context, c *child, job Job, held *isolation.Held, res *Result, others family) (time.Time, error) {
	looks := newLooks(c, job, held)
	end := ending{r: r, c: c, others: others}
	if job.Timeout > 0 {
		end.due = c.start.Add(job.Timeout)
	}
	ticks := newTicks(job, c)
	for {
		ev, err := r.poll(c, earlier(end.due, earlier(looks.due, ticks.due)))
		now := time.Now()
		if err != nil {
			return now, err
		}
		r.read(c, ev)
		if ev.exited {
			looks.zombie()
			return now, nil
		}
		if ev.woken {
			r.passOn(c, job)
			if ctx.Err() != nil && !end.begun {
				res.Interrupted = true
				end.next(now)
			}
		}
		if !end.due.IsZero() && !now.Before(end.due) {
			if !end.begun {
				res.TimedOut = true
			}
			if !end.next(now) {
				return now, nil
			}
		}
		looks.look(now)
		ticks.tick(now)
	}
}

// ticks is the schedule of a job's own calls.
type ticks struct {
	job Job
	pid int
	due time.Time // zero: never
}

func newTicks(job Job, c *child) *ticks {
	t := &ticks{job: job, pid: c.pid}
	if job.Tick != nil && job.Every > 0 {
		t.due = c.start.Add(job.Every)
	}
	return t
}

// tick calls when it is due; turns that were missed are not made up for.
func (t *ticks) tick(now time.Time) {
	if t.due.IsZero() || now.Before(t.due) {
		return
	}
	t.job.Tick(t.pid)
	t.due = t.due.Add(t.job.Every)
	if next := time.Now(); t.due.Before(next) {
		t.due = next.Add(t.job.Every)
	}
}

// earlier is the earlier of two times, of which the zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// read takes what stands in the pipes. A pipe that poll found readable does not
// block, and its buffer holds all that fits into the pipe.
func (r *Runner) read(c *child, ev events) {
	take := func(fd int, to *capture) {
		for {
			n, err := syscall.Read(fd, r.buf)
			if err == syscall.EINTR {
				continue
			}
			if n > 0 {
				to.write(r.buf[:n])
			}
			return
		}
	}
	if ev.out {
		take(c.stdout[0], &c.out)
	}
	if ev.err {
		take(c.stderr[0], &c.err)
	}
}

// looks is the schedule of the read-backs of a pinned child.
type looks struct {
	c     *child
	held  *isolation.Held
	due   time.Time // zero: never
	pause time.Duration
	most  time.Duration // pause at most
}

// newLooks reads the affinity back for the first time, right after the start.
func newLooks(c *child, job Job, held *isolation.Held) *looks {
	l := &looks{c: c, held: held, most: lastLook}
	if len(job.Layers.Wrap) > 0 {
		l.most = wrapLook
	}
	if held.Watched() {
		held.ReadBack(c.pid)
		held.Check(c.pid)
		l.due, l.pause = c.start.Add(firstLook), firstLook
	}
	return l
}

// look reads back, when it is due, the child and what it started.
func (l *looks) look(now time.Time) {
	if l.due.IsZero() || now.Before(l.due) {
		return
	}
	l.held.ReadBack(l.c.pid)
	l.held.Check(l.c.pid)
	for _, p := range descendants(l.c.pid) {
		l.held.ReadBack(p.pid)
	}
	l.pause = min(2*l.pause, l.most)
	l.due = now.Add(l.pause)
}

// zombie reads back for the last time: a process that has ended and is not
// reaped still answers.
func (l *looks) zombie() {
	l.held.ReadBack(l.c.pid)
	l.held.Check(l.c.pid)
}

// ending ends the tree of a child that does not end by itself.
type ending struct {
	r      *Runner
	c      *child
	others family
	begun  bool
	due    time.Time // of the next step
	giveUp time.Time // zero before the first SIGKILL
}

// next takes the next step: SIGTERM, then, after the grace, SIGKILL until the
// child is gone. False: SIGKILL does not end it.
func (e *ending) next(now time.Time) bool {
	if !e.begun {
		e.begun = true
		e.r.signalTree(e.others, syscall.SIGTERM)
		e.due = now.Add(grace)
		return true
	}
	if e.giveUp.IsZero() {
		e.giveUp = now.Add(killFor)
	}
	e.r.signalTree(e.others, syscall.SIGKILL)
	e.due = now.Add(5 * time.Millisecond)
	return now.Before(e.giveUp)
}

// reap takes the child's exit status and usage, ends what is left of its tree
// and reads what that still wrote. What outlives a child in the foreground is
// counted and left: a shell lets it be, too.
func (r *Runner) reap(c *child, job Job, res *Result, others family) error {
	var status syscall.WaitStatus
	var use syscall.Rusage
	pid, err := wait4(c.pid, &status, syscall.WNOHANG, &use)
	if err != nil {
		return fmt.Errorf("cannot wait for process %d: %w", c.pid, err)
	}
	patience := linger
	if pid == c.pid {
		res.addUsage(status, &use)
	}
	if pid != c.pid || res.TimedOut || res.Interrupted {
		patience = 0
	}
	if !anyChild() {
		return nil
	}
	if job.Foreground && !res.TimedOut && !res.Interrupted {
		res.Leftover = len(r.reapTree(others))
		return nil
	}
	res.Leftover, res.Unkilled = r.endLeft(others, patience)
	// What the last of the tree wrote: all of it stands in the pipes by now.
	ev, err := r.poll(c, time.Now())
	if err != nil {
		return err
	}
	r.read(c, ev)
	return nil
}

// wait4 is syscall.Wait4 without EINTR.
func wait4(pid int, status *syscall.WaitStatus, options int, use *syscall.Rusage) (int, error) {
	for {
		got, err := syscall.Wait4(pid, status, options, use)
		if err != syscall.EINTR {
			return got, err
		}
	}
}
