package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"
	"time"

	"goset/isolation"
)

// The bounds of ending a tree of processes.
const (
	// grace is how long a timed-out or interrupted tree has between SIGTERM
	// and SIGKILL: wrappers (docker, ssh, sudo) need it to pass the end on to
	// what is no descendant of theirs.
	grace = 500 * time.Millisecond
	// linger is how long processes that outlived their parent have to end by
	// themselves before they count as left over and are killed.
	linger = 20 * time.Millisecond
	// killFor bounds the time that killed processes have to disappear. What is
	// still there then hangs in the kernel, and is reported.
	killFor = 3 * time.Second
)

// heapGrowth is how much garbage may pile up before Quiet collects it.
const heapGrowth = 32 << 20

// Runner runs one child after the other and is the Executor of real
// experiments. It is made to be felt as little as possible by the child:
//
//   - The wall time runs from the child's call of exec, at which the child
//     itself reads the clock, to the moment at which the kernel reports the end
//     of its last thread.
//   - One thread starts the child, waits for it, reads what it writes and keeps
//     its deadline, all in one ppoll: a child that writes nothing wakes nobody
//     until it ends.
//   - The garbage collector of this process is off from NewRunner to Close; the
//     caller calls Quiet between runs.
//
// The child leads a process group of its own, so what the terminal sends to the
// harness does not reach it. Its stdin is /dev/null. The kernel kills it when
// the harness dies.
//
// The whole tree of a child ends with it. Orphans of the tree are handed to
// this process by the kernel and cannot be told from children that something
// else here starts while Execute runs, so nothing else may. Children that this
// process had before (a guard, background load), and what descends from them
// by then, are left alone.
//
// A Runner is not safe for concurrent use.
type Runner struct {
	system  // what the operating system needs
	paths   map[command]string
	session *isolation.Session
	heap    []metrics.Sample
	percent int    // GOGC as it was
	kept    uint64 // heap after the last collection
}

// NewRunner returns a Runner and turns the garbage collector off until Close.
func NewRunner() (*Runner, error) {
	r := &Runner{
		paths: map[command]string{},
		heap:  []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}},
	}
	if err := r.open(); err != nil {
		return nil, fmt.Errorf("cannot prepare for running children: %w", err)
	}
	r.percent = debug.SetGCPercent(-1)
	r.kept = r.heapSize()
	return r, nil
}

// Close turns the garbage collector on again and frees what the Runner holds.
func (r *Runner) Close() error {
	debug.SetGCPercent(r.percent)
	return r.close()
}

// Quiet collects the garbage of the runs so far if there is enough of it. Call
// it between runs: nothing is collected while a child runs.
func (r *Runner) Quiet() {
	if r.heapSize() < r.kept+heapGrowth {
		return
	}
	// FreeOSMemory rather than GC: it leaves nothing to the scavenger, which
	// would work in the background of the next run.
	debug.FreeOSMemory()
	r.kept = r.heapSize()
	// Where the kernel cannot forget the peak, RSSFloor tells of it.
	_ = isolation.DropPeak()
}

// heapSize is the size of live and dead objects on the heap, in bytes; reading
// it stops nothing.
func (r *Runner) heapSize() uint64 {
	metrics.Read(r.heap)
	return r.heap[0].Value.Uint64()
}

// Use lets the layers of the runs change the machine in a session; nil: only
// layers that change nothing but the child can be had.
func (r *Runner) Use(s *isolation.Session) { r.session = s }

// Execute runs one process and waits for its whole tree.
//
// On a timeout, or when the context ends, every process of the tree gets
// SIGTERM, and SIGKILL half a second later. After any end, what is left of the
// tree has a moment to end by itself, is then killed, and is counted in
// Result.Leftover.
//
// The error is a *StartError when the command could not be started, and joins
// *isolation.Unsupported when a layer was refused.
func (r *Runner) Execute(ctx context.Context, job Job) (Result, error) {
	if ctx.Err() != nil {
		return Result{Interrupted: true}, nil
	}
	if len(job.Argv) == 0 {
		return Result{}, errors.New("cannot start a command: it is empty")
	}
	held, err := r.session.Apply(job.Layers, job.CPUs)
	if err != nil {
		return Result{}, err
	}
	res, err := r.executeHeld(ctx, job, held)
	if rerr := held.Release(); rerr != nil {
		err = errors.Join(err, rerr)
	}
	res.Layers = held.States()
	return res, err
}

