//go:build amd64 || arm64

package workloads

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// family is the children of one measurement, alive or not.
type family struct {
	kernel   string
	children []*Child
	pids     []int // 0: reaped
	pidfds   []pollFD
}

// pollFD is struct pollfd (uapi/asm-generic/poll.h).
type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

const pollIn = 1

// start forks every child, or none: after an error the ones that started are
// ended.
func (f *family) start() error {
	all, old := ^uint64(0), uint64(0)
	if err := setMask(&all, &old); err != nil {
		return fmt.Errorf("cannot run kernel %q: cannot block signals: %w", f.kernel, err)
	}
	var failed syscall.Errno
	for _, c := range f.children {
		c.host.mask = old
		pid, errno := fork(c)
		if errno != 0 {
			failed = errno
			break
		}
		f.pids = append(f.pids, int(pid))
	}
	if err := setMask(&old, nil); err != nil {
		return fmt.Errorf("cannot run kernel %q: cannot unblock signals: %w", f.kernel, err)
	}
	if failed != 0 {
		return fmt.Errorf("cannot run kernel %q: cannot start child %d of %d: %w", f.kernel, len(f.pids)+1, len(f.children), failed)
	}
	return f.openPidfds()
}

func setMask(mask, old *uint64) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetmask,
		uintptr(unsafe.Pointer(mask)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// openPidfds prepares to wait for several children at once. wait4 for any
// child would take away those of the rest of the process, and a thread per
// child would share the children's CPUs.
func (f *family) openPidfds() error {
	if len(f.pids) == 1 {
		return nil
	}
	for _, pid := range f.pids {
		fd, _, errno := syscall.RawSyscall(sysPidfdOpen, uintptr(pid), 0, 0)
		if errno != 0 {
			return fmt.Errorf("cannot run kernel %q on %d threads: pidfd_open: %w (more than one needs Linux 5.3)", f.kernel, len(f.pids), errno)
		}
		f.pidfds = append(f.pidfds, pollFD{fd: int32(fd), events: pollIn})
	}
	return nil
}

// wait reaps every child. After the first that did not end well the others
// are ended too: they would wait for it at the barrier.
func (f *family) wait() error {
	for range f.pids {
		i, err := f.next()
		if err != nil {
			return err
		}
		if err := f.reap(i); err != nil {
			return err
		}
	}
	return nil
}

// next sleeps until a child has ended and returns its index.
func (f *family) next() (int, error) {
	if len(f.pids) == 1 {
		return 0, nil // reap sleeps
	}
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&f.pidfds[0])), uintptr(len(f.pidfds)), 0, 0, 0, 0)
		if errno != 0 && errno != syscall.EINTR {
			return 0, fmt.Errorf("cannot run kernel %q: cannot wait for its children: ppoll: %w", f.kernel, errno)
		}
		for i, p := range f.pidfds {
			if errno == 0 && p.fd >= 0 && p.revents != 0 {
				return i, nil
			}
		}
	}
}

// reap waits for the i-th child and says how it ended.
func (f *family) reap(i int) error {
	var status syscall.WaitStatus
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(f.pids[i], &status, 0, nil)
	}
	if err != nil {
		return fmt.Errorf("cannot run kernel %q: cannot wait for child %d: %w", f.kernel, i+1, err)
	}
	f.pids[i] = 0
	if len(f.pidfds) > 0 {
		fd := int(f.pidfds[i].fd)
		f.pidfds[i].fd = -1 // poll skips it
		if err := syscall.Close(fd); err != nil {
			return fmt.Errorf("cannot run kernel %q: cannot close pidfd: %w", f.kernel, err)
		}
	}
	word := *(*uint64)(f.children[i].region)
	if status.Exited() && status.ExitStatus() == 0 && word == statusDone {
		return nil
	}
	return fmt.Errorf("cannot run kernel %q: child %d of %d %w", f.kernel, i+1, len(f.pids), f.cause(status, word, i))
}

// cause tells why a child ended too early.
func (f *family) cause(status syscall.WaitStatus, word uint64, i int) error {
	errno := syscall.Errno(uint32(word))
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		return errors.New("was killed (out of memory, a limit, or by hand)")
	case status.Signaled():
		return fmt.Errorf("was ended by a signal: %v", status.Signal())
	case word>>32 == stepMap:
		return fmt.Errorf("cannot map %d bytes: %v", f.children[i].private, errno)
	case word>>32 == stepHuge:
		return fmt.Errorf("cannot ask for huge pages: madvise: %v: %w", errno, ErrNoHugePages)
	case word>>32 == stepDeathSig:
		return fmt.Errorf("cannot bind its life to its parent's: prctl: %v", errno)
	case word>>32 == stepOrphan:
		return errors.New("lost its parent before it began")
	}
	return fmt.Errorf("ended early with status %d", status.ExitStatus())
}

// end kills and reaps what is still there. A child that is not reaped keeps
// its pid, so no other process can be hit.
func (f *family) end() {
	for i, pid := range f.pids {
		if pid == 0 {
			continue
		}
		// Neither can fail in a way that could be acted on: the child is ours
		// and not reaped.
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_ = f.reap(i)
	}
	for _, p := range f.pidfds {
		if p.fd >= 0 {
			_ = syscall.Close(int(p.fd))
		}
	}
	runtime.KeepAlive(f.children)
}
