package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"goset/cpulist"
	"goset/internal/publicdata"
)

// writeTree makes a root of small files.
func writeTree(t testing.TB, files map[string]string) FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return FS(root)
}

func TestTopology(t *testing.T) {
	const cpu = "sys/devices/system/cpu/"
	f := writeTree(t, map[string]string{
		cpu + "online":    "0-2\n",
		cpu + "possible":  "0-7\n",
		cpu + "nohz_full": "  (null)\n",
		cpu + "cpu0/topology/thread_siblings_list": "0,2\n",
		cpu + "cpu0/topology/physical_package_id":  "0\n",
		cpu + "cpu0/topology/die_id":               "0\n",
		cpu + "cpu0/cache/index0/level":            "2\n",
		cpu + "cpu0/cache/index0/type":             "Unified\n",
		cpu + "cpu0/cache/index0/size":             "1024K\n",
		cpu + "cpu0/cache/index0/shared_cpu_list":  "0,2-3\n",
		cpu + "cpu1/topology/thread_siblings":      "0000000a\n",
		cpu + "cpu1/topology/physical_package_id":  "1\n",
		cpu + "cpu2/topology/thread_siblings_list": "0,2\n",
		"sys/devices/system/node/node0/cpulist":    "0,2\n",
		"sys/devices/system/node/node1/cpumap":     "0000000a\n",
		"sys/devices/system/node/node2/cpulist":    "\n",
		"sys/devices/system/node/has_cpu":          "0-1\n",
		"sys/devices/cpu_core/cpus":                "0,2\n",
		"sys/devices/cpu_atom/cpus":                "1\n",
	})
	top, err := f.Topology()
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(top)
	want := `{"online":"0-2","possible":"0-7","nohz_full":"",` +
		`"cores":[{"package":0,"die":0,"node":0,"kind":"cpu_core","cpus":"0,2"},{"package":1,"node":1,"kind":"cpu_atom","cpus":"1"}],` +
		`"packages":[{"id":0,"dies":1,"cpus":"0,2"},{"id":1,"dies":0,"cpus":"1"}],` +
		`"nodes":[{"id":0,"cpus":"0,2"},{"id":1,"cpus":"1,3"},{"id":2,"cpus":""}],` +
		`"kinds":[{"name":"cpu_core","cpus":"0,2"},{"name":"cpu_atom","cpus":"1"}],` +
		`"caches":[{"level":2,"type":"Unified","bytes":1048576,"cpus":"0,2"}]}`
	if err != nil || string(got) != want {
		t.Errorf("got\n%s, %v, want\n%s", got, err, want)
	}
	if n := top.ThreadsPerCore(); n != 2 {
		t.Errorf("ThreadsPerCore = %d", n)
	}
	if c := top.Core(2); c == nil || c.CPUs.First() != 0 || top.Core(3) != nil {
		t.Errorf("Core(2) = %v, Core(3) = %v", c, top.Core(3))
	}
}

func TestReachable(t *testing.T) {
	isolated := cpulist.Of(2, 3, 9)
	for _, c := range []struct {
		isolated      *cpulist.Set
		allowed, want cpulist.Set
	}{
		{nil, cpulist.Of(0, 1), cpulist.Of(0, 1)},
		{new(cpulist.Set), cpulist.Of(0, 1, 2, 3), cpulist.Of(0, 1, 2, 3)},
		{&isolated, cpulist.Of(0, 1), cpulist.Of(0, 1, 2, 3)}, // CPU 9 is offline
		{&isolated, cpulist.Of(1), cpulist.Of(1)},             // narrowed by somebody
		{&isolated, cpulist.Of(0, 2), cpulist.Of(0, 2)},
		{&isolated, cpulist.Of(0, 1, 2, 3), cpulist.Of(0, 1, 2, 3)},
	} {
		top := Topology{Online: cpulist.Of(0, 1, 2, 3), Isolated: c.isolated}
		if got := top.Reachable(c.allowed); !got.Equal(c.want) {
			t.Errorf("isolated %v: %v of %v can be reached, want %v", c.isolated, got, c.allowed, c.want)
		}
	}
}

func TestTopologyRefuses(t *testing.T) {
	if _, err := FS(t.TempDir()).Topology(); err == nil || !strings.Contains(err.Error(), "cannot find the CPUs") {
		t.Errorf("an empty root: %v", err)
	}
	f := writeTree(t, map[string]string{"sys/devices/system/cpu/online": "0-", "sys/devices/system/cpu/cpu0/online": "1"})
	if _, err := f.Topology(); err == nil || !strings.Contains(err.Error(), `"0-"`) {
		t.Errorf("a bad list: %v", err)
	}
}

