package isolation

import (
	"os"
	"syscall"
)

// Credential is how a process that this one starts becomes a user's, named or
// numbered; nil for "" and for whom this process is already.
func Credential(want string) (*syscall.Credential, error) {
	if want == "" {
		return nil, nil
	}
	a, err := lookUpAccount(want)
	if err != nil || int(a.uid) == os.Geteuid() {
		return nil, err
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid, Groups: a.groups}, nil
}
