package vmtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"goset/internal/vmtest/wire"
)

// bootAttempts is how often a boot that dies or hangs is tried: emulated CPUs
// race in the kernel's own patching of its text, about one boot in ten.
const bootAttempts = 3

// stepTimeout bounds one step. It is a net against a hang, far above what any
// step takes.
const stepTimeout = 3 * time.Minute

// Guest is a machine that was booted. Its methods end the test they are bound
// to when the guest cannot do as told; On binds it to another test.
type Guest struct {
	t testing.TB
	*connection
	// Release is the kernel's, as "6.1.0-50-cloud-amd64".
	Release string
}

// connection is what the guests of all subtests share.
type connection struct {
	args  []string
	limit time.Duration
	dir   string
	cmd   *exec.Cmd
	in    io.WriteCloser
	gone  chan struct{} // closed when QEMU's output ended

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan wire.Reply
}

// Boot boots a guest for the test and powers it off at its end. A test has one
// guest at a time: more than the machine has slots for would wait for ever.
func Boot(t testing.TB, m Machine) *Guest {
	t.Helper()
	needEmulator(t)
	m = m.withDefaults()
	dir, err := os.MkdirTemp("", "goset-guest")
	need(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	args, err := m.prepare(dir)
	need(t, err)
	s, err := takeSlot()
	need(t, err)
	t.Cleanup(s.release)
	var tried []error
	for range bootAttempts {
		g, err := boot(t, args, dir, m.Boot)
		if err == nil {
			t.Cleanup(g.off)
			return g
		}
		t.Logf("boot tried again: %v", err)
		tried = append(tried, err)
	}
	t.Fatalf("cannot boot the guest in %d attempts: %v", bootAttempts, errors.Join(tried...))
	return nil
}

func needEmulator(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		need(t, &Unavailable{"qemu-system-x86_64", "apt-get install qemu-system-x86, or run scripts/test"})
	}
}

// boot makes one attempt.
func boot(t testing.TB, args []string, dir string, limit time.Duration) (*Guest, error) {
	cmd := exec.Command("qemu-system-x86_64", args...)
	// A test that ran out of time ends without its cleanup: the guest goes with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &connection{args: args, limit: limit, dir: dir, cmd: cmd, in: in, gone: make(chan struct{}), waiting: map[int64]chan wire.Reply{}}
	g := &Guest{t: t, connection: c}
	hello := c.expect(0)
	go c.receive(bufio.NewReader(out))
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-hello:
		g.Release = string(r.Data)
		return g, nil
	case <-c.gone:
		err = fmt.Errorf("qemu ended: %s", complaint.String())
	case <-timer.C:
		err = fmt.Errorf("no word from the agent within %v", limit)
	}
	console := tail(g.Console())
	c.kill()
	return nil, fmt.Errorf("%w; the console ends in:\n%s", err, console)
}

// expect registers a channel for the replies to a request.
func (c *connection) expect(id int64) chan wire.Reply {
	replies := make(chan wire.Reply, 2)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[id] = replies
	return replies
}

// receive hands out replies until the line ends. A damaged frame ends it too:
// what was lost in it cannot be known.
func (c *connection) receive(r *bufio.Reader) {
	defer close(c.gone)
	for {
		var reply wire.Reply
		if err := wire.Read(r, &reply); err != nil {
			return
		}
		c.mu.Lock()
		replies := c.waiting[reply.ID]
		if reply.Kind != wire.Started {
			delete(c.waiting, reply.ID)
		}
		c.mu.Unlock()
		if replies != nil {
			replies <- reply
		}
	}
}

// send numbers a request and sends it.
func (c *connection) send(r wire.Request) (chan wire.Reply, error) {
	c.mu.Lock()
	c.next++
	r.ID = c.next
	c.mu.Unlock()
	replies := c.expect(r.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	return replies, wire.Write(c.in, r)
}

// kill ends QEMU at once.
func (c *connection) kill() {
	// Its errors are those of a QEMU that ended by itself.
	_ = c.cmd.Process.Kill()
	<-c.gone
	_ = c.cmd.Wait()
}

// off ends the guest. Nothing in it is worth an orderly end.
func (g *Guest) off() {
	if g.t.Failed() {
		g.t.Logf("the console ends in:\n%s", tail(g.Console()))
	}
	g.kill()
}

// On binds the guest to another test, as a subtest.
func (g *Guest) On(t testing.TB) *Guest { return &Guest{t, g.connection, g.Release} }

// Console is what the guest's kernel and init printed.
func (g *Guest) Console() string {
	text, err := os.ReadFile(filepath.Join(g.dir, "console"))
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(text), "\r", "")
}

