//go:build linux

package isolation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPickInner(t *testing.T) {
	task := []string{"/usr/bin/work", "-n", "4"}
	line := func(words ...string) string { return strings.Join(words, "\x00") + "\x00" }
	ours := line(task...)
	for _, test := range []struct {
		summary string
		procs   []proc
		pid     int // 0: none
		sure    bool
	}{
		{"nothing is left", nil, 0, false},
		{"the wrapper alone", []proc{{10, 1, 100, line("nice", "work", "-n", "4")}}, 10, false},
		{"the wrapper became the task", []proc{{10, 1, 100, ours}}, 10, true},
		{"found by a search", []proc{{10, 1, 100, line("x")}, {11, 10, 101, line("work", "-n", "4")}}, 11, true},
		{"a child, and a stranger who runs the same", []proc{{10, 1, 100, line("x")}, {11, 10, 101, ours}, {12, 1, 105, ours}}, 11, true},
		{"a daemon's child", []proc{{10, 1, 100, line("docker", "run")}, {20, 1, 103, ours}, {21, 1, 104, line("shim")}}, 20, true},
		{"a chain whose end is another line", []proc{{10, 1, 100, line("a")}, {11, 10, 101, line("b")}, {12, 11, 102, line("c")}}, 12, false},
		{"the youngest of two", []proc{{10, 1, 100, line("a")}, {11, 10, 101, line("b")}, {12, 10, 101, line("c")}}, 12, false},
		{"other arguments", []proc{{10, 1, 100, line("x")}, {30, 1, 101, line("work", "-n", "5")}}, 10, false},
	} {
		got := pickInner(test.procs, 10, task)
		if (got == nil) != (test.pid == 0) || got != nil && (got.pid != test.pid || got.sure != test.sure) {
			t.Errorf("%s: %+v, want %d, %t", test.summary, got, test.pid, test.sure)
		}
	}
}

func TestWrapPutsItsWordsFirst(t *testing.T) {
	r := newKnobKernel(nil).run(t, Mode{CPUs: "2-3", Wrap: []string{"docker", "run", "--cpuset-cpus={cpus}"}}, "2-3")
	c := Command{Argv: []string{"work", "{cpus}"}}
	if err := newWrapLayer(r).(commandLayer).command(r, &c); err != nil || !slices.Equal(c.Argv, []string{"docker", "run", "--cpuset-cpus=2-3", "work", "{cpus}"}) {
		t.Errorf("%q, %v", c.Argv, err)
	}
	r.mode.CPUs = ""
	if u := newWrapLayer(r).probe(r); u == nil || u.Hint == "" {
		t.Errorf("{cpus} without cpus: %v", u)
	}
}

func TestWrapChecksTheTaskInside(t *testing.T) {
	k := newKnobKernel(map[string]string{"/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/sys/fs/cgroup/box/cpuset.cpus.effective": "2"})
	add := func(pid int, mask, cgroup string, words ...string) {
		k.addTask(pid, words[0], mask, 0)
		k.files[fmt.Sprintf("/proc/%d/cmdline", pid)] = strings.Join(words, "\x00") + "\x00"
		k.files[fmt.Sprintf("/proc/%d/cgroup", pid)] = "0::" + cgroup
	}
	for _, test := range []struct {
		mask string
		held bool
	}{{"2", true}, {"0-7", false}} {
		r := k.run(t, Mode{CPUs: "2", Wrap: []string{"docker"}}, "2")
		l := newWrapLayer(r)
		c := Command{Argv: []string{"work"}}
		if err := l.(commandLayer).command(r, &c); err != nil {
			t.Fatal(err)
		}
		add(50, "2", "/", "docker", "work")
		l.check(r, moment{phase: duringRun, pid: 50})
		add(60, test.mask, "/box/inside", "work")
		l.check(r, moment{phase: duringRun, pid: 50})
		for name := range k.files {
			if strings.HasPrefix(name, "/proc/60/") {
				delete(k.files, name)
			}
		}
		l.check(r, moment{phase: duringRun, pid: 50}) // only the wrapper is left
		s := l.state()
		if s.Held != test.held || !strings.Contains(s.Achieved, "cgroup /box/inside (cpuset 2)") {
			t.Errorf("inside on %s: %+v", test.mask, s)
		}
	}
	r := k.run(t, Mode{Wrap: []string{"nice"}}, "")
	if s := newWrapLayer(r).state(); s.Held || s.Note == "" {
		t.Errorf("never read: %+v", s)
	}
}

// A runtime that puts the task into a cgroup of its own takes it out of the one
// that the mode made, with its cpuset and its limits.
func TestWrapThatLeavesTheCgroup(t *testing.T) {
	for _, test := range []struct {
		made, cgroup string
		kind         Kind
		held         bool
	}{
		{"/sys/fs/cgroup/goset-0123456789abcdef/job", "/goset-0123456789abcdef/job", KindCgroup, true},
		{"/sys/fs/cgroup/goset-0123456789abcdef/job", "/goset-0123456789abcdef/job/inner", KindCgroup, true},
		{"/sys/fs/cgroup/goset-0123456789abcdef/job", "/docker/1234", KindCgroup, false},
		{"/sys/fs/cgroup/memory/goset-0123456789abcdef", "/docker/1234", KindCgroup, false},
		{"/sys/fs/cgroup/goset-0123456789abcdef", "/docker/1234", KindShelter, true},
	} {
		k := newKnobKernel(map[string]string{"/proc/self/mountinfo": ""})
		r := k.run(t, Mode{CPUs: "2", Wrap: []string{"docker"}}, "2")
		r.journal.entries = []Entry{{Kind: test.kind, Object: test.made}}
		l := newWrapLayer(r)
		c := Command{Argv: []string{"work"}}
		if err := l.(commandLayer).command(r, &c); err != nil {
			t.Fatal(err)
		}
		k.addTask(50, "work", "2", 0)
		k.files["/proc/50/cmdline"], k.files["/proc/50/cgroup"] = "work\x00", "0::"+test.cgroup
		l.check(r, moment{phase: duringRun, pid: 50})
		if s := l.state(); s.Held != test.held || !test.held && !strings.Contains(s.Note, test.made) {
			t.Errorf("made %s, inside %s: %+v", test.made, test.cgroup, s)
		}
	}
}
