package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"goset/cpulist"
	"goset/host"
)

func set(t testing.TB, list string) *cpulist.Set {
	t.Helper()
	s, err := cpulist.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// quiet is a machine on which everything is in order.
func quiet(t testing.TB) *Case {
	n := func(v int64) *int64 { return &v }
	facts := host.Facts{
		Kernel: host.KernelFacts{Release: "6.12.1"},
		CPU:    host.CPUFacts{Flags: []string{"sse2", "tsc"}},
		Topology: &host.TopologyFacts{Online: *set(t, "0-7"), CPUs: 8, Cores: new(8), ThreadsPerCore: new(1),
			Nodes: []host.Node{{ID: 0, CPUs: *set(t, "0-3")}, {ID: 1, CPUs: *set(t, "4-7")}}},
		Frequency:     &host.FrequencyFacts{MinHz: n(3e9), MaxHz: n(3e9)},
		SMT:           &host.SMTFacts{Control: "off", Active: new(false)},
		Memory:        &host.MemoryFacts{Total: n(8 << 30), Available: n(6 << 30), SwapTotal: n(0)},
		ASLR:          n(2),
		THP:           "madvise",
		Mitigations:   map[string]string{"meltdown": "Not affected", "mds": "Mitigation: Clear", "tsa": "Vulnerable"},
		Clocksource:   "tsc",
		NUMABalancing: n(0),
		Load:          []float64{0.01, 0.02, 0.03},
	}
	return &Case{
		Survey: host.Survey{Facts: facts, Local: true,
			Policies: []host.Policy{policy(0, "acpi-cpufreq", "performance", 3000000, 3000000), policy(1, "acpi-cpufreq", "performance", 3000000, 3000000)},
			Turbo:    []host.Knob{{Path: "/sys/devices/system/cpu/cpufreq/boost", Value: 0}},
			Thermal:  host.Thermal{Throttled: new(uint64(0)), Zones: []host.Zone{{Path: "/z", Name: "x86_pkg_temp", Celsius: 50, Limit: new(95.0)}}},
			Movers:   []host.Mover{}, Perflocks: []host.Mover{}, Allowed: set(t, "0-7"), Limits: host.Limits{Read: true},
			Activity: &host.Activity{Over: time.Second, Steal: new(0.0)}},
		Process: Process{Procs: 8},
		Jitter:  &Jitter{Over: time.Second, Iterations: 1000, Median: 1e-3, P99: 1e-3, P999: 1.1e-3, Max: 1.2e-3, Lost: 0.001},
	}
}

func policy(number int64, driver, governor string, least, most int64) host.Policy {
	return host.Policy{Path: cpufreq + "/policy" + string('0'+rune(number)), Driver: driver, Governor: governor, MinKHz: &least, MaxKHz: &most}
}

func TestQuietMachine(t *testing.T) {
	for _, f := range Examine(quiet(t)) {
		if f.List != InOrder {
			t.Errorf("%s: %s: %s (%s)", f.List, f.Check, f.Value, f.Why)
		}
	}
}

// TestEveryCheckSpeaks: each check gives a finding about a quiet machine and
// about one that says nothing, each with value and reason, and what cannot be
// told names a file.
func TestEveryCheckSpeaks(t *testing.T) {
	for name, c := range map[string]*Case{"quiet": quiet(t), "silent": {}, "unasked": {Turn: Turn{Unasked: true}},
		"empty": {Survey: host.ReadSurvey(host.FS(t.TempDir())), Turn: Turn{Unasked: true}}} {
		found := Examine(c)
		for _, check := range checks() {
			if check.name == "jitter" && c.Jitter == nil {
				continue
			}
			if !slices.ContainsFunc(found, func(f Finding) bool { return f.Check == check.name }) {
				t.Errorf("%s: nothing is said of %s", name, check.name)
			}
		}
		for _, f := range found {
			if f.Value == "" || f.Why == "" || !slices.Contains(Lists(), f.List) {
				t.Errorf("%s: %s: %+v", name, f.Check, f)
			}
			if (f.List == CannotTell) != (f.File != "") || !strings.Contains(f.Value, f.File) {
				t.Errorf("%s: %s: %s names the file %q in %q", name, f.Check, f.List, f.File, f.Value)
			}
			if name != "quiet" && f.List != CannotTell && f.Check != "goset" && f.Check != "jitter" {
				t.Errorf("%s: %s is %s, and nothing was read", name, f.Check, f.List)
			}
		}
	}
}

// TestFindings changes one thing of a quiet machine at a time.
func TestFindings(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	const smtFile = "/sys/devices/system/cpu/smt/control"
	for _, c := range []struct {
		check  string
		change func(*host.Survey, *Case)
		list   List
		value  string // a part
		do     []string
		undo   []string
	}{
		{"governor", func(s *host.Survey, _ *Case) {
			s.Policies[0].Governor, s.Policies[1].Governor = "schedutil", "schedutil"
		}, Warning, "schedutil (driver acpi-cpufreq, 2 policies)",
			[]string{"echo performance | tee " + cpufreq + "/policy*/scaling_governor"}, []string{"echo schedutil | tee " + cpufreq + "/policy*/scaling_governor"}},
		{"governor", func(s *host.Survey, _ *Case) { s.Policies[1].Governor = "ondemand" }, Warning, "performance, ondemand",
			[]string{"echo performance | tee " + cpufreq + "/policy*/scaling_governor"},
			[]string{"echo performance > " + cpufreq + "/policy0/scaling_governor", "echo ondemand > " + cpufreq + "/policy1/scaling_governor"}},
		{"governor", func(s *host.Survey, _ *Case) {
			s.Policies = s.Policies[:1]
			s.Policies[0].Driver, s.Policies[0].Governor, s.Policies[0].EPP = "intel_pstate", "powersave", "balance_performance"
		}, Warning, "powersave (driver intel_pstate, 1 policy)",
			[]string{"echo performance > " + cpufreq + "/policy0/scaling_governor"},
			[]string{"echo powersave > " + cpufreq + "/policy0/scaling_governor", "echo balance_performance > " + cpufreq + "/policy0/energy_performance_preference"}},
		{"governor", func(s *host.Survey, _ *Case) {
			s.Policies[0].Governor, s.Policies[1].Governor = "powersave", "powersave"
		}, Advice, "powersave",
			[]string{"echo performance | tee " + cpufreq + "/policy*/scaling_governor"}, []string{"echo powersave | tee " + cpufreq + "/policy*/scaling_governor"}},
		{"governor", func(s *host.Survey, _ *Case) {
			s.Policies[0].Governor, s.Policies[0].Governors = "schedutil", []string{"schedutil", "powersave"}
		}, Warning, "performance is not among", nil, nil},
		{"governor", func(s *host.Survey, _ *Case) {
			for i := range s.Policies {
				s.Policies[i].Path, s.Policies[i].Governor = "/sys/devices/system/cpu/cpu"+string('0'+rune(i))+"/cpufreq", "ondemand"
			}
		}, Warning, "ondemand", []string{"echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"}, []string{"echo ondemand | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"}},
		{"governor", func(s *host.Survey, _ *Case) { s.Policies = nil }, CannotTell, "there is no policy in " + cpufreq, nil, nil},
		{"governor", func(s *host.Survey, _ *Case) {
			s.Policies = nil
			s.Facts.Unread = []host.Unread{{What: cpufreq + "/policy0/scaling_driver", Cause: "permission denied"}}
		}, CannotTell, "permission denied", nil, nil},

		{"turbo", func(s *host.Survey, _ *Case) { s.Turbo[0].Value = 1 }, Advice, "on (" + cpufreq + "/boost)",
			[]string{"echo 0 > " + cpufreq + "/boost"}, []string{"echo 1 > " + cpufreq + "/boost"}},
		{"turbo", func(s *host.Survey, _ *Case) {
			s.Turbo = []host.Knob{{Path: "/sys/devices/system/cpu/intel_pstate/no_turbo", Value: 0}}
			s.MinPercent = &host.Knob{Path: "/sys/devices/system/cpu/intel_pstate/min_perf_pct", Value: 21}
		}, Advice, "on",
			[]string{"echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"},
			[]string{"echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo", "echo 21 > /sys/devices/system/cpu/intel_pstate/min_perf_pct"}},
		{"turbo", func(s *host.Survey, _ *Case) {
			s.Turbo = []host.Knob{{Path: cpufreq + "/policy0/boost", Value: 1}, {Path: cpufreq + "/policy1/boost", Value: 0}, {Path: cpufreq + "/policy2/boost", Value: 1}}
		}, Advice, "on",
			[]string{"echo 0 | tee " + cpufreq + "/policy0/boost " + cpufreq + "/policy2/boost"}, []string{"echo 1 | tee " + cpufreq + "/policy0/boost " + cpufreq + "/policy2/boost"}},
		{"turbo", func(s *host.Survey, _ *Case) {
			s.Turbo, s.Policies[0].Driver, s.Policies[1].Driver = nil, "cpufreq-dt", "cpufreq-dt"
		}, InOrder, "driver cpufreq-dt has no knob", nil, nil},
		{"turbo", func(s *host.Survey, _ *Case) { s.Turbo = nil }, CannotTell, cpufreq + "/boost: there is no such file", nil, nil},
		{"turbo", func(s *host.Survey, _ *Case) { s.Turbo, s.Policies[0].Driver = nil, "intel_cpufreq" }, CannotTell, "no_turbo: there is no such file", nil, nil},
		{"turbo", func(s *host.Survey, _ *Case) {
			s.Turbo = nil
			s.Facts.Unread = []host.Unread{{What: "/sys/devices/system/cpu/intel_pstate/no_turbo", Cause: "resource temporarily unavailable"}}
		}, CannotTell, "no_turbo: resource temporarily unavailable", nil, nil},

		{"frequency limits", func(s *host.Survey, _ *Case) {
			s.Facts.Frequency = &host.FrequencyFacts{MinHz: n(8e8), MaxHz: n(4e9)}
			for i := range s.Policies {
				s.Policies[i].MinKHz, s.Policies[i].MaxKHz, s.Policies[i].BaseKHz = n(800000), n(4000000), n(2100000)
			}
		}, Advice, "0.8 GHz to 4 GHz",
			[]string{"echo 2100000 | tee " + cpufreq + "/policy*/scaling_max_freq", "echo 2100000 | tee " + cpufreq + "/policy*/scaling_min_freq"},
			[]string{"echo 4000000 | tee " + cpufreq + "/policy*/scaling_max_freq", "echo 800000 | tee " + cpufreq + "/policy*/scaling_min_freq"}},
		{"frequency limits", func(s *host.Survey, _ *Case) { s.Policies[0].MinKHz = n(800000) }, Advice, "policy0/base_frequency", nil, nil},
		{"frequency limits", func(s *host.Survey, _ *Case) {
			s.Turbo[0].Value = 1
			s.Policies[1].MinKHz, s.Policies[1].MaxKHz, s.Policies[1].HighestKHz = n(800000), n(2000000), n(4000000)
		}, Advice, "of a possible 4 GHz in 1 of 2 policies",
			[]string{"echo 4000000 > " + cpufreq + "/policy1/scaling_max_freq"}, []string{"echo 2000000 > " + cpufreq + "/policy1/scaling_max_freq"}},
		{"frequency limits", func(s *host.Survey, _ *Case) {
			s.MaxPercent = &host.Knob{Path: "/sys/devices/system/cpu/intel_pstate/max_perf_pct", Value: 70}
		}, Advice, "max_perf_pct is 70%",
			[]string{"echo 100 > /sys/devices/system/cpu/intel_pstate/max_perf_pct"}, []string{"echo 70 > /sys/devices/system/cpu/intel_pstate/max_perf_pct"}},
		{"frequency limits", func(s *host.Survey, _ *Case) { s.Facts.Frequency, s.Policies[1].MinKHz = nil, nil }, CannotTell, "policy1/scaling_min_freq", nil, nil},

		{"thermal state", func(s *host.Survey, _ *Case) { s.Thermal.Zones[0].Celsius = 86 }, Warning, "x86_pkg_temp 86 °C of 95 °C (hot)", nil, nil},
		{"thermal state", func(s *host.Survey, _ *Case) { *s.Thermal.Throttled = 3 }, Advice, "throttled 3 times", nil, nil},
		{"thermal state", func(s *host.Survey, _ *Case) { s.Thermal.Cooled = []string{"Processor"} }, Warning, "held back now by Processor", nil, nil},
		{"thermal state", func(s *host.Survey, _ *Case) { s.Thermal = host.Thermal{} }, CannotTell, "/sys/class/thermal", nil, nil},

		{"smt", func(s *host.Survey, _ *Case) {
			s.Facts.SMT, s.Facts.Topology.ThreadsPerCore, s.Offline = &host.SMTFacts{Control: "on", Active: new(true)}, new(2), set(t, "5,7")
		}, Advice, "on (2 threads per core)", []string{"echo off > " + smtFile},
			[]string{"echo on > " + smtFile, "echo 0 > /sys/devices/system/cpu/cpu5/online", "echo 0 > /sys/devices/system/cpu/cpu7/online"}},
		{"smt", func(s *host.Survey, _ *Case) {
			s.Facts.SMT, s.Facts.Topology.ThreadsPerCore = &host.SMTFacts{Control: "notimplemented"}, new(2)
		}, Advice, "2 threads per core", nil, nil},
		{"smt", func(s *host.Survey, _ *Case) { s.Facts.SMT = nil }, InOrder, "1 thread per core", nil, nil},
		{"smt", func(s *host.Survey, _ *Case) { s.Facts.SMT, s.Facts.Topology.ThreadsPerCore = nil, nil }, CannotTell, smtFile, nil, nil},

		{"irqbalance", func(s *host.Survey, _ *Case) {
			s.Movers = []host.Mover{{PID: 7, Name: "irqbalance", Does: "moves interrupts", Unit: "irqbalance.service"}}
		}, Warning, "irqbalance (process 7) moves interrupts", []string{"systemctl stop irqbalance.service"},
			[]string{"systemctl reset-failed irqbalance.service", "systemctl start irqbalance.service"}},
		{"irqbalance", func(s *host.Survey, _ *Case) {
			s.Movers = []host.Mover{{PID: 7, Name: "irqbalance", Does: "moves interrupts"}}
		}, Warning, "process 7", []string{"kill -STOP 7"}, []string{"kill -CONT 7"}},
		{"tuned", func(s *host.Survey, _ *Case) {
			s.Movers = []host.Mover{{PID: 8, Name: "tuned", Does: "moves tasks and interrupts", Unit: "tuned.service"}}
		}, Warning, "tuned", []string{"systemctl stop tuned.service"}, []string{"systemctl reset-failed tuned.service", "systemctl start tuned.service"}},
		{"other movers", func(s *host.Survey, _ *Case) {
			s.Movers = []host.Mover{{PID: 9, Name: "thermald", Does: "sets frequencies", Unit: "thermald.service"}}
		}, Advice, "thermald", []string{"systemctl stop thermald.service"}, []string{"systemctl reset-failed thermald.service", "systemctl start thermald.service"}},
		{"tuned", func(s *host.Survey, _ *Case) { s.Hidden = true }, CannotTell, "/proc shows the processes of this user alone", nil, nil},

		{"load", func(s *host.Survey, _ *Case) { s.Facts.Load[0] = 1.5 }, Warning, "1.50 0.02 0.03", nil, nil},
		{"load", func(s *host.Survey, _ *Case) { s.Activity.Busy, s.Activity.Listed = 0.4, 0.1 }, Advice, "0.30 of them by no process that stayed", nil, nil},
		{"load", func(s *host.Survey, _ *Case) { s.Facts.Topology.CPUs, s.Activity.Busy = 1, 0.6 }, Warning, "1 CPU online", nil, nil},
		{"busiest processes", func(s *host.Survey, _ *Case) {
			s.Activity.Busiest = []host.BusyProcess{{PID: 50, Name: "make", CPUs: 0.9}, {PID: 1, Name: "init", CPUs: 0.2}, {PID: 3, Name: "kworker", CPUs: 0.1, Kernel: true}, {PID: 51, Name: "top", CPUs: 0.01}}
		}, Warning, "make (50) 90%, init (1) 20%, kworker (3) 10%, top (51) 1%", []string{"kill -STOP 50"}, []string{"kill -CONT 50"}},
		{"busiest processes", func(s *host.Survey, _ *Case) {
			s.Activity.Busiest = []host.BusyProcess{{PID: 50, Name: "make", CPUs: 0.06}}
		}, Advice, "make (50) 6%", []string{"kill -STOP 50"}, []string{"kill -CONT 50"}},
		{"busiest processes", func(s *host.Survey, _ *Case) { s.Activity = nil }, CannotTell, "/proc/stat", nil, nil},
		{"busiest processes", func(s *host.Survey, _ *Case) { s.Activity, s.Local = nil, false }, CannotTell, "/proc was not read twice", nil, nil},

		{"thp", func(s *host.Survey, _ *Case) { s.Facts.THP = "always" }, Advice, "always",
			[]string{"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"}, []string{"echo always > /sys/kernel/mm/transparent_hugepage/enabled"}},
		{"thp", func(s *host.Survey, _ *Case) { s.Facts.THP = "never" }, InOrder, "never", nil, nil},
		{"swap", func(s *host.Survey, _ *Case) {
			s.Facts.Memory.SwapTotal, s.Facts.Memory.SwapFree = n(2<<30), n(1<<30)
			s.Swaps = []host.Swap{{Path: "/swap file", Priority: -2}, {Path: "/dev/zram0", Priority: 100}}
		}, Warning, "2 GiB, 1 GiB of it used", []string{"swapoff '/swap file'", "swapoff /dev/zram0"}, []string{"swapon '/swap file'", "swapon -p 100 /dev/zram0"}},
		{"swap", func(s *host.Survey, _ *Case) {
			s.Facts.Memory.SwapTotal, s.Facts.Memory.SwapFree, s.Facts.Memory.Available = n(2<<30), n(1<<30), n(1<<20)
		}, Warning, "too little to take it back", nil, nil},
		{"swap", func(s *host.Survey, _ *Case) { s.Facts.Memory.SwapTotal, s.Facts.Memory.SwapFree = n(2<<30), n(2<<30) }, InOrder, "0 B of it used", nil, nil},
		{"aslr", func(s *host.Survey, _ *Case) { s.Facts.ASLR = n(0) }, Advice, "0: off",
			[]string{"sysctl kernel.randomize_va_space=2"}, []string{"sysctl kernel.randomize_va_space=0"}},
		{"numa balancing", func(s *host.Survey, _ *Case) { s.Facts.NUMABalancing = n(2) }, Warning, "2, with 2 nodes",
			[]string{"sysctl kernel.numa_balancing=0"}, []string{"sysctl kernel.numa_balancing=2"}},
		{"numa balancing", func(s *host.Survey, _ *Case) { s.Facts.NUMABalancing = nil }, InOrder, "not in this kernel", nil, nil},
		{"mitigations", func(s *host.Survey, _ *Case) { s.Facts.Kernel.CommandLine = "quiet mitigations=off" }, Advice, "1 mitigated, 1 vulnerable, 1 not affected; mitigations=off at boot",
			[]string{"# boot without mitigations=off on the kernel's command line"}, []string{"# boot with mitigations=off on the kernel's command line"}},
		{"hypervisor", func(s *host.Survey, _ *Case) { s.Facts.Hypervisor = new("QEMU") }, Warning, "QEMU", nil, nil},
		{"hypervisor", func(s *host.Survey, _ *Case) { s.Facts.CPU.Flags = []string{"asimd"} }, CannotTell, "no sign of one", nil, nil},
		{"hypervisor", func(s *host.Survey, _ *Case) { s.Facts.CPU.Flags = nil }, CannotTell, "/proc/cpuinfo", nil, nil},
		{"steal", func(s *host.Survey, _ *Case) { s.Activity.Steal = new(0.02) }, Warning, "2% of the CPU time in 1s", nil, nil},
		{"steal", func(s *host.Survey, _ *Case) { s.Activity.Steal = new(0.001) }, Advice, "0.1%", nil, nil},
		{"steal", func(s *host.Survey, _ *Case) { s.Activity.Steal = nil }, CannotTell, "/proc/stat", nil, nil},

		{"cpu quota", func(s *host.Survey, _ *Case) {
			s.Limits.Quota = &host.Quota{Path: "/sys/fs/cgroup/a/cpu.max", Text: "50000 100000", Time: 50 * time.Millisecond, Period: 100 * time.Millisecond}
			s.Limits.Throttled = new(uint64(9))
		}, Warning, "0.5 CPUs in periods of 100ms (/sys/fs/cgroup/a/cpu.max), used up 9 times", []string{"echo max > /sys/fs/cgroup/a/cpu.max"}, []string{"echo '50000 100000' > /sys/fs/cgroup/a/cpu.max"}},
		{"cpu quota", func(s *host.Survey, _ *Case) {
			s.Limits.Quota = &host.Quota{Path: "/cg/cpu.cfs_quota_us", Text: "50000", Time: 50 * time.Millisecond, Period: 100 * time.Millisecond}
		}, Warning, "0.5 CPUs", []string{"echo -1 > /cg/cpu.cfs_quota_us"}, []string{"echo 50000 > /cg/cpu.cfs_quota_us"}},
		{"cpu quota", func(s *host.Survey, _ *Case) {
			s.Facts.Unread = []host.Unread{{What: "/sys/fs/cgroup/a/cpu.max", Cause: "permission denied"}}
		}, CannotTell, "/sys/fs/cgroup/a/cpu.max: permission denied", nil, nil},
		{"memory limit", func(s *host.Survey, _ *Case) {
			s.Limits.Memory = &host.Knob{Path: "/sys/fs/cgroup/a/memory.max", Value: 512 << 20}
		}, Advice, "512 MiB",
			[]string{"echo max > /sys/fs/cgroup/a/memory.max"}, []string{"echo 536870912 > /sys/fs/cgroup/a/memory.max"}},
		{"memory limit", func(s *host.Survey, _ *Case) {
			s.Limits.Memory = &host.Knob{Path: "/cg/memory.limit_in_bytes", Value: 512 << 20}
		}, Advice, "512 MiB",
			[]string{"echo -1 > /cg/memory.limit_in_bytes"}, []string{"echo 536870912 > /cg/memory.limit_in_bytes"}},
		{"memory limit", func(s *host.Survey, _ *Case) { s.Limits.Memory = &host.Knob{Path: "/m", Value: 9 << 30} }, InOrder, "more than there is", nil, nil},
		{"timer", func(s *host.Survey, _ *Case) {
			s.Facts.Clocksource, s.Clocksources = "hpet", []string{"hpet", "tsc", "acpi_pm"}
		}, Warning, "hpet",
			[]string{"echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"}, []string{"echo hpet > /sys/devices/system/clocksource/clocksource0/current_clocksource"}},
		{"timer", func(s *host.Survey, _ *Case) { s.Facts.Clocksource, s.Clocksources = "acpi_pm", []string{"acpi_pm"} }, Warning, "found no faster one", nil, nil},
		{"timer", func(s *host.Survey, _ *Case) { s.Facts.Clocksource = "" }, CannotTell, "current_clocksource", nil, nil},

		{"gomaxprocs", func(_ *host.Survey, c *Case) { c.Process = Process{Env: "16", Procs: 16} }, Warning, "16, with 8 CPUs allowed (0-7) of 8 online, GOMAXPROCS=16",
			[]string{"unset GOMAXPROCS"}, []string{"export GOMAXPROCS=16"}},
		{"gomaxprocs", func(_ *host.Survey, c *Case) { c.Process = Process{Env: "8", Procs: 8} }, InOrder, "8", nil, nil},
		{"gomaxprocs", func(_ *host.Survey, c *Case) { c.Process = Process{Env: "all", Procs: 8} }, Warning, "GOMAXPROCS=all", []string{"unset GOMAXPROCS"}, []string{"export GOMAXPROCS=all"}},
		{"gomaxprocs", func(s *host.Survey, c *Case) { s.Allowed, c.Process.Procs = set(t, "2-3"), 2 }, Advice, "2, with 2 CPUs allowed (2-3) of 8 online", nil, nil},
		{"gomaxprocs", func(_ *host.Survey, c *Case) { c.Process.Procs = 3 }, Advice, "the quota lowers it", nil, nil},
		{"gomaxprocs", func(s *host.Survey, _ *Case) { s.Allowed = nil }, CannotTell, "/proc/self/status", nil, nil},
		{"perflock", func(s *host.Survey, _ *Case) { s.Perflocks = []host.Mover{{PID: 5}} }, Advice, "one process (5)", nil, nil},
		{"perflock", func(s *host.Survey, _ *Case) { s.Perflocks = []host.Mover{{PID: 5}, {PID: 6}} }, Warning, "processes 5, 6", nil, nil},
		{"goset", func(_ *host.Survey, c *Case) { c.Turn.Holder = "process 9 (\"x\")" }, Warning, "taken: process 9", nil, nil},
		{"goset", func(_ *host.Survey, c *Case) { c.Turn.Leftovers = []string{"journal-1-2"} }, Warning, "journal-1-2", []string{"goset-bench restore"}, nil},
		{"goset", func(_ *host.Survey, c *Case) {
			c.Turn.Unread = []host.Unread{{What: "/proc/locks", Cause: "permission denied"}}
		}, CannotTell, "/proc/locks: permission denied", nil, nil},
		{"jitter", func(_ *host.Survey, c *Case) { c.Jitter.Lost, c.Jitter.Steal = 0.03, new(0.01) }, Warning, "3% of the time lost", nil, nil},
		{"jitter", func(_ *host.Survey, c *Case) { c.Jitter.Lost = 0.01 }, Advice, "1000 iterations of 1 ms in 1s: p99 1.00×, p99.9 1.10×, longest 1.20× (1.2 ms)", nil, nil},
	} {
		k := quiet(t)
		c.change(&k.Survey, k)
		found := slices.DeleteFunc(Examine(k), func(f Finding) bool { return f.Check != c.check })
		if len(found) != 1 {
			t.Errorf("%s: %d findings", c.check, len(found))
		}
		for _, f := range found {
			if f.List != c.list || !strings.Contains(f.Value, c.value) || !slices.Equal(f.Change, c.do) || !slices.Equal(f.Undo, c.undo) {
				t.Errorf("%s:\n got  %s: %s\n      %q\n      %q\n want %s: %s\n      %q\n      %q", c.check, f.List, f.Value, f.Change, f.Undo, c.list, c.value, c.do, c.undo)
			}
			if (f.List == CannotTell) != (f.File != "") || !strings.Contains(f.Value, f.File) {
				t.Errorf("%s: %s names the file %q in %q", f.Check, f.List, f.File, f.Value)
			}
		}
	}
}

// TestTree judges files as a machine has them.
func TestTree(t *testing.T) {
	const cpu = "sys/devices/system/cpu/"
	root := t.TempDir()
	for name, text := range map[string]string{
		cpu + "online": "0-3\n", cpu + "present": "0-4\n",
		cpu + "cpu0/topology/thread_siblings_list": "0,2\n", cpu + "cpu1/topology/thread_siblings_list": "1,3\n",
		cpu + "smt/control": "on\n", cpu + "smt/active": "1\n",
		cpu + "intel_pstate/no_turbo": "0\n", cpu + "intel_pstate/min_perf_pct": "19\n",
		cpu + "cpufreq/policy0/scaling_driver": "intel_pstate\n", cpu + "cpufreq/policy0/scaling_governor": "powersave\n",
		cpu + "cpufreq/policy0/scaling_min_freq": "800000\n", cpu + "cpufreq/policy0/scaling_max_freq": "3500000\n",
		cpu + "cpufreq/policy0/base_frequency":       "2100000\n",
		"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
		"proc/1/comm": "systemd\n", "proc/9/comm": "irqbalance\n", "proc/9/cgroup": "0::/system.slice/irqbalance.service\n",
		"proc/sys/kernel/randomize_va_space": "two\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]Finding{}
	for _, f := range Examine(&Case{Survey: host.ReadSurvey(host.FS(root)), Turn: Turn{Unasked: true}}) {
		got[f.Check] = f
	}
	for _, c := range []struct {
		check string
		list  List
		undo  string
	}{
		{"governor", Warning, "echo powersave > /sys/devices/system/cpu/cpufreq/policy0/scaling_governor"},
		{"turbo", Advice, "echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo; echo 19 > /sys/devices/system/cpu/intel_pstate/min_perf_pct"},
		{"frequency limits", Advice, "echo 3500000 > /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq; echo 800000 > /sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq"},
		{"smt", Advice, "echo on > /sys/devices/system/cpu/smt/control; echo 0 > /sys/devices/system/cpu/cpu4/online"},
		{"thp", Advice, "echo always > /sys/kernel/mm/transparent_hugepage/enabled"},
		{"irqbalance", Warning, "systemctl reset-failed irqbalance.service; systemctl start irqbalance.service"},
		{"tuned", InOrder, ""},
		{"aslr", CannotTell, ""},
		{"goset", CannotTell, ""},
	} {
		f := got[c.check]
		if undo := strings.Join(f.Undo, "; "); f.List != c.list || undo != c.undo {
			t.Errorf("%s: %s, %q, want %s, %q", c.check, f.List, undo, c.list, c.undo)
		}
	}
	if f := got["aslr"]; !strings.Contains(f.Value, `"two" is not a number`) {
		t.Errorf("aslr: %s", f.Value)
	}
}

func TestWord(t *testing.T) {
	for in, want := range map[string]string{"": "''", "a/b.c-1": "a/b.c-1", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'"} {
		if got := word(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
