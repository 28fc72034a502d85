package isolation

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// AsUser runs do with a user's access to files, the user named or numbered: what
// do itself opens, makes and removes, it opens, makes and removes as a process
// of that user's would, and what it makes is that user's. The processes that do
// starts are not: [Credential] makes them so. For "" and for whom this process
// is already, do is run as it is. The error is do's, or says why that access
// cannot be had, and then do was not run.
//
// It runs on a thread of its own, of which the groups and what files are asked
// for change (setfsuid(2)) and nothing else. A thread that became the user whole
// could be traced and ended by the user's other processes, and shares its memory
// with this process.
func AsUser(want string, do func() error) error {
	if want == "" {
		return do()
	}
	a, err := lookUpAccount(want)
	if err != nil {
		return err
	}
	if !changesUser(a) {
		return do()
	}
	// It goes with every change of what files are asked for, and with the start
	// of a process that becomes a user's.
	restore, err := keepDumpable()
	if err != nil {
		return err
	}
	err = onThrowawayThread(func() error {
		if err := a.takeAccess(); err != nil {
			return fmt.Errorf("cannot have the access of user %s to files: %w (run with sudo)", a, err)
		}
		return do()
	})
	if rerr := restore(); rerr != nil {
		return errors.Join(err, rerr)
	}
	return err
}

// takeAccess gives the calling thread the account's access to files, for good.
func (a *account) takeAccess() error {
	groups := a.groupsCall()
	if err := groups.run(); err != nil {
		return err
	}
	// These two report nothing: what they left is read with an id that nobody
	// has.
	_, _ = unix.SetfsgidRetGid(int(a.gid))
	gid, gerr := unix.SetfsgidRetGid(-1)
	_, _ = unix.SetfsuidRetUid(int(a.uid))
	uid, uerr := unix.SetfsuidRetUid(-1)
	switch {
	case gerr != nil || uerr != nil:
		return fmt.Errorf("cannot set the ids that files are asked for: %w", errors.Join(gerr, uerr))
	case gid != int(a.gid) || uid != int(a.uid):
		return fmt.Errorf("cannot set the ids that files are asked for: the kernel left user %d and group %d", uid, gid)
	}
	return nil
}
