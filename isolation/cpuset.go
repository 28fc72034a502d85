package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"goset/cpulist"
)

// cpusets is where cpusets are to be had on this machine: in the unified
// hierarchy, or on hosts that have the controller there in version 1.
type cpusets struct {
	unified bool
	// root is the folder below which ours is made: the root of the unified
	// hierarchy; in version 1 the cpuset of this process, which in a container
	// is not the root.
	root string
	// mount is the mount of version 1.
	mount string
	// prefix of the file names: "cpuset.", or "" on old mounts of version 1.
	prefix string
}

// file is the path of one of the cpuset files of a cgroup.
func (c cpusets) file(dir, name string) string { return path.Join(dir, c.prefix+name) }

// findCpusets looks for the controller. The error is an *Unsupported.
func findCpusets(k kernel) (cpusets, error) {
	mounts, err := cgroupMounts(k)
	if err != nil {
		return cpusets{}, &Unsupported{Reason: err.Error(), Hint: `leave "cgroup" out: "cpus" alone pins the task`}
	}
	for _, m := range mounts {
		if !m.unified {
			continue
		}
		text, err := k.readFile(m.file("cgroup.controllers"))
		if err != nil || !slices.Contains(strings.Fields(text), "cpuset") {
			continue
		}
		if _, err := k.readFile(m.file("cpuset.cpus.partition")); err == nil {
			return cpusets{}, &Unsupported{
				Reason: "the root of the cgroups is not to be seen from here (a container or a cgroup namespace), and a partition can only stand below it",
				Hint:   `run on the host, or leave "cgroup" out`,
			}
		}
		return cpusets{unified: true, root: m.path, prefix: "cpuset."}, nil
	}
	for _, m := range mounts {
		if m.has("cpuset") {
			return cpusetsV1(k, m)
		}
	}
	return cpusets{}, &Unsupported{Reason: "this machine has no cpuset controller mounted", Hint: `mount -t cgroup2 none /sys/fs/cgroup, or leave "cgroup" out`}
}

// cpusetsV1 finds the cpuset of this process in a hierarchy of version 1.
func cpusetsV1(k kernel, m cgroupMount) (cpusets, error) {
	text, err := k.readFile("/proc/self/cgroup")
	if err != nil {
		return cpusets{}, &Unsupported{Reason: fmt.Sprintf("cannot find the own cpuset: %v", err), Hint: `leave "cgroup" out`}
	}
	own, err := cgroupPath(text, "cpuset")
	if err != nil {
		return cpusets{}, &Unsupported{Reason: fmt.Sprintf("cannot find the own cpuset: %v", err), Hint: `leave "cgroup" out`}
	}
	// A container sees its part of the hierarchy as the whole mount, but its
	// paths from the root on.
	if m.root != "/" {
		own = "/" + strings.TrimPrefix(strings.TrimPrefix(own, m.root), "/")
	}
	c := cpusets{root: m.file(own), mount: m.path, prefix: "cpuset."}
	if m.has("noprefix") {
		c.prefix = ""
	}
	return c, nil
}

// The words for what a cpuset is to be.
const (
	cgroupTrue     = "true"
	cgroupMember   = "member"
	cgroupRoot     = "root"
	cgroupIsolated = "isolated"
)

// release is a kernel's version, as far as it decides anything.
type release struct{ major, minor int }

func (r release) before(major, minor int) bool {
	return r.major < major || r.major == major && r.minor < minor
}

// kernelRelease reads the kernel's version.
func kernelRelease(k kernel) (release, error) {
	text, err := k.readFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return release{}, fmt.Errorf("cannot tell the kernel's version: %w", err)
	}
	return parseRelease(text)
}

// parseRelease reads the first two numbers of "6.1.0-50-cloud-amd64".
func parseRelease(text string) (release, error) {
	major, rest, ok := strings.Cut(text, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	x, xerr := strconv.Atoi(major)
	y, yerr := strconv.Atoi(rest)
	if !ok || xerr != nil || yerr != nil || x < 0 || y < 0 {
		return release{}, fmt.Errorf("cannot tell the kernel's version from %.60q", text)
	}
	return release{x, y}, nil
}

// readSet reads a kernel file that holds a CPU list.
func readSet(k kernel, file string) (cpulist.Set, error) {
	text, err := k.readFile(file)
	if err != nil {
		return cpulist.Set{}, err
	}
	set, err := cpulist.Parse(text)
	if err != nil {
		return cpulist.Set{}, fmt.Errorf("cannot read %s: %v", file, err)
	}
	return set, nil
}

// exists reports whether the kernel has a file.
func exists(k kernel, file string) bool {
	_, err := k.readFile(file)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}
