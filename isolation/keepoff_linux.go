package isolation

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"goset/cpulist"
)

// Kept is the threads of this process, kept off a task's CPUs. Its nil value
// keeps nothing.
type Kept struct {
	old  map[int]unix.CPUSetDynamic // by thread, as it was
	note string
}

// The walks over the own threads: they end after quietWalks that found no new
// thread, which is more than one since a thread stands in /proc a little later
// than it took its maker's mask; and after maxWalks in any case.
const (
	quietWalks = 2
	maxWalks   = 32
)

// KeepOff moves every thread of this process off the CPUs and their SMT
// siblings; where nothing else is left, off the CPUs alone; where nothing is
// left even then, it leaves them and Note says so.
//
// Threads that are born later inherit the mask of the one that makes them, so
// once the walks find none to move, none will come.
func KeepOff(cpus cpulist.Set) (*Kept, error) {
	allowed, err := Allowed()
	if err != nil {
		return nil, err
	}
	rest, note, err := leftBeside(cpus, allowed)
	if err != nil {
		return nil, err
	}
	k := &Kept{note: note}
	if rest.Empty() {
		return k, nil
	}
	k.old = map[int]unix.CPUSetDynamic{}
	if err := k.move(maskOf(rest)); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot move the own threads to %s: %w", rest, err), k.Restore())
	}
	return k, nil
}

// KeepTo moves every thread of this process to the CPUs.
func KeepTo(cpus cpulist.Set) (*Kept, error) {
	k := &Kept{old: map[int]unix.CPUSetDynamic{}}
	if err := k.move(maskOf(cpus)); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot move the own threads to %s: %w", cpus, err), k.Restore())
	}
	return k, nil
}

// move sets the mask of every own thread. What they had is read from all of
// them first: a thread that is born after one was moved may have the new mask.
func (k *Kept) move(mask unix.CPUSetDynamic) error {
	err := eachThread(func(tid int) error {
		old, err := affinity(tid)
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		k.old[tid] = old
		return err
	})
	if err != nil {
		return err
	}
	return everyThread(func(tid int) error { return setAffinity(tid, mask) })
}

// Note says what is worth knowing about where the threads are; "" when they
// are off the CPUs and their siblings.
func (k *Kept) Note() string {
	if k == nil {
		return ""
	}
	return k.note
}

// Restore gives every thread its own mask back. A thread that was born
// meanwhile gets the main thread's.
func (k *Kept) Restore() error {
	if k == nil || len(k.old) == 0 {
		return nil
	}
	main := k.old[os.Getpid()]
	var errs []error
	err := everyThread(func(tid int) error {
		mask, ok := k.old[tid]
		if !ok {
			mask = main
		}
		if err := setAffinity(tid, mask); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("cannot give thread %d its CPUs back: %w", tid, err))
		}
		return nil
	})
	k.old = nil
	return errors.Join(append(errs, err)...)
}

// everyThread calls do once for every thread of this process, also for those
// that are born meanwhile: their makers may not have been reached yet. ESRCH
// means that the thread has ended.
func everyThread(do func(tid int) error) error {
	done := map[int]bool{}
	quiet := 0
	for range maxWalks {
		quiet++
		err := eachThread(func(tid int) error {
			if done[tid] {
				return nil
			}
			done[tid] = true
			quiet = 0
			if err := do(tid); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("thread %d: %w", tid, err)
			}
			return nil
		})
		if err != nil || quiet == quietWalks {
			return err
		}
	}
	return fmt.Errorf("new threads appear faster than they can be reached (%d walks)", maxWalks)
}

// eachThread calls do for every thread that stands in one walk.
func eachThread(do func(tid int) error) error {
	dir, err := os.Open("/proc/self/task")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		tid, err := strconv.Atoi(name)
		if err != nil {
			return fmt.Errorf("/proc/self/task holds %q", name)
		}
		if err := do(tid); err != nil {
			return err
		}
	}
	return nil
}
