package host

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"goset/cpulist"
)

func set(t testing.TB, list string) *cpulist.Set {
	t.Helper()
	s, err := cpulist.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// stat is a /proc/PID/stat with what is read of it.
func statText(pid, name, flags, user, start string) string {
	return pid + " (" + name + ") S 1 1 1 0 -1 " + flags + " 0 0 0 0 " + user + " 0 0 0 20 0 1 0 " + start +
		" 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
}

// TestSurveyOfNothing: what is not there is absent, and no failure.
func TestSurveyOfNothing(t *testing.T) {
	s := ReadSurvey(FS(t.TempDir()))
	for _, u := range s.Facts.Unread {
		if u.What != "topology" {
			t.Errorf("%s is unread: %s", u.What, u.Cause)
		}
	}
	s.Facts = Facts{}
	if !reflect.DeepEqual(s, Survey{}) {
		t.Errorf("got %+v", s)
	}
}

func TestSurvey(t *testing.T) {
	const cpu = "sys/devices/system/cpu/"
	f := writeTree(t, map[string]string{
		cpu + "online":                                                      "0-2\n",
		cpu + "present":                                                     "0-3\n",
		cpu + "intel_pstate/no_turbo":                                       "1\n",
		cpu + "intel_pstate/min_perf_pct":                                   "22\n",
		cpu + "intel_pstate/max_perf_pct":                                   "100\n",
		cpu + "cpufreq/policy0/scaling_driver":                              "intel_pstate\n",
		cpu + "cpufreq/policy0/scaling_governor":                            "powersave\n",
		cpu + "cpufreq/policy0/scaling_available_governors":                 "performance powersave\n",
		cpu + "cpufreq/policy0/scaling_min_freq":                            "800000\n",
		cpu + "cpufreq/policy0/scaling_max_freq":                            "3000000\n",
		cpu + "cpufreq/policy0/cpuinfo_min_freq":                            "700000\n",
		cpu + "cpufreq/policy0/cpuinfo_max_freq":                            "4000000\n",
		cpu + "cpufreq/policy0/base_frequency":                              "2100000\n",
		cpu + "cpu0/thermal_throttle/core_throttle_count":                   "3\n",
		cpu + "cpu1/thermal_throttle/core_throttle_count":                   "4\n",
		"sys/class/thermal/thermal_zone0/type":                              "x86_pkg_temp\n",
		"sys/class/thermal/thermal_zone0/temp":                              "61000\n",
		"sys/class/thermal/thermal_zone0/trip_point_0_type":                 "critical\n",
		"sys/class/thermal/thermal_zone0/trip_point_0_temp":                 "105000\n",
		"sys/class/thermal/thermal_zone0/trip_point_1_type":                 "passive\n",
		"sys/class/thermal/thermal_zone0/trip_point_1_temp":                 "-274000\n",
		"sys/class/thermal/thermal_zone0/trip_point_2_type":                 "passive\n",
		"sys/class/thermal/thermal_zone0/trip_point_2_temp":                 "95000\n",
		"sys/class/thermal/thermal_zone1/type":                              "unknown to the firmware\n",
		"sys/class/thermal/thermal_zone1/temp":                              "0\n",
		"sys/class/thermal/cooling_device0/type":                            "Processor\n",
		"sys/class/thermal/cooling_device0/cur_state":                       "2\n",
		"sys/class/thermal/cooling_device1/type":                            "Fan\n",
		"sys/class/thermal/cooling_device1/cur_state":                       "1\n",
		"sys/class/thermal/cooling_device2/type":                            "intel_powerclamp\n",
		"sys/class/thermal/cooling_device2/cur_state":                       "-1\n",
		"sys/class/hwmon/hwmon1/name":                                       "k10temp\n",
		"sys/class/hwmon/hwmon1/temp1_input":                                "55500\n",
		"sys/class/hwmon/hwmon2/name":                                       "nvme\n",
		"sys/class/hwmon/hwmon2/temp1_input":                                "30000\n",
		"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet \n",
		"proc/swaps":                    "Filename Type Size Used Priority\n/my\\040swap file 1024 4 -2\n/dev/zram0 partition 8 0 100\n",
		"proc/self/stat":                statText("7", "self", "0", "0", "5"),
		"proc/self/status":              "Cpus_allowed_list:\t1-2\n",
		"proc/self/cgroup":              "2:cpu,cpuacct:/a\n1:name=systemd:/user.slice\n0::/b/c\n",
		"proc/self/mountinfo":           "30 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n31 1 0:2 / /cg1 rw - cgroup cgroup rw,cpu,cpuacct\n",
		"sys/fs/cgroup/b/cpu.max":       "150000 100000\n",
		"sys/fs/cgroup/b/cpu.stat":      "usage_usec 1\nnr_throttled 12\n",
		"sys/fs/cgroup/b/c/cpu.max":     "max 100000\n",
		"sys/fs/cgroup/b/memory.max":    "1048576\n",
		"sys/fs/cgroup/b/c/memory.max":  "max\n",
		"sys/fs/cgroup/b/c/memory.high": "524288\n",
		"cg1/cpu.cfs_quota_us":          "-1\n",
		"cg1/cpu.cfs_period_us":         "100000\n",
		"cg1/a/cpu.cfs_quota_us":        "200000\n",
		"cg1/a/cpu.cfs_period_us":       "100000\n",
		"proc/12/comm":                  "irqbalance\n",
		"proc/12/cgroup":                "0::/system.slice/irqbalance.service\n",
		"proc/13/comm":                  "perflock\n",
	})
	s := ReadSurvey(f)
	n := func(v int64) *int64 { return &v }
	want := Survey{
		Policies: []Policy{{Path: "/" + cpu + "cpufreq/policy0", Driver: "intel_pstate", Governor: "powersave", Governors: []string{"performance", "powersave"},
			MinKHz: n(800000), MaxKHz: n(3000000), LowestKHz: n(700000), HighestKHz: n(4000000), BaseKHz: n(2100000)}},
		Turbo:      []Knob{{"/" + cpu + "intel_pstate/no_turbo", 1}},
		MinPercent: &Knob{"/" + cpu + "intel_pstate/min_perf_pct", 22},
		MaxPercent: &Knob{"/" + cpu + "intel_pstate/max_perf_pct", 100},
		Offline:    set(t, "3"),
		Thermal: Thermal{Throttled: new(uint64(7)), Cooled: []string{"Processor"}, Zones: []Zone{
			{"/sys/class/thermal/thermal_zone0", "x86_pkg_temp", 61, new(95.0)}, {"/sys/class/hwmon/hwmon1", "k10temp", 55.5, nil}}},
		Swaps:        []Swap{{"/my swap", 1 << 20, 4096, -2}, {"/dev/zram0", 8192, 0, 100}},
		Clocksources: []string{"tsc", "hpet"},
		Movers:       []Mover{{12, "irqbalance", "moves interrupts", "irqbalance.service"}},
		Perflocks:    []Mover{{13, "perflock", "locks the machine for benchmarks", ""}},
		Allowed:      set(t, "1-2"),
		Limits: Limits{Read: true, Throttled: new(uint64(12)), Memory: &Knob{"/sys/fs/cgroup/b/c/memory.high", 524288},
			Quota: &Quota{"/sys/fs/cgroup/b/cpu.max", "150000 100000", 150 * time.Millisecond, 100 * time.Millisecond}},
	}
	for _, u := range s.Facts.Unread {
		t.Errorf("%s is unread: %s", u.What, u.Cause)
	}
	s.Facts = Facts{}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	if s.Turbo[0].On() || (Knob{"/x/boost", 0}).On() || !(Knob{"/x/boost", 1}).On() {
		t.Error("the two knobs of turbo are read alike")
	}
}

// TestSurveyNamesWhatIsUnread: a file that is there and makes no sense is
// named, and its value is absent.
func TestSurveyNamesWhatIsUnread(t *testing.T) {
	f := writeTree(t, map[string]string{
		"sys/devices/system/cpu/online": "0\n",
		"proc/swaps":                    "Filename\n/swap file much\n",
		"proc/self/cgroup":              "0::/a\n",
		"proc/self/mountinfo":           "30 1 0:1 / /cg rw - cgroup2 cgroup2 rw\n",
		"cg/a/cpu.max":                  "much 100000\n",
		"cg/a/memory.max":               "lots\n",
		"proc/self/stat":                "7 self\n",
	})
	s := ReadSurvey(f)
	for _, file := range []string{"/proc/swaps", "/cg/a/cpu.max", "/cg/a/memory.max", "/proc/self/status"} {
		if _, ok := s.Cause(file); !ok {
			t.Errorf("%s is not named: %v", file, s.Facts.Unread)
		}
	}
	if u, ok := s.Below("/cg"); !ok || u.What != "/cg/a/cpu.max" {
		t.Errorf("a folder does not answer for its files: %v", u)
	}
	if _, ok := s.Below("/c"); ok {
		t.Error("a file answers for another whose name it begins")
	}
	if s.Limits.Quota != nil || s.Limits.Memory != nil || s.Swaps != nil || s.Allowed != nil {
		t.Errorf("values beside their failures: %+v", s)
	}
}

// TestSurveyHiddenGroups: control groups that are not to be seen are not without
// limits. A system that has none is.
func TestSurveyHiddenGroups(t *testing.T) {
	const mount = "30 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for _, c := range []struct {
		name, own, mounts, file string
		read                    bool
	}{
		{"shown", "0::/a\n", mount, "sys/fs/cgroup/a/cgroup.procs", true},
		{"covered", "0::/a\n", mount, "sys/other", false},
		{"own folder missing", "0::/a\n", mount, "sys/fs/cgroup/b/cgroup.procs", false},
		{"not mounted", "0::/a\n", "", "sys/fs/cgroup/a/cgroup.procs", false},
		{"version 1 not mounted", "4:memory:/a\n0::/a\n", mount, "sys/fs/cgroup/a/cgroup.procs", false},
		{"version 2 without controllers", "4:memory:/\n3:cpu,cpuacct:/\n0::/a\n", "30 1 0:1 / /m rw - cgroup cgroup rw,memory\n31 1 0:1 / /m rw - cgroup cgroup rw,cpu\n", "m/cgroup.procs", true},
		{"no groups", "", "", "sys/other", true},
	} {
		s := ReadSurvey(writeTree(t, map[string]string{
			"sys/devices/system/cpu/online": "0\n", "proc/self/stat": "7 self\n",
			"proc/self/cgroup": c.own, "proc/self/mountinfo": c.mounts, c.file: "",
		}))
		if _, noted := s.Below("/sys/fs/cgroup"); s.Limits.Read != c.read || noted == c.read {
			t.Errorf("%s: read %v, want %v; unread %v", c.name, s.Limits.Read, c.read, s.Facts.Unread)
		}
	}
}

