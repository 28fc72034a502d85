//go:build linux && (amd64 || arm64)

package harness

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"goset/isolation"
)

// What package syscall lacks.
const (
	sysClone3         = 435
	clonePidfd        = 0x1000
	cloneClearSighand = 0x100000000
	cloneIntoCgroup   = 0x200000000
	prSetPdeathsig    = 1
	prSetTimerSlack   = 29
	sigSetMask        = 2
	rlimitNofile      = 7
	clockMonotonic    = 1
	numSignals        = 64
)

// call is one system call that a child makes between its fork and its exec.
// forkCalls knows its layout.
type call struct {
	nr    uintptr
	args  [5]uintptr
	errno uintptr // of the call that failed, after which no other is made
}

// forkCalls makes a child with fork, a clone that shares this process's memory
// and stops the parent until the child's exec or end, and runs calls in it, of
// which the last is execve. It returns the child's pid or a negated errno. The
// child touches nothing but registers and *calls.
//
// All signals of the calling thread are blocked.
//
//go:noescape
func forkCalls(fork, calls *call) (pid int)

// cloneArgs is the kernel's struct clone_args as far as Linux 5.7 has it
// (uapi/linux/sched.h).
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// forker forks with the clock read by the child itself, right before its exec.
//
// syscall.ForkExec would do but for that. Its parent can only read the clock
// when it gets to run after the exec, and on a machine with more to do than
// CPUs that is late: with 7 busy processes on 2 CPUs, half of 1,000 runs of
// `true` were over before the parent had read the clock once.
//
// It lives on the heap, since the kernel is given addresses inside it.
type forker struct {
	clone3        bool // the kernel has it: see common
	args          cloneArgs
	calls         []call
	fixed         []call               // calls that are the same for every child
	births        []isolation.Call     // of this child
	zero          [4]uint64            // struct sigaction of SIG_DFL
	limit         *syscall.Rlimit      // RLIMIT_NOFILE as this process found it
	found         chan *syscall.Rlimit // the same, until the first fork
	blocked, mask uint64               // all signals; the thread's own mask
	stamp         syscall.Timespec
	pidfd         int32
	path, dir     *byte
	argv, envv    cStrings
}

// cStrings are strings as execve takes them, made anew only for other strings:
// the environment is the same from run to run, and copying it would leave a
// page of garbage each time.
type cStrings struct {
	of   []string
	ptrs []*byte
}

func (c *cStrings) set(strs []string) error {
	if c.ptrs != nil && slices.Equal(c.of, strs) {
		return nil
	}
	ptrs, err := syscall.SlicePtrFromStrings(strs)
	if err != nil {
		return err
	}
	c.of, c.ptrs = slices.Clone(strs), ptrs
	return nil
}

// newForker prepares what all children have in common.
func newForker() *forker {
	f := &forker{blocked: ^uint64(0), clone3: true, found: make(chan *syscall.Rlimit, 1)}
	// Finding the limit takes a process of its own, more than a millisecond:
	// meanwhile the caller chooses CPUs.
	go func() {
		var found *syscall.Rlimit
		if lim, ok := foundLimit(); ok {
			found = &lim
		}
		f.found <- found
	}()
	return f
}

// settle waits for what newForker left to be found out. It must come before
// anything that looks at this process's children.
func (f *forker) settle() {
	if f.found != nil {
		f.limit, f.found = <-f.found, nil
		f.common()
	}
}

// common lists the calls that are the same for every child.
func (f *forker) common() {
	f.calls = nil
	if !f.clone3 {
		f.resetHandlers()
	}
	f.add(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGKILL))
	if f.limit != nil {
		f.add(syscall.SYS_PRLIMIT64, 0, rlimitNofile, uintptr(unsafe.Pointer(f.limit)))
	}
	f.fixed, f.calls = f.calls, nil
}

