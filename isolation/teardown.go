package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killCgroup ends every process in a cgroup of ours and below it, and waits
// until they are gone. A cgroup that is not there holds nobody.
func killCgroup(k kernel, object string) error {
	if err := validOwn(object); err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left, err := inside(k, object)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v do not end", left)
		}
		// cgroup.kill (5.14) misses nobody that forks meanwhile.
		if k.writeFile(path.Join(object, "cgroup.kill"), "1") != nil {
			for _, pid := range left {
				killOne(k, pid)
			}
		}
		time.Sleep(pause)
	}
}

// killOne kills a process of a cgroup. One that ended meanwhile is what was
// wanted; one that cannot be killed is found again by the next look.
func killOne(k kernel, pid int) {
	if start, err := startOf(k, pid); err == nil {
		_ = k.signal(pid, start, syscall.SIGKILL)
	}
}

// inside lists the processes in a cgroup and below it, without those that have
// ended and are not reaped: they keep no cgroup from being removed.
func inside(k kernel, object string) ([]int, error) {
	text, err := k.readFile(path.Join(object, "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, syscall.EOPNOTSUPP) {
		return nil, err
	}
	var pids []int
	for _, word := range strings.Fields(text) {
		pid, err := strconv.Atoi(word)
		if err != nil || pid < 1 {
			return nil, fmt.Errorf("cannot read %s: %q is no process", object, word)
		}
		pids = append(pids, pid)
	}
	if path.Base(object) == jobName {
		return pids, nil
	}
	below, err := inside(k, path.Join(object, jobName))
	return append(pids, below...), err
}
