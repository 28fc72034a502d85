package host

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"goset/cpulist"
)

// Kind is one kind of core on a machine that has several ("hybrid",
// "big.LITTLE"), the fastest first.
type Kind struct {
	// Name is what the kernel calls it: a PMU ("cpu_core", "cpu_atom"), an
	// implementer and part ("0x41:0xd4e"), or "capacity" and the highest value.
	Name string      `json:"name"`
	CPUs cpulist.Set `json:"cpus"`
	// Capacity is the highest relative speed of its cores, of 1024, where the
	// kernel says it.
	Capacity *int `json:"capacity,omitempty"`
}

// kinds finds the kinds of the online CPUs by the surest source that tells
// them apart; one kind is none.
func (f FS) kinds(online cpulist.Set, info cpuInfo) ([]Kind, error) {
	capacity, failed := f.perCPU(online, "cpu_capacity")
	for _, source := range []func(cpulist.Set) ([]Kind, error){
		f.kindsByPMU,
		func(online cpulist.Set) ([]Kind, error) { return kindsByPart(online, info) },
		func(cpulist.Set) ([]Kind, error) { return kindsByValue("capacity", capacity), nil },
		f.kindsByFrequency,
	} {
		kinds, err := source(online)
		failed = errors.Join(failed, err)
		if len(kinds) > 1 {
			order(kinds, capacity)
			return kinds, failed
		}
	}
	return nil, failed
}

// The PMUs that x86 kernels register per kind, the fastest first
// (arch/x86/events/intel/core.c).
func pmuNames() []string { return []string{"cpu_core", "cpu_atom", "cpu_lowpower"} }

func (f FS) kindsByPMU(online cpulist.Set) ([]Kind, error) {
	var kinds []Kind
	for _, name := range pmuNames() {
		cpus, err := f.cpus("sys/devices", name, "cpus")
		if absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if cpus = cpus.Intersect(online); !cpus.Empty() {
			kinds = append(kinds, Kind{Name: name, CPUs: cpus})
		}
	}
	return kinds, nil
}

// kindsByPart tells arm64 cores apart by what they are: /proc/cpuinfo's
// implementer and part of each. Two parts can have the same capacity.
func kindsByPart(online cpulist.Set, info cpuInfo) ([]Kind, error) {
	cpus, err := info()
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	byPart := map[string]cpulist.Set{}
	for cpu, fields := range cpus {
		if part := fields["CPU part"]; part != "" && online.Contains(cpu) {
			name := fields["CPU implementer"] + ":" + part
			byPart[name] = byPart[name].Union(cpulist.Of(cpu))
		}
	}
	var kinds []Kind
	for _, name := range slices.Sorted(maps.Keys(byPart)) {
		kinds = append(kinds, Kind{Name: name, CPUs: byPart[name]})
	}
	return kinds, nil
}

// kindsByFrequency is the last resort: the highest frequency of each CPU.
func (f FS) kindsByFrequency(online cpulist.Set) ([]Kind, error) {
	khz, err := f.perCPU(online, "cpufreq/cpuinfo_max_freq")
	return kindsByValue("max_khz", khz), err
}

// perCPU reads one number of every CPU that has it.
func (f FS) perCPU(online cpulist.Set, name string) (map[int]int, error) {
	values := map[int]int{}
	var failed error
	for cpu := range online.All() {
		n, err := f.number(cpuDir(cpu), name)
		if absent(err) {
			continue
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		values[cpu] = int(n)
	}
	return values, failed
}

// kindGap is how much slower a core must be than the next faster one to be of
// another kind. Favoured cores, which the maker found to clock a few per cent
// higher, are no kind of their own; the kinds that are sold differ by more (a
// Cortex-A715 has 0.83 of an X3's capacity).
const kindGap = 0.88

func kindsByValue(what string, values map[int]int) []Kind {
	cpus := slices.Collect(maps.Keys(values))
	slices.SortFunc(cpus, func(a, b int) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	})
	var kinds []Kind
	last := 0
	for _, cpu := range cpus {
		v := values[cpu]
		if len(kinds) == 0 || float64(v) < kindGap*float64(last) {
			kinds = append(kinds, Kind{Name: fmt.Sprintf("%s %d", what, v)})
		}
		k := &kinds[len(kinds)-1]
		k.CPUs = k.CPUs.Union(cpulist.Of(cpu))
		last = v
	}
	return kinds
}

// order puts the fastest kind first, as far as capacities say it; the sources
// themselves are in that order otherwise.
func order(kinds []Kind, capacity map[int]int) {
	for i := range kinds {
		for cpu := range kinds[i].CPUs.All() {
			if c, ok := capacity[cpu]; ok && (kinds[i].Capacity == nil || c > *kinds[i].Capacity) {
				kinds[i].Capacity = &c
			}
		}
	}
	slices.SortStableFunc(kinds, func(a, b Kind) int {
		if a.Capacity == nil || b.Capacity == nil || strings.HasPrefix(a.Name, "cpu_") {
			return 0
		}
		return cmp.Compare(*b.Capacity, *a.Capacity)
	})
}

// nameKinds tells every core its kind.
func nameKinds(t *Topology) {
	for i := range t.Cores {
		for _, kind := range t.Kinds {
			if kind.CPUs.Intersects(t.Cores[i].CPUs) {
				t.Cores[i].Kind = kind.Name
				break
			}
		}
	}
}
