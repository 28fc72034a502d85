package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"goset/cpulist"
	"goset/host"
)

// Loader starts the background load of runs.
type Loader interface {
	// Start starts a load beside a task and waits until it was seen at work.
	// The error says what did not come up; nothing is left of it then.
	Start(ctx context.Context, spec *LoadSpec, beside LoadTask) (RunningLoad, error)
}

// LoadTask is what a load has to know of the task that it runs beside.
type LoadTask struct {
	CPUs  cpulist.Set // empty: unpinned
	Fence bool        // the siblings of its CPUs are the task's, too
	// Outranks is true when the scheduler prefers the task to the load, which
	// then may get nothing without having slept.
	Outranks bool
	Dir      string // of the load's command
	User     string // whom the load's command runs as; "": whoever runs this
}

// RunningLoad is a load at work.
type RunningLoad interface {
	// Begin is called right before the run, End right after; of several calls
	// the last Begin and the first End count.
	Begin()
	End()
	// Stop ends the load and says what it got between Begin and End.
	Stop() ([]LoadState, error)
}

// LoadState is what the processes of one kind got during a run.
type LoadState struct {
	Kind      string `json:"kind"`  // "spinners", "memory", "interrupts" or "command"
	Asked     string `json:"asked"` // as the experiment has it
	Processes int    `json:"processes"`
	// CPUs are those that they were let onto, as read back, RanOn those that
	// they were last seen on; "" where this system does not tell.
	CPUs  string `json:"cpus,omitempty"`
	RanOn string `json:"ran_on,omitempty"`
	// Window is from Begin to End, Time the CPU time of all of them in it, and
	// Least the CPU time of the one that got least as a share of the window:
	// 1 is a whole CPU. Where this system does not tell while they run, the
	// window is their whole life.
	Window time.Duration `json:"window_ns"`
	Time   time.Duration `json:"cpu_ns"`
	Least  float64       `json:"least"`
	// Wakeups is how often they were woken: of kind "interrupts".
	Wakeups *uint64 `json:"wakeups,omitempty"`
	// Fault is why the run cannot be used: a load that ended, slept or strayed.
	Fault string `json:"fault,omitempty"`
	Note  string `json:"note,omitempty"`
}

// The bounds of bringing a load up.
const (
	// loadWindow is how long a load is watched at a time. The kernel brings the
	// times of a task up to date at its tick, every 10 ms at the slowest.
	loadWindow = 100 * time.Millisecond
	// loadPatience is how long a load may take until it gets what it should.
	loadPatience = 20 * time.Second
	// loadSettle is about what bringing up and ending a load takes.
	loadSettle = 200 * time.Millisecond
)

// Background is the Loader of real experiments.
type Background struct {
	// Keeper is how this program is started as a keeper: see KeepLoad.
	Keeper []string
	// Allowed is the CPUs that this process may use; none: this system does
	// not tell.
	Allowed cpulist.Set
	Env     []string // of commands
	Host    host.FS
}

// Start implements Loader.
func (b *Background) Start(ctx context.Context, spec *LoadSpec, beside LoadTask) (RunningLoad, error) {
	task, err := b.taken(beside)
	if err != nil {
		return nil, err
	}
	placed, err := spec.Place(b.Allowed, task)
	if err != nil {
		return nil, err
	}
	r := &runningLoad{spec: spec, placed: placed, host: b.Host, judge: judge{outranked: beside.Outranks}}
	if err := r.start(b, beside); err != nil {
		return nil, err
	}
	if err := r.comeUp(ctx); err != nil {
		_, serr := r.Stop()
		return nil, errors.Join(err, serr)
	}
	return r, nil
}

// taken is the CPUs of the task, and those of the fence around it.
func (b *Background) taken(beside LoadTask) (cpulist.Set, error) {
	if !beside.Fence || beside.CPUs.Empty() {
		return beside.CPUs, nil
	}
	cores, err := b.Host.Siblings(beside.CPUs)
	if err != nil {
		return cores, fmt.Errorf("cannot keep the load out of the fence: %w", err)
	}
	return cores, nil
}

// runningLoad is a keeper with its load.
type runningLoad struct {
	spec   *LoadSpec
	placed []LoadProcess
	host   host.FS
	judge  judge

	cmd     *exec.Cmd
	life    *os.File // the write end of the keeper's stdin
	said    *os.File // the read end of its stdout
	answers *bufio.Reader
	pids    []int
	started time.Time

	before, after *loadSample
}

