//go:build !linux

package isolation

import (
	"os"
	"os/user"
	"runtime"
)

// seesInside: no other system shows what a process may use.
const seesInside = false

// elsewhere refuses every layer that goes through Linux's kernel, before its
// probe would: only the environment and a wrapper are to be had on other systems.
func elsewhere(l layer) *Unsupported {
	switch l.(type) {
	case *stableEnvLayer, *envSizeLayer, *wrapLayer:
		return nil
	}
	u := &Unsupported{Reason: "only Linux has it, and this is " + runtime.GOOS, Hint: "leave it out"}
	if (Mode{}).Binding(l.key()) == "" {
		u.Hint += ", or name it in optional to run without it"
	}
	return u
}

// foreignLayer stands in for a layer that only Linux has. It is refused before
// anything else is asked of it.
type foreignLayer struct{ name string }

func (l foreignLayer) key() string { return l.name }

func (l foreignLayer) probe(*applied) *Unsupported { return elsewhere(l) }

func (foreignLayer) enforce(*applied) error { return noAffinity() }
func (foreignLayer) check(*applied, moment) {}
func (l foreignLayer) state() LayerState    { return LayerState{Layer: l.name} }

// foreign is the stand-in when the layer is asked for.
func foreign(asked bool, name string) layer {
	if !asked {
		return nil
	}
	return foreignLayer{name}
}

func newNiceLayer(r *applied) layer { return foreign(r.mode.Nice != nil, "nice") }
func newFIFOLayer(r *applied) layer { return foreign(r.mode.FIFO != 0, "fifo") }
func newASLRLayer(r *applied) layer { return foreign(r.mode.ASLR != nil, "aslr") }
func newTHPLayer(r *applied) layer  { return foreign(r.mode.THP != "", "thp") }

// newUserLayer has nothing to do for the user that this process is.
func newUserLayer(r *applied) layer {
	return foreign(r.mode.User != "" && !isSelf(r.mode.User), layerUser)
}

// isSelf tells the own user, by name or number.
func isSelf(want string) bool {
	u, err := user.Current()
	return err == nil && os.Getuid() == os.Geteuid() && (want == u.Username || want == u.Uid)
}