// tail is the last lines of a text.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-25):], "\n")
}

// wait returns the next reply of a request, or ends the test.
func (g *Guest) wait(replies chan wire.Reply, what string, limit time.Duration) wire.Reply {
	g.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-replies:
		if r.Err != "" {
			g.t.Fatalf("cannot %s in the guest: %s", what, r.Err)
		}
		return r
	case <-g.gone:
		g.t.Fatalf("the guest died in %s; its console ends in:\n%s", what, tail(g.Console()))
	case <-timer.C:
		g.t.Fatalf("no reply to %s within %v; the console ends in:\n%s", what, limit, tail(g.Console()))
	}
	return wire.Reply{}
}

// ask sends a request and waits for its one reply.
func (g *Guest) ask(r wire.Request, what string) wire.Reply {
	g.t.Helper()
	replies, err := g.send(r)
	if err != nil {
		g.t.Fatalf("cannot %s in the guest: %v", what, err)
	}
	return g.wait(replies, what, stepTimeout)
}

// Result is how a process in the guest ended.
type Result struct {
	Exit           int // 128+n for signal n
	Stdout, Stderr string
}

// Process is a process in the guest that runs beside the test.
type Process struct {
	PID     int
	g       *Guest
	replies chan wire.Reply
	what    string
}

// Start starts a command, looked up in the guest's PATH.
func (g *Guest) Start(argv ...string) *Process { g.t.Helper(); return g.StartEnv(nil, argv...) }

// StartEnv starts a command with more in its environment.
func (g *Guest) StartEnv(env []string, argv ...string) *Process {
	g.t.Helper()
	what := "run " + strings.Join(argv, " ")
	replies, err := g.send(wire.Request{Op: "run", Argv: argv, Env: env})
	if err != nil {
		g.t.Fatalf("cannot %s in the guest: %v", what, err)
	}
	r := g.wait(replies, what, stepTimeout)
	return &Process{r.PID, g, replies, what}
}

// Wait waits for the process to end.
func (p *Process) Wait() Result { p.g.t.Helper(); return p.WaitFor(stepTimeout) }

// WaitFor waits for a process that may take longer than a step.
func (p *Process) WaitFor(limit time.Duration) Result {
	p.g.t.Helper()
	r := p.g.wait(p.replies, p.what, limit)
	return Result{r.Exit, string(r.Stdout), string(r.Stderr)}
}

// Run runs a command to its end.
func (g *Guest) Run(argv ...string) Result { g.t.Helper(); return g.Start(argv...).Wait() }

// Sh runs a shell script that has to succeed and returns what it printed.
func (g *Guest) Sh(script string) string {
	g.t.Helper()
	r := g.Run("sh", "-c", script)
	if r.Exit != 0 {
		g.t.Fatalf("exit %d of: %s\n%s%s", r.Exit, script, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// Get is Sh without the blanks around what was printed.
func (g *Guest) Get(script string) string { g.t.Helper(); return strings.TrimSpace(g.Sh(script)) }

// Read returns a file of the guest.
func (g *Guest) Read(path string) []byte {
	g.t.Helper()
	return g.ask(wire.Request{Op: "read", Path: path}, "read "+path).Data
}

// Write writes a file of the guest, and its folders.
func (g *Guest) Write(path string, data string) {
	g.t.Helper()
	g.ask(wire.Request{Op: "write", Path: path, Data: []byte(data), Mode: 0o644}, "write "+path)
}

// Until runs a shell condition in the guest until it holds. What it waits for
// is an event of the kernel or of another process that nothing announces.
func (g *Guest) Until(condition string) {
	g.t.Helper()
	r := g.Run("agent", "until", "30s", condition)
	if r.Exit != 0 {
		g.t.Fatalf("never came true: %s\n%s%s", condition, r.Stdout, r.Stderr)
	}
}

// Reboot cuts the guest's power and boots the same machine again.
func (g *Guest) Reboot() *Guest {
	g.t.Helper()
	g.kill()
	again, err := boot(g.t, g.args, g.dir, g.limit)
	if err != nil {
		g.t.Fatalf("cannot boot the guest again: %v", err)
	}
	g.t.Cleanup(again.off)
	return again
}

// T is the test that the guest is bound to.
func (g *Guest) T() testing.TB { return g.t }
