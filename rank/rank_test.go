package rank

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"goset/cpulist"
	"goset/host"
)

const sample = 500 * time.Millisecond

// machine makes n quiet CPUs with threads per core, all free.
func machine(n, threads int) []CPU {
	cpus := make([]CPU, n)
	for i := range cpus {
		core := i / threads
		var siblings []int
		for s := range threads {
			siblings = append(siblings, core*threads+s)
		}
		idle := time.Duration(0)
		cpus[i] = CPU{ID: i, Core: core, Siblings: cpulist.Of(siblings...), Online: true, Allowed: true, Busy: &idle}
	}
	return cpus
}

func ids(r Ranking) []int {
	var ids []int
	for _, p := range r.Places {
		ids = append(ids, p.ID)
	}
	return ids
}

func ptr[T any](v T) *T { return &v }

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		cpus   []CPU
		change func(cpus []CPU, opt *Options)
		want   []int
	}{
		{"none", nil, func([]CPU, *Options) {}, nil},
		{"one", machine(1, 1), func([]CPU, *Options) {}, []int{0}},
		{"equal: by core, then number", machine(4, 2), func(cpus []CPU, _ *Options) {
			cpus[0].Core, cpus[1].Core = 9, 9
		}, []int{2, 3, 0, 1}},
		{"cost counts siblings", machine(4, 2), func(cpus []CPU, _ *Options) {
			cpus[1].Fixed, cpus[2].Fixed, cpus[3].Fixed = 100, 30, 30
		}, []int{2, 3, 0, 1}}, // 0-1 cost 100, 2-3 cost 60
		{"equal cost: own", machine(2, 2), func(cpus []CPU, _ *Options) { cpus[0].Fixed = 5 }, []int{1, 0}},
		{"equal own: steerable", machine(2, 1), func(cpus []CPU, _ *Options) {
			cpus[0].Steerable, cpus[1].Fixed = 5, 5
		}, []int{1, 0}},
		{"steer: fixed alone counts", machine(2, 1), func(cpus []CPU, opt *Options) {
			cpus[0].Steerable, cpus[1].Fixed, opt.Steer = 500, 5, true
		}, []int{0, 1}},
		{"without steer all count", machine(2, 1), func(cpus []CPU, _ *Options) {
			cpus[0].Steerable, cpus[1].Fixed = 500, 5
		}, []int{1, 0}},
		{"include first", machine(3, 1), func(cpus []CPU, opt *Options) {
			cpus[2].Fixed, opt.Include = 1000, cpulist.Of(2)
		}, []int{2, 0, 1}},
		{"a spinner is not quiet", machine(2, 1), func(cpus []CPU, _ *Options) {
			cpus[0].Busy, cpus[1].Fixed = ptr(sample), 200
		}, []int{1, 0}},
		{"by interrupts a spinner is", machine(2, 1), func(cpus []CPU, opt *Options) {
			cpus[0].Busy, cpus[1].Fixed, opt.By = ptr(sample), 200, Interrupts
		}, []int{0, 1}},
		{"by busy interrupts are nothing", machine(2, 1), func(cpus []CPU, opt *Options) {
			cpus[0].Busy, cpus[1].Fixed, opt.By = ptr(10*time.Millisecond), 200, Busy
		}, []int{1, 0}},
		{"one tick does not outweigh interrupts", machine(2, 1), func(cpus []CPU, _ *Options) {
			cpus[0].Busy, cpus[1].Fixed = ptr(10*time.Millisecond), 200
		}, []int{0, 1}},
		{"a busy sibling is not quiet", machine(4, 2), func(cpus []CPU, _ *Options) {
			cpus[1].Busy, cpus[2].Fixed, cpus[3].Fixed = ptr(sample), 200, 200
		}, []int{2, 3, 0, 1}},
		{"steal is not quiet", machine(2, 1), func(cpus []CPU, _ *Options) { cpus[0].Steal = ptr(sample) }, []int{1, 0}},
		{"what cannot be taken is last, by number", machine(4, 1), func(cpus []CPU, opt *Options) {
			cpus[0].Online, cpus[2].Allowed, opt.Exclude, cpus[3].Fixed = false, false, cpulist.Of(1), 50
		}, []int{3, 0, 1, 2}},
	} {
		opt := Options{Sample: sample}
		c.change(c.cpus, &opt)
		if got := ids(Rank(c.cpus, opt)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestOrderIsSettled shuffles the input: the order must not depend on it.
func TestOrderIsSettled(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		cpus := machine(16, 2)
		for i := range cpus {
			cpus[i].Fixed, cpus[i].Steerable = rng.Uint64N(3), rng.Uint64N(2)
			cpus[i].Isolated = rng.IntN(8) == 0
		}
		want := Rank(cpus, Options{Sample: sample})
		kept := slices.Clone(cpus)
		rng.Shuffle(len(cpus), func(i, j int) { cpus[i], cpus[j] = cpus[j], cpus[i] })
		if got := Rank(cpus, Options{Sample: sample}); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v after a shuffle, %v before", ids(got), ids(want))
		}
		slices.SortFunc(cpus, func(a, b CPU) int { return a.ID - b.ID })
		if !reflect.DeepEqual(cpus, kept) {
			t.Fatal("the input was changed")
		}
	}
}