// resetHandlers takes this process's signal handlers from the child: one that
// ran there would run in this process's memory. The exec resets them too, but
// signals are unblocked before. clone3 does it in the kernel.
func (f *forker) resetHandlers() {
	for sig := uintptr(1); sig <= numSignals; sig++ {
		var old [4]uint64
		_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&old)), 8, 0, 0)
		if e == 0 && old[0] > 1 {
			f.add(syscall.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&f.zero)), 0, 8)
		}
	}
}

// foundLimit returns the file limit that this process was started with. The Go
// runtime raises its own and tells nobody the old one, but its ForkExec gives
// it to children, of which even one that has ended can be asked.
func foundLimit() (lim syscall.Rlimit, ok bool) {
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", ":"}, &syscall.ProcAttr{})
	if err != nil {
		return lim, false
	}
	_, _, e := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitNofile, 0, uintptr(unsafe.Pointer(&lim)), 0, 0)
	_, err = wait4(pid, nil, 0, nil)
	return lim, e == 0 && err == nil
}

// add appends a call.
func (f *forker) add(nr uintptr, args ...uintptr) {
	c := call{nr: nr}
	copy(c.args[:], args)
	f.calls = append(f.calls, c)
}

// fork starts the command and fills in the child's pid, pidfd (-1: none) and
// start. The caller is locked to its thread.
func (f *forker) fork(c *child, job Job, path string, null int, wantPidfd bool, b isolation.Birth) error {
	if err := f.prepare(c, job, path, null, b); err != nil {
		return err
	}
	pid := f.run(wantPidfd, b.Cgroup)
	if pid < 0 && b.Cgroup >= 0 {
		return fmt.Errorf("cannot fork into the cgroup: %w", syscall.Errno(-pid))
	}
	if pid < 0 && f.clone3 {
		// Kernels before 5.5 and the filters of containers refuse it in as
		// many ways; what is wrong otherwise is so the second time as well.
		f.clone3 = false
		f.common()
		return f.fork(c, job, path, null, wantPidfd, b)
	}
	if pid < 0 {
		return fmt.Errorf("cannot fork: %w", syscall.Errno(-pid))
	}
	if err := f.failure(); err != nil {
		closeAll(int(f.pidfd))
		_, werr := wait4(pid, nil, 0, nil)
		return errors.Join(err, werr)
	}
	c.pid, c.exit, c.start = pid, int(f.pidfd), time.Now()
	if f.stamp != (syscall.Timespec{}) {
		// Emulators that make a plain fork of a vfork leave it empty.
		c.start = sinceMonotonic(f.stamp)
	}
	return nil
}

// run forks, into a cgroup unless that is -1, and returns when the child has
// exec'd or ended.
func (f *forker) run(wantPidfd bool, cgroup int) (pid int) {
	flags := uint64(syscall.CLONE_VM | syscall.CLONE_VFORK)
	var pidfd uintptr
	f.pidfd, f.stamp = -1, syscall.Timespec{}
	if wantPidfd {
		// Kernels before 5.2 pass the flag over.
		flags, pidfd = flags|clonePidfd, uintptr(unsafe.Pointer(&f.pidfd))
	}
	fork := call{nr: syscall.SYS_CLONE, args: [5]uintptr{uintptr(flags) | uintptr(syscall.SIGCHLD), 0, pidfd}}
	if f.clone3 || cgroup >= 0 {
		f.args = cloneArgs{flags: flags | cloneClearSighand, pidfd: uint64(pidfd), exitSignal: uint64(syscall.SIGCHLD)}
		if cgroup >= 0 {
			f.args.flags, f.args.cgroup = f.args.flags|cloneIntoCgroup, uint64(cgroup)
		}
		fork = call{nr: sysClone3, args: [5]uintptr{uintptr(unsafe.Pointer(&f.args)), unsafe.Sizeof(f.args)}}
	}
	// Descriptors that others open and then mark close-on-exec are kept from
	// the child by this lock.
	syscall.ForkLock.Lock()
	f.setMask(&f.blocked, &f.mask)
	pid = forkCalls(&fork, &f.calls[0])
	f.setMask(&f.mask, nil)
	syscall.ForkLock.Unlock()
	return pid
}

