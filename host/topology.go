package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goset/cpulist"
)

// Topology is how the CPUs of a machine hang together. Sets that the kernel
// does not print are absent.
type Topology struct {
	Online cpulist.Set `json:"online"`
	// Possible CPUs can ever come online, Present ones are in the machine.
	Possible *cpulist.Set `json:"possible,omitempty"`
	Present  *cpulist.Set `json:"present,omitempty"`
	// Isolated is isolcpus=: CPUs that the scheduler balances nothing onto.
	// NoHZFull CPUs run without a tick while one task is on them.
	Isolated *cpulist.Set `json:"isolated,omitempty"`
	NoHZFull *cpulist.Set `json:"nohz_full,omitempty"`

	// Cores holds the cores of the online CPUs by their first CPU. A CPU
	// without a topology folder is in none.
	Cores    []Core    `json:"cores,omitempty"`
	Packages []Package `json:"packages,omitempty"`
	Nodes    []Node    `json:"nodes,omitempty"`
	// Kinds is empty when all cores are of one kind.
	Kinds  []Kind  `json:"kinds,omitempty"`
	Caches []Cache `json:"caches,omitempty"`
}

// Core is one core with its online hardware threads.
type Core struct {
	Package *int        `json:"package,omitempty"` // -1 is the kernel's "unknown"
	Die     *int        `json:"die,omitempty"`
	Node    *int        `json:"node,omitempty"`
	Kind    string      `json:"kind,omitempty"` // a Kind's name; "" when there is but one
	CPUs    cpulist.Set `json:"cpus"`
}

// Package is one processor package with its online CPUs.
type Package struct {
	ID   int         `json:"id"`
	Dies int         `json:"dies"` // 0: the kernel does not say
	CPUs cpulist.Set `json:"cpus"`
}

// Node is one NUMA node as the kernel prints it: offline CPUs are in it too,
// and nodes of memory alone have none.
type Node struct {
	ID   int         `json:"id"`
	CPUs cpulist.Set `json:"cpus"`
}

// Core finds the core of a CPU; nil when it is in none.
func (t *Topology) Core(cpu int) *Core {
	for i := range t.Cores {
		if t.Cores[i].CPUs.Contains(cpu) {
			return &t.Cores[i]
		}
	}
	return nil
}

// Reachable adds the CPUs of isolcpus= to those that a process has, where it has
// the kernel's default mask. That leaves them out, and who has it may put itself
// onto them all the same: sched_setaffinity is bounded by the cpuset. A narrower
// mask was meant.
func (t *Topology) Reachable(allowed cpulist.Set) cpulist.Set {
	if t.Isolated == nil || !allowed.Intersect(t.Online).Equal(t.Online.Minus(*t.Isolated)) {
		return allowed
	}
	return allowed.Union(t.Isolated.Intersect(t.Online))
}

// ThreadsPerCore is the largest number of online hardware threads of a core; 0
// when no core is known.
func (t *Topology) ThreadsPerCore() int {
	n := 0
	for _, core := range t.Cores {
		n = max(n, core.CPUs.Len())
	}
	return n
}

// Topology reads /sys/devices/system/cpu and /sys/devices/system/node
// (Documentation/admin-guide/cputopology.rst). The error is for what has no
// meaning without an answer, the online CPUs, and for files that are there and
// cannot be understood; with an error, the topology is what could be, or nil.
func (f FS) Topology() (*Topology, error) { return f.topology(f.CPUInfo) }

// topology is Topology for a caller that has read /proc/cpuinfo.
func (f FS) topology(info cpuInfo) (*Topology, error) {
	t, err := f.arrangement(info)
	if t != nil {
		t.Caches, err = collect(err, func() ([]Cache, error) { return f.caches(t.Online) })
	}
	return t, err
}

// HasCPUs reports whether the files say anything about CPUs: a dump of /proc
// alone does not.
func (f FS) HasCPUs() bool {
	dir, err := f.open("sys/devices/system/cpu")
	if err != nil {
		return !absent(err)
	}
	dir.Close()
	return true
}

// Arrangement is the topology without the caches, whose files are four in five
// of all. With an error, it is what could be read, or nil.
func (f FS) Arrangement() (*Topology, error) { return f.arrangement(f.CPUInfo) }

