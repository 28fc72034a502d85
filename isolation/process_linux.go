package isolation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// addrNoRandomize is the bit of personality(2) that puts every address of a
// program where it was the last time.
const addrNoRandomize = 0x0040000

// aslrLayer switches address space randomization off for the child, by its
// personality. The global sysctl is everybody's and is only read.
type aslrLayer struct {
	want bool
	execReadings
}

func newASLRLayer(r *applied) layer {
	if r.mode.ASLR == nil {
		return nil
	}
	return &aslrLayer{want: *r.mode.ASLR}
}

func (*aslrLayer) key() string { return "aslr" }

func (l *aslrLayer) probe(r *applied) *Unsupported {
	if l.want {
		if text, err := r.kernel.readFile("/proc/sys/kernel/randomize_va_space"); err != nil || text == "0" {
			return &Unsupported{Reason: fmt.Sprintf("the kernel randomizes no addresses (kernel.randomize_va_space is %q)", text), Hint: "sysctl kernel.randomize_va_space=2"}
		}
	}
	err := onThrowawayThread(func() error { return setPersonality(l.persona()) })
	if err != nil {
		return &Unsupported{Reason: fmt.Sprintf("personality(2) is refused (%v)", err), Hint: "a container needs a seccomp profile that lets it through"}
	}
	return nil
}

// persona is the personality of the child: this process's own but for the bit.
func (l *aslrLayer) persona() uintptr {
	// 0xffffffff asks and sets nothing; it cannot fail.
	old, _, _ := unix.RawSyscall(unix.SYS_PERSONALITY, 0xffffffff, 0, 0)
	if l.want {
		return old &^ addrNoRandomize
	}
	return old | addrNoRandomize
}

func setPersonality(p uintptr) error {
	_, _, e := unix.RawSyscall(unix.SYS_PERSONALITY, p, 0, 0)
	return errnoErr(e)
}

func (*aslrLayer) enforce(*applied) error { return nil }

func (l *aslrLayer) birth(_ *applied, b *Birth) error {
	b.Calls = append(b.Calls, Call{Layer: l.key(), What: "set the personality", Nr: unix.SYS_PERSONALITY, Args: [5]uintptr{l.persona()}})
	return nil
}

func (l *aslrLayer) check(r *applied, at moment) {
	if at.pid == 0 {
		return
	}
	text, err := r.kernel.readFile(fmt.Sprintf("/proc/%d/personality", at.pid))
	if isGone(err) || errors.Is(err, unix.EACCES) && ended(r.kernel, at.pid) {
		// One that has ended still has its personality, which only root is
		// told: its files are root's (fs/proc/base.c: task_dump_owner).
		return
	}
	if err != nil {
		l.add("", err, false, fmt.Sprintf("process %d", at.pid))
		return
	}
	bits, perr := strconv.ParseUint(strings.TrimSpace(text), 16, 32)
	on := bits&addrNoRandomize == 0
	l.add(strconv.FormatBool(on), perr, on == l.want, fmt.Sprintf("process %d", at.pid))
}

func (l *aslrLayer) state() LayerState {
	s := l.execReadings.state(l.key(), strconv.FormatBool(l.want))
	if !s.Held && l.readings.bad != "" {
		s = s.with("a set-uid program clears it")
	}
	return s
}

// thpLayer says for the child alone whether its memory may be in transparent
// huge pages.
//
// The kernel lets a process go without them ("never"), and from 6.18 on, have
// them only where it asks with madvise. More than the machine's setting gives
// it cannot be had, and that setting is everybody's.
type thpLayer struct {
	want string
	execReadings
}

func newTHPLayer(r *applied) layer {
	if r.mode.THP == "" {
		return nil
	}
	return &thpLayer{want: r.mode.THP}
}

func (*thpLayer) key() string { return "thp" }

const thpFile = "/sys/kernel/mm/transparent_hugepage/enabled"

