package isolation

import (
	"fmt"
	"maps"
	"slices"

	"goset/cpulist"
)

// bequeaths says of which kinds threads have heirs: those whose CPUs are
// remembered because the kernel is about to overwrite them. Whoever such a thread
// brings into being before the undo is born with what the kernel made of it, and
// stands in no journal.
func bequeaths(name Kind) bool { return name == KindBystander || name == KindStranded }

// heirs gives the threads and processes that remembered ones brought into being
// meanwhile the CPUs that they would have been born with. It comes after the undo
// of all entries: who is born from then on has the right ones by birth.
//
// The kernel does not tell which thread of a process another one comes from. So
// there are heirs only where all threads that the process had when it was
// remembered had the same CPUs. One that has other CPUs than the kernel made of
// those has chosen them, and keeps them. One that chose just these cannot be told
// apart, and comes to have its parent's.
func (u *Undone) heirs(k kernel, entries []Entry) error {
	f := family{remembered: map[string][]Entry{}, processes: map[int]*process{}}
	for _, e := range entries {
		if bequeaths(e.Kind) && e.Since > 0 {
			f.remembered[e.Object] = append(f.remembered[e.Object], e)
		}
	}
	if len(f.remembered) == 0 {
		return nil
	}
	if err := f.read(k); err != nil {
		return fmt.Errorf("cannot look for threads that are younger than the change: %w", err)
	}
	for _, pid := range slices.Sorted(maps.Keys(f.processes)) {
		for _, t := range f.processes[pid].threads {
			left := f.leftTo(t)
			if left == nil || t.cpus.Equal(left.cpus) || !left.madeOf(t.cpus) {
				continue
			}
			err := k.setAffinity(t.tid, left.cpus)
			if isGone(err) {
				continue
			}
			if err != nil {
				// No entry is about it, so that nothing would come of a try
				// at the next start.
				u.Left = append(u.Left, fmt.Sprintf("thread %d (%s) was born with CPUs %s while another one had these instead of %s, and cannot be given those: %v", t.tid, t.name, t.cpus, left.cpus, err))
				continue
			}
			u.Restored++
		}
	}
	return nil
}

// family is the processes of the machine, and what is remembered of their
// threads.
type family struct {
	remembered map[string][]Entry // by object, in the order of the journal
	processes  map[int]*process
}

// process is one with its threads, the main one with all others.
type process struct {
	threads []task
	parent  int
	// will is what its heirs come to have, once it was asked for; nil: nothing.
	will  *legacy
	asked bool
}

// legacy is what the heirs of a process come to have.
type legacy struct {
	since   uint64 // who was born before is no heir; clock ticks since boot
	cpus    cpulist.Set
	entries []Entry // say what the kernel may have made of these
}

// madeOf says that a thread's CPUs are what the kernel made of those before.
func (l *legacy) madeOf(cpus cpulist.Set) bool {
	return slices.ContainsFunc(l.entries, func(e Entry) bool {
		k, ok := kindOf(e.Kind)
		return ok && k.isOurs(cpus.String(), e.New)
	})
}

// read reads the threads of the machine but for the kernel's own, which are born
// with the CPUs that the kernel thinks right for each.
func (f *family) read(k kernel) error {
	return eachTask(k, func(t task) error {
		if t.flags&flagKthread != 0 {
			return nil
		}
		p := f.processes[t.pid]
		if p == nil {
			p = &process{}
			f.processes[t.pid] = p
		}
		p.threads = append(p.threads, t)
		if t.tid == t.pid {
			p.parent = t.parent
		}
		return nil
	})
}

// leftTo is what a thread inherits: of its own process, or, when that is an heir
// as a whole, of the process that it comes from. nil: nothing.
func (f *family) leftTo(t task) *legacy {
	if f.remembered[taskObject(t.tid, t.start)] != nil {
		return nil
	}
	if will := f.willOf(t.pid); will != nil && t.start >= will.since {
		return will
	}
	return nil
}

// willOf finds what the heirs of a process come to have.
func (f *family) willOf(pid int) *legacy {
	p := f.processes[pid]
	if p == nil {
		return nil
	}
	if !p.asked {
		// Set first: a process that is its own ancestor, as the first one of
		// some containers seems to be, has no will from above.
		p.asked = true
		p.will = f.findWill(p)
	}
	return p.will
}

func (f *family) findWill(p *process) *legacy {
	var will *legacy
	for _, t := range p.threads {
		entries := f.remembered[taskObject(t.tid, t.start)]
		if len(entries) == 0 {
			continue
		}
		cpus, err := cpulist.Parse(entries[0].Old)
		if err != nil || will != nil && !cpus.Equal(will.cpus) {
			return nil
		}
		if will == nil {
			will = &legacy{since: entries[0].Since, cpus: cpus}
		}
		will.since = min(will.since, entries[0].Since)
		will.entries = append(will.entries, entries...)
	}
	if will == nil {
		will = f.willOf(p.parent)
	}
	if will == nil {
		return nil
	}
	// One that was there and was not remembered had other CPUs: all.
	if slices.ContainsFunc(p.threads, func(t task) bool {
		return t.start < will.since && f.remembered[taskObject(t.tid, t.start)] == nil
	}) {
		return nil
	}
	return will
}
