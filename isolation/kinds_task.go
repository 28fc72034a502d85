package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"time"

	"goset/cpulist"
	"goset/internal/lazy"
)

// errGone says that what an entry names is no longer there, so that nothing is
// left to undo.
var errGone = errors.New("it is gone")

// errLeft says that an entry is left as it is on purpose.
var errLeft = errors.New("it is left")

// isGone reports whether an object has disappeared: no such file, no such
// process, no such device (a cgroup or driver that is going away).
func isGone(err error) bool {
	return errors.Is(err, errGone) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.ENODEV)
}

// taskKind is the table of kinds that are no files.
func taskKind(name Kind) kind {
	switch name {
	case KindUnit:
		return kind{valid: validUnit, read: readUnit, write: writeUnit, same: sameUnit}
	case KindProcess:
		return kind{valid: validTask, read: readStopped, write: writeStopped}
	case KindBystander:
		return kind{valid: validTask, read: readAffinity, write: writeAffinity, undo: restoreAffinity, same: sameCPUs, ours: oneOfCPUs}
	default:
		return kind{valid: validTask, read: readAffinity, write: writeAffinity, undo: restoreAffinity, same: sameCPUs}
	}
}

// taskObject names a process or thread for as long as this boot lasts. A name
// is no part of it: a task may rename itself, and kernel workers do so with
// every piece of work.
func taskObject(tid int, start uint64) string { return fmt.Sprintf("%d:%d", tid, start) }

// parseTask reads what taskObject wrote.
func parseTask(object string) (tid int, start uint64, err error) {
	a, b, ok := strings.Cut(object, ":")
	tid, terr := strconv.Atoi(a)
	start, serr := strconv.ParseUint(b, 10, 64)
	if !ok || terr != nil || serr != nil || tid < 1 || taskObject(tid, start) != object {
		return 0, 0, fmt.Errorf("%.60q names no process as PID:START", object)
	}
	return tid, start, nil
}

func validTask(object string) error {
	_, _, err := parseTask(object)
	return err
}

// liveTask finds the task that an object names; errGone: its number is free or
// somebody else's.
func liveTask(k kernel, object string) (int, uint64, error) {
	tid, start, err := parseTask(object)
	if err != nil {
		return 0, 0, err
	}
	now, err := startOf(k, tid)
	if err != nil {
		return 0, 0, err
	}
	if now != start {
		return 0, 0, errGone
	}
	return tid, start, nil
}

func readAffinity(k kernel, object string) (string, error) {
	tid, _, err := liveTask(k, object)
	if err != nil {
		return "", err
	}
	cpus, err := k.affinity(tid)
	return cpus.String(), err
}

func writeAffinity(k kernel, object, value string) error {
	cpus, err := cpulist.Parse(value)
	if err != nil {
		return err
	}
	tid, _, err := liveTask(k, object)
	if err != nil {
		return err
	}
	return k.setAffinity(tid, cpus)
}

// restoreAffinity gives a thread its CPUs back. A kernel worker is born movable
// and bound to the mask of its workqueue a moment later. One that was moved in
// between is the kernel's since: its mask follows the workqueue's, which has an
// entry of its own, and nobody else may set it.
func restoreAffinity(k kernel, e Entry) error {
	err := writeAffinity(k, e.Object, e.Old)
	if !errors.Is(err, syscall.EINVAL) {
		return err
	}
	tid, _, terr := liveTask(k, e.Object)
	if terr != nil {
		return terr
	}
	text, terr := k.readFile("/proc/" + strconv.Itoa(tid) + "/stat")
	if terr != nil {
		return terr
	}
	if stat, terr := parseTaskStat(text); terr == nil && stat.flags&flagKthread != 0 && stat.flags&flagNoSetAffinity != 0 {
		return errLeft
	}
	return err
}

// oneOfCPUs compares with each of the lists that a bystander may have come to.
func oneOfCPUs(current, written string) bool {
	for _, list := range strings.Split(written, ";") {
		if sameCPUs(current, list) {
			return true
		}
	}
	return false
}

// The values of KindProcess.
const (
	valueRunning = "running"
	valueStopped = "stopped"
)

// readStopped tells a process that a signal has stopped from all others.
func readStopped(k kernel, object string) (string, error) {
	pid, _, err := liveTask(k, object)
	if err != nil {
		return "", err
	}
	text, err := k.readFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	_, rest, _ := cutLast(text, ")")
	if f := strings.Fields(rest); len(f) > 0 && f[0] == "T" {
		return valueStopped, nil
	}
	return valueRunning, nil
}

func writeStopped(k kernel, object, value string) error {
	pid, start, err := parseTask(object)
	if err != nil {
		return err
	}
	sig := syscall.SIGCONT
	if value == valueStopped {
		sig = syscall.SIGSTOP
	}
	if err := k.signal(pid, start, sig); err != nil {
		return err
	}
	// The signal is sent; the process stops when it next runs.
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause *= 2 {
		now, err := readStopped(k, object)
		if err != nil || now == value || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// The values of KindUnit: states of systemd that last.
const (
	valueActive   = "active"
	valueInactive = "inactive"
)

// unitName is what units that this package stops are called.
var unitName = lazy.Regexp(`^[a-zA-Z0-9@_:.\\-]{1,200}\.service$`)

func validUnit(object string) error {
	if !unitName().MatchString(object) || strings.HasPrefix(object, "-") {
		return fmt.Errorf("%.60q is no name of a service", object)
	}
	return nil
}

// readUnit asks for the state in a way that does not fail for a unit that is
// not there.
func readUnit(k kernel, object string) (string, error) {
	return k.systemctl("show", "--property=ActiveState", "--value", object)
}

// sameUnit takes a unit that failed for one that does not run: a service that
// exits with a status on SIGTERM has failed.
func sameUnit(a, b string) bool {
	return a == b || a == valueInactive && b == "failed" || a == "failed" && b == valueInactive
}

// writeUnit starts or stops. A unit that was started six times in ten seconds
// is not started again, until its counter is reset.
func writeUnit(k kernel, object, value string) error {
	if value != valueActive {
		_, err := k.systemctl("stop", object)
		return err
	}
	// A unit that never failed has nothing to reset: the start tells more.
	_, _ = k.systemctl("reset-failed", object)
	_, err := k.systemctl("start", object)
	return err
}
