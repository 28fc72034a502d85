package harness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// tempPrefix begins the names of our temporary folders.
const tempPrefix = "goset-bench-go-"

// tempTree is a temporary folder that does not outlive this process. Its lock
// file is locked as long as somebody works in it.
type tempTree struct {
	dir    string
	lock   *os.File
	alive  io.WriteCloser // closed when this process ends, however it ends
	sweeps *exec.Cmd      // removes the folder then
}

// newTempTree makes a folder and removes those whose processes are gone.
func newTempTree() (*tempTree, error) {
	base := os.TempDir()
	sweepTemp(base, time.Now())
	dir, err := os.MkdirTemp(base, tempPrefix)
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder for builds: %v", err)
	}
	t := &tempTree{}
	if t.dir, err = filepath.EvalSymlinks(dir); err == nil {
		err = t.open()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make a folder for builds: %v", err), os.RemoveAll(dir))
	}
	return t, nil
}

// open locks the folder and starts the process that outlives this one.
func (t *tempTree) open() error {
	var err error
	if t.lock, err = os.OpenFile(filepath.Join(t.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := syscall.Flock(int(t.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	// The benchmarks may run as another user.
	if err := os.Chmod(t.dir, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(t.dir, "bin"), 0o755); err != nil {
		return err
	}
	// read ends when the pipe does: on Close, and on SIGKILL too. A session of
	// its own keeps it from dying with our group.
	cmd := exec.Command("/bin/sh", "-c", `read -r _; exec rm -rf -- "$1"`, "sh", t.dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if t.alive, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.sweeps = cmd
	return nil
}

// remove removes the folder and waits for the process to end.
func (t *tempTree) remove() error {
	err := os.RemoveAll(t.dir)
	err = errors.Join(err, t.alive.Close(), t.sweeps.Wait(), t.lock.Close())
	if err != nil {
		return fmt.Errorf("cannot remove the folder of builds: %w", err)
	}
	return nil
}

// sweepTemp removes the folders that killed processes left. What cannot be
// removed is left alone: it may be somebody else's, and harms nobody.
func sweepTemp(base string, now time.Time) {
	dirs, err := filepath.Glob(filepath.Join(base, tempPrefix+"*"))
	if err != nil {
		return // only a malformed pattern
	}
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || !ours(info) {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|syscall.O_NOFOLLOW, 0)
		if err != nil {
			// Between mkdir and the lock a folder has none.
			if errors.Is(err, os.ErrNotExist) && now.Sub(info.ModTime()) > time.Minute {
				_ = os.RemoveAll(dir)
			}
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		lock.Close()
	}
}

func ours(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
