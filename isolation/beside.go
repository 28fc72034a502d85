package isolation

import (
	"slices"

	"goset/cpulist"
	"goset/host"
)

// What is worth knowing about where the own threads are beside a task.
const (
	noteShares  = "the harness shares the task's CPUs: no other CPU is allowed to it"
	noteSibling = "the harness runs on an SMT sibling of the task's CPUs: no other CPU is allowed to it"
)

// leftBeside is the CPUs that are left for the own threads while a task has some
// of the allowed ones, with what is worth knowing about that; none when the
// task has them all.
func leftBeside(cpus, allowed cpulist.Set) (rest cpulist.Set, note string, err error) {
	cores, err := host.Local.Siblings(cpus)
	if err != nil {
		return cpulist.Set{}, "", err
	}
	if rest = allowed.Minus(cores); !rest.Empty() {
		return rest, "", nil
	}
	if rest = allowed.Minus(cpus); !rest.Empty() {
		return rest, noteSibling, nil
	}
	return rest, noteShares, nil
}

// Beside says what is worth knowing about where the own threads will be while a
// task of the mode runs, whichever CPUs are chosen for it; "": nothing, or that
// depends on the choice. See Kept.Note.
func (m Mode) Beside() string {
	allowed, err := Allowed()
	if m.CPUs == "" || err != nil {
		return ""
	}
	cpus, err := m.fewestCores(allowed, host.Local.Siblings)
	if err != nil || cpus.Empty() {
		return ""
	}
	_, note, err := leftBeside(cpus, allowed)
	if err != nil {
		return "" // KeepOff says it
	}
	return note
}

// fewestCores is the choice of the mode's CPUs that leaves most cores to others:
// what it leaves too few of, every choice does. None where there are too few
// CPUs to choose from.
func (m Mode) fewestCores(allowed cpulist.Set, siblings func(cpulist.Set) (cpulist.Set, error)) (cpulist.Set, error) {
	if m.CPUs != "rotate" && m.CPUs != "quietest" {
		return cpulist.Parse(m.CPUs)
	}
	pool, _, err := m.pool(allowed)
	if err != nil {
		return cpulist.Set{}, err
	}
	var cores []cpulist.Set
	for left := pool; !left.Empty(); left = left.Minus(cores[len(cores)-1]) {
		core, err := siblings(cpulist.Of(left.First()))
		if err != nil {
			return cpulist.Set{}, err
		}
		cores = append(cores, core.Intersect(pool))
	}
	slices.SortStableFunc(cores, func(a, b cpulist.Set) int { return b.Len() - a.Len() })
	var chosen []int
	for _, core := range cores {
		chosen = append(chosen, core.CPUs()...)
	}
	n := max(m.N, 1)
	if n > len(chosen) {
		return cpulist.Set{}, nil
	}
	return cpulist.Of(chosen[:n]...), nil
}
