//go:build linux

package isolation

import (
	"errors"
	"syscall"
	"testing"
)

// everyKnob is a machine of 8 CPUs that every layer of this file's test can be
// had on, and a mode that asks for them.
func everyKnob() (*knobKernel, Mode) {
	k := smtMachine()
	for file, text := range cpufreqMachine(8).files {
		if file != cpuFolder+"/online" {
			k.files[file] = text
		}
	}
	k.files[policyFolder+"/boost"] = "1"
	for n, mask := range map[int]string{24: "2", 25: "0-7"} {
		k.addIRQ(n, "device", mask, "2")
	}
	k.files[defaultMaskFile] = "000000ff"
	k.addTask(70, "irqbalance", "0", 0)
	return k, Mode{
		Name: "all", CPUs: "2", Steer: true, SMT: ptr(false), Turbo: ptr(false), Governor: "performance", Frequency: "2GHz",
	}
}

// Whatever write fails, and however: the error names the layer, nothing is left
// changed, and what cannot be undone at once is undone by the next replay.
func TestEveryWriteFailsOnce(t *testing.T) {
	points := 0
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.EPERM, syscall.ENOSPC, syscall.ENOENT, syscall.EBUSY} {
		for at := 0; ; at++ {
			k, m := everyKnob()
			k.fails = map[int]syscall.Errno{at: errno}
			before := withoutRoutes(k.state())
			r := k.run(t, m, "2")
			err := enforceAll(r)
			var u *Unsupported
			if err != nil && (!errors.As(err, &u) || u.Layer == "" || u.Reason == "" || u.Hint == "") {
				t.Errorf("write %d fails with %v: %v", at, errno, err)
			}
			reached := k.count > at
			// A write of the undo may be the one that fails.
			if u := r.journal.UndoTo(0); u.Err != nil {
				reached = true
				if u := r.journal.UndoTo(0); u.Err != nil {
					t.Errorf("write %d fails with %v: the second undo: %v", at, errno, u.Err)
				}
			}
			reached = reached || k.count > at
			after := k.state()
			for name, text := range before {
				if after[name] != text && !(name == defaultMaskFile && sameMask(after[name], text)) {
					t.Errorf("write %d fails with %v: %s was %q and is %q", at, errno, name, text, after[name])
				}
			}
			if !reached {
				break
			}
			points++
		}
	}
	t.Logf("%d writes failed", points)
	if points < 5*20 {
		t.Errorf("only %d writes failed", points)
	}
}

// enforceAll puts every layer of the mode in force, as Held does, until one
// fails.
func enforceAll(r *applied) error {
	for _, st := range stages() {
		l := st.layer(r)
		if l == nil {
			continue
		}
		if err := l.enforce(r); err != nil {
			return r.mode.asError(l.key(), err)
		}
	}
	return nil
}
