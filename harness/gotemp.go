package harness

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// tempPrefix begins the names of our temporary folders.
const tempPrefix = "goset-bench-go-"

// tempTree is a temporary folder that does not outlive this process. Its lock
// file is locked as long as somebody works in it. It is the worker's, with all
// that is in it.
type tempTree struct {
	as     worker
	dir    string
	lock   *os.File
	alive  io.WriteCloser // closed when this process ends, however it ends
	sweeps *exec.Cmd      // a SweepBuilds
}

// run runs a command of GoBuilder.command in a process group of its own, which
// ends with the context, and with this process: go by itself would go on, and so
// would its compilers.
func (t *tempTree) run(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Setpgid = true
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
// sweeper is how SweepBuilds is started.
func newTempTree(as worker, sweeper []string) (*tempTree, error) {
	t := &tempTree{as: as}
	base := os.TempDir()
	sweepTemp(as, base, time.Now())
	err := as.do(func() error { return t.make(base) })
	if err == nil {
		err = t.watch(sweeper)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make a folder for builds: %w", err), t.discard())
	}
	return t, nil
}

// make makes the folder and locks it.
func (t *tempTree) make(base string) error {
	dir, err := os.MkdirTemp(base, tempPrefix)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("in %q, which TMPDIR names where it is set, %w", base, t.as.mayNot("make one"))
	}
	if err != nil {
		return err
	}
	t.dir = dir // to be removed, whatever comes
	if t.dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.dir = dir
		return err
	}
	if t.lock, err = os.OpenFile(filepath.Join(t.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := syscall.Flock(int(t.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	// The benchmarks of a mode may run as another user.
	if err := os.Chmod(t.dir, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(t.dir, "bin"), 0o755); err != nil {
		return err
	}
	// Where go builds.
	return os.Mkdir(filepath.Join(t.dir, "work"), 0o700)
}

// watch starts the process that outlives this one.
func (t *tempTree) watch(sweeper []string) (err error) {
	if len(sweeper) == 0 {
		return errors.New("nothing is known that could remove it")
	}
	cmd := exec.Command(sweeper[0], append(sweeper[1:len(sweeper):len(sweeper)], t.dir, t.as.user)...)
	// What it is called is for people who list processes.
	cmd.Args[0] = os.Args[0]
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), loadEnv()...)
	// A session of its own keeps it from dying with our group.
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

// discard removes a folder that nobody watches.
func (t *tempTree) discard() error {
	if t.dir == "" {
		return nil
	}
	err := t.as.removeTree(t.dir)
	if t.lock != nil {
		err = errors.Join(err, t.lock.Close())
	}
	return err
}

// remove removes the folder and waits for the process to end.
func (t *tempTree) remove() error {
	err := t.as.removeTree(t.dir)
	err = errors.Join(err, t.alive.Close(), t.sweeps.Wait(), t.lock.Close())
	if err != nil {
		return fmt.Errorf("cannot remove the folder of builds: %w", err)
	}
	return nil
}
