package main

import (
	"context"
	"errors"
	"os"

	"goset/isolation"
)

// open takes the machine when a layer is going to change it. Two commands that
// are only pinned may run side by side, and take nothing.
func (t *task) open(ctx context.Context) error {
	if !t.mode.ChangesMachine() {
		return nil
	}
	o := isolation.Options{State: t.opt.state, Lock: t.opt.lock, Wait: t.opt.wait, Say: t.say, Tool: "goset"}
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

// closing undoes what is still changed, whatever happened before, and gives up
// the runner.
func (t *task) closing(err error) error {
	t.runner.Use(nil)
	var cerr error
	if t.session != nil {
		cerr = t.session.Close()
	}
	cerr = errors.Join(cerr, t.runner.Close())
	if t.ran && cerr != nil {
		t.say(cerr.Error())
		return err
	}
	return errors.Join(err, cerr)
}
