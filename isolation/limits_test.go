//go:build linux

package isolation

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"512MiB": 512 << 20, "1": 1, "1.5 GiB": 3 << 29, "64KB": 64000, "0": 0, "2TB": 2e12, "999999999999999": 999999999999999, "0.5KiB": 512} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "1.5", "-1", "1 mb", "1e3", "1000000000000000", "999999999999999TiB", "16Mib", "1  B", "0x10"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	f.Add("512MiB")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := ParseSize(text); err == nil && v < 0 {
			t.Errorf("%q is %d", text, v)
		}
	})
}

func TestQuotaFiles(t *testing.T) {
	for text, want := range map[string]string{
		"1.5": "cpu.max=150000 100000", "50%": "cpu.max=50000 100000", "1%": "cpu.max=1000 100000",
		"0.5%": "cpu.max=5000 1000000", "0.1%": "cpu.max=1000 1000000", "16": "cpu.max=1600000 100000",
	} {
		files, err := quotaFiles(text, true)
		if err != nil || len(files) != 1 || files[0].name+"="+files[0].value != want {
			t.Errorf("%q is %v, %v; want %s", text, files, err, want)
		}
	}
	if files, err := quotaFiles("1.5", false); err != nil || fmt.Sprint(files) != "[{cpu.cfs_period_us 100000} {cpu.cfs_quota_us 150000}]" {
		t.Errorf("version 1: %v, %v", files, err)
	}
	for _, text := range []string{"", "0", "0%", "0.09%", "-1", "1.2345", "much", "%", "1e2"} {
		if files, err := quotaFiles(text, true); err == nil {
			t.Errorf("%q is %v", text, files)
		}
	}
}

func FuzzParseQuota(f *testing.F) {
	f.Add("50%")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := parseQuota(text); err == nil && (v <= 0 || math.IsInf(v, 0) || math.IsNaN(v)) {
			t.Errorf("%q is %v", text, v)
		}
	})
}

func TestMemoryFilesAreWholePages(t *testing.T) {
	files, err := memoryFiles("1000001", true)
	if err != nil || len(files) != 1 || files[0].name != "memory.max" || strings.HasSuffix(files[0].value, "1") {
		t.Errorf("%v, %v", files, err)
	}
	for _, text := range []string{"100", "0", "x"} {
		if files, err := memoryFiles(text, false); err == nil {
			t.Errorf("%q is %v", text, files)
		}
	}
}

func TestLimitsWithoutAController(t *testing.T) {
	k := newKnobKernel(map[string]string{"/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/sys/fs/cgroup/cgroup.controllers": "cpuset pids"})
	r := k.run(t, Mode{Memory: "1GiB", CPUQuota: "1"}, "1")
	for _, l := range []layer{newMemoryLayer(r), newCPUQuotaLayer(r)} {
		if u := l.probe(r); u == nil || !strings.Contains(u.Reason, "this machine has no ") || u.Hint == "" {
			t.Errorf("%s: %v", l.key(), u)
		}
	}
	k.files["/sys/fs/cgroup/cgroup.controllers"], k.files["/sys/fs/cgroup/cgroup.type"] = "cpu memory", "domain"
	if u := newMemoryLayer(r).probe(r); u == nil || !strings.Contains(u.Reason, "not to be seen from here") {
		t.Errorf("in a container: %v", u)
	}
}
