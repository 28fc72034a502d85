package host

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// maxWatched bounds the threads that are told apart; a task with more is
// counted up to there.
const maxWatched = 1 << 16

// taskWatch adds up what the threads of a task say about themselves.
type taskWatch struct {
	fs        FS
	threads   map[int]*threadWatch
	processes map[int]bool
	queue     []int
	tids      []int
	buf       []byte
	path      []byte
	first     firstThread
	delays    bool // this kernel has schedstat of threads
	sched     bool // and sched
}

// firstThread is the first thread of the task, whose files are held open:
// finding, opening and closing them was two thirds of what a poll of a task with
// one thread costs. What is held belongs to this very thread, also when its
// number is given away.
type firstThread struct {
	pid                        int // 0: none is held
	tasks, schedstat, children int // descriptors; -1: none
}

// hold opens the files, of this machine's processes.
func (w *taskWatch) hold(pid int) {
	if w.first.pid == pid || !w.fs.IsLocal() {
		return
	}
	w.close()
	open := func(name []byte) int {
		fd, err := openRaw(name)
		if err != nil {
			return -1
		}
		return fd
	}
	w.first = firstThread{pid, open(w.file(pid, 0, "")), open(w.file(pid, pid, "schedstat")), open(w.file(pid, pid, "children"))}
}

// close closes what is held.
func (w *taskWatch) close() {
	if w.first.pid == 0 {
		return
	}
	for _, fd := range []int{w.first.tasks, w.first.schedstat, w.first.children} {
		if fd >= 0 {
			closeRaw(fd)
		}
	}
	w.first = firstThread{}
}

// list lists the threads of a process.
func (w *taskWatch) list(pid int) []int {
	if pid != w.first.pid || w.first.tasks < 0 {
		return w.fs.listNumbers(w.file(pid, 0, ""), w.buf, w.tids[:0])
	}
	tids, err := numbersRaw(w.first.tasks, w.buf, w.tids[:0])
	if err != nil {
		return tids // it ended meanwhile
	}
	return tids
}

// read reads a file of a thread; nil when there is none.
func (w *taskWatch) read(pid, tid int, name string) []byte {
	fd := -1
	if pid == w.first.pid && tid == pid {
		switch name {
		case "schedstat":
			fd = w.first.schedstat
		case "children":
			fd = w.first.children
		}
	}
	if fd < 0 {
		return w.fs.readSmall(w.file(pid, tid, name), w.buf)
	}
	n, err := preadRaw(fd, w.buf, 0)
	if err != nil {
		return nil
	}
	return w.buf[:n]
}

// threadWatch is one thread as it was last read.
type threadWatch struct {
	delay, migrations, voluntary, involuntary counter
	// put is how often it had been put on a CPU when it was last read: a thread
	// that was not since has not migrated.
	put uint64
}

// counter is a number that goes up, of a thread whose number another one may
// get when it has ended: then it starts anew.
type counter struct{ base, last uint64 }

func (c *counter) set(v uint64) {
	if v < c.last {
		c.base += c.last
	}
	c.last = v
}

func (c *counter) total() uint64 { return c.base + c.last }

func newTaskWatch(f FS) taskWatch {
	return taskWatch{fs: f, threads: map[int]*threadWatch{}, processes: map[int]bool{}, buf: make([]byte, 16<<10)}
}

// walk reads every thread of a process and of all that descends from it; on
// nil: all sources. What ends meanwhile keeps what was last read of it.
func (w *taskWatch) walk(pid int, on map[string]bool) {
	if on != nil && !on[SourceThreads] || pid <= 0 {
		return
	}
	w.hold(pid)
	w.queue = append(w.queue[:0], pid)
	for i := 0; i < len(w.queue) && len(w.threads) < maxWatched; i++ {
		p := w.queue[i]
		w.tids = w.list(p)
		if len(w.tids) == 0 {
			continue
		}
		w.processes[p] = true
		for _, tid := range w.tids {
			w.thread(p, tid, on)
		}
	}
}