func TestLinksDoNotLeaveTheRoot(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "sys/devices/system/cpu"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "online")
	if err := errors.Join(os.WriteFile(outside, []byte("0-7"), 0o644),
		os.Symlink(outside, filepath.Join(root, "sys/devices/system/cpu/online"))); err != nil {
		t.Fatal(err)
	}
	if top, err := FS(root).Topology(); err == nil {
		t.Errorf("a link out of the root was read: %v", top.Online)
	}
}

// TestDamagedTopology: a file that cannot be understood is said, and all others
// count; an empty one is as good as none.
func TestDamagedTopology(t *testing.T) {
	const cpu = "sys/devices/system/cpu/"
	for _, c := range []struct {
		file, text, want string // what the error holds; "": there is none
	}{
		{cpu + "online", "", ""},
		{cpu + "isolated", "", ""},
		{cpu + "possible", "0-\n", "possible"},
		{cpu + "cpu0/topology/physical_package_id", "", ""},
		{cpu + "cpu0/topology/physical_package_id", "one\n", `"one" is not a number`},
		{cpu + "cpu0/topology/die_id", "\n", ""},
		{cpu + "cpu0/topology/core_cpus_list", "", ""},
		{cpu + "cpu0/topology/core_cpus_list", "0-x\n", "core_cpus_list"},
		{cpu + "cpu0/topology/thread_siblings", "\x00", ""},
		{cpu + "cpu0/cpu_capacity", "", ""},
		{cpu + "cpu0/cpu_capacity", "fast\n", "cpu_capacity"},
		{cpu + "cpu0/cpufreq/cpuinfo_max_freq", "<unknown>\n", "cpuinfo_max_freq"},
		{cpu + "cpu0/cache/index0/level", "", ""},
		{cpu + "cpu0/cache/index0/level", "L1\n", "level"},
		{"sys/devices/system/node/node1/cpulist", "0--1\n", "node1"},
		{"sys/devices/cpu_atom/cpus", "?\n", "cpu_atom"},
	} {
		files := map[string]string{
			cpu + "online": "0-1\n",
			cpu + "cpu1/topology/physical_package_id": "0\n",
			cpu + "cpu1/cache/index0/level":           "2\n",
			cpu + "cpu0/topology/core_id":             "0\n",
			"sys/devices/system/node/node0/cpulist":   "0-1\n",
		}
		files[c.file] = c.text
		top, err := writeTree(t, files).Topology()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %q: error %v, want %q", c.file, c.text, err, c.want)
		}
		if top == nil || top.Online.String() != "0-1" || len(top.Cores) != 2 || len(top.Packages) != 1 || len(top.Nodes) != 1 || len(top.Caches) != 1 {
			t.Errorf("%s %q: %+v", c.file, c.text, top)
		}
	}
}

