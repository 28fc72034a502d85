// Package rank orders CPUs by how little they were disturbed while they were
// watched. It is pure: the same input gives the same order, every place with
// its reason, on every machine.
//
// The pipeline is: two readings of the machine's counters become one [CPU]
// each, [Rank] orders them, and [Ranking.Take] takes the first n and the next
// one for the housekeeper. A CPU that was watched and stayed quiet is a guess
// about the time to come; nothing here says more than what was counted.
package rank

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"goset/cpulist"
	"goset/host"
)

// CPU is what one CPU did while it was watched, and where it stands.
type CPU struct {
	ID int
	// Core orders the cores of the machine; it need not be the kernel's core_id.
	Core     int
	Siblings cpulist.Set // the CPUs of its core, itself with them
	Package  *int
	Node     *int
	// Kind names the kind of core where the machine has several, and KindRank
	// orders them: 0 is the fastest.
	Kind     string
	KindRank int

	Online   bool
	Allowed  bool // by the affinity and the cpuset of this process
	Isolated bool // isolcpus=
	NoHZFull bool

	// Steerable and Fixed are interrupts during the sample: of rows that the
	// kernel lets move, and of all others.
	Steerable, Fixed uint64
	// Busy is the time that something ran on it, Steal the time that the
	// hypervisor took, Waited the time that tasks waited for it, SoftIRQs the
	// soft interrupts that it served; nil where the kernel does not say.
	Busy, Steal, Waited *time.Duration
	SoftIRQs            *uint64
}

// By says what a CPU's noise is.
type By string

// The noises.
const (
	All        By = "all" // interrupts, and busy time in the same unit
	Interrupts By = "interrupts"
	Busy       By = "busy"
)

// ParseBy reads a noise; "" is [All].
func ParseBy(text string) (By, error) {
	switch by := By(text); by {
	case "":
		return All, nil
	case All, Interrupts, Busy:
		return by, nil
	}
	return "", fmt.Errorf("cannot rank by %q: it must be interrupts, busy or all", text)
}

// Options bind the choice.
type Options struct {
	By     By            // "" is All
	Sample time.Duration // how long the CPUs were watched
	// Steer says that steerable interrupts will be moved away: only the others
	// count.
	Steer bool
	// Include are CPUs to take first, isolated ones too; Exclude are never
	// taken.
	Include, Exclude cpulist.Set
	// Node limits the choice to one NUMA node. OneNode takes all CPUs from the
	// same node, whichever has the quietest.
	Node    *int
	OneNode bool
	// MixKinds allows cores of several kinds in one choice.
	MixKinds bool
}

// Place is one CPU in the order.
type Place struct {
	CPU
	// Own is its noise, Beside that of its siblings, Cost the sum: interrupts
	// during the sample, and for [Busy] and [All] busy time as the number of
	// interrupts that would have taken as long.
	Own, Beside, Cost float64
	// Free says that it can be taken; Reason why it cannot be, or what speaks
	// for its place.
	Free     bool
	Included bool
	Reason   string
}

// Ranking is all CPUs in order: the free ones first, the quietest of them at
// the top, then those that cannot be taken, by number.
type Ranking struct {
	Places  []Place
	Options Options
}

// perInterrupt is how much of a task's time one interrupt is taken to cost,
// entry, handler and the cache lines it leaves cold: the exchange rate between
// interrupts and busy time. Its exact value decides nothing: a CPU with a
// spinning task is busy for the whole sample, which is 200,000 interrupts a
// second.
const perInterrupt = 5 * time.Microsecond

// quietShare is the share of a sample up to which a CPU's busy time does not
// count. /proc/stat counts in ticks of 10 ms, one of which is 2% of a sample
// of 500 ms: below this share the figure is the luck of the tick, and would
// outweigh interrupts that were really counted.
const quietShare = 0.06

