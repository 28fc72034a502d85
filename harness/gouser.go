package harness

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"goset/isolation"
)

// worker is whom a GoBuilder works as.
type worker struct {
	user string              // named or numbered; "": whoever runs this
	cred *syscall.Credential // the same of processes; nil: whoever runs this
}

// newWorker also gives the environment of the user's processes.
func newWorker(user string, env []string) (worker, []string, error) {
	cred, env, err := isolation.Credential(user, env)
	return worker{user, cred}, env, err
}

// do does what is done with files. The processes that are started have w.cred.
func (w worker) do(what func() error) error { return isolation.AsUser(w.user, what) }

// uid is whom the worker's files belong to.
func (w worker) uid() int {
	if w.cred == nil {
		return os.Geteuid()
	}
	return int(w.cred.Uid)
}

// removeTree removes a folder of the worker's. What the worker may not remove,
// as what a benchmark that ran as root left there, this process removes: below
// the folder that holds it no path is followed, but names in folders that are
// open, and no link is (os.RemoveAll: openat with O_NOFOLLOW, unlinkat), so that
// it removes nothing elsewhere, whatever the worker's processes put there
// meanwhile.
func (w worker) removeTree(dir string) error {
	err := w.do(func() error { return os.RemoveAll(dir) })
	if err == nil || w.cred == nil {
		return err
	}
	return os.RemoveAll(dir)
}

// lookUp finds go or git, where the environment says.
func (w worker) lookUp(name string, env []string) (string, error) {
	path := searchPath(env)
	file, err := lookUp(command{name, path})
	var missing *StartError
	if errors.As(err, &missing) && missing.Missing {
		missing.Hint = fmt.Sprintf("PATH is %q", path)
		if w.cred != nil {
			missing.Hint += `; sudo may have set it, and yours goes on with: sudo env "PATH=$PATH" goset-bench …`
		}
	}
	return file, err
}

// mayNot says that the worker has no right to something, and the way out.
func (w worker) mayNot(what string) error {
	if w.cred == nil {
		return fmt.Errorf("this user may not %s", what)
	}
	return fmt.Errorf("user %q may not %s (let that user, or build and run as root with -user root)", w.user, what)
}