// TestPolicyBoost: without a knob of the machine, those of the policies.
func TestPolicyBoost(t *testing.T) {
	const policy = "sys/devices/system/cpu/cpufreq/policy"
	s := ReadSurvey(writeTree(t, map[string]string{
		policy + "0/scaling_driver": "amd-pstate-epp\n", policy + "0/boost": "1\n",
		policy + "4/scaling_driver": "amd-pstate-epp\n", policy + "4/boost": "0\n",
	}))
	want := []Knob{{"/" + policy + "0/boost", 1}, {"/" + policy + "4/boost", 0}}
	if !slices.Equal(s.Turbo, want) {
		t.Errorf("got %v, want %v", s.Turbo, want)
	}
}

func TestCgroupFolders(t *testing.T) {
	const mounts = "30 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n31 1 0:2 /docker/x /cg1\\040a rw shared:1 - cgroup cgroup rw,cpu,cpuacct\nbroken\n"
	for _, c := range []struct {
		own, controller string
		want            []string
	}{
		{"0::/\n", "", []string{"sys/fs/cgroup"}},
		{"0::/a/b\n", "", []string{"sys/fs/cgroup/a/b", "sys/fs/cgroup/a", "sys/fs/cgroup"}},
		{"0::/../other\n", "", []string{"sys/fs/cgroup"}},
		{"0::relative\n", "", nil},
		{"", "", nil},
		{"3:cpu,cpuacct:/docker/x/y\n", "cpu", []string{"cg1 a/y", "cg1 a"}},
		{"3:cpu,cpuacct:/elsewhere\n", "cpu", []string{"cg1 a"}},
		{"3:memory:/a\n", "memory", nil},
		{"0::/a\n", "cpu", nil},
	} {
		if got := cgroupFolders(mounts, c.own, c.controller); !slices.Equal(got, c.want) {
			t.Errorf("%q of %q: got %q, want %q", c.own, c.controller, got, c.want)
		}
	}
}

