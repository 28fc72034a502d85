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

// maxWalks bounds the walks over the own threads: each walk after the first is
// there for threads that were born during the one before.
const maxWalks = 16

// KeepOff moves every thread of this process off the CPUs and their SMT
// siblings; where nothing else is left, off the CPUs alone; where nothing is
// left even then, it leaves them and Note says so.
//
// Threads that are born later inherit the mask of the one that makes them, so
// once a walk finds none to move, none will come.
func KeepOff(cpus cpulist.Set) (*Kept, error) {
	allowed, err := Allowed()
	if err != nil {
		return nil, err
	}
	k := &Kept{}
	rest := allowed.Minus(withSiblings(cpus))
	if rest.Empty() {
		if rest = allowed.Minus(cpus); rest.Empty() {
			k.note = "the harness shares the task's CPUs: no other CPU is allowed to it"
			return k, nil
		}
		k.note = "the harness runs on an SMT sibling of the task's CPUs: no other CPU is allowed to it"
	}
	k.old = map[int]unix.CPUSetDynamic{}
	if err := k.move(maskOf(rest)); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot move the own threads to %s: %w", rest, err), k.Restore())
	}
	return k, nil
}

// move sets the mask of every own thread, and again for those born meanwhile.
func (k *Kept) move(mask unix.CPUSetDynamic) error {
	for range maxWalks {
		fresh := 0
		err := eachThread(func(tid int) error {
			if _, done := k.old[tid]; done {
				return nil
			}
			old, err := affinity(tid)
			if err == nil {
				err = setAffinity(tid, mask)
			}
			if errors.Is(err, unix.ESRCH) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("thread %d: %w", tid, err)
			}
			k.old[tid] = old
			fresh++
			return nil
		})
		if err != nil || fresh == 0 {
			return err
		}
	}
	return fmt.Errorf("new threads appear faster than they can be moved (%d walks)", maxWalks)
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
	err := eachThread(func(tid int) error {
		mask, ok := k.old[tid]
		if !ok {
			mask = main
		}
		if mask == nil {
			return nil
		}
		if err := setAffinity(tid, mask); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("cannot give thread %d its CPUs back: %w", tid, err))
		}
		return nil
	})
	k.old = nil
	return errors.Join(append(errs, err)...)
}

// eachThread calls do for every thread of this process.
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