// executeHeld runs what the layers make of the job's command. The command is
// looked up where the job says, whatever search path the layers give the child.
func (r *Runner) executeHeld(ctx context.Context, job Job, held *isolation.Held) (Result, error) {
	cmd, err := held.Command(isolation.Command{Argv: job.Argv, Env: job.Env, Own: job.Own})
	if err != nil {
		return Result{}, err
	}
	job.Argv = cmd.Argv
	path, err := r.find(job)
	if err != nil {
		return Result{}, err
	}
	job.Env = cmd.Env
	return r.run(ctx, job, path, held)
}

// Find finds out whether the job's command is there. The error is a
// *StartError.
func (r *Runner) Find(job Job) error {
	file, err := r.find(job)
	if err != nil || !strings.Contains(job.Argv[0], "/") {
		return err
	}
	if job.Dir != "" && !filepath.IsAbs(file) {
		file = filepath.Join(job.Dir, file)
	}
	if executable(file) != nil {
		return r.startFault(job, file, syscall.EACCES)
	}
	return nil
}

// StartError says why a command could not be started.
type StartError struct {
	Command string // as it was asked for
	Reason  string // "not found in PATH"
	Hint    string // the way out; may be empty
	// Missing is true when there is no such command, false when it is there
	// and cannot be run.
	Missing bool
}

// Error names the command, the cause and the way out.
func (e *StartError) Error() string {
	s := fmt.Sprintf("cannot start %q: %s", e.Command, e.Reason)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// ExitCode is what a shell exits with in this case: 127 for a command that is
// not found, 126 for one that cannot be run.
func (e *StartError) ExitCode() int {
	if e.Missing {
		return 127
	}
	return 126
}

// command is what decides which file a name stands for.
type command struct{ name, path string }

// find returns the file that the job's command stands for. A name without a
// slash is looked up once and remembered: the lookup would otherwise be the
// most expensive part of starting a short command.
func (r *Runner) find(job Job) (string, error) {
	name := job.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	key := command{name, searchPath(job.Env)}
	if file, ok := r.paths[key]; ok {
		return file, nil
	}
	file, err := lookUp(key)
	if err != nil {
		return "", err
	}
	r.paths[key] = file
	return file, nil
}

// searchPath is the PATH of the child, and the harness's own where the child
// has none.
func searchPath(env []string) string {
	path, found := "", false
	for _, kv := range env {
		// The last one wins, as it does in a shell.
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path, found = v, true
		}
	}
	if !found {
		return os.Getenv("PATH")
	}
	return path
}

// lookUp searches the absolute folders of a PATH. Relative ones are passed
// over: what they mean changes with the working folder of a run.
func lookUp(c command) (string, error) {
	var blocked error
	for _, dir := range filepath.SplitList(c.path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, c.name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if blocked == nil && !errors.Is(err, fs.ErrNotExist) {
			blocked = &StartError{Command: c.name, Reason: fmt.Sprintf("%s: %v", file, cause(err))}
		}
	}
	if blocked != nil {
		return "", blocked
	}
	return "", &StartError{Command: c.name, Missing: true, Reason: "not found in PATH", Hint: fmt.Sprintf("PATH is %q; give a path with a slash", c.path)}
}

// errNotExecutable is what executable says of a file that nobody may run.
var errNotExecutable = errors.New("not executable")

// executable finds out whether a file can be run at all; exec has the last
// word.
func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder")
	case info.Mode()&0o111 == 0:
		return errNotExecutable
	}
	return nil
}