func FuzzCgroupFolders(f *testing.F) {
	f.Add("30 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/a/b\n", "")
	f.Add("31 1 0:2 /docker/x /cg rw - cgroup cgroup rw,cpu\n", "3:cpu:/docker/x/y\n", "cpu")
	f.Fuzz(func(t *testing.T, mounts, own, controller string) {
		for _, dir := range cgroupFolders(mounts, own, controller) {
			if strings.HasPrefix(dir, "/") || slices.Contains(strings.Split(dir, "/"), "..") {
				t.Fatalf("%q leads out of the root", dir)
			}
		}
	})
}

func FuzzSwaps(f *testing.F) {
	f.Add("Filename Type Size Used Priority\n/swap file 1024 4 -2\n")
	f.Fuzz(func(t *testing.T, text string) {
		swaps, bad := parseSwaps(text)
		if bad != "" && swaps != nil {
			t.Fatalf("%v beside %q", swaps, bad)
		}
		for _, s := range swaps {
			if s.Size < 0 || s.Used < 0 {
				t.Fatalf("%+v", s)
			}
		}
	})
}

// TestActivity: two readings, with a process that came, one that went, one whose
// number was taken again, and the CPUs with and without stolen time.
func TestActivity(t *testing.T) {
	reading := func(at int64, stat string, files map[string]string) *usage {
		files["proc/stat"] = stat
		u, err := writeTree(t, files).use()
		if err != nil {
			t.Fatal(err)
		}
		u.at, u.self = time.Unix(at, 0), 4
		return u
	}
	before := reading(0, "cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n", map[string]string{
		"proc/2/stat": statText("2", "kthread", "2097152", "10", "1"),
		"proc/3/stat": statText("3", "went", "0", "10", "1"),
		"proc/4/stat": statText("4", "self", "0", "10", "1"),
		"proc/5/stat": statText("5", "idle", "0", "10", "1"),
		"proc/6/stat": statText("6", "old", "0", "900", "1"),
	})
	after := reading(2, "cpu0 100 0 0 60 0 0 0 40\ncpu1 0 0 20 180 0 0 0 0\ncpu2 500 0 0 0 0 0 0 0\n", map[string]string{
		"proc/2/stat": statText("2", "kthread", "2097152", "20", "1"),
		"proc/4/stat": statText("4", "self", "0", "30", "1"),
		"proc/5/stat": statText("5", "idle", "0", "10", "1"),
		"proc/6/stat": statText("6", "new", "0", "60", "150"),
	})
	got := after.since(before)
	want := &Activity{Over: 2 * time.Second, Busy: 0.6, Listed: 0.45, Busiest: []BusyProcess{{6, "new", 0.3, false}, {2, "kthread", 0.05, true}}}
	want.Steal = got.Steal
	// The third CPU was offline at first.
	if got.Steal == nil || *got.Steal != 0.1 {
		t.Errorf("stolen %v, want 0.4 s of 2 CPUs in 2 s", got.Steal)
	}
	if d := got.Listed - want.Listed; d > 1e-9 || d < -1e-9 {
		t.Errorf("listed %v, want %v", got.Listed, want.Listed)
	}
	got.Listed = want.Listed
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if none := before.since(before); none.Busy != 0 || none.Busiest != nil {
		t.Errorf("no time: %+v", none)
	}
	old := &Stat{CPUs: map[int]CPUTime{0: {}}}
	if s := old.StealSince(old, time.Second); s != nil {
		t.Errorf("a kernel without the column says %v", *s)
	}
}

func TestWatch(t *testing.T) {
	if _, err := FS(t.TempDir()).Watch(t.Context(), time.Millisecond); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a machine without /proc: %v", err)
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc")
	}
	a, err := Local.Watch(t.Context(), time.Millisecond)
	if err != nil || a.Over <= 0 || len(a.Busiest) > mostBusy {
		t.Errorf("%+v, %v", a, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Local.Watch(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
