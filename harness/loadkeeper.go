package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"goset/cpulist"
	"goset/internal/load"
	"goset/isolation"
)

// A load is not a child of the harness but of a keeper: this program again,
// which starts the processes of one load and ends them when its stdin ends,
// that is, when the harness says so or is gone, by SIGKILL too. Orphans of a
// load's command come to the keeper, so that the harness never takes them for
// those of a run.
//
// The keeper is told a loadOrder in one line and answers with a loadAnswer when
// everything is started, and with another one when everything has ended.
//
// Three things end a load when one of them cannot: the keeper; the stdin that
// the load's own loops share with it; and on Linux the signal of their parent's
// death.

// loadOrder is what a keeper is to start.
type loadOrder struct {
	Processes []LoadProcess `json:"processes"`
	// Dir, Env and User are of commands.
	Dir  string   `json:"dir,omitempty"`
	Env  []string `json:"env,omitempty"`
	User string   `json:"user,omitempty"`
}

// loadAnswer is what a keeper did.
type loadAnswer struct {
	Error string `json:"error,omitempty"`
	// PIDs are the processes, in the order of the order.
	PIDs []int `json:"pids,omitempty"`
	// CPU is the CPU time of each from its start to its end, its children
	// included.
	CPU []time.Duration `json:"cpu_ns,omitempty"`
}

// keepBytes is the longest order: the arguments and the environment that a
// kernel takes are shorter.
const keepBytes = 8 << 20

// KeepLoad is the whole life of a keeper. self is how this program is started
// as one process of a load, RunLoad's arguments following.
func KeepLoad(self []string, in *os.File, out io.Writer) error {
	// What is started here gets a signal when the thread that started it ends.
	runtime.LockOSThread()
	line, err := bufio.NewReader(io.LimitReader(in, keepBytes)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("cannot read what to start: %w", err)
	}
	var order loadOrder
	if err := json.Unmarshal(line, &order); err != nil {
		return fmt.Errorf("cannot read what to start: %w", err)
	}
	k := &keeper{self: self, in: in, order: &order, used: map[int]time.Duration{}}
	if err := k.begin(); err != nil {
		_ = k.end() // the answer says why there is no load
		return json.NewEncoder(out).Encode(loadAnswer{Error: err.Error()})
	}
	if err := json.NewEncoder(out).Encode(loadAnswer{PIDs: k.pids}); err != nil {
		_ = k.end()
		return err
	}
	_, err = io.Copy(io.Discard, in)
	if eerr := k.end(); eerr != nil {
		return eerr
	}
	if err != nil {
		return fmt.Errorf("cannot watch: %w", err)
	}
	// Nobody reads it when the harness is gone.
	_ = json.NewEncoder(out).Encode(loadAnswer{PIDs: k.pids, CPU: k.times()})
	return nil
}

// keeper is the load of one run.
type keeper struct {
	self  []string
	in    *os.File
	order *loadOrder
	pids  []int
	used  map[int]time.Duration // by process that was waited for
}

func (k *keeper) begin() error {
	if err := reapOrphans(); err != nil {
		return err
	}
	for i := range k.order.Processes {
		if err := k.start(&k.order.Processes[i]); err != nil {
			return fmt.Errorf("cannot start %s: %w", k.order.Processes[i].noun(), err)
		}
	}
	return nil
}

// start starts one process on its CPUs.
func (k *keeper) start(p *LoadProcess) error {
	cpus, err := parseCPUs(p.CPUs)
	if err != nil {
		return err
	}
	cmd := exec.Command(k.self[0], append(slices.Clone(k.self[1:]), p.Kind, strconv.Itoa(p.Rate))...)
	cmd.Env = append(os.Environ(), loadEnv()...)
	cmd.Stdin = k.in
	cmd.SysProcAttr = dieWithParent()
	if p.Kind == LoadCommand {
		if cmd, err = k.command(p.Argv); err != nil {
			return err
		}
	}
	if err := isolation.StartOn(cpus, cmd.Start); err != nil {
		return err
	}
	k.pids = append(k.pids, cmd.Process.Pid)
	// It is waited for in end, with its times.
	return cmd.Process.Release()
}

