package harness

import (
	"os"
	"time"

	"goset/cpulist"
	"goset/host"
)

// loadSample is all processes of a load at about one instant.
type loadSample struct {
	at    time.Time    // its end
	procs []procSample // in the order of the load's processes
}

// procSample is one process of a load, all its threads together; of a command
// also what descends from it.
type procSample struct {
	// from and to are when reading it began and ended: on a busy machine the
	// reader, too, waits for a CPU.
	from, to time.Time

	told  bool // this system says something
	there bool // it lives
	state byte // 'R' when some thread is on a CPU or waits for one
	// run is its CPU time, wait its waiting for a CPU; precise is true when
	// they are the scheduler's own and not counted in ticks, without waiting.
	run, wait time.Duration
	precise   bool
	// wakeups is how often the thread was woken that was so most: not the
	// runtime's monitor, which sleeps too, at most 100 times a second.
	wakeups *uint64
	// sleeps is how often the thread that has run most gave up its CPU by
	// itself, which a loop does not.
	sleeps  *uint64
	allowed cpulist.Set
	on      cpulist.Set
}

// known is true when the system tells what processes do while they run.
func (s *loadSample) known() bool {
	for i := range s.procs {
		if !s.procs[i].told {
			return false
		}
	}
	return true
}

// wholeLife stands in for samples where the system tells nothing: all that the
// processes used, over all the time that they were there.
func wholeLife(first *loadSample, whole time.Duration, used []time.Duration) (before, after *loadSample) {
	before = &loadSample{at: first.at, procs: make([]procSample, len(used))}
	after = &loadSample{at: first.at.Add(whole), procs: make([]procSample, len(used))}
	for i, d := range used {
		before.procs[i] = procSample{from: before.at, to: before.at, there: true}
		after.procs[i] = procSample{from: after.at, to: after.at, there: true, run: d}
	}
	return before, after
}

// sample reads every process of the load.
func (r *runningLoad) sample() *loadSample {
	s := &loadSample{procs: make([]procSample, len(r.placed))}
	for i := range r.placed {
		p := &s.procs[i]
		p.from = time.Now()
		r.read(p, i)
		p.to = time.Now()
	}
	s.at = time.Now()
	return s
}

// read reads process i of the load.
func (r *runningLoad) read(p *procSample, i int) {
	command := r.placed[i].Kind == LoadCommand
	p.addProcess(r.host, r.pids[i], !command)
	if !command {
		return
	}
	for _, d := range r.ofCommand(r.pids[i]) {
		var q procSample
		q.addProcess(r.host, d, false)
		p.add(&q)
	}
}

// ofCommand lists what descends from the load's command, orphans included:
// all that descends from the keeper but its own processes.
func (r *runningLoad) ofCommand(command int) []int {
	own := family{command: true}
	for _, pid := range r.pids {
		own[pid] = true
	}
	var pids []int
	for _, p := range descendants(r.cmd.Process.Pid) {
		if !own[p.pid] {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// addProcess reads one process. threads says whether its CPU time is that of
// its threads, exact and of those that live; otherwise it is the process's, in
// ticks, with its ended threads and children.
func (p *procSample) addProcess(fs host.FS, pid int, threads bool) {
	main, err := fs.Process(pid)
	if err != nil {
		// A process that is not there is told from a system without /proc by
		// this process itself.
		_, err := fs.Process(os.Getpid())
		p.told = err == nil
		return
	}
	p.told, p.state = true, main.State
	p.there = main.State != 'Z' && main.State != 'X'
	p.run = main.User + main.System
	if ended, err := fs.ChildTime(pid); err == nil && !threads {
		p.run += ended
	}
	tids, err := fs.Threads(pid)
	if err != nil {
		tids = nil
	}
	var run, wait, most time.Duration
	for _, tid := range tids {
		t, err := fs.Thread(pid, tid)
		if err != nil {
			continue // it has ended
		}
		if t.State == 'R' {
			p.state = 'R'
		}
		if t.State == 'R' || tid == pid {
			p.on = p.on.Union(cpulist.Of(t.CPU))
		}
		if t.Allowed != nil {
			p.allowed = p.allowed.Union(*t.Allowed)
		}
		if t.Voluntary != nil && (p.wakeups == nil || *t.Voluntary > *p.wakeups) {
			p.wakeups = t.Voluntary
		}
		if t.RunQueue != nil {
			if t.RunQueue.Running >= most {
				most, p.sleeps = t.RunQueue.Running, t.Voluntary
			}
			run += t.RunQueue.Running
			wait += t.RunQueue.Waiting
		}
	}
	if p.precise = threads && run > 0; p.precise {
		p.run, p.wait = run, wait
	}
}

// add takes in a further process.
func (p *procSample) add(q *procSample) {
	if !q.there {
		return
	}
	if q.state == 'R' {
		p.state = 'R'
	}
	p.run += q.run
	p.allowed, p.on = p.allowed.Union(q.allowed), p.on.Union(q.on)
}
