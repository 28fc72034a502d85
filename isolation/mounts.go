package isolation

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// cgroupMount is one mounted hierarchy of cgroups.
type cgroupMount struct {
	path    string
	unified bool     // version 2
	name    string   // of a named hierarchy of version 1: "systemd"
	options []string // of the file system: controllers, noprefix, cpuset_v2_mode
	root    string   // what of the hierarchy is mounted: "/" but in containers
}

// cgroupMounts lists the hierarchies that are mounted.
func cgroupMounts(k kernel) ([]cgroupMount, error) {
	text, err := k.readFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("cannot find the cgroups: %w", err)
	}
	return parseCgroupMounts(text), nil
}

// parseCgroupMounts reads lines as
//
//	34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset
//
// and passes over those of other file systems. Of two mounts at one place the
// later hides the earlier.
func parseCgroupMounts(text string) []cgroupMount {
	var mounts []cgroupMount
	for _, line := range strings.Split(text, "\n") {
		where, what, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(where), strings.Fields(what)
		if !ok || len(f) < 6 || len(g) < 3 || g[0] != "cgroup" && g[0] != "cgroup2" && g[0] != "cpuset" {
			continue
		}
		m := cgroupMount{path: unescape(f[4]), root: unescape(f[3]), unified: g[0] == "cgroup2", options: strings.Split(g[2], ",")}
		if g[0] == "cpuset" {
			// The legacy file system of that name is version 1 with two options.
			m.options = append(m.options, "cpuset", "noprefix")
		}
		for _, o := range m.options {
			if name, ok := strings.CutPrefix(o, "name="); ok {
				m.name = name
			}
		}
		mounts = slices.DeleteFunc(mounts, func(o cgroupMount) bool { return o.path == m.path })
		mounts = append(mounts, m)
	}
	return mounts
}

// unescape undoes what mountinfo does to blanks in paths.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// has reports whether a hierarchy of version 1 was mounted with an option.
func (m cgroupMount) has(option string) bool { return !m.unified && slices.Contains(m.options, option) }

// file is the path of a file in a cgroup of the mount.
func (m cgroupMount) file(elem ...string) string {
	return path.Join(append([]string{m.path}, elem...)...)
}