func (f FS) arrangement(info cpuInfo) (*Topology, error) {
	t := &Topology{}
	var err error
	if t.Online, err = f.online(); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		name string
		to   **cpulist.Set
	}{{"possible", &t.Possible}, {"present", &t.Present}, {"isolated", &t.Isolated}, {"nohz_full", &t.NoHZFull}} {
		set, readErr := f.cpus("sys/devices/system/cpu", c.name)
		if *c.to, readErr = optional(set, readErr); readErr != nil {
			err = errors.Join(err, readErr)
		}
	}
	t.Nodes, err = collect(err, f.nodes)
	t.Cores, err = collect(err, func() ([]Core, error) { return f.cores(t) })
	t.Packages = packagesOf(t.Cores)
	t.Kinds, err = collect(err, func() ([]Kind, error) { return f.kinds(t.Online, info) })
	nameKinds(t)
	return t, err
}

// RCUNoCBs are the CPUs whose RCU callbacks run elsewhere: rcu_nocbs= of the
// command line, and those of nohz_full. nil: the command line cannot be read.
func (f FS) RCUNoCBs(top *Topology) *cpulist.Set {
	line, err := f.text("proc/cmdline")
	if err != nil {
		return nil
	}
	set := cpulist.Set{}
	if top.NoHZFull != nil {
		set = *top.NoHZFull
	}
	for word := range strings.FieldsSeq(line) {
		list, ok := strings.CutPrefix(word, "rcu_nocbs=")
		if !ok {
			continue
		}
		if list == "all" {
			set = top.Online
		} else if named, err := cpulist.Parse(list); err == nil {
			set = set.Union(named)
		}
	}
	return &set
}

func collect[T any](before error, read func() (T, error)) (T, error) {
	v, err := read()
	return v, errors.Join(before, err)
}

func cpuDir(cpu int) string { return "sys/devices/system/cpu/cpu" + strconv.Itoa(cpu) }

// online reads the list of online CPUs; where a dump lacks it, or has an empty
// one, the folders of the CPUs that are not marked offline.
func (f FS) online() (cpulist.Set, error) {
	set, err := f.cpus("sys/devices/system/cpu/online")
	if err == nil && !set.Empty() || err != nil && !absent(err) {
		return set, err
	}
	dirs, err := f.numbered("cpu", "sys/devices/system/cpu")
	if err != nil {
		return cpulist.Set{}, err
	}
	var off []int
	for cpu := range dirs.All() {
		// A CPU that cannot be taken offline has no such file.
		if on, err := f.number(cpuDir(cpu), "online"); err == nil && on == 0 {
			off = append(off, cpu)
		} else if err != nil && !absent(err) {
			return cpulist.Set{}, err
		}
	}
	if set := dirs.Minus(cpulist.Of(off...)); !set.Empty() {
		return set, nil
	}
	return cpulist.Set{}, fmt.Errorf("cannot find the CPUs: %s names none", f.Path("sys/devices/system/cpu"))
}

// cores groups the online CPUs by their siblings. The siblings' text is the
// only key that holds: core_id starts anew on every package.
func (f FS) cores(t *Topology) ([]Core, error) {
	var cores []Core
	var failed error
	seen := cpulist.Set{}
	for cpu := range t.Online.All() {
		if seen.Contains(cpu) {
			continue
		}
		core, err := f.core(cpu)
		failed = errors.Join(failed, err)
		if core == nil {
			continue
		}
		core.CPUs = core.CPUs.Intersect(t.Online).Minus(seen).Union(cpulist.Of(cpu))
		seen = seen.Union(core.CPUs)
		core.Node = nodeOf(t.Nodes, cpu)
		cores = append(cores, *core)
	}
	return cores, failed
}

// core reads the core of one CPU; nil where the CPU has no topology. With an
// error, it is what could be read.
func (f FS) core(cpu int) (*Core, error) {
	dir := cpuDir(cpu) + "/topology"
	there, err := f.open(dir)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	there.Close()
	core := &Core{}
	core.CPUs, err = f.siblings(dir, cpu)
	core.Package, err = collect(err, func() (*int, error) { return f.id(dir, "physical_package_id") })
	core.Die, err = collect(err, func() (*int, error) { return f.id(dir, "die_id") })
	return core, err
}

// siblings reads the threads of a core by the file's newest name first; a
// kernel that has none of them has no threads.
func (f FS) siblings(dir string, cpu int) (cpulist.Set, error) {
	for _, try := range []struct {
		read func(...string) (cpulist.Set, error)
		name string
	}{
		{f.cpus, "core_cpus_list"}, {f.cpus, "thread_siblings_list"},
		{f.cpuMask, "core_cpus"}, {f.cpuMask, "thread_siblings"},
	} {
		set, err := try.read(dir, try.name)
		if absent(err) {
			continue
		}
		return set, err
	}
	return cpulist.Of(cpu), nil
}

// id reads an optional small number.
func (f FS) id(dir, name string) (*int, error) {
	n, err := f.number(dir, name)
	return optional(int(n), err)
}

