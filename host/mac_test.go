package host

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// macSays answers as a Mac does; what it has no answer for fails.
func macSays(answers map[string]string) Command {
	return func(name string, args ...string) (string, error) {
		text, ok := answers[strings.Join(append([]string{name}, args...), " ")]
		if !ok {
			return "", errors.New("no such thing")
		}
		return text, nil
	}
}

func TestMac(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	got := ReadMac(macSays(map[string]string{
		"sysctl -n machdep.cpu.brand_string": "Apple M2 Pro\n",
		"sysctl -n hw.logicalcpu":            "10\n",
		"sysctl -n hw.nperflevels":           "2\n",
		"sysctl -n hw.perflevel0.logicalcpu": "6\n",
		"sysctl -n hw.perflevel0.name":       "Performance\n",
		"sysctl -n hw.perflevel1.logicalcpu": "4\n",
		"sysctl -n hw.perflevel1.name":       "Efficiency\n",
		"sysctl -n kern.hv_vmm_present":      "0\n",
		"sysctl -n vm.loadavg":               "{ 1,50 2.25 3.00 }\n",
		"sysctl -n vm.swapusage":             "total = 2048.00M  used = 512.50M  free = 1535.50M  (encrypted)\n",
		"pmset -g":                           "System-wide power settings:\nCurrently in use:\n standby              1\n powermode            2\n sleep                1 (sleep prevented by caffeinate)\n",
		"pmset -g ps":                        "Now drawing from 'AC Power'\n -InternalBattery-0 (id=1)\t100%; charged\n",
		"pmset -g therm":                     "Note: No thermal warning level has been recorded\nNote: No performance warning level has been recorded\n",
		"mdutil -a -s":                       "/:\n\tIndexing enabled. \n/System/Volumes/Data:\n\tIndexing enabled. \n/Volumes/My Disk:\n\tIndexing disabled.\n",
		"ps -A -c -o pid=,pcpu=,comm=":       "    1   0.0 launchd\n  300 112.5 Google Chrome Helper\n    0   3.0 kernel_task\n  301   nan odd\n  302   9.9 ps\n",
	}))
	want := Mac{
		Model: "Apple M2 Pro", CPUs: n(10), Levels: []CoreLevel{{"Performance", 6}, {"Efficiency", 4}}, PowerSource: "AC Power",
		PowerMode: n(2), ThermalQuiet: new(true), Indexed: []string{"/", "/System/Volumes/Data"}, Load: []float64{1.5, 2.25, 3},
		SwapUsed: n(512<<20 + 512<<10), Hypervisor: new(false),
		Busiest: []BusyProcess{{300, "Google Chrome Helper", 1.125, false}, {0, "kernel_task", 0.03, true}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestMacWithIntel(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	got := ReadMac(macSays(map[string]string{
		"pmset -g":       " lowpowermode         1\n",
		"pmset -g therm": "2026-01-02 CPU Power notify\n\tCPU_Scheduler_Limit \t= 100\n\tCPU_Speed_Limit \t= 35\n",
		"mdutil -a -s":   "/:\n\tSpotlight server is disabled.\n",
	}))
	if !reflect.DeepEqual(got.LowPowerMode, n(1)) || got.PowerMode != nil || !reflect.DeepEqual(got.SpeedLimit, n(35)) || got.ThermalQuiet != nil {
		t.Errorf("got %+v", got)
	}
	if got.Indexed == nil || len(got.Indexed) != 0 {
		t.Errorf("indexed %v, want none, and known", got.Indexed)
	}
}

// TestMacSaysNothing: absent is not zero, and every command that failed is named.
func TestMacSaysNothing(t *testing.T) {
	got := ReadMac(macSays(nil))
	for _, command := range []string{"pmset -g", "pmset -g ps", "pmset -g therm", "mdutil -a -s", "ps -A -c -o pid=,pcpu=,comm=", "sysctl -n vm.loadavg", "sysctl -n vm.swapusage"} {
		if _, ok := got.Cause(command); !ok {
			t.Errorf("%s is not named: %v", command, got.Unread)
		}
	}
	got.Unread = nil
	if !reflect.DeepEqual(got, Mac{}) {
		t.Errorf("got %+v", got)
	}
}

// FuzzMac gives one text to every command.
func FuzzMac(f *testing.F) {
	f.Add("{ 1.5 2 3 }")
	f.Add("total = 1M used = 2.5G free")
	f.Add("/:\n\tIndexing enabled.\n 1 2.5 name\n powermode 1\nCPU_Speed_Limit = 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		m := ReadMac(func(string, ...string) (string, error) { return text, nil })
		if m.SwapUsed != nil && *m.SwapUsed < 0 || len(m.Busiest) > mostBusy || len(m.Load) != 0 && len(m.Load) != 3 {
			t.Fatalf("%+v", m)
		}
	})
}
