//go:build linux

package isolation

import (
	"strings"
	"testing"
)

// fakeNow is the time at which the fake's threads are remembered.
const fakeNow = 5000

// TestHeirs has threads and processes born while what they come from has the CPUs
// that the kernel gave it.
func TestHeirs(t *testing.T) {
	for _, test := range []struct {
		name string
		born fakeThread // as 200
		also map[int]*fakeThread
		want string
	}{
		{"thread", fakeThread{pid: 100, cpus: cpus(t, "0-7")}, nil, "3"},
		{"thread with what a partition left", fakeThread{pid: 100, cpus: cpus(t, "0-1,4-7")}, nil, "3"},
		{"thread that chose", fakeThread{pid: 100, cpus: cpus(t, "5")}, nil, "5"},
		{"thread of the kernel", fakeThread{parent: 100, flags: flagKthread, cpus: cpus(t, "0-7")}, nil, "0-7"},
		{"thread from before", fakeThread{pid: 100, start: fakeNow - 1, cpus: cpus(t, "0-7")}, nil, "0-7"},
		{"thread of one with two sets of CPUs", fakeThread{pid: 100, cpus: cpus(t, "0-7")},
			map[int]*fakeThread{102: {pid: 100, start: 905, cpus: cpus(t, "4")}}, "0-7"},
		{"thread of one with two threads", fakeThread{pid: 100, cpus: cpus(t, "0-7")},
			map[int]*fakeThread{102: {pid: 100, start: 905, cpus: cpus(t, "3")}}, "3"},
		{"thread of one that is not pinned as a whole", fakeThread{pid: 100, cpus: cpus(t, "0-7")},
			map[int]*fakeThread{102: {pid: 100, start: 905, cpus: cpus(t, "0-7")}}, "0-7"},
		{"process", fakeThread{parent: 100, cpus: cpus(t, "0-7")}, nil, "3"},
		{"process of nobody pinned", fakeThread{parent: 1, cpus: cpus(t, "0-7")}, nil, "0-7"},
		{"its own ancestor", fakeThread{parent: 200, cpus: cpus(t, "0-7")}, nil, "0-7"},
		{"grandchild", fakeThread{parent: 300, cpus: cpus(t, "0-7")},
			map[int]*fakeThread{300: {parent: 100, start: fakeNow, cpus: cpus(t, "0-7")}}, "3"},
		{"child of one that was there", fakeThread{parent: 300, cpus: cpus(t, "0-7")},
			map[int]*fakeThread{300: {parent: 100, start: fakeNow - 1, cpus: cpus(t, "0-7")}}, "0-7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newFake(t, false)
			for tid, th := range test.also {
				if th.start < fakeNow {
					k.threads[tid] = th
				}
			}
			j := testJournal(t, k)
			for tid, th := range k.threads {
				if th.cpus.Equal(cpus(t, "0-7")) || th.flags != 0 {
					continue
				}
				if err := j.rememberTask(KindBystander, task{tid: tid, start: th.start, name: th.name}, "0-7;0-1,4-7", fakeNow); err != nil {
					t.Fatal(err)
				}
				th.cpus = cpus(t, "0-7")
			}
			born := test.born
			if born.start == 0 {
				born.start = fakeNow
			}
			k.threads[200] = &born
			for tid, th := range test.also {
				k.threads[tid] = th
			}
			u := j.UndoTo(0)
			if u.Err != nil || len(u.Left) > 0 {
				t.Errorf("undone %+v", u)
			}
			if got := k.threads[200].cpus.String(); got != test.want {
				t.Errorf("CPUs %s, want %s", got, test.want)
			}
		})
	}
}

// TestHeirsThatRefuse: what cannot be given to an heir is said, and keeps no
// journal.
func TestHeirsThatRefuse(t *testing.T) {
	k := newFake(t, false)
	j := testJournal(t, k)
	if err := j.rememberTask(KindStranded, task{tid: 100, start: 900}, "0-2", fakeNow); err != nil {
		t.Fatal(err)
	}
	k.threads[200] = &fakeThread{name: "born", pid: 100, start: fakeNow, cpus: cpus(t, "0-7"), flags: flagNoSetAffinity}
	u := j.UndoTo(0)
	if u.Err != nil || len(u.Left) != 1 || !strings.Contains(u.Left[0], "thread 200 (born) was born with CPUs 0-7") {
		t.Errorf("undone %+v", u)
	}
	if j.Mark() != 0 {
		t.Errorf("%d entries are left", j.Mark())
	}
}
