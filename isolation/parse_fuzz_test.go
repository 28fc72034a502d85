//go:build linux

package isolation

import (
	"slices"
	"strings"
	"testing"
)

func FuzzCgroupMounts(f *testing.F) {
	f.Add("34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset")
	f.Add("1 1 0:1 / /sys/fs/cgroup rw - cgroup2 c rw\n1 1 0:1 /a\\040b /sys/fs/cgroup rw - cgroup c rw,name=systemd")
	f.Add("- cgroup")
	f.Fuzz(func(t *testing.T, text string) {
		var paths []string
		for _, m := range parseCgroupMounts(text) {
			if m.unified && m.has("cpuset") {
				t.Errorf("%+v is of two versions", m)
			}
			if m.name != "" && !strings.Contains(text, "name="+m.name) {
				t.Errorf("the name %q is not in the text", m.name)
			}
			paths = append(paths, m.path)
		}
		if n := len(paths); n != len(slices.Compact(slices.Sorted(slices.Values(paths)))) {
			t.Errorf("%d mounts at fewer places: %q", n, paths)
		}
	})
}

func FuzzCgroupPath(f *testing.F) {
	f.Add("3:cpuset:/a\n0::/b", "cpuset")
	f.Add("5:cpu,cpuacct:/x:y\n", "cpu")
	f.Fuzz(func(t *testing.T, text, controller string) {
		p, err := cgroupPath(text, controller)
		if err == nil && !strings.Contains(text, controller+":"+p) && !strings.Contains(text, ":"+p) {
			t.Errorf("%q of %q is not in %q", p, controller, text)
		}
	})
}

func FuzzRelease(f *testing.F) {
	f.Add("6.1.0-50-cloud-amd64")
	f.Add("99999999999999999999.1")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRelease(text)
		if err == nil && (r.major < 0 || r.minor < 0 || r.before(0, 0)) {
			t.Errorf("%q is %+v", text, r)
		}
	})
}

func FuzzStatusCPUs(f *testing.F) {
	f.Add("Name:\tkcompactd0\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\nMems_allowed:\t1\n")
	f.Add("Cpus_allowed_list:\t")
	f.Add("Name:\tCpus_allowed_list:\n")
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := parseStatusCPUs(text)
		if err == nil && !strings.Contains(text, "Cpus_allowed_list:") {
			t.Errorf("CPUs %s of %q", cpus, text)
		}
	})
}

func FuzzLocks(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 7855 00:16:3564 0 EOF", uint64(22), uint64(3564))
	f.Add("1: -> FLOCK", uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, text string, dev, inode uint64) {
		for _, pid := range parseLocks(text, dev, inode) {
			if pid < 1 {
				t.Errorf("holder %d", pid)
			}
		}
	})
}

func FuzzKinds(f *testing.F) {
	f.Add("words", "/sys/x", "a", "b")
	f.Add("partition", "/sys/fs/cgroup/goset-0123456789abcdef/cpuset.cpus.partition", "isolated", "isolated invalid (x)")
	f.Add("controller", "/sys/fs/cgroup/cgroup.subtree_control#cpuset", "on", "off")
	f.Add("member", "/sys/fs/cgroup/cpuset#1:1", "/", "/x")
	f.Add("cpus", "/proc/irq/1/smp_affinity_list", "0-3", "0,1,2,3")
	// What a kind accepts is below /proc or /sys, or no path at all, and
	// comparing goes both ways.
	f.Fuzz(func(t *testing.T, name, object, a, b string) {
		k, ok := kindOf(Kind(name))
		if !ok {
			return
		}
		if k.equal(a, b) != k.equal(b, a) || !k.equal(a, a) {
			t.Errorf("kind %q: %q and %q compare differently", name, a, b)
		}
		if k.valid(object) != nil {
			return
		}
		if strings.Contains(object, "..") && strings.Contains(object, "/../") || strings.Contains(object, "\n") || strings.Contains(object, "\x00") {
			t.Errorf("kind %q takes %q", name, object)
		}
		if strings.HasPrefix(object, "/") && !strings.HasPrefix(object, "/proc/") && !strings.HasPrefix(object, "/sys/") {
			t.Errorf("kind %q takes %q", name, object)
		}
	})
}
