package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// stableEnvLayer gives the child the same environment whoever starts it and
// from wherever: an environment moves the stack, and what is in it steers
// loaders, locales and hash seeds (Mytkowicz et al., "Producing wrong data
// without doing anything obviously wrong", 2009).
type stableEnvLayer struct {
	given []string // what the child was given, with what later layers added
	execReadings
}

func newStableEnvLayer(r *applied) layer {
	if !r.mode.StableEnv {
		return nil
	}
	return &stableEnvLayer{}
}

// stablePath is the search path of the child.
const stablePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// stableEnv is the fixed part. Only the home stays the user's own: programs
// keep their caches there. The hash seeds are those of Python and Perl, whose
// tables are in a random order otherwise.
func stableEnv(home string) []string {
	return []string{"HOME=" + home, "LC_ALL=C", "PATH=" + stablePath, "PERL_HASH_SEED=0", "PERL_PERTURB_KEYS=0", "PYTHONHASHSEED=0", "TZ=UTC"}
}

func (*stableEnvLayer) key() string                 { return "stable_env" }
func (*stableEnvLayer) probe(*applied) *Unsupported { return nil }
func (*stableEnvLayer) enforce(*applied) error      { return nil }

func (l *stableEnvLayer) command(_ *applied, c *Command) error {
	home, ok := getEnv(c.Env, "HOME")
	if !ok {
		home = "/"
	}
	env := stableEnv(home)
	for _, kv := range c.Own {
		name, value, _ := strings.Cut(kv, "=")
		env = setEnv(env, name, value)
	}
	slices.Sort(env)
	c.Env = env
	return nil
}

// gets is told by Held what the child gets in the end.
func (l *stableEnvLayer) gets(c Command) { l.given = c.Env }

// check compares once: programs may write into their environment later, as
// those that change their title do.
func (l *stableEnvLayer) check(r *applied, at moment) {
	want := envBlock(l.given)
	block, ok := l.environ(r.kernel, at, len(want))
	if !ok {
		return
	}
	held := block == want
	got := "true"
	if !held {
		got = "another environment"
	}
	l.add(got, nil, held, fmt.Sprintf("process %d", at.pid))
}

func (l *stableEnvLayer) state() LayerState { return l.execReadings.state(l.key(), "true") }

// environ reads, once, the environment of a live process as its exec was given
// it, and one byte more than it should have; false where there is none: the
// process has ended, or its program is still being loaded (fs/proc/base.c:
// environ_read).
func (r *execReadings) environ(k kernel, at moment, size int) (string, bool) {
	if at.pid == 0 || at.ended || !r.unread() {
		return "", false
	}
	text, err := k.readPart(fmt.Sprintf("/proc/%d/environ", at.pid), size+1)
	if isForbidden(err) {
		r.refused = err
	}
	return text, err == nil && text != ""
}

// isForbidden is true for what the kernel keeps from this process.
func isForbidden(err error) bool { return errors.Is(err, fs.ErrPermission) }

// envBlock is an environment as it stands in memory: each variable with a NUL
// behind it.
func envBlock(env []string) string {
	var b strings.Builder
	for _, kv := range env {
		b.WriteString(kv)
		b.WriteByte(0)
	}
	return b.String()
}

// envSizeLayer fills the environment block up to a size, so that it does not
// depend on who runs the experiment; or, as a factor, moves the stack in steps
// (it is rounded to 16 bytes).
type envSizeLayer struct {
	want int // bytes
	execReadings
}

func newEnvSizeLayer(r *applied) layer {
	if r.mode.EnvSize == 0 {
		return nil
	}
	return &envSizeLayer{want: r.mode.EnvSize}
}

func (*envSizeLayer) key() string                 { return "env_size" }
func (*envSizeLayer) probe(*applied) *Unsupported { return nil }
func (*envSizeLayer) enforce(*applied) error      { return nil }

const (
	// padName begins the names of the variables that fill the block.
	padName = "GOSET_PAD"
	// maxPad is the most that one of them takes: the kernel refuses a string
	// of 128 KiB (MAX_ARG_STRLEN).
	maxPad = 64 << 10
)

func (l *envSizeLayer) command(_ *applied, c *Command) error {
	c.Env = slices.DeleteFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, padName) })
	has := len(envBlock(c.Env))
	pads, ok := padding(l.want - has)
	if !ok {
		return &Unsupported{
			Reason: fmt.Sprintf("the environment has %d bytes already", has),
			Hint:   fmt.Sprintf("ask for %d or more, or for stable_env = true, which has fewer", has+leastPad),
		}
	}
	c.Env = append(c.Env, pads...)
	return nil
}

// leastPad is the size of the shortest padding.
const leastPad = len(padName+"0=") + 1

// padding makes variables that take so many bytes with their NULs.
func padding(size int) ([]string, bool) {
	if size < 0 || size > 0 && size < leastPad {
		return nil, false
	}
	var pads []string
	for i := 0; size > 0; i++ {
		take := size
		if size > maxPad {
			// What is left must still be enough for one more.
			take = min(maxPad, size-2*leastPad)
		}
		name := padName + strconv.Itoa(i) + "="
		pads = append(pads, name+strings.Repeat("x", take-len(name)-1))
		size -= take
	}
	return pads, true
}

func (l *envSizeLayer) check(r *applied, at moment) {
	block, ok := l.environ(r.kernel, at, l.want)
	if !ok {
		return
	}
	got := strconv.Itoa(len(block))
	if len(block) > l.want {
		got = fmt.Sprintf("more than %d", l.want)
	}
	l.add(got, nil, len(block) == l.want, fmt.Sprintf("the environment of process %d", at.pid))
}

func (l *envSizeLayer) state() LayerState { return l.execReadings.state(l.key(), strconv.Itoa(l.want)) }
