package isolation

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"goset/internal/lazy"
)

// limitLayer sets a limit of the task's cgroup, the same that containers have:
// of memory, or of CPU time. In version 2 it is the cgroup that the task is in
// anyway, or one of its own below the root; in version 1 one of its own in the
// hierarchy of the controller.
type limitLayer struct {
	machineLayer
	limit limit
	asked string
	group limitGroup
	place placement
	own   bool // the task is put into group by this layer
	files map[string]string
	readings
}

// limit is what memory and cpu_quota do not have in common.
type limit struct {
	key, controller string
	// files are the limits as the task's cgroup has them, in the order they
	// are written; parsing is what the text asks for.
	files func(text string, unified bool) ([]limitFile, error)
	// told says what the limit did to the task, from the cgroup's counters.
	told func(k kernel, dir string, unified bool) string
}

// limitFile is a file of a cgroup and what it is to hold.
type limitFile struct{ name, value string }

// limitGroup is where a limit is set.
type limitGroup struct {
	unified bool
	root    string // the cgroup below which ours is made
	dir     string // ours; "": not made yet
}

func newMemoryLayer(r *applied) layer {
	if r.mode.Memory == "" {
		return nil
	}
	return &limitLayer{asked: r.mode.Memory, limit: limit{key: "memory", controller: "memory", files: memoryFiles, told: memoryTold}}
}

func newCPUQuotaLayer(r *applied) layer {
	if r.mode.CPUQuota == "" {
		return nil
	}
	return &limitLayer{asked: r.mode.CPUQuota, limit: limit{key: "cpu_quota", controller: "cpu", files: quotaFiles, told: quotaTold}}
}

func (l *limitLayer) key() string { return l.limit.key }

func (l *limitLayer) probe(r *applied) *Unsupported {
	group, u := findLimitGroup(r.kernel, l.limit)
	if u != nil {
		return u
	}
	l.group = group
	files, err := l.limit.files(l.asked, group.unified)
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: "see the rule"}
	}
	// The root has the controller and no limits; its children have both, once
	// the controller is on for them.
	if !group.unified {
		for _, f := range files {
			if !exists(r.kernel, path.Join(group.root, f.name)) {
				return &Unsupported{Reason: fmt.Sprintf("this kernel's %s controller has no %s", l.limit.controller, f.name), Hint: fmt.Sprintf("leave %q out", l.limit.key)}
			}
		}
	}
	return l.place.probe(group.unified)
}

// findLimitGroup looks for the controller of a limit.
func findLimitGroup(k kernel, l limit) (limitGroup, *Unsupported) {
	none := func(err error) *Unsupported {
		u := &Unsupported{Reason: fmt.Sprintf("this machine has no %s controller of cgroups", l.controller), Hint: fmt.Sprintf("leave %q out, or name it in optional to run without it", l.key)}
		if err != nil {
			u.Reason += fmt.Sprintf(" (%v)", err)
		}
		return u
	}
	mounts, err := cgroupMounts(k)
	if err != nil {
		return limitGroup{}, none(err)
	}
	for _, m := range mounts {
		if m.unified {
			text, err := k.readFile(m.file("cgroup.controllers"))
			if err != nil || !slices.Contains(strings.Fields(text), l.controller) {
				continue
			}
			if exists(k, m.file("cgroup.type")) {
				return limitGroup{}, &Unsupported{
					Reason: "the root of the cgroups is not to be seen from here (a container or a cgroup namespace)",
					Hint:   "give the limit to the container, or run on the host",
				}
			}
			return limitGroup{unified: true, root: m.path}, nil
		}
		if m.has(l.controller) {
			return ownGroupV1(k, m, l)
		}
	}
	return limitGroup{}, none(nil)
}

