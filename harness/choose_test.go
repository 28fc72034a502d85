package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"goset/host"
	"goset/isolation"
	"goset/rank"
)

// fakeMachine is a root of files for four CPUs on two cores, of which each has
// counted interrupts and been busy for ticks of user time.
type fakeMachine struct {
	root string
}

func newFakeMachine(t *testing.T) *fakeMachine {
	m := &fakeMachine{root: t.TempDir()}
	for cpu := range 4 {
		m.write(t, fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu), []string{"0-1", "0-1", "2-3", "2-3"}[cpu])
	}
	m.write(t, "sys/devices/system/cpu/online", "0-3")
	m.write(t, "sys/devices/system/node/node0/cpulist", "0-1")
	m.write(t, "sys/devices/system/node/node1/cpulist", "2-3")
	m.count(t, [4]int{}, [4]int{}, [4]int{})
	return m
}

func (m *fakeMachine) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(m.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// count makes the counters of the machine: device interrupts, local timer
// interrupts, and ticks of busy time. The idle time is always enough to fill
// the sample, which takes no time in these tests.
func (m *fakeMachine) count(t *testing.T, device, timer, busy [4]int) {
	m.write(t, "proc/interrupts", fmt.Sprintf("CPU0 CPU1 CPU2 CPU3\n 24: %d %d %d %d PCI-MSI 1-edge  eth0\nLOC: %d %d %d %d Local timer interrupts\nERR: 5",
		device[0], device[1], device[2], device[3], timer[0], timer[1], timer[2], timer[3]))
	stat := "cpu 0 0 0 0"
	for cpu, ticks := range busy {
		stat += fmt.Sprintf("\ncpu%d %d 0 0 %d 0 0 0 0 0 0", cpu, 1000+ticks, 5000+ticks)
	}
	m.write(t, "proc/stat", stat)
}

func (m *fakeMachine) chooser(then func()) *QuietChooser {
	return &QuietChooser{FS: host.FS(m.root), wait: func(context.Context, time.Duration) error {
		then()
		return nil
	}}
}

func TestChoose(t *testing.T) {
	none := [4]int{}
	for _, c := range []struct {
		name                string
		device, timer, busy [4]int
		mode                isolation.Mode
		want                string
	}{
		{name: "all quiet", want: "0"},
		{name: "interrupts", device: [4]int{9, 0, 0, 0}, want: "2"},
		{name: "two", device: [4]int{9, 0, 0, 0}, mode: isolation.Mode{N: 2}, want: "2-3"},
		{name: "steered away", device: [4]int{9, 0, 0, 0}, timer: [4]int{0, 0, 1, 0}, mode: isolation.Mode{Steer: true}, want: "1"},
		{name: "a spinner", busy: [4]int{0, 50, 0, 0}, timer: [4]int{0, 0, 90, 90}, want: "2"},
		{name: "a spinner by interrupts", busy: [4]int{0, 50, 0, 0}, timer: [4]int{0, 0, 90, 90}, mode: isolation.Mode{Rank: "interrupts"}, want: "0"},
		{name: "by busy", device: [4]int{900, 0, 0, 0}, busy: [4]int{0, 0, 50, 0}, mode: isolation.Mode{Rank: "busy"}, want: "1"},
		{name: "include", mode: isolation.Mode{Include: "3"}, want: "3"},
		{name: "exclude", mode: isolation.Mode{Exclude: "0-2"}, want: "3"},
		{name: "node", mode: isolation.Mode{NUMA: "1"}, want: "2"},
		{name: "one node", device: [4]int{0, 0, 0, 9}, mode: isolation.Mode{NUMA: "auto", N: 2}, want: "0-1"},
	} {
		m := newFakeMachine(t)
		c.mode.Name = "m"
		set, choice, err := m.chooser(func() { m.count(t, c.device, c.timer, c.busy) }).Choose(t.Context(), c.mode)
		if err != nil || set.String() != c.want {
			t.Errorf("%s: %v, %v, want %s", c.name, set, err, c.want)
			continue
		}
		if choice.Sample != DefaultSample || len(choice.Ranking) != 4 || c.mode.N < 2 && choice.Ranking[0].CPU != set.First() {
			t.Errorf("%s: choice %+v", c.name, choice)
		}
	}
	m := newFakeMachine(t)
	_, choice, err := m.chooser(func() { m.count(t, [4]int{7, 0, 0, 0}, none, none) }).Choose(t.Context(), isolation.Mode{Sample: time.Second})
	last := choice.Ranking[3]
	if err != nil || choice.Sample != time.Second || last.CPU != 0 || last.Own != 7 || last.Cost != 7 {
		t.Errorf("choice %+v, %v", choice, err)
	}
}

func TestChooseRefuses(t *testing.T) {
	for want, mode := range map[string]isolation.Mode{
		`mode "m": cannot take 5 CPUs: only 4 are free; n = 4 would fit`: {N: 5},
		"only 2 are free (2 excluded); n = 2 would fit":                  {N: 3, Exclude: "2,3"},
		`cannot rank by "noise"`:                                         {Rank: "noise"},
		`include: cannot read CPU list "5-2"`:                            {Include: "5-2"},
		`exclude: cannot read CPU list "x"`:                              {Exclude: "x"},
		`cannot take CPUs of node "near"`:                                {NUMA: "near"},
		"none is free (2 on node 0":                                      {NUMA: "7"},
		"cannot watch for -1s":                                           {Sample: -time.Second},
		"n must be 1 or more":                                            {N: -1},
		"cannot include CPU 9":                                           {Include: "9"},
	} {
		m := newFakeMachine(t)
		mode.Name = "m"
		set, _, err := m.chooser(func() {}).Choose(t.Context(), mode)
		if err == nil || !strings.Contains(err.Error(), want) || !set.Empty() {
			t.Errorf("%+v: %v, %v, want %q", mode, set, err, want)
		}
	}
	m := newFakeMachine(t)
	var refused *rank.Refused
	if _, _, err := m.chooser(func() {}).Choose(t.Context(), isolation.Mode{N: 9}); !errors.As(err, &refused) || refused.Fits != 4 {
		t.Errorf("the refusal is not typed: %v", err)
	}
}

// TestChooseHotplug takes CPU 3 away between the readings, and lets a row
// appear.
func TestCheckSaysWhatAChoiceLacks(t *testing.T) {
	m := newFakeMachine(t)
	if err := NewChooser(host.FS(m.root)).Check(isolation.Mode{Name: "m", CPUs: "quietest", N: 4}); err != nil {
		t.Errorf("a whole machine: %v", err)
	}
	err := NewChooser(host.FS(m.root)).Check(isolation.Mode{Name: "m", CPUs: "quietest", N: 5})
	var refused *rank.Refused
	if !errors.As(err, &refused) {
		t.Errorf("5 of 4 CPUs: %v", err)
	}
	for _, hidden := range []string{"", "nonsense"} {
		m.write(t, "proc/interrupts", hidden)
		if err := NewChooser(host.FS(m.root)).Check(isolation.Mode{Name: "m", CPUs: "quietest"}); err == nil {
			t.Errorf("with %q for the interrupts there is a choice", hidden)
		}
	}
}

func TestChooseHotplug(t *testing.T) {
	m := newFakeMachine(t)
	set, choice, err := m.chooser(func() {
		m.write(t, "sys/devices/system/cpu/present", "0-3")
		m.write(t, "sys/devices/system/cpu/online", "0-2")
		m.write(t, "proc/interrupts", "CPU0 CPU1 CPU2\n 24: 1 1 0 PCI-MSI 1-edge  eth0\nLOC: 0 0 0 t\nSPU: 1 1 0 s\nERR: 5")
		m.write(t, "proc/stat", "cpu0 1000 0 0 5000\ncpu1 1000 0 0 5000\ncpu2 1000 0 0 5000")
	}).Choose(t.Context(), isolation.Mode{})
	if err != nil || set.String() != "2" || choice.Ranking[3].CPU != 3 || choice.Ranking[3].Why != "offline" {
		t.Errorf("%v, %+v, %v", set, choice, err)
	}
}

func TestChooseIsInterrupted(t *testing.T) {
	m := newFakeMachine(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := NewChooser(host.FS(m.root)).Choose(ctx, isolation.Mode{Sample: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestChooseKeepsABoundedRanking(t *testing.T) {
	r := rank.Ranking{Places: make([]rank.Place, maxRanked+10)}
	if c := choiceOf(r, time.Second); len(c.Ranking) != maxRanked || c.Left != 10 {
		t.Errorf("%d places, %d left out", len(c.Ranking), c.Left)
	}
}

// TestChooseHere chooses on the machine that the test runs on.
func TestChooseHere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip(host.ErrUnsupported)
	}
	set, choice, err := NewChooser(host.Local).Choose(t.Context(), isolation.Mode{Sample: time.Millisecond})
	if err != nil || set.Len() != 1 || choice.Ranking[0].CPU != set.First() {
		t.Errorf("%v, %+v, %v", set, choice, err)
	}
}