// command prepares a load's command. It leads a process group, by which what it
// started can be ended where the system tells no more.
func (k *keeper) command(argv []string) (*exec.Cmd, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	who, env, err := isolation.Credential(k.order.User, k.order.Env)
	if err != nil {
		return nil, err
	}
	cmd.Dir, cmd.Env = k.order.Dir, env
	cmd.SysProcAttr = dieWithParent()
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Credential = true, who
	return cmd, nil
}

// parseCPUs reads a list that may be empty.
func parseCPUs(list string) (cpulist.Set, error) {
	if list == "" {
		return cpulist.Set{}, nil
	}
	return cpulist.Parse(list)
}

// loadEnv makes a Go process one that loops and nothing else: no collector, not
// even the one that comes every two minutes, and no second thread that would
// look for work.
func loadEnv() []string { return []string{"GOMAXPROCS=1", "GOGC=off"} }

// end ends everything and waits for it.
func (k *keeper) end() error {
	begin := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		k.kill()
		if k.reap() {
			return nil
		}
		if time.Since(begin) > killFor {
			return fmt.Errorf("cannot end the load: SIGKILL does not end processes %v", k.left())
		}
		time.Sleep(pause)
	}
}

// kill ends what is there.
func (k *keeper) kill() {
	for i, pid := range k.pids {
		if _, gone := k.used[pid]; gone {
			continue
		}
		// ESRCH: it has ended, and is waited for next.
		_ = syscall.Kill(pid, syscall.SIGKILL)
		if k.order.Processes[i].Kind == LoadCommand {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}
	for _, p := range descendants(os.Getpid()) {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// reap waits for all that has ended; true: nothing is left.
func (k *keeper) reap() bool {
	for {
		var use syscall.Rusage
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, &use)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return true // ECHILD
		case pid == 0:
			return false
		default:
			k.used[pid] = time.Duration(use.Utime.Nano() + use.Stime.Nano())
		}
	}
}

// left are the processes that have not been waited for.
func (k *keeper) left() []int {
	return slices.DeleteFunc(slices.Clone(k.pids), func(pid int) bool { _, gone := k.used[pid]; return gone })
}

// times are the CPU times in the order of the processes. What orphans used is
// the command's, which alone makes any.
func (k *keeper) times() []time.Duration {
	out := make([]time.Duration, len(k.pids))
	command := -1
	for i, pid := range k.pids {
		out[i] = k.used[pid]
		delete(k.used, pid)
		if k.order.Processes[i].Kind == LoadCommand {
			command = i
		}
	}
	for _, d := range k.used {
		if command >= 0 {
			out[command] += d
		}
	}
	return out
}

// RunLoad is the whole life of one process of a load: kind and rate as
// LoadProcess has them. It ends when in does: with the keeper, or with the
// harness.
func RunLoad(kind, rate string, in *os.File) error {
	perSecond, err := strconv.Atoi(rate)
	if err != nil || kind == LoadInterrupts && perSecond < 1 {
		return fmt.Errorf("cannot run load %q: the rate must be a whole number, got %q", kind, rate)
	}
	switch kind {
	case LoadSpinners:
		go load.Spin()
	case LoadMemory:
		go load.Hog()
	case LoadInterrupts:
		go load.Wake(perSecond)
	default:
		return fmt.Errorf("cannot run load %q: it must be %s", kind, orList([]string{LoadSpinners, LoadMemory, LoadInterrupts}))
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// noun is what messages call a process.
func (p *LoadProcess) noun() string {
	switch p.Kind {
	case LoadSpinners:
		return "spinner"
	case LoadMemory:
		return "memory hog"
	case LoadInterrupts:
		return "timer"
	}
	return fmt.Sprintf("command %q", p.Argv[0])
}