// Rank orders the CPUs: those that can be taken before those that cannot, and
// among them by inclusion, cost, own noise, own steerable interrupts, core and
// number. The input is not changed and its order has no effect.
func Rank(cpus []CPU, opt Options) Ranking {
	if opt.By == "" {
		opt.By = All
	}
	own := make(map[int]float64, len(cpus))
	for _, c := range cpus {
		own[c.ID] = noise(c, opt)
	}
	r := Ranking{Options: opt, Places: make([]Place, 0, len(cpus))}
	for _, c := range cpus {
		p := Place{CPU: c, Own: own[c.ID], Included: opt.Include.Contains(c.ID)}
		for sibling := range c.Siblings.All() {
			if sibling != c.ID {
				p.Beside += own[sibling]
			}
		}
		p.Cost = p.Own + p.Beside
		p.Free, p.Reason = judge(p, opt)
		r.Places = append(r.Places, p)
	}
	slices.SortFunc(r.Places, compare)
	return r
}

func noise(c CPU, opt Options) float64 {
	counted := float64(c.Fixed)
	if !opt.Steer {
		counted += float64(c.Steerable)
	}
	switch opt.By {
	case Interrupts:
		return counted
	case Busy:
		return busyNoise(c, 0)
	default:
		return counted + busyNoise(c, time.Duration(quietShare*float64(opt.Sample)))
	}
}

// busyNoise is the time that was not the CPU's to give, less what is not worth
// counting, as a number of interrupts.
func busyNoise(c CPU, quiet time.Duration) float64 {
	var taken time.Duration
	if c.Busy != nil {
		taken += *c.Busy
	}
	if c.Steal != nil {
		taken += *c.Steal
	}
	return float64(max(taken-quiet, 0)) / float64(perInterrupt)
}

// judge says whether a CPU can be taken, and why.
func judge(p Place, opt Options) (free bool, reason string) {
	switch {
	case !p.Online:
		return false, "offline"
	case opt.Exclude.Contains(p.ID):
		return false, "excluded"
	case !p.Allowed:
		return false, "not allowed for this process (affinity or cpuset)"
	case opt.Node != nil && p.Node == nil:
		return false, fmt.Sprintf("on no known node, and node %d is asked for", *opt.Node)
	case opt.Node != nil && *p.Node != *opt.Node:
		return false, fmt.Sprintf("on node %d, and node %d is asked for", *p.Node, *opt.Node)
	case p.Isolated && !p.Included:
		return false, "isolated at boot (isolcpus) for another use; include it to take it"
	}
	return true, strings.Join(remarks(p, opt), ", ")
}

func remarks(p Place, opt Options) []string {
	var words []string
	if p.Included {
		words = append(words, "included")
	}
	switch {
	case p.Cost == 0:
		words = append(words, "undisturbed")
	case p.Own == 0:
		words = append(words, "disturbed by its sibling alone")
	case p.Beside > p.Own:
		words = append(words, "disturbed by its sibling above all")
	}
	if c := busyNoise(p.CPU, time.Duration(quietShare*float64(opt.Sample))); c > 0 && opt.By != Interrupts {
		words = append(words, "busy")
	}
	if opt.Steer && p.Steerable > 0 {
		words = append(words, count(int(p.Steerable), "interrupt")+" to steer away")
	}
	if p.NoHZFull {
		words = append(words, "nohz_full")
	}
	if p.Isolated {
		words = append(words, "isolated")
	}
	return words
}

func compare(a, b Place) int {
	if a.Free != b.Free {
		return preferTrue(a.Free)
	}
	if !a.Free {
		return cmp.Compare(a.ID, b.ID)
	}
	if a.Included != b.Included {
		return preferTrue(a.Included)
	}
	return cmp.Or(
		cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Own, b.Own), cmp.Compare(a.Steerable, b.Steerable),
		cmp.Compare(a.Core, b.Core), cmp.Compare(a.ID, b.ID))
}

func preferTrue(isA bool) int {
	if isA {
		return -1
	}
	return 1
}

// Rows splits the interrupts of a sample into steerable and fixed ones per
// CPU, which is what a [CPU] needs of them. Rows of the whole machine belong to
// no CPU.
func Rows(delta *host.Interrupts, steering func(*host.InterruptRow) host.Steering) (steerable, fixed map[int]uint64) {
	steerable, fixed = map[int]uint64{}, map[int]uint64{}
	for i := range delta.Rows {
		row := &delta.Rows[i]
		if row.Global || !slices.ContainsFunc(row.Counts, func(n uint64) bool { return n > 0 }) {
			continue
		}
		to := fixed
		if steering(row) == host.Steerable {
			to = steerable
		}
		for j, n := range row.Counts {
			to[delta.CPUs[j]] += n
		}
	}
	return steerable, fixed
}
