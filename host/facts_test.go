package host

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

func factsJSON(t *testing.T, f FS) string {
	t.Helper()
	text, err := json.Marshal(ReadFacts(f))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFactsOfNothing: what is not there is absent, not zero and not a failure;
// only that there are no CPUs is worth a word.
func TestFactsOfNothing(t *testing.T) {
	root := FS(t.TempDir())
	want := `{"kernel":{},"cpu":{},"unread":[{"what":"topology","cause":"cannot find the CPUs: ` + root.Path("sys/devices/system/cpu") + ` names none"}]}`
	if got := factsJSON(t, root); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestFacts(t *testing.T) {
	const cpu = "sys/devices/system/cpu/"
	f := writeTree(t, map[string]string{
		"proc/sys/kernel/osrelease":                  "6.12.1\n",
		"proc/cmdline":                               "quiet isolcpus=1\n",
		"proc/sys/kernel/random/boot_id":             "6b1f5f0c-0d0e-4b8b-9e65-3a4f3a0c9a11\n",
		"proc/sys/kernel/randomize_va_space":         "0\n",
		"proc/cpuinfo":                               "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 207\nmodel name\t: A CPU\nmicrocode\t: 0x1\nflags\t\t: sse2 hypervisor avx\n\nprocessor\t: 1\nmodel name\t: Another\n",
		"proc/meminfo":                               "MemTotal:  1000 kB\nHugePages_Total:       7\nSwapFree: 0 kB\n",
		"proc/loadavg":                               "0.50 1.00 2.25 1/99 1234\n",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
		"sys/class/dmi/id/sys_vendor":                "QEMU\n",
		"sys/class/dmi/id/product_name":              "Standard PC\n",
		"sys/hypervisor/uuid":                        "1\n",
		cpu + "online":                               "0-1\n",
		cpu + "isolated":                             "1\n",
		cpu + "nohz_full":                            "\n",
		cpu + "vulnerabilities/meltdown":             "Not affected\n",
		cpu + "smt/control":                          "notimplemented\n",
		cpu + "smt/active":                           "1\n",
		cpu + "cpufreq/boost":                        "0\n",
		cpu + "cpufreq/policy0/scaling_driver":       "acpi-cpufreq\n",
		cpu + "cpufreq/policy0/scaling_governor":     "schedutil\n",
		cpu + "cpufreq/policy0/scaling_min_freq":     "800000\n",
		cpu + "cpufreq/policy0/scaling_max_freq":     "2000000\n",
		cpu + "cpufreq/policy1/scaling_driver":       "acpi-cpufreq\n",
		cpu + "cpufreq/policy1/scaling_governor":     "performance\n",
		cpu + "cpufreq/policy1/scaling_min_freq":     "900000\n",
		cpu + "cpufreq/policy1/scaling_max_freq":     "3000000\n",
		"sys/devices/system/node/node0/cpulist":      "0-1\n",
		"run/systemd/container":                      "podman\n",
	})
	want := `{"kernel":{"release":"6.12.1","command_line":"quiet isolcpus=1","boot_id":"6b1f5f0c-0d0e-4b8b-9e65-3a4f3a0c9a11"},` +
		`"cpu":{"model":"A CPU","vendor":"GenuineIntel","model_number":"207","microcode":"0x1","flags":["avx","hypervisor","sse2"]},` +
		`"topology":{"online":"0-1","isolated":"1","nohz_full":"","cpus":2,"nodes":[{"id":0,"cpus":"0-1"}]},` +
		`"frequency":{"driver":["acpi-cpufreq"],"governor":["performance","schedutil"],"min_hz":800000000,"max_hz":3000000000,"turbo":false},` +
		`"smt":{"control":"notimplemented"},` +
		`"memory":{"total":1024000,"swap_free":0,"huge_pages":7},` +
		`"aslr":0,"thp":"madvise","mitigations":{"meltdown":"Not affected"},"hypervisor":"QEMU Standard PC","container":"podman","load":[0.5,1,2.25]}`
	if got := factsJSON(t, f); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestFactsNameWhatIsUnread(t *testing.T) {
	f := writeTree(t, map[string]string{
		"sys/devices/system/cpu/online":      "0\n",
		"proc/sys/kernel/randomize_va_space": "two\n",
		"proc/loadavg":                       "a b c\n",
		"proc/meminfo":                       "MemTotal: 12 MB\nSwapTotal:\n",
	})
	facts := ReadFacts(f)
	var what []string
	for _, u := range facts.Unread {
		what = append(what, u.What)
	}
	want := []string{"/proc/meminfo", "/proc/meminfo", "/proc/sys/kernel/randomize_va_space", "/proc/loadavg"}
	if !slices.Equal(what, want) {
		t.Errorf("unread %v, want %q", facts.Unread, want)
	}
	if facts.ASLR != nil || facts.Load != nil || facts.Memory.Total != nil {
		t.Errorf("a value beside its failure: %+v", facts)
	}
}

// TestFactsOfThisMachine reads the machine that the test runs on. What it says
// cannot be known here, that nothing of it is unreadable can.
func TestFactsOfThisMachine(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc")
	}
	facts := ReadFacts(Local)
	for _, u := range facts.Unread {
		t.Errorf("cannot read %s: %s", u.What, u.Cause)
	}
	name, err := Local.Hostname()
	if err != nil || facts.Hostname != "" {
		t.Fatal(err)
	}
	if facts.Kernel.Release == "" || facts.Topology == nil || facts.Memory == nil {
		t.Errorf("facts lack the basics: %+v", facts)
	}
	facts.Kernel.CommandLine = ""
	text, err := json.Marshal(facts)
	if err != nil || len(name) > 5 && strings.Contains(string(text), name) {
		t.Errorf("the facts name the machine (%v)", err)
	}
}
