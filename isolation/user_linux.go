package isolation

import (
	"errors"
	"fmt"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// userLayer runs the child as another user: uid, gid, supplementary groups and
// HOME. What needs root is done before it is dropped, and the kernel takes all
// capabilities at the exec.
type userLayer struct {
	want string
	who  *account
	readings
}

// account is a user as a process has it.
type account struct {
	uid, gid uint32
	groups   []uint32
	name     string // "" where only the number is known
	home     string
}

func newUserLayer(r *applied) layer {
	if r.mode.User == "" {
		return nil
	}
	return &userLayer{want: r.mode.User}
}

func (*userLayer) key() string { return "user" }

func (l *userLayer) probe(*applied) *Unsupported {
	who, err := lookUpAccount(l.want)
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `give the name or number of a user of this machine, or "root"`}
	}
	if !changesUser(who) {
		return nil
	}
	if err := tryToBecome(who); err != nil {
		return &Unsupported{Reason: fmt.Sprintf("this process may not become user %s (%v)", who, err), Hint: "run with sudo"}
	}
	return nil
}

// changesUser is false for the user that this process is already.
func changesUser(who *account) bool {
	return int(who.uid) != unix.Getuid() || int(who.uid) != unix.Geteuid()
}

// String is how messages call an account.
func (a *account) String() string {
	if a.name == "" {
		return strconv.FormatUint(uint64(a.uid), 10)
	}
	return fmt.Sprintf("%s (%d)", a.name, a.uid)
}

// lookUpAccount finds a user by name or number. A number without an entry is a
// user that has that number as its group, too, and no others.
func lookUpAccount(want string) (*account, error) {
	u, err := user.Lookup(want)
	if err != nil {
		if byID, ierr := user.LookupId(want); ierr == nil {
			u, err = byID, nil
		}
	}
	if err != nil {
		id, perr := strconv.ParseUint(want, 10, 32)
		if perr != nil || id == 1<<32-1 {
			return nil, fmt.Errorf("there is no user %q", want)
		}
		return &account{uid: uint32(id), gid: uint32(id), home: "/"}, nil
	}
	return accountOf(u)
}

func accountOf(u *user.User) (*account, error) {
	uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	ids, err := u.GroupIds()
	if err := errors.Join(uerr, gerr, err); err != nil {
		return nil, fmt.Errorf("cannot look up user %q: %w", u.Username, err)
	}
	a := &account{uid: uint32(uid), gid: uint32(gid), name: u.Username, home: u.HomeDir}
	for _, id := range ids {
		g, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("cannot look up user %q: group %q is no number", u.Username, id)
		}
		a.groups = append(a.groups, uint32(g))
	}
	slices.Sort(a.groups)
	if a.home == "" {
		a.home = "/"
	}
	return a, nil
}

// allGroups are the group and the supplementary groups of the account.
func (a *account) allGroups() []uint32 {
	return append([]uint32{a.gid}, slices.DeleteFunc(slices.Clone(a.groups), func(g uint32) bool { return g == a.gid })...)
}

// calls are the system calls that make a process an account's, in order: each
// needs what the next one takes away.
func (a *account) calls() []Call {
	uid, gid := uintptr(a.uid), uintptr(a.gid)
	return []Call{
		a.groupsCall(),
		userCall(fmt.Sprintf("set the group to %d", a.gid), unix.SYS_SETRESGID, gid, gid, gid),
		userCall(fmt.Sprintf("set the user to %d", a.uid), unix.SYS_SETRESUID, uid, uid, uid),
	}
}

// groupsCall gives a thread all groups of the account, and no others.
func (a *account) groupsCall() Call {
	groups := a.allGroups()
	c := userCall("set the groups", unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])))
	c.Hold = groups
	return c
}

func userCall(what string, nr uintptr, args ...uintptr) Call {
	c := Call{Layer: "user", What: what, Nr: nr}
	copy(c.Args[:], args)
	return c
}

