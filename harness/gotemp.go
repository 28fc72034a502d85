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
	sweeps *exec.Cmd      // ends what works in the folder and removes it then
}

// sweepScript reads the process groups that work in the folder, and an empty
// line when one has ended. read fails when the pipe ends: on Close, and on
// SIGKILL of this process too. What is being ended may still make a file behind
// rm's back. dash knows no other form of kill with a group.
const sweepScript = `while read -r line; do group=$line; done
if [ -n "$group" ]; then kill -s KILL -- "-$group"; fi 2>/dev/null
tries=0
until rm -rf -- "$1" 2>/dev/null || [ $tries -ge 50 ]; do tries=$((tries + 1)); sleep 0.1; done
`

// run runs a command of exec.CommandContext in a process group of its own,
// which ends with the context, and with this process: go by itself would go on,
// and so would its compilers.
func (t *tempTree) run(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, told := fmt.Fprintln(t.alive, cmd.Process.Pid)
	err := cmd.Wait()
	_, untold := fmt.Fprintln(t.alive)
	if errors.Join(told, untold) != nil {
		return errors.Join(err, fmt.Errorf("cannot tell the process that would clean up: %w", errors.Join(told, untold)))
	}
	return err
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
	// Where go builds.
	if err := os.Mkdir(filepath.Join(t.dir, "work"), 0o700); err != nil {
		return err
	}
	// A session of its own keeps it from dying with our group.
	cmd := exec.Command("/bin/sh", "-c", sweepScript, "sh", t.dir)
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