// flags are the arguments of PR_SET_THP_DISABLE that bring about what is asked
// for, given the machine's setting.
func (l *thpLayer) flags(k kernel) (disable, how uintptr, u *Unsupported) {
	text, err := optionalFile(k, thpFile)
	if err != nil {
		return 0, 0, &Unsupported{Reason: err.Error(), Hint: `leave "thp" out`}
	}
	global := bracketed(text)
	switch {
	case l.want == "never":
		return 1, 0, nil
	case global == l.want:
		return 0, 0, nil
	case l.want == "madvise" && global == "always":
		return 1, unix.PR_THP_DISABLE_EXCEPT_ADVISED, nil
	case global == "":
		return 0, 0, &Unsupported{Reason: "this kernel has no transparent huge pages", Hint: `ask for thp = "never", or leave it out`}
	}
	return 0, 0, &Unsupported{
		Reason: fmt.Sprintf("the machine is set to %q, and a process can only have less than that", global),
		Hint:   fmt.Sprintf("echo %s > %s", l.want, thpFile),
	}
}

// bracketed is the chosen word of "always [madvise] never".
func bracketed(text string) string {
	_, rest, _ := strings.Cut(text, "[")
	word, _, ok := strings.Cut(rest, "]")
	if !ok {
		return ""
	}
	return word
}

// probe asks for what enter will ask for, in this process, which has the
// setting for that moment. It is the only way to learn whether the kernel knows
// the flag.
func (l *thpLayer) probe(r *applied) *Unsupported {
	disable, how, u := l.flags(r.kernel)
	if u != nil {
		return u
	}
	leave, err := disableTHP(disable, how)
	if err == nil {
		err = leave()
	}
	switch {
	case errors.Is(err, unix.EINVAL) && how != 0:
		return &Unsupported{Reason: `the machine is set to "always", and this kernel cannot narrow that to "madvise" for one process (6.18 and later can)`, Hint: "echo madvise > " + thpFile}
	case err != nil:
		return &Unsupported{Reason: fmt.Sprintf("PR_SET_THP_DISABLE is refused (%v)", err), Hint: `leave "thp" out`}
	}
	return nil
}

func (*thpLayer) enforce(*applied) error { return nil }

// enter sets the flag of this process. It belongs to the memory, which the
// child shares until its exec and whose flag its own memory then starts with
// (MMF_DISABLE_THP_MASK of MMF_INIT_MASK; kernel/fork.c: mm_init).
func (l *thpLayer) enter(r *applied) (leave func() error, err error) {
	disable, how, u := l.flags(r.kernel)
	if u != nil {
		return nil, u
	}
	return disableTHP(disable, how)
}

// disableTHP sets the flag and returns the way back.
func disableTHP(disable, how uintptr) (leave func() error, err error) {
	old, _, e := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_GET_THP_DISABLE, 0, 0, 0, 0, 0)
	if e != 0 {
		return nil, e
	}
	set := func(disable, how uintptr) error {
		_, _, e := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_THP_DISABLE, disable, how, 0, 0, 0)
		if e != 0 {
			return e
		}
		now, _, e := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_GET_THP_DISABLE, 0, 0, 0, 0, 0)
		if e == 0 && now != disable|how {
			return fmt.Errorf("PR_SET_THP_DISABLE was given %#x and reads back as %#x", disable|how, now)
		}
		return errnoErr(e)
	}
	if err := set(disable, how); err != nil {
		return nil, err
	}
	// Bit 0 says that it is disabled, the others how.
	return func() error { return set(old&1, old&^1) }, nil
}

// check reads the live child: one that has ended has no memory any more. Every
// process may read it.
func (l *thpLayer) check(r *applied, at moment) {
	if at.pid == 0 || at.ended {
		return
	}
	text, err := r.kernel.readFile(fmt.Sprintf("/proc/%d/status", at.pid))
	if err != nil {
		return
	}
	enabled, ok := statusField(text, "THP_enabled")
	if !ok {
		return
	}
	global, err := optionalFile(r.kernel, thpFile)
	got := bracketed(global)
	if enabled == "0" {
		got = "never"
	} else if _, how, _ := l.flags(r.kernel); how != 0 {
		// The file does not tell this case; the flag was set, and the kernel
		// would have refused it otherwise.
		got = l.want
	}
	l.add(got, err, got == l.want, fmt.Sprintf("process %d", at.pid))
}

func (l *thpLayer) state() LayerState { return l.execReadings.state(l.key(), l.want) }

// statusField reads a line of /proc/PID/status.
func statusField(text, name string) (string, bool) {
	for line := range strings.Lines(text) {
		if n, value, ok := strings.Cut(line, ":"); ok && n == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}