func (w *taskWatch) thread(pid, tid int, on map[string]bool) {
	t := w.threads[tid]
	if t == nil {
		t = &threadWatch{}
		w.threads[tid] = t
	}
	moved := true
	if on == nil || on[SourceDelay] {
		if text := w.read(pid, tid, "schedstat"); text != nil {
			if n, ok := parseCounts3(text); ok && n != [3]uint64{} {
				w.delays = true
				t.delay.set(n[1])
				moved, t.put = t.put != n[2], n[2]
			}
		}
	}
	if on == nil || moved && on[SourceSched] {
		if text := w.read(pid, tid, "sched"); text != nil {
			w.parseSched(text, t)
		}
	}
	if on == nil || on[SourceChildren] {
		for field := range bytes.FieldsSeq(w.read(pid, tid, "children")) {
			if n, err := strconv.Atoi(string(field)); err == nil && n > 0 {
				w.queue = append(w.queue, n)
			}
		}
	}
}

// file is the path of a file of a thread, with a slash before and a NUL behind;
// built without fmt, since this runs for every thread in every poll. tid 0 is
// the folder of the threads.
func (w *taskWatch) file(pid, tid int, name string) []byte {
	b := strconv.AppendInt(append(w.path[:0], "/proc/"...), int64(pid), 10)
	b = append(b, "/task"...)
	if tid > 0 {
		b = strconv.AppendInt(append(b, '/'), int64(tid), 10)
		b = append(append(b, '/'), name...)
	}
	w.path = append(b, 0)
	return w.path
}

// parseSched finds the counters among the lines "name : value" of a sched file
// (kernel/sched/debug.c: proc_sched_show_task). They have had the prefix
// "se." or "se.statistics." in some releases.
func (w *taskWatch) parseSched(text []byte, t *threadWatch) {
	for line := range bytes.Lines(text) {
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue
		}
		name = bytes.TrimSpace(name)
		var to *counter
		switch {
		case bytes.HasSuffix(name, []byte("nr_migrations")):
			to = &t.migrations
		case string(name) == "nr_voluntary_switches":
			to = &t.voluntary
		case string(name) == "nr_involuntary_switches":
			to = &t.involuntary
		default:
			continue
		}
		if n, ok := parseCount(bytes.TrimSpace(value)); ok {
			w.sched = true
			to.set(n)
		}
	}
}

func parseCount(text []byte) (uint64, bool) {
	v, end, ok, err := slowCount(text, 0)
	return v, ok && err == nil && end == len(text)
}

// parseCounts3 reads "ran waited slices".
func parseCounts3(text []byte) (n [3]uint64, ok bool) {
	got, _, err := parseCounts(text, 0, n[:])
	return n, err == nil && got == len(n)
}

func (w *taskWatch) sum() TaskTelemetry {
	t := TaskTelemetry{}
	if len(w.threads) == 0 {
		return t
	}
	t.Threads, t.Processes = new(len(w.threads)), new(len(w.processes))
	var delay, migrations, voluntary, involuntary uint64
	for _, thread := range w.threads {
		delay += thread.delay.total()
		migrations += thread.migrations.total()
		voluntary += thread.voluntary.total()
		involuntary += thread.involuntary.total()
	}
	if w.delays {
		t.Delay = new(time.Duration(delay).Seconds())
	}
	if w.sched {
		t.Migrations, t.Voluntary, t.Involuntary = &migrations, &voluntary, &involuntary
	}
	return t
}

// cpuPressure is for how long since boot, in µs, some task was ready and had no
// CPU (/proc/pressure/cpu; Documentation/accounting/psi.rst).
func (f FS) cpuPressure() (uint64, error) {
	text, err := f.read("proc", "pressure", "cpu")
	if err != nil {
		return 0, err
	}
	return parsePressure(text)
}

func parsePressure(text []byte) (uint64, error) {
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != "some" {
			continue
		}
		for _, field := range fields[1:] {
			if value, ok := bytes.CutPrefix(field, []byte("total=")); ok {
				if n, ok := parseCount(value); ok {
					return n, nil
				}
			}
		}
	}
	return 0, fmt.Errorf("%q has no total of \"some\"", clip(text))
}
