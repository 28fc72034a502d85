package isolation

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"goset/host"
	"goset/internal/lazy"
)

// The values of KindCgroup and KindShelter.
const (
	valuePresent = "present"
	valueAbsent  = "absent"
)

// The values of KindController.
const (
	valueOn  = "on"
	valueOff = "off"
)

// cgroupKind is the table of kinds about cgroups.
func cgroupKind(name Kind) kind {
	switch name {
	case KindController:
		return kind{valid: validController, read: readController, write: writeController, undo: undoController}
	case KindPartition:
		return kind{valid: validPartition, read: kernel.readFile, write: kernel.writeFile, same: sameWords, ours: oursPartition}
	case KindAttribute:
		return kind{valid: validAttribute, read: kernel.readFile, write: kernel.writeFile, same: sameCPUs, undo: func(kernel, Entry) error { return errLeft }}
	case KindShelter:
		return kind{valid: validOwn, read: readCgroup, write: writeCgroup, undo: undoShelter}
	case KindMember:
		return kind{valid: validMember, read: readMember, write: writeMember}
	default:
		return kind{valid: validOwn, read: readCgroup, write: writeCgroup, undo: undoCgroup}
	}
}

// ownName is what the cgroups that this package makes are called: nothing else
// is ever removed.
var ownName = lazy.Regexp(`^goset-[0-9a-f]{16}$`)

// jobName is the cgroup inside, in which the task runs.
const jobName = "job"

// newID draws what the cgroups of a session are told apart by.
func newID() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("cannot draw a name: %w", err)
	}
	return "goset-" + hex.EncodeToString(b[:]), nil
}

// validOwn accepts the path of a cgroup of ours.
func validOwn(object string) error {
	if err := validFile(object); err != nil {
		return err
	}
	name := path.Base(object)
	if name == jobName {
		name = path.Base(path.Dir(object))
	}
	if !strings.HasPrefix(object, "/sys/fs/cgroup/") || !ownName().MatchString(name) {
		return fmt.Errorf("%q is no cgroup of goset's", object)
	}
	return nil
}

// validAttribute accepts a file in a cgroup of ours.
func validAttribute(object string) error {
	if err := validFile(object); err != nil {
		return err
	}
	return validOwn(path.Dir(object))
}

func validPartition(object string) error {
	if path.Base(object) != "cpuset.cpus.partition" {
		return fmt.Errorf("%q is no partition", object)
	}
	return validAttribute(object)
}

// oursPartition takes "isolated invalid (reason)" for ours: the kernel says so
// of what was written, and nobody else knows the cgroup.
func oursPartition(current, written string) bool {
	return sameWords(current, written) || strings.HasPrefix(current, written+" invalid")
}

// validController accepts FILE#CONTROLLER.
func validController(object string) error {
	file, controller, ok := strings.Cut(object, "#")
	if !ok || !slices.Contains([]string{"cpuset", "cpu", "memory"}, controller) || path.Base(file) != "cgroup.subtree_control" {
		return fmt.Errorf("%q is no controller of a cgroup", object)
	}
	return validFile(file)
}

func readController(k kernel, object string) (string, error) {
	file, controller, _ := strings.Cut(object, "#")
	text, err := k.readFile(file)
	if err != nil {
		return "", err
	}
	if slices.Contains(strings.Fields(text), controller) {
		return valueOn, nil
	}
	return valueOff, nil
}

func writeController(k kernel, object, value string) error {
	file, controller, _ := strings.Cut(object, "#")
	sign := "+"
	if value == valueOff {
		sign = "-"
	}
	return k.writeFile(file, sign+controller)
}

// controllerTries is how often a controller that others seem to use is tried to
// be switched off: a cgroup that was removed a moment ago may still count.
const controllerTries = 5

// undoController leaves a controller on that others have come to use: then the
// kernel says EBUSY, and they would lose it.
func undoController(k kernel, e Entry) error {
	for range controllerTries {
		err := writeController(k, e.Object, e.Old)
		if !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errLeft
}

func readCgroup(k kernel, object string) (string, error) {
	_, err := k.readFile(path.Join(object, "cgroup.procs"))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV):
		return valueAbsent, nil
	// A cgroup that turned invalid cannot list its processes.
	case err != nil && !errors.Is(err, syscall.EOPNOTSUPP):
		return "", err
	}
	return valuePresent, nil
}

func writeCgroup(k kernel, object, value string) error {
	if value == valuePresent {
		return k.mkdir(object)
	}
	return removeCgroup(k, object)
}

func undoCgroup(k kernel, e Entry) error {
	if err := killCgroup(k, e.Object); err != nil {
		return err
	}
	return removeCgroup(k, e.Object)
}

// undoShelter moves everybody inside to the cgroup above, the own process too
// when it is the guard, and ends nobody. Who cannot be moved has ended.
func undoShelter(k kernel, e Entry) error {
	deadline := time.Now().Add(patience)
	for {
		left, err := inside(k, e.Object)
		if err != nil {
			return err
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return removeCgroup(k, e.Object)
		}
		for _, pid := range left {
			_ = k.writeFile(path.Join(path.Dir(e.Object), "cgroup.procs"), strconv.Itoa(pid))
		}
	}
}

// removal bounds the time that a cgroup without processes may still be busy.
const removal = 300 * time.Millisecond

// removeCgroup waits out the moment that the kernel needs after the last
// process of a cgroup has ended.
func removeCgroup(k kernel, object string) error {
	deadline := time.Now().Add(removal)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err := k.rmdir(object)
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// validMember accepts MOUNT#PID:START.
func validMember(object string) error {
	mount, task, ok := strings.Cut(object, "#")
	if !ok {
		return fmt.Errorf("%.200q names no process of a cgroup", object)
	}
	if err := validFile(mount); err != nil {
		return err
	}
	return validTask(task)
}

// readMember finds the cgroup of a process below a mount of version 1.
func readMember(k kernel, object string) (string, error) {
	mount, task, _ := strings.Cut(object, "#")
	pid, _, err := liveTask(k, task)
	if err != nil {
		return "", err
	}
	text, err := k.readFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", err
	}
	return cgroupPath(text, path.Base(mount))
}

func writeMember(k kernel, object, value string) error {
	mount, task, _ := strings.Cut(object, "#")
	if strings.Contains(value, "..") {
		return fmt.Errorf("%q is no path of a cgroup", value)
	}
	pid, _, err := liveTask(k, task)
	if err != nil {
		return err
	}
	return k.writeFile(path.Join(mount, value, "cgroup.procs"), strconv.Itoa(pid))
}

// cgroupPath takes the path of a controller out of /proc/PID/cgroup; controller
// "" is version 2.
func cgroupPath(text, controller string) (string, error) {
	at, ok := host.CgroupOf(text, controller)
	if !ok {
		return "", fmt.Errorf("no line for cgroup controller %q in %.200q", controller, text)
	}
	return at, nil
}