// run makes the call on the calling thread.
func (c *Call) run() error {
	_, _, e := unix.RawSyscall(c.Nr, c.Args[0], c.Args[1], c.Args[2])
	runtime.KeepAlive(c.Hold)
	if e != 0 {
		return fmt.Errorf("cannot %s: %w", c.What, e)
	}
	return nil
}

// tryToBecome says why a child of this process may not become the account's, on
// a thread that ends: what it is allowed to do, the child is. Of the three ids
// it changes only the real ones. A thread that is the account's whole could be
// traced by the account's other processes (kernel/ptrace.c:
// __ptrace_may_access), and shares its memory with this process.
func tryToBecome(a *account) error {
	calls := a.calls()
	for i := range calls {
		if nr := calls[i].Nr; nr == unix.SYS_SETRESGID || nr == unix.SYS_SETRESUID {
			calls[i].Args[1], calls[i].Args[2] = ^uintptr(0), ^uintptr(0)
		}
	}
	return onThrowawayThread(func() error {
		for i := range calls {
			if err := calls[i].run(); err != nil {
				return err
			}
		}
		return nil
	})
}

// keepDumpable returns what puts the attribute of this process back that says
// whether it may be dumped and looked into. The kernel clears it when a thread
// of it changes its user (kernel/cred.c: commit_creds), and a child that shares
// its memory until the exec is one.
func keepDumpable() (restore func() error, err error) {
	old, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return nil, err
	}
	return func() error {
		// 2, "by root only", can be read and not written: what is left is 0,
		// which allows less.
		return unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(old&1), 0, 0, 0)
	}, nil
}

func (l *userLayer) enforce(*applied) error {
	who, err := lookUpAccount(l.want)
	l.who = who
	return err
}

func (l *userLayer) enter(*applied) (leave func() error, err error) {
	if !changesUser(l.who) {
		return func() error { return nil }, nil
	}
	return keepDumpable()
}

func (l *userLayer) birth(_ *applied, b *Birth) error {
	if changesUser(l.who) {
		b.Calls = append(b.Calls, l.who.calls()...)
	}
	return nil
}

func (l *userLayer) command(_ *applied, c *Command) error {
	if !changesUser(l.who) {
		return nil
	}
	c.Env = l.who.environment(c.Env)
	return nil
}

// environment is an environment with what in it is the account's own.
func (a *account) environment(env []string) []string {
	env = setEnv(env, "HOME", a.home)
	if a.name != "" {
		env = setEnv(setEnv(env, "USER", a.name), "LOGNAME", a.name)
	}
	return env
}

func (l *userLayer) check(r *applied, at moment) {
	if at.pid == 0 {
		return
	}
	text, err := r.kernel.readFile(fmt.Sprintf("/proc/%d/status", at.pid))
	if isGone(err) {
		return
	}
	if err != nil {
		l.add("", err, false, fmt.Sprintf("process %d", at.pid))
		return
	}
	uids, _ := statusField(text, "Uid")
	gids, _ := statusField(text, "Gid")
	groups, _ := statusField(text, "Groups")
	held := allAre(uids, l.who.uid) && allAre(gids, l.who.gid)
	if changesUser(l.who) {
		held = held && sameGroups(groups, l.who)
	}
	got := l.who.String()
	if !held {
		got = fmt.Sprintf("uid %s, gid %s, groups %s", uids, gids, groups)
	}
	l.add(got, nil, held, fmt.Sprintf("process %d", at.pid))
}

// allAre says that all of the four ids of a process are one.
func allAre(ids string, want uint32) bool {
	words := strings.Fields(ids)
	return len(words) == 4 && !slices.ContainsFunc(words, func(w string) bool { return w != strconv.FormatUint(uint64(want), 10) })
}

// sameGroups compares a process's groups with an account's.
func sameGroups(text string, who *account) bool {
	got := strings.Fields(text)
	want := []string{}
	for _, g := range who.allGroups() {
		want = append(want, strconv.FormatUint(uint64(g), 10))
	}
	slices.Sort(got)
	slices.Sort(want)
	return slices.Equal(slices.Compact(got), slices.Compact(want))
}

func (l *userLayer) state() LayerState { return l.readings.state(l.key(), l.want) }
