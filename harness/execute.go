package harness

import (
	"context"
	"syscall"
	"time"

	"goset/cpulist"
	"goset/isolation"
	"goset/metric"
)

// Job is one process to run: the command, what it is held to, its bounds.
type Job struct {
	Argv    []string // Argv[0] is looked up in PATH unless it has a slash
	Env     []string // the whole environment
	Own     []string // the part of Env that the workload asks for
	Dir     string
	Timeout time.Duration // 0: none
	// OutputLimit is how many bytes of each stream are kept; what follows is
	// read, counted and thrown away, but for the last tailSize bytes.
	OutputLimit int64

	Layers isolation.Mode
	CPUs   cpulist.Set // empty: unpinned

	// TimerSlack is how late the kernel may make the sleeps of the child's
	// threads (PR_SET_TIMERSLACK, prctl(2)); 0: as late as this process's.
	TimerSlack time.Duration

	// Foreground makes the child take this process's place at the terminal: it
	// has the same stdin, stdout, stderr, process group and session, and keeps
	// the processes that outlive it. Its output is not read.
	Foreground bool
	// Starting is called when everything is in force and right before the
	// child is made; nil: not.
	Starting func()
	// Started is called once the child runs, and Ended when its last thread
	// has ended and it still stands in /proc; nil: not. Meanwhile Tick is
	// called at every Every, by the thread that waits for the child: what it
	// takes is at most how late the end is noticed.
	Started, Ended, Tick func(pid int)
	Every                time.Duration // 0: never
	// Forwarded is called, by the thread that waits for the child, when the
	// child has been sent a signal of Forward; nil: not.
	Forwarded func(syscall.Signal)
}

// Stream is what a child wrote to one of its streams.
type Stream struct {
	Head  []byte // the first OutputLimit bytes
	Tail  []byte // the last bytes, when the stream was longer than Head
	Total int64  // bytes written in all
}

// Cut is true when bytes between Head and the end were thrown away.
func (s Stream) Cut() bool { return s.Total > int64(len(s.Head)) }

// Result is what one process did. Times are from the child's exec to its
// exit; the counters are wait4's own.
type Result struct {
	Start           time.Time // wall clock at the child's exec
	Wall, User, Sys time.Duration
	MaxRSS          int64 // bytes; see RSSFloor
	Voluntary       int64 // context switches
	Involuntary     int64
	MinorFaults     int64
	MajorFaults     int64
	Exit            int    // exit status; 128+n for signal n
	Signal          string // "SIGSEGV"; "" when it exited
	TimedOut        bool
	Interrupted     bool // the context ended first: the run does not count
	Leftover        int  // processes of its tree that outlived it and were ended
	// Unkilled are the processes of its tree that SIGKILL did not end.
	Unkilled       []int
	Stdout, Stderr Stream
	Layers         []isolation.LayerState
	Counters       map[string]float64
}

// Executor runs one process and waits for its whole tree. The error is for
// what kept it from running (command not found, a layer refused): an unhappy
// exit is a Result.
type Executor interface {
	Execute(ctx context.Context, job Job) (Result, error)
}

// Chooser picks CPUs for modes that do not name them.
type Chooser interface {
	// Choose watches the machine for the mode's sample and returns the
	// quietest CPUs, with the ranking they were picked from.
	Choose(ctx context.Context, mode isolation.Mode) (cpulist.Set, *Choice, error)
}

// Extractor turns a run's output into values. One serves all runs of a
// workload and learns nothing from one run that changes the next one's value.
type Extractor interface {
	Extract(res Result) (Extracted, error)
}

// Extracted is what was read from the output of one run.
type Extracted struct {
	Values     map[string]float64
	Iterations map[string][]float64
	// Metrics describes every metric that Values has.
	Metrics []metric.Metric
	// Warnings are doubts that leave the values usable.
	Warnings []string
	// Void is why the values cannot be used: "pattern of metric \"p99\"
	// matched nothing". Empty: they can.
	Void string
	// Shape is a fingerprint of the output's form, for the warning that the
	// form changed between runs or modes; "" when metrics are declared.
	Shape string
}
