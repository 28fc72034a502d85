package isolation

import (
	"errors"
	"os"
	"slices"
	"time"

	"goset/cpulist"
	"goset/host"
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
	// ended is true for a child that is known to be of the second kind: it has
	// no memory any more.
	ended bool
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
	// Cgroup is a descriptor of the cgroup (version 2) that the child is to be
	// born in (CLONE_INTO_CGROUP); -1 leaves it where its parent is.
	Cgroup int
	// Calls are made in order, before anything else that the child does. What
	// drops privileges comes last.
	Calls []Call
	// Session makes the child the leader of a session and not only of a
	// process group.
	Session bool

	// placed is set by the layer that puts the child into a cpuset.
	placed bool
	// place is what the child does to get there, where Cgroup cannot.
	place []Call
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
	cpus cpulist.Set // the task's; empty: not chosen yet, or unpinned
	// chosen is true once the CPUs of the run are, and empty then means none.
	chosen bool
	// fenced is cpus and, with a fence, their SMT siblings: what others are to
	// be kept off.
	fenced cpulist.Set
	// unknownCores is why it cannot be told which CPUs are siblings.
	unknownCores error
	kernel       kernel
	root         host.FS // where what is only read is read from
	// journal is what changes go through; nil while probing, and when no
	// layer of the run changes the machine.
	journal *Journal
	// unjournaled is why nothing on the machine can be changed; nil: it can.
	unjournaled error
	// partition is the word of the task's partition, once it holds; "": none.
	partition string
	// passed is which words were tried before it, and why they do not hold.
	passed []string
	// without are the keys of layers that were refused.
	without []string
	// shielded is true once others are shut out of the task's cpuset of version 1.
	shielded bool
	// cgroup is the cgroup of the task, made by the "cgroup" layer, for the
	// layers that set limits in it; "": none.
	cgroup string
}

// unpinned reports whether there are no CPUs for a layer that is about CPUs.
func (r *applied) unpinned() bool { return r.mode.CPUs == "" || r.chosen && r.cpus.Empty() }

// hasCpuset reports whether the task gets, or has, a cpuset of its own.
func (r *applied) hasCpuset() bool {
	return r.mode.Cgroup != "" && !slices.Contains(r.without, "cgroup")
}

// unprivileged refuses a layer that changes the machine where nothing can be
// changed; nil: it can.
func (r *applied) unprivileged() *Unsupported {
	if r.unjournaled == nil {
		return nil
	}
	hint := "run it with sudo, or leave the layer out"
	if os.Geteuid() == 0 {
		hint = "name another folder for the journal with -state, or leave the layer out"
	}
	return &Unsupported{Reason: r.unjournaled.Error(), Hint: hint}
}

// machineLayer is what layers embed that change the machine and so need the
// journal and the guard.
type machineLayer struct{}

func (machineLayer) changesMachine() {}

// changesMachine tells layers that need the journal from those that act on the
// child alone.
func changesMachine(l layer) bool {
	_, ok := l.(interface{ changesMachine() })
	return ok
}

// admit makes the layers that the mode asks for, in their order, and finds out
// which of them can be had.
func (r *applied) admit() ([]layer, Findings) {
	var layers []layer
	var findings Findings
	for _, st := range stages() {
		l := st.layer(r)
		if l == nil {
			continue
		}
		u := elsewhere(l)
		if u == nil {
			u = l.probe(r)
		}
		if u == nil && changesMachine(l) {
			u = r.unprivileged()
		}
		if u == nil {
			u = r.closed(l)
		}
		if u == nil {
			layers = append(layers, l)
			continue
		}
		r.without = append(r.without, l.key())
		// A key with several stages is refused once.
		var f *Unsupported
		if errors.As(r.mode.asError(l.key(), u), &f) && !slices.ContainsFunc(findings, func(o *Unsupported) bool { return o.Layer == f.Layer }) {
			findings = append(findings, f)
		}
	}
	return layers, findings
}
