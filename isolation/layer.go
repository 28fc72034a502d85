package isolation

import (
	"time"

	"goset/cpulist"
)

// layer is one reversible measure of one run. It has no undo of its own: what
// it changes, it changes through the run's journal, which is replayed
// backwards. A layer is made anew for every run.
type layer interface {
	// key is the key of the mode that asks for it, and what "optional" names.
	key() string
	// probe finds out, without changing anything, whether the layer can be
	// had; nil: it can. The run's CPUs may not be chosen yet (empty).
	probe(r *applied) *Unsupported
	// enforce puts the layer in force. An *Unsupported says that the machine
	// refused; what was changed by then is undone by the caller.
	enforce(r *applied) error
	// check reads back what is in force. It is called before the child
	// starts, while it lives and after its end, and adds up what it finds.
	check(r *applied, at moment)
	// state says what became of the layer. Held is true only when every check
	// found what was asked.
	state() LayerState
}

// childLayer is a layer that also acts on the child between its fork and its
// exec.
type childLayer interface {
	layer
	birth(r *applied, b *Birth) error
}

// moment is when a layer is checked.
type moment struct {
	phase phase
	pid   int // of the live child, or of one that is not reaped; 0: none
}

// phase says where in a run a check is made.
type phase int

const (
	beforeRun phase = iota // in force, no child yet
	duringRun              // the child lives
	afterRun               // the child has ended, nothing is undone yet
)

// Birth is what a child is given, or does, between its fork and its exec.
type Birth struct {
	// Cgroup is the path of the cgroup (version 2) the child is to be born
	// in; "" leaves it where its parent is.
	Cgroup string
	// Procs are the paths of cgroup.procs files that the child writes itself
	// into, for what Cgroup cannot do: version 1, and kernels before 5.7.
	Procs []string
	// Calls are made in order, before anything else that the child does. What
	// drops privileges comes last.
	Calls []Call
}

// Call is one system call of a child between its fork and its exec; it shares
// its parent's memory until then. A call that fails ends the child.
type Call struct {
	Layer string // for the message
	What  string // "set the nice value to -5"
	Nr    uintptr
	Args  [5]uintptr
	// Hold keeps alive what Args point to.
	Hold any
}

// patience bounds how long a layer waits for the kernel to do what it said it
// would: a cgroup to become empty, a partition to become valid.
const patience = 3 * time.Second

// applied is one run as its layers see it.
type applied struct {
	mode Mode
	cpus cpulist.Set // the task's; empty: not chosen, or unpinned
	// fenced is cpus and, with a fence, their SMT siblings: what others are to
	// be kept off.
	fenced  cpulist.Set
	kernel  kernel
	journal *Journal // nil while probing
	// notes are worth printing once; keyed by themselves.
	notes []string
}
