package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"goset/isolation"
)

// open takes the machine, for this command alone when a layer is going to change
// it. Commands that are only pinned may run side by side.
func (t *task) open(ctx context.Context) error {
	o := isolation.Options{State: t.opt.state, Lock: t.opt.lock, Wait: t.opt.wait, Say: t.say, Tool: tool}
	if !t.mode.ChangesMachine() {
		return t.visit(ctx, o)
	}
	if os.Geteuid() == 0 {
		// The file that runs, and not what stands at its path by now: an
		// upgrade leaves the journal to the version that wrote it.
		o.Guard = []string{"/proc/self/exe", guardWord}
	}
	s, err := isolation.Open(ctx, o)
	if err != nil {
		return err
	}
	t.session = s
	t.runner.Use(s)
	return nil
}

// tool is how messages call this program.
const tool = "goset"

// visit keeps experiments from starting while the command runs, and it from
// running beside one.
func (t *task) visit(ctx context.Context, o isolation.Options) error {
	v, err := isolation.NewVisit(ctx, o)
	if _, locked := errors.AsType[*isolation.LockedError](err); locked || ctx.Err() != nil {
		return err
	}
	// Who changes nothing may run on a machine that is not as it was, and is told.
	if t.stale = isolation.Stale(o); t.stale != nil {
		t.say("warning: " + t.stale.Left())
	}
	if err != nil {
		// Where the file is not to be had (a bare container) nobody can take
		// the machine. Pinning needs no lock.
		t.say(fmt.Sprintf("warning: %v; an experiment beside this run would go unnoticed", err))
		return nil
	}
	t.leave = v.Close
	return nil
}

// closing undoes what is still changed, whatever happened before, and gives up
// the runner.
func (t *task) closing(err error) error {
	t.runner.Use(nil)
	var cerr error
	if t.session != nil {
		cerr = t.session.Close()
	}
	if t.leave != nil {
		cerr = errors.Join(cerr, t.leave())
	}
	cerr = errors.Join(cerr, t.runner.Close())
	if t.ran && cerr != nil {
		t.say(cerr.Error())
		return cmp.Or(err, error(&exitError{code: exitFailed}))
	}
	return errors.Join(err, cerr)
}
