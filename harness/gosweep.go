package harness

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The bounds of removing a folder in which what is being ended may still make a
// file behind the remover's back.
const (
	sweepTries = 50
	sweepPause = 100 * time.Millisecond
)

// SweepBuilds is the whole life of the process that removes the folder of a
// GoBuilder when the GoBuilder's process vanishes: dir as its user made it, in
// says which process groups work there, one a line, and an empty line when one
// has ended. It ends when in does: on Close, and on SIGKILL of the other process
// too.
func SweepBuilds(dir, user string, in io.Reader) error {
	if !strings.HasPrefix(filepath.Base(dir), tempPrefix) {
		return fmt.Errorf("cannot remove %q: it is no folder of builds", dir)
	}
	as, _, err := newWorker(user, nil)
	if err != nil {
		return err
	}
	group := 0
	for lines := bufio.NewScanner(in); lines.Scan(); {
		group, _ = strconv.Atoi(lines.Text()) // 0 for the empty line
	}
	if group > 1 {
		// ESRCH: it has ended.
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	for try := 1; ; try++ {
		if err = as.removeTree(dir); err == nil || try == sweepTries {
			return err
		}
		time.Sleep(sweepPause)
	}
}

// sweepTemp removes the worker's folders that killed processes left. What cannot
// be removed is left alone: it harms nobody.
func sweepTemp(as worker, base string, now time.Time) {
	var stale []staleTree
	_ = as.do(func() error {
		stale = staleTrees(as.uid(), base, now)
		return nil
	})
	for _, t := range stale {
		_ = as.removeTree(t.dir)
		t.lock.Close()
	}
}

// staleTree is a folder in which nobody works, with its lock, which is ours now;
// nil: it never had one.
type staleTree struct {
	dir  string
	lock *os.File
}

// staleTrees finds the folders of a user that killed processes left.
func staleTrees(uid int, base string, now time.Time) []staleTree {
	dirs, err := filepath.Glob(filepath.Join(base, tempPrefix+"*"))
	if err != nil {
		return nil // only a malformed pattern
	}
	var stale []staleTree
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || !belongs(info, uid) {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|syscall.O_NOFOLLOW, 0)
		switch {
		case err != nil:
			// Between mkdir and the lock a folder has none.
			if os.IsNotExist(err) && now.Sub(info.ModTime()) > time.Minute {
				stale = append(stale, staleTree{dir: dir})
			}
		case syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil:
			stale = append(stale, staleTree{dir, lock})
		default:
			lock.Close()
		}
	}
	return stale
}

func belongs(info os.FileInfo, uid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}
