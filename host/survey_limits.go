package host

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits are those that the control groups of this process, and the groups
// around them, put on it: of several the tightest.
type Limits struct {
	// Read is true where the groups are known, limits or none.
	Read   bool
	Quota  *Quota
	Memory *Knob // in bytes
	// Throttled counts the periods in which the group of the quota had used it
	// up.
	Throttled *uint64
}

// Quota is how much CPU time a group has in every period.
type Quota struct {
	Path   string // its file
	Text   string // what stands in it, and would put it back
	Time   time.Duration
	Period time.Duration
}

// CPUs is the quota as a number of CPUs.
func (q *Quota) CPUs() float64 { return float64(q.Time) / float64(q.Period) }

// unlimited is where version 1 says that memory has no limit: 2^63 less a page
// of at most 64 KiB.
const unlimited = 1<<63 - 1<<16

// limits reads the groups of this process, of both versions
// (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst,
// scheduler/sched-bwc.rst).
func (r *surveyor) limits() {
	own, err := r.fs.read("proc/self/cgroup")
	r.note("/proc/self/cgroup", err)
	mounts, mountErr := r.fs.read("proc/self/mountinfo")
	r.note("/proc/self/mountinfo", mountErr)
	if err != nil || mountErr != nil {
		return
	}
	r.survey.Limits.Read = true
	for _, h := range []struct {
		controller string
		look       func(dir string)
	}{
		{"", func(dir string) {
			r.quota(dir, "cpu.max", "cpu.stat")
			r.memoryLimit(dir, "memory.max")
			r.memoryLimit(dir, "memory.high")
		}},
		{"cpu", func(dir string) { r.quota(dir, "cpu.cfs_quota_us", "cpu.stat") }},
		{"memory", func(dir string) { r.memoryLimit(dir, "memory.limit_in_bytes") }},
	} {
		if at, ok := CgroupOf(string(own), h.controller); !ok || !strings.HasPrefix(at, "/") {
			continue
		}
		dirs := cgroupFolders(string(mounts), string(own), h.controller)
		for _, dir := range dirs {
			h.look(dir)
		}
		// A hierarchy that is not mounted here, or whose mount something else
		// covers, limits this process all the same.
		if (len(dirs) == 0 || !r.shown(dirs[0])) && (h.controller != "" || !onVersion1(string(own))) {
			r.hidden(dirs)
		}
	}
}

// onVersion1 is true when both limits are those of version 1: then version 2 has
// none, and in a container often no mount.
func onVersion1(own string) bool {
	_, cpu := CgroupOf(own, "cpu")
	_, memory := CgroupOf(own, "memory")
	return cpu && memory
}

// shown is true when a group's folder shows its files, of which every group has
// some.
func (r *surveyor) shown(dir string) bool {
	folder, err := r.fs.open(dir)
	if err != nil {
		return false
	}
	defer folder.Close()
	names, err := folder.Readdirnames(1)
	return err == nil && len(names) > 0
}

// hidden notes that the folders of a hierarchy tell nothing.
func (r *surveyor) hidden(dirs []string) {
	r.survey.Limits.Read = false
	what, cause := "/sys/fs/cgroup", "no control groups are mounted there"
	if len(dirs) > 0 {
		what, cause = "/"+dirs[0], "the folder of this process's control group is hidden or empty"
	}
	r.facts.Unread = append(r.facts.Unread, Unread{What: what, Cause: cause})
}

// cgroupFolders are the folders of a process's groups in the hierarchy of a
// controller ("": version 2), from its own up to the mount. mounts is a
// mountinfo (proc_pid_mountinfo(5)), own a cgroup file of the process.
func cgroupFolders(mounts, own, controller string) []string {
	at, ok := CgroupOf(own, controller)
	if !ok || !strings.HasPrefix(at, "/") {
		return nil
	}
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		where, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(where) < 5 || len(kind) < 3 {
			continue
		}
		if kind[0] != "cgroup2" || controller != "" {
			if kind[0] != "cgroup" || controller == "" || !slices.Contains(strings.Split(kind[2], ","), controller) {
				continue
			}
		}
		return between(unescape(where[4]), unescape(where[3]), at)
	}
	return nil
}

// between lists the folders from a group up to the top of a mount that shows
// the hierarchy from root on. In a container the group's name can be that of the
// host, whose folders are not to be seen: then the top alone is. The names are
// as [FS] takes them, without the first slash.
func between(mount, root, at string) []string {
	rest, ok := strings.CutPrefix(at, strings.TrimSuffix(root, "/"))
	if !ok || strings.Contains(at, "..") {
		rest = "/"
	}
	var dirs []string
	for rest = path.Clean("/" + rest); ; rest = path.Dir(rest) {
		dirs = append(dirs, strings.TrimPrefix(path.Join(mount, rest), "/"))
		if rest == "/" {
			return dirs
		}
	}
}

// quota reads one group's, and keeps it if it is the tightest.
func (r *surveyor) quota(dir, name, stat string) {
	text := r.text(dir + "/" + name)
	q := &Quota{Path: "/" + path.Join(dir, name), Text: text}
	words := strings.Fields(text)
	if name == "cpu.cfs_quota_us" && len(words) == 1 {
		words = append(words, r.text(dir+"/cpu.cfs_period_us"))
	}
	// The root group has no file; "max" and -1 are none.
	if len(words) != 2 || words[0] == "max" {
		return
	}
	most, err1 := strconv.ParseInt(words[0], 10, 50)
	period, err2 := strconv.ParseInt(words[1], 10, 50)
	if err1 != nil || err2 != nil || period <= 0 {
		r.facts.Unread = append(r.facts.Unread, Unread{What: q.Path, Cause: strconv.Quote(text) + " is no quota"})
		return
	}
	if most <= 0 {
		return
	}
	q.Time, q.Period = time.Duration(most)*time.Microsecond, time.Duration(period)*time.Microsecond
	l := &r.survey.Limits
	if l.Quota != nil && l.Quota.CPUs() <= q.CPUs() {
		return
	}
	l.Quota, l.Throttled = q, nil
	for line := range strings.Lines(r.text(dir + "/" + stat)) {
		if count, ok := strings.CutPrefix(line, "nr_throttled "); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(count), 10, 64); err == nil {
				l.Throttled = &n
			}
		}
	}
}

// memoryLimit reads one group's, and keeps it if it is the tightest.
func (r *surveyor) memoryLimit(dir, name string) {
	text := r.text(dir + "/" + name)
	if text == "" || text == "max" {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.facts.Unread = append(r.facts.Unread, Unread{What: "/" + path.Join(dir, name), Cause: strconv.Quote(text) + " is no number of bytes"})
		return
	}
	if l := &r.survey.Limits; n < unlimited && (l.Memory == nil || n < l.Memory.Value) {
		l.Memory = &Knob{Path: "/" + path.Join(dir, name), Value: n}
	}
}
