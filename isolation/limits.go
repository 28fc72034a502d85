package isolation

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
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
