package isolation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"goset/host"
)

// DefaultLock is the file whose lock is the machine's: everybody can open it,
// so that runs without root take their turn too, nobody can write, exchange or
// remove it, and it is there without having been made.
const DefaultLock = "/sys/devices/system/cpu/online"

// machineLock is the lock that two sessions on one machine take turns with.
type machineLock struct{ file *os.File } // nil: an ancestor holds it

// locking is how the lock is taken.
type locking int

const (
	lockAlone    locking = unix.LOCK_EX // by sessions
	lockTogether locking = unix.LOCK_SH // by visits
)

// lockPoll is how often a waiter looks whether the lock is free: flock itself
// cannot be given a deadline.
const lockPoll = 100 * time.Millisecond

// lockLooks is how often a lock is asked for whose holder cannot be seen. Most
// often that one ended between the two questions, and has it no more.
const lockLooks = 3

// Visit is the time on the machine of a command that changes nothing of it. Visits
// go side by side, and none beside a session, which they would disturb unnoticed.
type Visit struct{ lock *machineLock }

// NewVisit waits as Open does. The error is a *LockedError when a session has the
// machine.
func NewVisit(ctx context.Context, o Options) (*Visit, error) {
	lock, err := o.lockMachine(ctx, lockTogether)
	return &Visit{lock}, err
}

// Close ends the visit.
func (v *Visit) Close() error { return v.lock.unlock() }

// lockMachine takes the lock that the options name, and says whom it waits for.
func (o *Options) lockMachine(ctx context.Context, how locking) (*machineLock, error) {
	return lockMachine(ctx, cmp.Or(o.Lock, DefaultLock), how, o.Wait, func(h Holder) {
		if o.Say != nil {
			o.Say(fmt.Sprintf("waiting up to %v for this machine: %s has its lock", o.Wait, h))
		}
	})
}

// lockMachine takes the lock, waiting for it at most so long. waits is told
// who has it, once for every holder. A session started by a run of another is
// that one's guest: it does not wait for its own ancestor.
func lockMachine(ctx context.Context, path string, how locking, wait time.Duration, waits func(Holder)) (*machineLock, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock of this machine: %w", lockFault(path, err))
	}
	deadline := time.Now().Add(wait)
	var told *Holder
	for look := 1; ; look++ {
		err := unix.Flock(int(file.Fd()), int(how)|unix.LOCK_NB)
		if err == nil {
			return &machineLock{file}, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			file.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", path, err)
		}
		holder, own := lockHolder(file)
		if own {
			return &machineLock{}, file.Close()
		}
		ending := holder.PID == 0 && look < lockLooks
		if time.Now().After(deadline) && !ending {
			file.Close()
			return nil, &LockedError{holder}
		}
		if !ending && (told == nil || told.PID != holder.PID) {
			told = &holder
			waits(holder)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// lockFault says what a lock has to be. It is not made where it is not there: one
// that a misspelt name brought about would keep nobody out, and a file in a folder
// that others write to could be exchanged under who waits for it.
func lockFault(path string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: it must be there already, since nobody else would take one that is new (touch %s, or leave -lock out): %w", path, path, unix.ENOENT)
	case errors.Is(err, unix.ELOOP):
		return fmt.Errorf("%s: it is a link, which is not followed: name the file itself: %w", path, unix.ELOOP)
	}
	return err
}

func (l *machineLock) unlock() error {
	if l.file == nil {
		return nil
	}
	// Closing frees the lock.
	return l.file.Close()
}

// LockedBy says who has the lock of this machine, as in a [LockedError]; "":
// nobody that can be seen from here. It does not take the lock, not even for an
// instant: a session that starts just then would be refused.
func LockedBy(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	pids, err := lockHolders(file)
	if err != nil || len(pids) == 0 {
		return "", err
	}
	return describe(pids[0]).String(), nil
}

// lockHolder finds who holds the lock of an open file: of several one that is no
// ancestor of this process. own is true when only ancestors do.
func lockHolder(file *os.File) (h Holder, own bool) {
	pids, err := lockHolders(file)
	if err != nil || len(pids) == 0 {
		return Holder{}, false
	}
	for _, pid := range pids {
		if !isAncestor(pid) {
			return describe(pid), false
		}
	}
	return describe(pids[0]), true
}

// lockHolders lists the processes that hold the lock of an open file.
func lockHolders(file *os.File) ([]int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return nil, err
	}
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil, err
	}
	return parseLocks(string(text), uint64(st.Dev), st.Ino), nil
}

// parseLocks finds the holders of a lock in /proc/locks:
//
//	1: FLOCK  ADVISORY  WRITE 7855 00:16:3564 0 EOF
//
// Waiters stand below with "->". A holder in another PID namespace has the
// number 0 or -1.
func parseLocks(text string, dev, inode uint64) (pids []int) {
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), inode)
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[5] != want {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// describe says what can be learned of a process.
func describe(pid int) Holder {
	h := Holder{PID: pid}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		words := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		h.Name = fmt.Sprintf("%.100q", strings.Join(words, " "))
	}
	start, err := startOf(machine{}, pid)
	var up unix.Timespec
	if err == nil && unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) == nil {
		h.Since = time.Now().Add(time.Duration(start)*host.Tick - time.Duration(up.Nano())).Truncate(time.Second)
	}
	return h
}

// isAncestor reports whether this process descends from another one.
func isAncestor(pid int) bool {
	at := os.Getppid()
	for range 1000 {
		if at == pid {
			return true
		}
		if at <= 1 {
			return false
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", at))
		if err != nil {
			return false
		}
		_, rest, _ := cutLast(string(text), ")")
		f := strings.Fields(rest)
		if len(f) < 2 {
			return false
		}
		if at, err = strconv.Atoi(f[1]); err != nil {
			return false
		}
	}
	return false
}