// start starts the keeper and waits until it has started the load.
func (r *runningLoad) start(b *Background, beside LoadTask) error {
	in, life, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot start a load: %w", err)
	}
	said, out, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("cannot start a load: %w", err), in.Close(), life.Close())
	}
	r.life, r.said, r.answers = life, said, bufio.NewReader(said)
	r.cmd = exec.Command(b.Keeper[0], b.Keeper[1:]...)
	// What it is called is for people who list processes.
	r.cmd.Args[0] = os.Args[0]
	r.cmd.Stdin, r.cmd.Stdout = in, out
	r.cmd.Env = append(os.Environ(), loadEnv()...)
	// Out of reach of the terminal's signals. Not a session of its own: that is
	// a scheduling group (autogroup), against which the task would have a half
	// of each CPU, however many processes the load has.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.started = time.Now()
	err = r.cmd.Start()
	if err = errors.Join(err, in.Close(), out.Close()); err != nil {
		return errors.Join(fmt.Errorf("cannot start a load: %w", err), life.Close(), said.Close())
	}
	order := loadOrder{Processes: r.placed, Dir: beside.Dir, Env: b.Env, User: beside.User}
	answer, err := r.tell(&order)
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err == nil && len(answer.PIDs) != len(r.placed) {
		err = fmt.Errorf("the keeper started %d processes of %d", len(answer.PIDs), len(r.placed))
	}
	if err != nil {
		return errors.Join(err, r.dismiss())
	}
	r.pids = answer.PIDs
	return nil
}

// tell gives the keeper its order and reads its answer.
func (r *runningLoad) tell(order *loadOrder) (loadAnswer, error) {
	line, err := json.Marshal(order)
	if err != nil {
		return loadAnswer{}, fmt.Errorf("cannot start a load: %w", err)
	}
	if _, err := r.life.Write(append(line, '\n')); err != nil {
		return loadAnswer{}, fmt.Errorf("cannot start a load: %w", err)
	}
	return r.answer()
}

// answer reads the next answer of the keeper.
func (r *runningLoad) answer() (loadAnswer, error) {
	var a loadAnswer
	if err := r.said.SetReadDeadline(time.Now().Add(loadPatience)); err != nil {
		return a, err
	}
	line, err := r.answers.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("the keeper of the load ended or hangs: %w", err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("the keeper of the load said %q: %w", line, err)
	}
	return a, nil
}

// dismiss has the keeper end, by force when it does not by itself. The load
// ends with it.
func (r *runningLoad) dismiss() error {
	err := r.cut()
	force := time.AfterFunc(loadPatience, func() { _ = r.cmd.Process.Kill() })
	werr := r.cmd.Wait()
	force.Stop()
	var exit *exec.ExitError
	if errors.As(werr, &exit) {
		werr = fmt.Errorf("the keeper of the load ended with %v", exit)
	}
	return errors.Join(err, werr, r.said.Close())
}

// cut ends the keeper's stdin, and so the load; once.
func (r *runningLoad) cut() error {
	life := r.life
	r.life = nil
	if life == nil {
		return nil
	}
	return life.Close()
}

// comeUp waits until every process of the load gets what it should.
func (r *runningLoad) comeUp(ctx context.Context) error {
	deadline := time.Now().Add(loadPatience)
	before := r.sample()
	for ended := 0; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(loadWindow):
		}
		now := r.sample()
		states := r.judge.states(r.spec, r.placed, before, now, true)
		bad := slices.IndexFunc(states, func(s LoadState) bool { return s.Fault != "" })
		if bad < 0 {
			return nil
		}
		fault := states[bad].Fault
		// What a command left to orphans may be missed by a single look: the
		// tree of processes changes while it is read.
		if ended++; !r.judge.anyEnded(r.placed, before, now) {
			ended = 0
		}
		if ended > 1 {
			return fmt.Errorf("the load did not come up: %s", fault)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the load did not come up within %v: %s", loadPatience, fault)
		}
		before = now
	}
}

// Begin implements RunningLoad.
func (r *runningLoad) Begin() { r.before, r.after = r.sample(), nil }

// End implements RunningLoad.
func (r *runningLoad) End() {
	if r.after == nil {
		r.after = r.sample()
	}
}

// Stop implements RunningLoad.
func (r *runningLoad) Stop() ([]LoadState, error) {
	err := r.cut()
	a, aerr := r.answer()
	whole := time.Since(r.started)
	if err = errors.Join(err, aerr, r.dismiss()); err != nil {
		err = fmt.Errorf("cannot end the load: %w", err)
	}
	if r.before == nil || r.after == nil {
		return nil, err
	}
	if !r.before.known() && len(a.CPU) == len(r.placed) {
		r.before, r.after = wholeLife(r.before, whole, a.CPU)
	}
	return r.judge.states(r.spec, r.placed, r.before, r.after, false), err
}
