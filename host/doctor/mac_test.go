package doctor

import (
	"slices"
	"strings"
	"testing"

	"goset/host"
)

func quietMac() *MacCase {
	n := func(v int64) *int64 { return &v }
	return &MacCase{Mac: host.Mac{CPUs: n(10), Levels: []host.CoreLevel{{Name: "Performance", CPUs: 6}, {Name: "Efficiency", CPUs: 4}}, PowerSource: "AC Power",
		PowerMode: n(0), ThermalQuiet: new(true), Indexed: []string{}, Load: []float64{1, 1, 1}, SwapUsed: n(0), Hypervisor: new(false),
		Busiest: []host.BusyProcess{{PID: 2, Name: "WindowServer", CPUs: 0.01}}}, Process: Process{Procs: 10}}
}

// TestMacHasFewKnobs: a quiet Mac is in order but for what no Mac can do.
func TestMacHasFewKnobs(t *testing.T) {
	want := map[string]List{"frequency": CannotTell, "pinning": Advice, "qos": CannotTell}
	for _, f := range ExamineMac(quietMac()) {
		list, ok := want[f.Check]
		if !ok {
			list = InOrder
		}
		if f.List != list {
			t.Errorf("%s: %s: %s", f.Check, f.List, f.Value)
		}
		for _, command := range f.Change {
			if strings.Contains(command, "/sys/") || strings.Contains(command, "taskset") {
				t.Errorf("%s: %s is no command of a Mac", f.Check, command)
			}
		}
	}
}

func TestMacFindings(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		check  string
		change func(*MacCase)
		list   List
		value  string
		do     []string
		undo   []string
	}{
		{"power source", func(c *MacCase) { c.Mac.PowerSource = "Battery Power" }, Warning, "Battery Power", nil, nil},
		{"power mode", func(c *MacCase) { c.Mac.PowerMode = n(1) }, Warning, "powermode 1 (low)", []string{"pmset -c powermode 0"}, []string{"pmset -c powermode 1"}},
		{"power mode", func(c *MacCase) { c.Mac.PowerMode, c.Mac.LowPowerMode, c.Mac.PowerSource = nil, n(1), "Battery Power" }, Warning, "lowpowermode 1",
			[]string{"pmset -b lowpowermode 0"}, []string{"pmset -b lowpowermode 1"}},
		{"power mode", func(c *MacCase) { c.Mac.PowerMode = n(2) }, InOrder, "powermode 2", nil, nil},
		{"frequency", func(*MacCase) {}, CannotTell, "no interface", nil, nil},
		{"qos", func(*MacCase) {}, CannotTell, "taskpolicy", nil, nil},
		{"pinning", func(*MacCase) {}, Advice, "6 Performance and 4 Efficiency cores", nil, nil},
		{"thermal state", func(c *MacCase) { c.Mac.SpeedLimit = n(35) }, Warning, "speed limit 35%", nil, nil},
		{"thermal state", func(c *MacCase) { c.Mac.ThermalQuiet = new(false) }, Warning, "a thermal warning", nil, nil},
		{"spotlight", func(c *MacCase) { c.Mac.Indexed = []string{"/", "/Volumes/My Disk"} }, Advice, "indexes /, /Volumes/My Disk",
			[]string{"mdutil -i off /", "mdutil -i off '/Volumes/My Disk'"}, []string{"mdutil -i on /", "mdutil -i on '/Volumes/My Disk'"}},
		{"load", func(c *MacCase) { c.Mac.Load[0] = 5 }, Warning, "5.00 1.00 1.00", nil, nil},
		{"load", func(c *MacCase) { c.Mac.Load[0] = 2.5 }, Advice, "10 CPUs", nil, nil},
		{"busiest processes", func(c *MacCase) { c.Mac.Busiest[0].CPUs = 0.6 }, Warning, "WindowServer (2) 60%", []string{"kill -STOP 2"}, []string{"kill -CONT 2"}},
		{"swap", func(c *MacCase) { c.Mac.SwapUsed = n(1 << 20) }, Advice, "1 MiB used", nil, nil},
		{"hypervisor", func(c *MacCase) { c.Mac.Hypervisor = new(true) }, Warning, "virtual machine", nil, nil},
		{"gomaxprocs", func(c *MacCase) { c.Process.Env = "4" }, Advice, "GOMAXPROCS=4", []string{"unset GOMAXPROCS"}, []string{"export GOMAXPROCS=4"}},
	} {
		k := quietMac()
		c.change(k)
		found := ExamineMac(k)
		i := slices.IndexFunc(found, func(f Finding) bool { return f.Check == c.check })
		if i < 0 {
			t.Errorf("%s: not looked at", c.check)
			continue
		}
		if f := found[i]; f.List != c.list || !strings.Contains(f.Value, c.value) || !slices.Equal(f.Change, c.do) || !slices.Equal(f.Undo, c.undo) {
			t.Errorf("%s:\n got  %s: %s %q %q\n want %s: %s %q %q", c.check, f.List, f.Value, f.Change, f.Undo, c.list, c.value, c.do, c.undo)
		}
	}
}

// TestSilentMac: what no command tells is not taken as good, and names it.
func TestSilentMac(t *testing.T) {
	found := ExamineMac(&MacCase{Jitter: &Jitter{Median: 1}})
	if len(found) != len(macChecks())+1 {
		t.Errorf("%d findings of %d checks and jitter", len(found), len(macChecks()))
	}
	for _, f := range found {
		if f.Value == "" || f.Why == "" || (f.List == CannotTell) != (f.File != "") || !strings.Contains(f.Value, f.File) {
			t.Errorf("%+v", f)
		}
		if f.List != CannotTell && f.Check != "pinning" && f.Check != "jitter" {
			t.Errorf("%s is %s, and nothing was said", f.Check, f.List)
		}
	}
}