// ownGroupV1 finds the cgroup of this process in a hierarchy of version 1.
func ownGroupV1(k kernel, m cgroupMount, l limit) (limitGroup, *Unsupported) {
	text, err := k.readFile("/proc/self/cgroup")
	if err == nil {
		var own string
		if own, err = cgroupPath(text, l.controller); err == nil {
			if m.root != "/" {
				own = "/" + strings.TrimPrefix(strings.TrimPrefix(own, m.root), "/")
			}
			return limitGroup{root: m.file(own)}, nil
		}
	}
	return limitGroup{}, &Unsupported{Reason: fmt.Sprintf("cannot find the own cgroup: %v", err), Hint: fmt.Sprintf("leave %q out", l.key)}
}

func (l *limitLayer) enforce(r *applied) error {
	files, err := l.limit.files(l.asked, l.group.unified)
	if err != nil {
		return err
	}
	make := l.makeV1
	if l.group.unified {
		make = l.makeV2
	}
	if err := make(r); err != nil {
		return err
	}
	l.files = map[string]string{}
	for _, f := range files {
		file := path.Join(l.group.dir, f.name)
		if err := r.journal.Set(KindAttribute, file, f.value); err != nil {
			return l.refusal(err)
		}
		l.files[file] = f.value
	}
	if !l.own {
		return nil
	}
	return l.place.open(r.kernel, l.group.dir, l.group.unified)
}

// refusal explains what the kernel says to a limit.
func (l *limitLayer) refusal(err error) error {
	if errors.Is(err, syscall.EINVAL) {
		return &Unsupported{Reason: err.Error(), Hint: "the kernel takes no such limit: ask for more"}
	}
	return err
}

// makeV2 finds or makes the cgroup of the task, and switches the controller on
// for it.
func (l *limitLayer) makeV2(r *applied) error {
	on := func(dir string) error {
		err := r.journal.Set(KindController, path.Join(dir, "cgroup.subtree_control")+"#"+l.limit.controller, valueOn)
		if errors.Is(err, syscall.EINVAL) {
			return &Unsupported{Reason: fmt.Sprintf("the %s controller cannot be switched on (%v)", l.limit.controller, err), Hint: "real-time tasks outside the root cgroup forbid it for cpu"}
		}
		return err
	}
	if err := on(l.group.root); err != nil {
		return err
	}
	if l.inUnified(r) {
		// The cgroup of the task lies in one of ours, for which the controller
		// has to be on, too. Nobody else is inside.
		l.group.dir = r.cgroup
		for dir := path.Dir(r.cgroup); dir != l.group.root && strings.HasPrefix(dir, l.group.root+"/"); dir = path.Dir(dir) {
			if err := on(dir); err != nil {
				return err
			}
		}
		return nil
	}
	if err := l.makeOwn(r); err != nil {
		return err
	}
	if r.cgroup == "" {
		// The next limit goes into the same one.
		r.cgroup = l.group.dir
	}
	return nil
}

// inUnified tells whether the task has a cgroup of version 2 already.
func (l *limitLayer) inUnified(r *applied) bool {
	return r.cgroup != "" && exists(r.kernel, path.Join(r.cgroup, "cgroup.controllers"))
}

func (l *limitLayer) makeV1(r *applied) error { return l.makeOwn(r) }

// makeOwn makes a cgroup for the limit alone.
func (l *limitLayer) makeOwn(r *applied) error {
	id, err := newID()
	if err != nil {
		return err
	}
	l.group.dir, l.own = path.Join(l.group.root, id), true
	return r.journal.SetAs(KindCgroup, l.group.dir, valuePresent, "of the task, for "+l.limit.key)
}

func (l *limitLayer) birth(_ *applied, b *Birth) error {
	if l.own {
		l.place.birth(b)
	}
	return nil
}

func (l *limitLayer) close() error { return l.place.close() }

func (l *limitLayer) check(r *applied, at moment) {
	if at.phase == duringRun {
		return
	}
	for file, want := range l.files {
		got, err := r.kernel.readFile(file)
		l.add(l.shown(got, want), err, sameWords(got, want), file)
	}
	if at.phase == afterRun {
		l.readings.note = l.limit.told(r.kernel, l.group.dir, l.group.unified)
	}
}