func TestTake(t *testing.T) {
	hybrid := func(cpus []CPU, _ *Options) {
		for i := range cpus {
			cpus[i].Kind, cpus[i].KindRank = "cpu_core", 0
			if i >= 4 {
				cpus[i].Kind, cpus[i].KindRank = "cpu_atom", 1
			} else {
				cpus[i].Fixed = 10 // the fast ones are the louder ones
			}
		}
	}
	nodes := func(cpus []CPU, opt *Options) {
		for i := range cpus {
			cpus[i].Node = ptr(i % 2)
		}
		cpus[0].Fixed, cpus[2].Fixed, cpus[3].Fixed, opt.OneNode = 1, 1, 9, true
	}
	for _, c := range []struct {
		name   string
		cpus   []CPU
		change func(cpus []CPU, opt *Options)
		n      int
		want   string // the task's CPUs, or the error
		keeper int
	}{
		{"nothing", machine(0, 1), func([]CPU, *Options) {}, 1, "cannot take 1 CPU: none is free", 0},
		{"zero", machine(1, 1), func([]CPU, *Options) {}, 0, "must be 1 or more", 0},
		{"one of one", machine(1, 1), func([]CPU, *Options) {}, 1, "0", -1},
		{"two of one", machine(1, 1), func([]CPU, *Options) {}, 2, "cannot take 2 CPUs: only 1 is free; n = 1 would fit", 0},
		{"one of two", machine(2, 1), func([]CPU, *Options) {}, 1, "0", 1},
		{"housekeeper leaves the core", machine(4, 2), func([]CPU, *Options) {}, 1, "0", 2},
		{"siblings of one core alone", machine(2, 2), func([]CPU, *Options) {}, 1, "0", -1},
		{"reasons are counted", machine(6, 1), func(cpus []CPU, opt *Options) {
			cpus[0].Online, opt.Exclude, cpus[3].Isolated = false, cpulist.Of(1, 2), true
		}, 3, "only 2 are free (1 offline; 2 excluded; 1 isolated at boot (isolcpus) for another use; include it to take it); n = 2 would fit", 0},
		{"isolated when included", machine(3, 1), func(cpus []CPU, opt *Options) {
			cpus[2].Isolated, opt.Include = true, cpulist.Of(2)
		}, 1, "2", 0},
		{"include offline", machine(2, 1), func(cpus []CPU, opt *Options) {
			cpus[1].Online, opt.Include = false, cpulist.Of(1)
		}, 1, "cannot include CPU 1: offline", 0},
		{"include excluded", machine(2, 1), func(_ []CPU, opt *Options) {
			opt.Exclude, opt.Include = cpulist.Of(1), cpulist.Of(1)
		}, 1, "cannot include CPU 1: excluded", 0},
		{"include beyond the machine", machine(2, 1), func(_ []CPU, opt *Options) { opt.Include = cpulist.Of(0, 7) }, 1, "cannot include CPU 7: this machine does not have it", 0},
		{"the fast kind first", machine(8, 1), hybrid, 2, "0-1", 4},
		{"a kind that is too small", machine(6, 1), hybrid, 3, "0-2", 4},
		{"no kind is large enough", machine(6, 1), hybrid, 5, "only 4 are free (kinds of cores are not mixed); n = 4 would fit", 0},
		{"mixed when asked", machine(6, 1), func(cpus []CPU, opt *Options) {
			hybrid(cpus, opt)
			opt.MixKinds = true
		}, 5, "0-2,4-5", 3},
		{"the kind of the included", machine(8, 1), func(cpus []CPU, opt *Options) {
			hybrid(cpus, opt)
			opt.Include = cpulist.Of(6)
		}, 2, "4,6", 5},
		{"a slow kind when the fast one is full", machine(12, 1), hybrid, 6, "4-9", 10},
		{"the node", machine(4, 1), func(cpus []CPU, opt *Options) {
			nodes(cpus, opt)
			opt.OneNode, opt.Node = false, ptr(1)
		}, 2, "1,3", -1},
		{"a node that cannot fill n", machine(4, 1), func(cpus []CPU, opt *Options) {
			nodes(cpus, opt)
			opt.OneNode, opt.Node = false, ptr(1)
		}, 3, "only 2 are free (2 on node 0, and node 1 is asked for); n = 2 would fit", 0},
		{"a node that is not known", machine(2, 1), func(_ []CPU, opt *Options) { opt.Node = ptr(0) }, 1, "none is free (2 on no known node, and node 0 is asked for; no node is known here)", 0},
		{"a node that is not there", machine(4, 1), func(cpus []CPU, opt *Options) {
			nodes(cpus, opt)
			opt.OneNode, opt.Node = false, ptr(3)
		}, 1, "none is free (2 on node 0, and node 3 is asked for; 2 on node 1, and node 3 is asked for; the nodes are 0-1)", 0},
		{"a node that is not the only one", machine(1, 1), func(cpus []CPU, opt *Options) {
			cpus[0].Node, opt.Node = ptr(0), ptr(3)
		}, 1, "none is free (1 on node 0, and node 3 is asked for; the only node is 0)", 0},
		{"one node: the quietest CPU", machine(4, 1), nodes, 1, "1", 0},
		{"one node: the quietest two", machine(4, 1), nodes, 2, "0,2", 1},
		{"one node: that of the included", machine(4, 1), func(cpus []CPU, opt *Options) {
			nodes(cpus, opt)
			opt.Include = cpulist.Of(3)
		}, 2, "1,3", 0},
		{"one node: too many beside the included", machine(4, 1), func(cpus []CPU, opt *Options) {
			nodes(cpus, opt)
			opt.Include = cpulist.Of(3)
		}, 3, "only 2 are free (all from one node); n = 2 would fit", 0},
		{"one node: included from two", machine(4, 1), func(cpus []CPU, opt *Options) {
			nodes(cpus, opt)
			opt.Include = cpulist.Of(1, 2)
		}, 1, "cannot include CPU 1 on node 1 and CPU 2 on node 0: all CPUs are to come from one node", 0},
		{"one node: included from one and from none", machine(2, 1), func(cpus []CPU, opt *Options) {
			cpus[0].Node, opt.OneNode, opt.Include = ptr(0), true, cpulist.Of(0, 1)
		}, 1, "cannot include CPU 0 on node 0 and CPU 1 on no known node", 0},
		{"one node: a kernel without nodes", machine(2, 1), func(_ []CPU, opt *Options) {
			opt.OneNode, opt.Include = true, cpulist.Of(0, 1)
		}, 2, "0-1", -1},
		{"one node: too many", machine(4, 1), nodes, 3, "only 2 are free (all from one node); n = 2 would fit", 0},
	} {
		opt := Options{Sample: sample}
		c.change(c.cpus, &opt)
		r := Rank(c.cpus, opt)
		got, err := r.Take(c.n)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %q, want %q", c.name, err, c.want)
			}
			continue
		}
		if got.Set.String() != c.want || got.Housekeeper != c.keeper {
			t.Errorf("%s: %v and %d, want %s and %d", c.name, got.Set, got.Housekeeper, c.want, c.keeper)
		}
	}
}