// cause strips a path error down to what went wrong.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// startFault explains why exec refused. ENOENT alone can mean the command, the
// interpreter of a script, or the working folder.
func (r *Runner) startFault(job Job, file string, err error) error {
	fault := &StartError{Command: job.Argv[0], Reason: err.Error()}
	if job.Dir != "" {
		if info, derr := os.Stat(job.Dir); derr != nil || !info.IsDir() {
			fault.Reason = fmt.Sprintf("its working folder %q is not there", job.Dir)
			return fault
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(job.Dir, file)
		}
	}
	ferr := executable(file)
	switch {
	case errors.Is(ferr, fs.ErrNotExist):
		fault.Missing, fault.Reason = true, fmt.Sprintf("%s: no such file", file)
	case ferr != nil:
		fault.Reason = fmt.Sprintf("%s: %v", file, cause(ferr))
		if ferr == errNotExecutable {
			fault.Hint = "chmod +x " + file
		}
	case errors.Is(err, syscall.ENOENT):
		fault.Reason, fault.Hint = fmt.Sprintf("%s: its interpreter is not there", file), "see its #! line, or its loader"
	case errors.Is(err, syscall.ENOEXEC):
		fault.Reason, fault.Hint = fmt.Sprintf("%s: no format that the kernel can run", file), "a script needs a #! line"
	case errors.Is(err, syscall.EACCES) && job.Layers.User != "":
		fault.Reason = fmt.Sprintf("%s: user %q may not run it", file, job.Layers.User)
		if job.Dir != "" {
			fault.Reason += fmt.Sprintf(", or not enter its working folder %q", job.Dir)
		}
		fault.Hint = "let that user reach both, or run it as root with user = \"root\""
	case errors.Is(err, syscall.E2BIG):
		fault.Reason = "its arguments and environment are too long for the kernel"
	}
	return fault
}

// addUsage fills in what wait4 says about a child that has ended.
func (res *Result) addUsage(status syscall.WaitStatus, use *syscall.Rusage) {
	res.User = time.Duration(use.Utime.Nano())
	res.Sys = time.Duration(use.Stime.Nano())
	res.MaxRSS = rssBytes(use)
	res.Voluntary, res.Involuntary = int64(use.Nvcsw), int64(use.Nivcsw)
	res.MinorFaults, res.MajorFaults = int64(use.Minflt), int64(use.Majflt)
	res.Exit = status.ExitStatus()
	if status.Signaled() {
		res.Exit = 128 + int(status.Signal())
		res.Signal = signalName(status.Signal())
	}
}

// RSSFloor is what the MaxRSS of a child that has just ended started at, in
// bytes: the kernel counts the peak of this process as the child's own. MaxRSS at
// the floor is a bound on the child's peak and not a measurement of it. 0: not
// known. No result has it, because between short runs it would be felt: it takes
// as long as writing a record.
func RSSFloor() int64 {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return rssBytes(&use)
}

// rssBytes is the peak RSS of a usage. Only Darwin reports bytes; the others
// report KiB.
func rssBytes(use *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return int64(use.Maxrss)
	}
	return int64(use.Maxrss) << 10
}

// signalName is the name of a signal as kill -l writes it, with SIG.
func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGABRT: "SIGABRT", syscall.SIGALRM: "SIGALRM", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
		syscall.SIGHUP: "SIGHUP", syscall.SIGILL: "SIGILL", syscall.SIGINT: "SIGINT", syscall.SIGIO: "SIGIO",
		syscall.SIGKILL: "SIGKILL", syscall.SIGPIPE: "SIGPIPE", syscall.SIGPROF: "SIGPROF", syscall.SIGQUIT: "SIGQUIT",
		syscall.SIGSEGV: "SIGSEGV", syscall.SIGSYS: "SIGSYS", syscall.SIGTERM: "SIGTERM", syscall.SIGTRAP: "SIGTRAP",
		syscall.SIGUSR1: "SIGUSR1", syscall.SIGUSR2: "SIGUSR2", syscall.SIGVTALRM: "SIGVTALRM", syscall.SIGXCPU: "SIGXCPU",
		syscall.SIGXFSZ: "SIGXFSZ",
	}
	if name, ok := names[s]; ok {
		return name
	}
	return fmt.Sprintf("SIG%d", int(s))
}