// shown is how the record has a value that was read: as it was asked for.
func (l *limitLayer) shown(got, want string) string {
	if sameWords(got, want) {
		return l.asked
	}
	return got
}

func (l *limitLayer) state() LayerState { return l.readings.state(l.key(), l.asked) }

// memoryFiles is the limit of memory. The kernel counts in pages.
func memoryFiles(text string, unified bool) ([]limitFile, error) {
	size, err := ParseSize(text)
	if err != nil {
		return nil, err
	}
	page := int64(os.Getpagesize())
	if size = size / page * page; size == 0 {
		return nil, fmt.Errorf("memory must be at least a page, %d bytes, got %q", page, text)
	}
	name := "memory.limit_in_bytes"
	if unified {
		name = "memory.max"
	}
	return []limitFile{{name, strconv.FormatInt(size, 10)}}, nil
}

// memoryTold says whether the limit ended processes.
func memoryTold(k kernel, dir string, unified bool) string {
	name := "memory.oom_control"
	if unified {
		name = "memory.events"
	}
	if n := counter(k, path.Join(dir, name), "oom_kill"); n > 0 {
		return fmt.Sprintf("the kernel ended %d processes of the task that went over it", n)
	}
	return ""
}

// The periods, in µs, over which a quota is counted: the kernel's own, and the
// longest that it takes, for quotas that would be below its least of 1 ms.
const (
	quotaPeriod = 100_000
	longPeriod  = 1_000_000
	leastQuota  = 1_000
)

// quotaFiles is the limit of CPU time: "1.5" CPUs, or "50%" of one.
func quotaFiles(text string, unified bool) ([]limitFile, error) {
	cpus, err := parseQuota(text)
	if err != nil {
		return nil, err
	}
	period := float64(quotaPeriod)
	if cpus*period < leastQuota {
		period = longPeriod
	}
	quota := int64(math.Round(cpus * period))
	if quota < leastQuota {
		return nil, fmt.Errorf("cpu_quota must be at least 0.1%% of a CPU, got %q", text)
	}
	if unified {
		return []limitFile{{"cpu.max", fmt.Sprintf("%d %.0f", quota, period)}}, nil
	}
	return []limitFile{{"cpu.cfs_period_us", fmt.Sprintf("%.0f", period)}, {"cpu.cfs_quota_us", strconv.FormatInt(quota, 10)}}, nil
}

var quotaText = lazy.Regexp(`^(\d{1,6}(?:\.\d{1,3})?)(%?)$`)

// parseQuota reads a number of CPUs.
func parseQuota(text string) (float64, error) {
	m := quotaText().FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf(`cpu_quota must be a number of CPUs as "1.5", or a part of one as "50%%", got %q`, text)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil || v <= 0 {
		return 0, fmt.Errorf("cpu_quota must be above 0, got %q", text)
	}
	if m[2] != "" {
		v /= 100
	}
	return v, nil
}

// quotaTold says how often the task had to stop.
func quotaTold(k kernel, dir string, _ bool) string {
	file := path.Join(dir, "cpu.stat")
	if n := counter(k, file, "nr_throttled"); n > 0 {
		return fmt.Sprintf("the task was stopped in %d periods", n)
	}
	return ""
}

// counter reads a line of NAME NUMBER; 0 where there is none.
func counter(k kernel, file, name string) int64 {
	text, err := k.readFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 2 && f[0] == name {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// Fifteen digits are exact as a float64.
var sizeText = lazy.Regexp(`^(\d{1,15})(\.\d{1,6})? ?(|B|[kK]B|[MGT]B|[KMGT]iB)$`)

// ParseSize reads a number of bytes as "512MiB"; "KB" is 1000 bytes, as "kB".
func ParseSize(text string) (int64, error) {
	m := sizeText().FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf(`%q is no size as "512MiB"`, text)
	}
	v, err := strconv.ParseFloat(m[1]+m[2], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no size: %v", text, err)
	}
	v *= map[string]float64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[m[3]]
	if v != math.Trunc(v) || v >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is no whole number of bytes", text)
	}
	return int64(v), nil
}
