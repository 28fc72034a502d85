//go:build amd64 || arm64

package workloads

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// forkable is whether children without a Go runtime can be had here.
const forkable = true

// Linux numbers that package syscall does not name (uapi/linux/prctl.h,
// uapi/asm-generic/{signal-defs,signal}.h, asm-generic/unistd.h: the last is
// the same on every architecture).
const (
	prSetPdeathsig  = 1
	prSetTimerSlack = 29
	sigSetmask      = 2
	sigIgn          = 1
	signalCount     = 64
	sysPidfdOpen    = 434
)

// timerSlack is the kernel's own for threads of normal priority, in
// nanoseconds (init/init_task.c). goset-bench starts a kernel's Go process with
// a longer one, to keep the runtime's monitor thread asleep; what is measured
// has the usual one.
const timerSlack = 50_000

// hugePage is the size of a transparent huge page on amd64 and, with base
// pages of 4 KiB, on arm64.
const hugePage = 2 << 20

// What a child's status word says when it ends. A failed set-up step is
// step<<32 | errno.
const (
	statusDone   = 1
	stepOrphan   = 2
	stepMap      = 3
	stepDeathSig = 4
	stepHuge     = 5
)

// hostChild is what a forked child needs besides its kernel.
type hostChild struct {
	parent uintptr // pid of the Go process
	mask   uint64  // its signal mask, for the child to take over
	action [4]uint64
	zero   [4]uint64
	usage  syscall.Rusage
}

// measureForked runs every child as a process of one thread.
func measureForked(m Measurement) (*Result, error) {
	size := gateBytes + int64(m.Threads)*m.regionBytes()
	shared, err := mapShared(m.Kernel, size)
	if err != nil {
		return nil, err
	}
	base := unsafe.Pointer(unsafe.SliceData(shared))
	children := make([]*Child, m.Threads)
	regions := make([]unsafe.Pointer, m.Threads)
	for i := range children {
		regions[i] = unsafe.Add(base, gateBytes+int64(i)*m.regionBytes())
		c := m.child(i, regions[i])
		c.gate.words = base
		c.private, c.huge = uintptr(m.Private), m.HugePages
		c.host.parent = uintptr(os.Getpid())
		children[i] = c
	}
	err = runChildren(m.Kernel, children)
	if err == nil {
		res := m.collect(RunnerChild, regions)
		return res, unmap(m.Kernel, shared)
	}
	// The first error is the one that says what happened; the mapping goes
	// with the process anyway.
	_ = unmap(m.Kernel, shared)
	return nil, err
}

// mapShared maps the memory that children write their results to.
func mapShared(kernel string, size int64) ([]byte, error) {
	b, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("cannot run kernel %q: cannot map %d bytes for results: %w", kernel, size, err)
	}
	return b, nil
}

func unmap(kernel string, b []byte) error {
	if err := syscall.Munmap(b); err != nil {
		return fmt.Errorf("cannot run kernel %q: cannot unmap results: %w", kernel, err)
	}
	return nil
}

// runChildren starts the children and waits for all of them.
//
// PR_SET_PDEATHSIG is sent when the thread that forked ends, so that thread
// has to stay. With one child it does without being locked: nothing can move
// this goroutine between fork and wait4, and in wait4 it holds its thread.
// Locking would make the runtime start one thread more, and stopping the
// collector would stop the world; each costs some five context switches on
// the child's CPU, more than the collection that is due every two minutes.
func runChildren(kernel string, children []*Child) error {
	if len(children) > 1 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	f := &family{kernel: kernel, children: children}
	defer f.end()
	if err := f.start(); err != nil {
		return err
	}
	return f.wait()
}

// fork clones the calling thread's process. In the parent it returns the
// child's pid; the child never returns. It must be called with every signal
// blocked: Go's handlers must not run in the child.
//
//go:nosplit
//go:norace
//go:nocheckptr
//go:noinline
func fork(c *Child) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	c.live()
	return 0, 0 // not reached
}