func TestRefusedIsTyped(t *testing.T) {
	r := Rank(machine(3, 1), Options{Sample: sample})
	_, err := r.Take(4)
	var refused *Refused
	if !errors.As(err, &refused) || refused.Fits != 3 || refused.Asked != 4 {
		t.Errorf("got %v", err)
	}
}

func TestIncludeErrorIsTyped(t *testing.T) {
	r := Rank(machine(2, 1), Options{Sample: sample, Include: cpulist.Of(7)})
	_, err := r.Take(1)
	var refused *IncludeError
	if !errors.As(err, &refused) || refused.Reason != "cannot include CPU 7: this machine does not have it" {
		t.Errorf("got %v", err)
	}
}

func TestReasons(t *testing.T) {
	cpus := machine(10, 1)
	cpus[1].Fixed, cpus[2].Online, cpus[4].Allowed, cpus[5].Isolated = 9, false, false, true
	cpus[6].NoHZFull, cpus[7].Busy, cpus[8].Steerable, cpus[9].Steerable = true, ptr(sample), 3, 1
	r := Rank(cpus, Options{Sample: sample, Steer: true, Exclude: cpulist.Of(3), Include: cpulist.Of(9)})
	got := map[int]string{}
	for _, p := range r.Places {
		got[p.ID] = p.Reason
	}
	want := map[int]string{
		0: "undisturbed", 1: "", 2: "offline", 3: "excluded", 4: "not allowed for this process (affinity or cpuset)",
		5: "isolated at boot (isolcpus) for another use; include it to take it", 6: "undisturbed, nohz_full", 7: "busy",
		8: "undisturbed, 3 interrupts to steer away", 9: "included, undisturbed, 1 interrupt to steer away",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// TestDisturbedCoreIsNeverTaken puts one disturbance on a random core among
// cores with the noise of an idle machine, and looks where the task would go.
func TestDisturbedCoreIsNeverTaken(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for trial := range 2000 {
		cpus := machine(64, 2)
		for i := range cpus {
			cpus[i].Fixed, cpus[i].Steerable = 5+rng.Uint64N(15), rng.Uint64N(3)
			cpus[i].Busy = ptr(time.Duration(rng.IntN(3)) * host.Tick)
		}
		victim := rng.IntN(len(cpus))
		what := []string{"storm", "spinner"}[trial%2]
		if what == "storm" {
			cpus[victim].Steerable += 100
		} else {
			cpus[victim].Busy = ptr(sample - host.Tick)
		}
		r := Rank(cpus, Options{Sample: sample})
		got, err := r.Take(16)
		if err != nil || got.Set.Intersects(cpus[victim].Siblings) {
			t.Fatalf("trial %d: %s on CPU %d, taken %v, %v", trial, what, victim, got.Set, err)
		}
	}
}

func TestManyCPUs(t *testing.T) {
	cpus := machine(1152, 4)
	r := Rank(cpus, Options{Sample: sample})
	got, err := r.Take(1148)
	if err != nil || got.Set.Len() != 1148 || got.Housekeeper != 1148 {
		t.Errorf("%d CPUs, housekeeper %d, %v", got.Set.Len(), got.Housekeeper, err)
	}
}

func TestParseBy(t *testing.T) {
	for text, want := range map[string]By{"": All, "all": All, "busy": Busy, "interrupts": Interrupts, "noise": "", "All": ""} {
		if got, err := ParseBy(text); got != want || (err != nil) != (want == "") {
			t.Errorf("ParseBy(%q) = %q, %v", text, got, err)
		}
	}
}

func TestRows(t *testing.T) {
	delta, err := host.ParseInterrupts([]byte("CPU0 CPU3\n 24: 1 2 PCI-MSI 1-edge  eth0\n 25: 10 20 PCI-MSI 2-edge  nvme0q1\nLOC: 100 200 timer\nERR: 7\n"))
	if err != nil {
		t.Fatal(err)
	}
	steerable, fixed := Rows(delta, func(r *host.InterruptRow) host.Steering {
		if r.Label == "24" {
			return host.Steerable
		}
		return host.Managed
	})
	if got := fmt.Sprint(steerable, fixed); got != "map[0:1 3:2] map[0:110 3:220]" {
		t.Errorf("got %s", got)
	}
}
