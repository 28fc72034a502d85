package isolation

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// everybodysFolder is a folder that everybody may enter and write into.
func everybodysFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// owner is user and group of a file.
func owner(t *testing.T, file string) (uid, gid uint32) {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return st.Uid, st.Gid
}

// What is done as nobody in particular and as whom this process is, is done by
// this process; what is wrong is said before anything is done.
func TestAsUserIsWhoThisIs(t *testing.T) {
	failed := errors.New("failed")
	own := strconv.Itoa(os.Geteuid())
	for _, test := range []struct {
		want string
		err  error
	}{{"", nil}, {"", failed}, {own, nil}, {own, failed}} {
		done := 0
		err := AsUser(test.want, func() error { done++; return test.err })
		if err != test.err || done != 1 {
			t.Errorf("%q: done %d times, error %v, want %v", test.want, done, err, test.err)
		}
	}
	for _, want := range []string{"no-such-user", "-1"} {
		err := AsUser(want, func() error { t.Errorf("done as %q", want); return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// Files are opened and made as the user's, and nothing of that stays.
func TestAsUser(t *testing.T) {
	for _, want := range []string{"65534", "nobody", "12345"} {
		needs(t, Mode{User: want})
		a, err := lookUpAccount(want)
		if err != nil {
			t.Fatal(err)
		}
		before, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		dir := everybodysFolder(t)
		closed := filepath.Join(dir, "closed")
		if err := os.WriteFile(closed, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		made := filepath.Join(dir, "made")
		var status []byte
		err = AsUser(want, func() error {
			if _, err := os.ReadFile(closed); !errors.Is(err, os.ErrPermission) {
				t.Errorf("%s reads root's file: %v", want, err)
			}
			status, _ = os.ReadFile("/proc/thread-self/status")
			return os.WriteFile(made, nil, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
		if uid, gid := owner(t, made); uid != a.uid || gid != a.gid {
			t.Errorf("%s made a file of %d:%d", want, uid, gid)
		}
		// Real, effective, saved, and that of files: as long as the first three
		// are root's, none of the user's processes may trace the thread.
		if ids, _ := statusField(string(status), "Uid"); ids != "0\t0\t0\t"+strconv.Itoa(int(a.uid)) {
			t.Errorf("the thread of %s has ids %q", want, ids)
		}
		if groups, _ := statusField(string(status), "Groups"); !sameGroups(groups, a) {
			t.Errorf("the thread of %s has groups %q", want, groups)
		}
		if now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || now != before {
			t.Errorf("this process was dumpable %d and is %d, %v", before, now, err)
		}
		if _, err := os.ReadFile(closed); err != nil {
			t.Errorf("this process lost its own access: %v", err)
		}
	}
}

// A process that is started meanwhile is the user's whole when it has the
// user's credential.
func TestCredentialAsUser(t *testing.T) {
	const want = "65534"
	needs(t, Mode{User: want})
	who, env, err := Credential(want, []string{"HOME=/root", "A=1"})
	if err != nil || who == nil {
		t.Fatal(who, err)
	}
	var out []byte
	err = AsUser(want, func() error {
		cmd := exec.Command("cat", "/proc/self/status")
		cmd.Env, cmd.SysProcAttr = env, &syscall.SysProcAttr{Credential: who}
		out, err = cmd.Output()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for field, good := range map[string]func(string) bool{
		"Uid":    func(s string) bool { return allAre(s, who.Uid) },
		"Gid":    func(s string) bool { return allAre(s, who.Gid) },
		"Groups": func(s string) bool { return strings.TrimSpace(s) == strconv.Itoa(int(who.Gid)) },
		"CapPrm": func(s string) bool { return strings.Trim(s, "0") == "" },
	} {
		if got, ok := statusField(string(out), field); !ok || !good(got) {
			t.Errorf("%s %q", field, got)
		}
	}
	if home, _ := getEnv(env, "HOME"); home == "/root" {
		t.Error("HOME is root's")
	}
}