// live is a forked child from its first instruction to its exit.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *Child) live() {
	c.dieWithParent()
	c.defaultSignals()
	// It cannot fail: the kernel takes any number.
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, timerSlack, 0)
	c.mapPrivate()
	// A page of the results that is first written between two iterations
	// would fault there.
	for at := uintptr(0); at < uintptr(8*(header+c.sums)+8*c.sections*int(c.Iterations)); at += 4096 {
		*(*uint64)(unsafe.Add(c.region, at)) = 0
	}
	c.loop()
	*(*uint64)(c.region) = statusDone
	c.exit(0)
}

// exit ends the child without any of the parent's exit work.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *Child) exit(code uintptr) {
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, code, 0, 0)
	}
}

// fail leaves the failed step for the parent and exits.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *Child) fail(step uint64, errno syscall.Errno) {
	*(*uint64)(c.region) = step<<32 | uint64(errno)
	c.exit(1)
}

// dieWithParent asks for SIGKILL when the parent ends, and looks whether it
// has ended already.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *Child) dieWithParent() {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGKILL), 0, 0, 0, 0)
	if errno != 0 {
		c.fail(stepDeathSig, errno)
	}
	parent, _, _ := syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
	if parent != c.host.parent {
		c.fail(stepOrphan, 0)
	}
}

// defaultSignals puts every signal that Go handles back to its default, so
// that an interrupt, a stop or a termination of the process group reaches the
// child as it would any program, and unblocks them.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *Child) defaultSignals() {
	old, zero := uintptr(unsafe.Pointer(&c.host.action)), uintptr(unsafe.Pointer(&c.host.zero))
	for sig := uintptr(1); sig <= signalCount; sig++ {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, 0, old, 8, 0, 0)
		// The handler is the first word of struct sigaction.
		if errno == 0 && c.host.action[0] > sigIgn {
			syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, zero, 0, 8, 0, 0)
		}
	}
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetmask, uintptr(unsafe.Pointer(&c.host.mask)), 0, 8, 0, 0)
}

// mapPrivate maps and touches this child's memory. The parent does not map it
// for the child: under strict overcommit N children would be charged N times.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *Child) mapPrivate() {
	if c.private == 0 {
		return
	}
	length := c.private
	if c.huge {
		length = (c.private+hugePage-1)&^(hugePage-1) + hugePage
	}
	const prot, flags = syscall.PROT_READ | syscall.PROT_WRITE, syscall.MAP_PRIVATE | syscall.MAP_ANON
	at, _, errno := syscall.RawSyscall6(syscall.SYS_MMAP, 0, length, prot, flags, ^uintptr(0), 0)
	if errno != 0 {
		c.fail(stepMap, errno)
	}
	if c.huge {
		at = (at + hugePage - 1) &^ (hugePage - 1)
		length -= hugePage
		_, _, errno = syscall.RawSyscall(syscall.SYS_MADVISE, at, length, syscall.MADV_HUGEPAGE)
		if errno != 0 {
			c.fail(stepHuge, errno)
		}
	}
	// As a word: storing a pointer would be a write barrier.
	*(*uintptr)(unsafe.Pointer(&c.Private)) = at
	before := c.minorFaults()
	for page := uintptr(0); page < length; page += 4096 {
		*(*uint64)(unsafe.Add(c.Private, page)) = 0
	}
	*(*uint64)(unsafe.Add(c.region, 8)) = hugeKiB(uint64(length), c.minorFaults()-before)
}

// minorFaults is this process's count.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *Child) minorFaults() uint64 {
	syscall.RawSyscall(syscall.SYS_GETRUSAGE, syscall.RUSAGE_SELF, uintptr(unsafe.Pointer(&c.host.usage)), 0)
	return uint64(c.host.usage.Minflt)
}

// hugeKiB tells from the faults of the first touch how much of length, a
// multiple of a huge page where those were asked for, is huge pages: each
// saves all faults of its small pages but one. The child cannot read smaps,
// and the parent must not wake to do it.
//
//go:nosplit
//go:norace
func hugeKiB(length, faults uint64) uint64 {
	small := length / 4096
	if faults >= small {
		return 0
	}
	return (small - faults) / (hugePage/4096 - 1) * (hugePage / 1024)
}
