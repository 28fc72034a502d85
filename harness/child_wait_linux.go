package harness

import (
	"context"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"goset/isolation"
)

// When a pinned child's affinity is read back after its start: first after
// firstLook, then at doubling intervals up to lastLook; up to wrapLook where the
// task is not the child but somewhere inside of it, and may live for a part of
// the time only.
//
// What the child has from its exec on is looked for at shorter intervals, from
// execLook on, until it is there once: a child is not past its exec when the
// kernel lets its parent go on, and may be over after half a millisecond.
const (
	execLook  = 50 * time.Microsecond
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
	wrapLook  = 200 * time.Millisecond
)

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
	looks, born := newLooks(c, job, held), newExecLooks(c, held)
	end := ending{r: r, c: c, others: others}
	if job.Timeout > 0 {
		end.due = c.start.Add(job.Timeout)
	}
	ticks := newTicks(job, c)
	for {
		ev, err := r.poll(c, earlier(earlier(end.due, born.due), earlier(looks.due, ticks.due)))
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
		born.look(now)
		looks.look(now)
		ticks.tick(now)
	}
}

// ticks is the schedule of a job's own calls.
type ticks struct {
	tickOf func(pid int)
	every  time.Duration
	pid    int
	due    time.Time // zero: never
}

func newTicks(job Job, c *child) ticks {
	t := ticks{tickOf: job.Tick, every: job.Every, pid: c.pid}
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
	t.tickOf(t.pid)
	t.due = t.due.Add(t.every)
	if next := time.Now(); t.due.Before(next) {
		t.due = next.Add(t.every)
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

// execLooks is the schedule by which a child is awaited behind its exec.
type execLooks struct {
	pid   int
	held  *isolation.Held
	due   time.Time // zero: all is read, or left to the other looks
	pause time.Duration
}

func newExecLooks(c *child, held *isolation.Held) *execLooks {
	l := &execLooks{pid: c.pid, held: held, pause: execLook}
	if held.Unread() {
		l.due = time.Now().Add(l.pause)
	}
	return l
}

// look reads back, when it is due, what is still unread.
func (l *execLooks) look(now time.Time) {
	if l.due.IsZero() || now.Before(l.due) {
		return
	}
	l.held.CheckExec(l.pid)
	l.due, l.pause = time.Time{}, 2*l.pause
	if l.held.Unread() && l.pause < firstLook {
		l.due = now.Add(l.pause)
	}
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