// prepare lists the calls of one child.
//
// Unless it is in the foreground, the child is the leader of a process group
// and not of a session: a session is a scheduling group of its own (autogroup),
// which would give the child half of a CPU against any background load that was
// started from here; and setsid took 28 µs of the 400 of a run of `true`.
func (f *forker) prepare(c *child, job Job, path string, null int, b isolation.Birth) (err error) {
	f.settle()
	if f.path, err = syscall.BytePtrFromString(path); err != nil {
		return err
	}
	if err = f.argv.set(job.Argv); err != nil {
		return err
	}
	if err = f.envv.set(job.Env); err != nil {
		return err
	}
	// What the layers ask for comes first: a child that gives up privileges
	// loses the signal of its parent's death with them.
	f.calls, f.births = f.calls[:0], b.Calls
	for _, birth := range b.Calls {
		f.add(birth.Nr, birth.Args[:]...)
	}
	f.calls = append(f.calls, f.fixed...)
	if job.TimerSlack > 0 {
		f.add(syscall.SYS_PRCTL, prSetTimerSlack, uintptr(job.TimerSlack))
	}
	if job.Dir != "" {
		if f.dir, err = syscall.BytePtrFromString(job.Dir); err != nil {
			return err
		}
		f.add(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(f.dir)))
	}
	if !job.Foreground {
		if b.Session {
			f.add(syscall.SYS_SETSID)
		} else {
			f.add(syscall.SYS_SETPGID, 0, 0)
		}
		for to, from := range []int{null, c.stdout[1], c.stderr[1]} {
			f.add(syscall.SYS_DUP3, uintptr(from), uintptr(to), 0)
		}
	}
	f.add(syscall.SYS_RT_SIGPROCMASK, sigSetMask, uintptr(unsafe.Pointer(&f.mask)), 0, 8)
	f.add(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&f.stamp)))
	f.add(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(f.path)), uintptr(unsafe.Pointer(&f.argv.ptrs[0])), uintptr(unsafe.Pointer(&f.envv.ptrs[0])))
	return nil
}

// setMask sets the signal mask of the thread.
func (f *forker) setMask(mask, old *uint64) {
	// It cannot fail with addresses of its own.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetMask, uintptr(unsafe.Pointer(mask)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

// failure is the error of the call that failed in the child, if one did.
func (f *forker) failure() error {
	for i := range f.calls {
		if c := &f.calls[i]; c.errno != 0 {
			e := syscall.Errno(c.errno)
			c.errno = 0
			if i < len(f.births) {
				return &isolation.Unsupported{Layer: f.births[i].Layer, Reason: fmt.Sprintf("cannot %s: %v", f.births[i].What, e)}
			}
			if c.nr == syscall.SYS_EXECVE || c.nr == syscall.SYS_CHDIR {
				return execError{e}
			}
			return fmt.Errorf("cannot prepare a process: system call %d: %w", c.nr, e)
		}
	}
	return nil
}

// sinceMonotonic turns a reading of CLOCK_MONOTONIC into a time of this
// process, whose own monotonic clock is the same but for its zero. The thread
// can lose its CPU between the readings that find the zero, so it tries again
// until they lie close together.
func sinceMonotonic(then syscall.Timespec) time.Time {
	const close, tries = 5 * time.Microsecond, 100
	var zero time.Time
	best := time.Duration(1<<63 - 1)
	for range tries {
		var now syscall.Timespec
		before := time.Now()
		_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
		if gap := time.Since(before); gap < best {
			best, zero = gap, before.Add(-time.Duration(now.Nano()))
		}
		if best < close {
			break
		}
	}
	return zero.Add(time.Duration(then.Nano()))
}
