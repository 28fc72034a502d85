// Package doctor judges what on a machine can spoil a measurement. It is pure:
// what was read goes in, findings come out, and nothing is changed.
//
// Its stance: a warning is about what moves the numbers of one run against the
// next, advice about what makes them those of this machine alone, or slower than
// they need be. What cannot be told is never taken as good, and says which file
// would have told it. Every change that is proposed comes with the way back to
// what was found.
package doctor

import (
	"slices"
	"strings"

	"goset/host"
)

// Case is what is judged: the machine, and what no file says about this process.
type Case struct {
	Survey  host.Survey
	Process Process
	Turn    Turn
	Jitter  *Jitter // nil: not measured
}

// Process is what decides how many CPUs a Go program takes here.
type Process struct {
	// Env is GOMAXPROCS of the environment; "": not set.
	Env string
	// Procs is what a Go program starts with; 0: not known, as for another machine.
	Procs int
}

// Turn is who else measures on this machine.
type Turn struct {
	// Holder has the lock that goset's sessions take turns with; "": nobody.
	Holder string
	// Leftovers are journals of sessions that ended without undoing their changes.
	Leftovers []string
	// Unread is what could not be read of both.
	Unread []host.Unread
	// Unasked is set where nobody looked, as on another machine.
	Unasked bool
}

// List is one of the four lists that a finding stands in.
type List string

// The lists.
const (
	InOrder    List = "in order"
	Advice     List = "advice"
	Warning    List = "warning"
	CannotTell List = "cannot tell"
)

// Lists are all four, in the order in which they are printed.
func Lists() []List { return []List{InOrder, Advice, Warning, CannotTell} }

// Finding is one line.
type Finding struct {
	List  List   `json:"-"`
	Check string `json:"check"` // "governor"
	Value string `json:"value"` // as read
	Why   string `json:"why"`   // it matters
	// Change are the commands that change it, Undo those that put back what was
	// found. Both are for a root shell; none where no command does it.
	Change []string `json:"change,omitempty"`
	Undo   []string `json:"undo,omitempty"`
	// Mode is what a mode of an experiment says to have it changed for its own
	// runs alone, and put back by itself.
	Mode string `json:"mode,omitempty"`
	// File is what would have told; of [CannotTell], never empty.
	File string `json:"file,omitempty"`
}

// check is one thing that is looked at. It gives at least one finding: what is
// not said cannot be told from what is in order.
type check struct {
	name  string
	judge func(*Case) []Finding
}

// checks are all of them, in the order in which they are printed.
func checks() []check {
	return []check{
		{"governor", governor}, {"turbo", turbo}, {"frequency limits", limits}, {"thermal state", thermal},
		{"smt", smt}, {"irqbalance", movers("irqbalance")}, {"tuned", movers("tuned")}, {"other movers", movers("")},
		{"load", load}, {"busiest processes", busiest},
		{"thp", thp}, {"swap", swap}, {"aslr", aslr}, {"numa balancing", numa}, {"mitigations", mitigations},
		{"hypervisor", hypervisor}, {"steal", steal}, {"cpu quota", quota}, {"memory limit", memory},
		{"timer", timer}, {"gomaxprocs", gomaxprocs}, {"perflock", perflock}, {"goset", turn}, {"jitter", jitter},
	}
}

// Examine judges a machine that runs Linux.
func Examine(c *Case) []Finding {
	var all []Finding
	for _, check := range checks() {
		for _, f := range check.judge(c) {
			f.Check = check.name
			all = append(all, f)
		}
	}
	return all
}

// In are the findings of one list.
func In(all []Finding, list List) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.List != list })
}

// unknown is a finding about what a file did not tell. The cause is that of the
// survey, or that the file is not there.
func unknown(s *host.Survey, file, why string) []Finding {
	cause, ok := s.Cause(file)
	if !ok {
		cause = "there is no such file"
	}
	// Of a text that makes no sense the cause names the file too.
	if after, again := strings.CutPrefix(cause, "cannot read "); again {
		_, cause, _ = strings.Cut(after, ": ")
	}
	return []Finding{{List: CannotTell, Value: "cannot read " + file + ": " + cause, Why: why, File: file}}
}

// lacking is a finding about a folder in which nothing of the kind stands.
func lacking(s *host.Survey, folder, what, why string) []Finding {
	if u, ok := s.Below(folder); ok {
		return unknown(s, u.What, why)
	}
	return []Finding{{List: CannotTell, Value: "there is no " + what + " in " + folder, Why: why, File: folder}}
}