func nodeOf(nodes []Node, cpu int) *int {
	for _, node := range nodes {
		if node.CPUs.Contains(cpu) {
			return &node.ID
		}
	}
	return nil
}

func packagesOf(cores []Core) []Package {
	byID := map[int]*Package{}
	dies := map[[2]int]bool{}
	for _, core := range cores {
		if core.Package == nil {
			continue
		}
		id := *core.Package
		if byID[id] == nil {
			byID[id] = &Package{ID: id}
		}
		byID[id].CPUs = byID[id].CPUs.Union(core.CPUs)
		if core.Die != nil && !dies[[2]int{id, *core.Die}] {
			dies[[2]int{id, *core.Die}] = true
			byID[id].Dies++
		}
	}
	packages := make([]Package, 0, len(byID))
	for _, p := range byID {
		packages = append(packages, *p)
	}
	slices.SortFunc(packages, func(a, b Package) int { return cmp.Compare(a.ID, b.ID) })
	return packages
}

// nodes reads the NUMA nodes; a kernel without NUMA has none.
func (f FS) nodes() ([]Node, error) {
	ids, err := f.numbered("node", "sys/devices/system/node")
	if err != nil {
		return nil, err
	}
	var nodes []Node
	var failed error
	for id := range ids.All() {
		dir := "sys/devices/system/node/node" + strconv.Itoa(id)
		cpus, err := f.cpus(dir, "cpulist")
		if absent(err) {
			cpus, err = f.cpuMask(dir, "cpumap")
		}
		if absent(err) {
			continue
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		nodes = append(nodes, Node{ID: id, CPUs: cpus})
	}
	return nodes, failed
}

// Cache is one cache and the online CPUs that share it.
type Cache struct {
	Level int         `json:"level"`
	Type  string      `json:"type,omitempty"` // "Data", "Instruction", "Unified"
	Bytes *int64      `json:"bytes,omitempty"`
	CPUs  cpulist.Set `json:"cpus"`
}

// caches reads every cache once. The level is in a file: index3 need not be
// the third level. CPUs that share all of their first level share all that is
// above it, so of the threads of a core the first is asked.
func (f FS) caches(online cpulist.Set) ([]Cache, error) {
	var caches []Cache
	var failed error
	seen := map[string]bool{}
	covered := cpulist.Set{}
	for cpu := range online.All() {
		if covered.Contains(cpu) {
			continue
		}
		indices, err := f.numbered("index", cpuDir(cpu), "cache")
		if err != nil {
			return nil, err
		}
		var first []cpulist.Set // who shares this CPU's first level
		for i := range indices.All() {
			c, err := f.cache(fmt.Sprintf("%s/cache/index%d", cpuDir(cpu), i), cpu)
			failed = errors.Join(failed, err)
			if c == nil {
				continue
			}
			c.CPUs = c.CPUs.Intersect(online).Union(cpulist.Of(cpu))
			if c.Level == 1 {
				first = append(first, c.CPUs)
			}
			if key := fmt.Sprint(c.Level, c.Type, c.CPUs); !seen[key] {
				seen[key] = true
				caches = append(caches, *c)
			}
		}
		covered = covered.Union(common(first))
	}
	slices.SortStableFunc(caches, func(a, b Cache) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), strings.Compare(a.Type, b.Type))
	})
	return caches, failed
}

// common is what is in all of the sets; of no sets, nothing.
func common(sets []cpulist.Set) cpulist.Set {
	if len(sets) == 0 {
		return cpulist.Set{}
	}
	all := sets[0]
	for _, set := range sets[1:] {
		all = all.Intersect(set)
	}
	return all
}

// cache reads one cache; nil when the folder does not say its level.
func (f FS) cache(dir string, cpu int) (*Cache, error) {
	level, err := f.number(dir, "level")
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := &Cache{Level: int(level)}
	if c.Type, err = f.text(dir, "type"); err != nil && !absent(err) {
		return nil, err
	}
	c.CPUs, err = f.cpus(dir, "shared_cpu_list")
	if absent(err) {
		c.CPUs, err = f.cpuMask(dir, "shared_cpu_map")
	}
	if absent(err) {
		c.CPUs, err = cpulist.Of(cpu), nil
	}
	if err != nil {
		return nil, err
	}
	size, err := f.text(dir, "size")
	if err == nil {
		c.Bytes = cacheSize(size)
	} else if !absent(err) {
		return nil, err
	}
	return c, nil
}

// cacheSize reads "32K"; the kernel prints no other unit. nil: not known.
func cacheSize(text string) *int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "K"), 10, 40)
	if err != nil || n <= 0 {
		return nil
	}
	n *= 1024
	return &n
}
