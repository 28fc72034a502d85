package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"goset/harness"
)

// relay passes the signals that goset gets on to the task. The task is in
// goset's own process group, as it would be without goset: what the terminal
// sends to the group, it has by itself, and pipelines, scripts and job control
// work as ever. So what the terminal sent is not passed on a second time.
//
// Before the task runs, a signal that would end goset ends it.
type relay struct {
	signals chan os.Signal
	done    chan struct{}
	cancel  context.CancelFunc

	mu     sync.Mutex
	runner *harness.Runner // nil: no task yet
	early  syscall.Signal  // what ended goset before the task ran
}

// startRelay catches signals. The context ends with one that ends goset.
func startRelay(ctx context.Context) (*relay, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	// As many as can arrive at once: a signal that finds no room is lost.
	r := &relay{signals: make(chan os.Signal, 128), done: make(chan struct{}), cancel: cancel}
	signal.Notify(r.signals, caught(1, lastPlain)...)
	go r.loop()
	return r, ctx
}

// stop gives the signals back.
func (r *relay) stop() {
	signal.Stop(r.signals)
	close(r.signals)
	<-r.done
	r.cancel()
}

// caught are the signals that are passed on. What was ignored when goset was
// started (nohup) stays ignored, for the task as well. SIGPIPE is caught so
// that a report that nobody reads does not change the exit status.
func caught(from, to syscall.Signal) []os.Signal {
	var all []os.Signal
	for n := from; n <= to; n++ {
		if !slices.Contains(uncaught(), n) && !signal.Ignored(n) {
			all = append(all, n)
		}
	}
	return all
}

// The plain signals and the real-time ones.
const lastPlain, lastSignal = 31, 64

// uncaught are the signals that are goset's own: those that cannot be caught,
// those of the Go runtime (SIGURG, SIGPROF; 32 and 33 are the C library's), and
// those about children and background reading. Those of faults are caught: what
// somebody sends is passed on (a watchdog's SIGABRT), and a fault of goset itself
// is the runtime's all the same.
func uncaught() []syscall.Signal {
	return []syscall.Signal{
		syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGURG, syscall.SIGPROF, syscall.SIGCHLD, syscall.SIGTTIN, syscall.SIGTTOU, 32, 33,
	}
}

func (r *relay) loop() {
	defer close(r.done)
	// Catching a signal takes 10 µs, and hardly anybody sends these: they are
	// caught while goset does other things.
	signal.Notify(r.signals, caught(lastPlain+1, lastSignal)...)
	for s := range r.signals {
		if sig, ok := s.(syscall.Signal); ok {
			r.one(sig)
		}
	}
}

func (r *relay) one(sig syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fromTerminal := slices.Contains(terminalSignals(), sig) && foreground()
	switch {
	case sig == syscall.SIGPIPE:
	case sig == syscall.SIGTSTP && (r.runner == nil || fromTerminal):
		stopSelf()
	case r.runner == nil:
		if sig != syscall.SIGCONT && sig != syscall.SIGWINCH {
			r.early = sig
			r.cancel()
		}
	case !fromTerminal:
		r.runner.Forward(sig)
	}
}

// forwarded stops goset with its task. A goset that stopped before its task had
// the signal would not have passed it on.
func forwarded(sig syscall.Signal) {
	if sig == syscall.SIGTSTP {
		stopSelf()
	}
}

// terminalSignals are what a terminal sends to its foreground process group.
func terminalSignals() []syscall.Signal {
	return []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGWINCH}
}

// toTask makes a runner's task the one that signals go to. False: goset was
// told to end before.
func (r *relay) toTask(runner *harness.Runner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runner = runner
	return r.early == 0
}

// ended is the exit of a goset that a signal ended before its task ran; nil
// when none did.
func (r *relay) ended() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.early == 0 {
		return nil
	}
	return &exitError{code: 128 + int(r.early)}
}
