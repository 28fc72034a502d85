package isolation

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"goset/cpulist"
	"goset/internal/lazy"
)

// The kinds of change. Files are paths as the kernel has them.
const (
	// KindWords is a file that is compared word by word: governor, "0".
	KindWords Kind = "words"
	// KindNumber is a file that holds one decimal number.
	KindNumber Kind = "number"
	// KindCPUs is a file that holds a CPU list, in whatever form.
	KindCPUs Kind = "cpus"
	// KindMask is a file that holds a hexadecimal CPU mask.
	KindMask Kind = "mask"
	// KindController is one controller of a cgroup.subtree_control, as
	// "cpuset": the object is FILE#CONTROLLER, the values "on" and "off".
	KindController Kind = "controller"
	// KindPartition is a cpuset.cpus.partition.
	KindPartition Kind = "partition"
	// KindCgroup is a cgroup of our own, "present" or "absent". Its undo ends
	// every process inside.
	KindCgroup Kind = "cgroup"
	// KindShelter is a cgroup of our own for the guard. Its undo ends nobody.
	KindShelter Kind = "shelter"
	// KindAttribute is a file inside a cgroup of our own: it goes with its
	// folder and has no undo.
	KindAttribute Kind = "attribute"
	// KindUnit is a unit of systemd, "active" or "inactive".
	KindUnit Kind = "unit"
	// KindProcess is a process, "running" or "stopped" (SIGSTOP).
	KindProcess Kind = "process"
	// KindAffinity is the CPU list of one thread.
	KindAffinity Kind = "affinity"
	// KindBystander is the CPU list of a thread that the kernel may overwrite
	// when it makes or removes cpusets, before 6.2. Nothing is written but by
	// the undo; the new value lists, with semicolons, what the kernel makes
	// of it.
	KindBystander Kind = "bystander"
	// KindWorkqueues is the mask of the unbound workqueues.
	KindWorkqueues Kind = "workqueues"
	// KindMember is the cgroup of a process, version 1: the object is
	// MOUNT#PID:START, the values are paths of cgroups below the mount.
	KindMember Kind = "member"
)

// kind is what the journal knows about a sort of change.
type kind struct {
	// valid refuses objects that this kind never has, so that a journal can
	// make nobody write elsewhere.
	valid func(object string) error
	// read returns the value that is in force.
	read func(k kernel, object string) (string, error)
	// write puts a value in force.
	write func(k kernel, object, value string) error
	// same says that two values mean the same; nil: they are equal.
	same func(a, b string) bool
	// ours says that the current value is what came of writing one; nil: same.
	ours func(current, written string) bool
	// identify tells the object from others with its name; nil: it cannot be
	// mistaken.
	identify func(k kernel, object string) (string, error)
	// undo puts the old value back; nil: write does.
	undo func(k kernel, e Entry) error
	// lags says that a value may be in force only some time after its write,
	// so that the old one that is read may be about to go: undo writes it.
	lags bool
}

func (k kind) equal(a, b string) bool {
	if k.same == nil {
		return a == b
	}
	return k.same(a, b)
}

func (k kind) isOurs(current, written string) bool {
	if k.ours != nil {
		return k.ours(current, written)
	}
	return k.equal(current, written)
}

// kindOf is the table of kinds. Kinds of a topic of their own stand in the
// file of that topic.
func kindOf(name Kind) (kind, bool) {
	file := kind{valid: validFile, read: kernel.readFile, write: kernel.writeFile}
	switch name {
	case KindWords:
		file.same = sameWords
		return file, true
	case KindNumber:
		file.same = sameNumber
		return file, true
	case KindCPUs:
		file.same = sameCPUs
		return file, true
	case KindMask:
		file.same = sameMask
		return file, true
	case KindWorkqueues:
		return kind{valid: validWorkqueues, read: readWorkqueues, write: kernel.writeFile, same: sameMask}, true
	case KindController, KindPartition, KindCgroup, KindShelter, KindAttribute, KindMember:
		return cgroupKind(name), true
	case KindUnit, KindProcess, KindAffinity, KindBystander:
		return taskKind(name), true
	}
	return knobKind(name)
}

// The folders that hold everything that a journal may name.
var kernelFolders = []string{"/proc/", "/sys/"}

// plainPath is what the elements of a kernel path look like. Whatever is
// written by us fits; "..", "//" and control characters do not.
var plainPath = lazy.Regexp(`^(/[A-Za-z0-9_@:+~=-][A-Za-z0-9_.@:+~=\\-]*)+$`)

// validFile accepts the path of a file below /proc or /sys.
func validFile(object string) error {
	if len(object) > 4096 || !plainPath().MatchString(object) || path.Clean(object) != object {
		return fmt.Errorf("%.200q is no path of a kernel file", object)
	}
	if !slices.ContainsFunc(kernelFolders, func(dir string) bool { return strings.HasPrefix(object, dir) }) {
		return fmt.Errorf("%q is neither below /proc nor /sys", object)
	}
	return nil
}

func validWorkqueues(object string) error {
	if object != workqueueMask {
		return fmt.Errorf("%q is not the mask of workqueues", object)
	}
	return nil
}

func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// sameNumber compares numbers as numbers; what is none only equals itself.
func sameNumber(a, b string) bool {
	x, xerr := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	y, yerr := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	if xerr != nil || yerr != nil {
		return sameWords(a, b)
	}
	return x == y
}

func sameCPUs(a, b string) bool { return sameSet(cpulist.Parse, a, b) }
func sameMask(a, b string) bool { return sameSet(cpulist.ParseMask, a, b) }

func sameSet(parse func(string) (cpulist.Set, error), a, b string) bool {
	x, xerr := parse(strings.TrimSpace(a))
	y, yerr := parse(strings.TrimSpace(b))
	if xerr != nil || yerr != nil {
		return sameWords(a, b)
	}
	return x.Equal(y)
}