func TestKindsByValue(t *testing.T) {
	for _, c := range []struct {
		values map[int]int
		want   []string
	}{
		{nil, nil},
		{map[int]int{0: 1024}, []string{"0"}},
		{map[int]int{0: 1024, 1: 1009, 2: 1024}, []string{"0-2"}},              // favoured cores
		{map[int]int{0: 280, 1: 855, 2: 1024}, []string{"2", "1", "0"}},        // three kinds
		{map[int]int{0: 718, 1: 731, 2: 1024, 3: 997}, []string{"2-3", "0-1"}}, // favoured cores in both
	} {
		var got []string
		for _, k := range kindsByValue("capacity", c.values) {
			got = append(got, k.CPUs.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}

type topologyFacts struct {
	Name, Archive, Online string
	Present, Possible     *string
	Isolated              *string
	NoHZFull              *string  `json:"nohz_full"`
	NOnline               int      `json:"n_online"`
	NPackages             *int     `json:"n_packages"`
	PackageIDs            []string `json:"package_ids"`
	NCores                *int     `json:"n_cores"`
	MaxThreads            *int     `json:"max_threads_per_core"`
	SingleThreads         *int     `json:"cores_with_1_thread"`
	Nodes, Kinds          map[string]string
}

func TestPublicTopologies(t *testing.T) {
	dir := publicdata.Path(t, "sysfs")
	text, err := os.ReadFile(filepath.Join(dir, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var facts []topologyFacts
	if err := json.Unmarshal(text, &facts); err != nil || len(facts) == 0 {
		t.Fatalf("%d facts, %v", len(facts), err)
	}
	for _, want := range facts {
		t.Run(want.Name, func(t *testing.T) {
			root := FS(publicdata.Unpack(t, filepath.Join(dir, want.Archive)))
			top, err := root.Topology()
			if err != nil {
				t.Fatal(err)
			}
			compareTopology(t, top, want)
			for _, u := range ReadFacts(root).Unread {
				t.Errorf("cannot read %s: %s", u.What, u.Cause)
			}
		})
	}
}

func compareTopology(t *testing.T, top *Topology, want topologyFacts) {
	if top.Online.String() != want.Online || top.Online.Len() != want.NOnline {
		t.Errorf("online %v, want %s", top.Online, want.Online)
	}
	for name, pair := range map[string]struct {
		got  *cpulist.Set
		want *string
	}{"present": {top.Present, want.Present}, "possible": {top.Possible, want.Possible},
		"isolated": {top.Isolated, want.Isolated}, "nohz_full": {top.NoHZFull, want.NoHZFull}} {
		if (pair.got == nil) != (pair.want == nil) {
			t.Errorf("%s: got %v, want %v", name, pair.got, pair.want)
		} else if pair.want != nil {
			if set, err := cpulist.Parse(*pair.want); err != nil || !set.Equal(*pair.got) {
				t.Errorf("%s: got %v, want %q (%v)", name, pair.got, *pair.want, err)
			}
		}
	}
	single := 0
	for _, core := range top.Cores {
		if core.CPUs.Len() == 1 {
			single++
		}
	}
	orZero := func(p *int) int {
		if p == nil {
			return 0
		}
		return *p
	}
	if len(top.Cores) != orZero(want.NCores) || top.ThreadsPerCore() != orZero(want.MaxThreads) || single != orZero(want.SingleThreads) {
		t.Errorf("%d cores, %d threads, %d single, want %d, %d, %d", len(top.Cores), top.ThreadsPerCore(), single,
			orZero(want.NCores), orZero(want.MaxThreads), orZero(want.SingleThreads))
	}
	var ids []string
	for _, p := range top.Packages {
		ids = append(ids, strconv.Itoa(p.ID))
	}
	slices.Sort(ids)
	if !slices.Equal(ids, want.PackageIDs) {
		t.Errorf("packages %v, want %v", ids, want.PackageIDs)
	}
	nodes, kinds := map[string]string{}, map[string]string{}
	for _, n := range top.Nodes {
		nodes[strconv.Itoa(n.ID)] = n.CPUs.String()
	}
	for _, k := range top.Kinds {
		kinds[k.Name] = k.CPUs.String()
	}
	if !maps.Equal(nodes, want.Nodes) {
		t.Errorf("nodes %v, want %v", nodes, want.Nodes)
	}
	if len(want.Kinds) > 0 && !maps.Equal(kinds, want.Kinds) {
		t.Errorf("kinds %v, want %v", kinds, want.Kinds)
	}
}

// TestCachesOfSharedCores: each cache stands there once, whether the CPUs of a
// core share all of their first level, a part of it, or have none.
func TestCachesOfSharedCores(t *testing.T) {
	for _, test := range []struct{ name, data, instruction, want string }{
		{"threads of a core", "0-1", "0-1", "1 Data 0-1, 1 Instruction 0-1, 2 Unified 0-1"},
		{"cores that share instructions", "", "0-1", "1 Data 0, 1 Data 1, 1 Instruction 0-1, 2 Unified 0-1"},
		{"cores of their own", "", "", "1 Data 0, 1 Data 1, 1 Instruction 0, 1 Instruction 1, 2 Unified 0-1"},
	} {
		files := map[string]string{"sys/devices/system/cpu/online": "0-1\n"}
		for i, cpu := range []string{"0", "1"} {
			for index, c := range []struct{ level, kind, shared string }{
				{"1", "Data", test.data}, {"1", "Instruction", test.instruction}, {"2", "Unified", "0-1"},
			} {
				dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/cache/index%d/", i, index)
				files[dir+"level"], files[dir+"type"], files[dir+"shared_cpu_list"] = c.level+"\n", c.kind+"\n", cmp.Or(c.shared, cpu)+"\n"
			}
		}
		top, err := writeTree(t, files).Topology()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range top.Caches {
			got = append(got, fmt.Sprint(c.Level, " ", c.Type, " ", c.CPUs))
		}
		if s := strings.Join(got, ", "); s != test.want {
			t.Errorf("%s: %s, want %s", test.name, s, test.want)
		}
	}
}
