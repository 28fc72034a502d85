package isolation

import "syscall"

// Credential is how a process that this one starts becomes a user's, named or
// numbered, and its environment env with that user's HOME, USER and LOGNAME; nil
// and env for "" and for whom this process is already.
func Credential(want string, env []string) (*syscall.Credential, []string, error) {
	if want == "" {
		return nil, env, nil
	}
	a, err := lookUpAccount(want)
	if err != nil || !changesUser(a) {
		return nil, env, err
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid, Groups: a.allGroups()}, a.environment(env), nil
}
