package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
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
	buf       []byte
	path      []byte
	delays    bool // this kernel has schedstat of threads
	sched     bool // and sched
}

// threadWatch is one thread as it was last read.
type threadWatch struct{ delay, migrations, voluntary, involuntary counter }

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
	w.queue = append(w.queue[:0], pid)
	for len(w.queue) > 0 && len(w.threads) < maxWatched {
		p := w.queue[0]
		w.queue = w.queue[1:]
		tids, err := w.fs.Threads(p)
		if err != nil || len(tids) == 0 {
			continue
		}
		w.processes[p] = true
		for _, tid := range tids {
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
	dir := w.dir(pid, tid)
	if on == nil || on[SourceDelay] {
		if text := w.read(dir, "schedstat"); text != nil {
			if n, ok := parseCounts3(text); ok && n != [3]uint64{} {
				w.delays = true
				t.delay.set(n[1])
			}
		}
	}
	if on == nil || on[SourceSched] {
		if text := w.read(dir, "sched"); text != nil {
			w.parseSched(text, t)
		}
	}
	if on == nil || on[SourceChildren] {
		for field := range bytes.FieldsSeq(w.read(dir, "children")) {
			if n, err := strconv.Atoi(string(field)); err == nil && n > 0 {
				w.queue = append(w.queue, n)
			}
		}
	}
}

// dir is the folder of a thread, built without fmt: this runs for every thread
// in every poll.
func (w *taskWatch) dir(pid, tid int) string {
	w.path = append(w.path[:0], "proc/"...)
	w.path = strconv.AppendInt(w.path, int64(pid), 10)
	w.path = append(w.path, "/task/"...)
	w.path = strconv.AppendInt(w.path, int64(tid), 10)
	return string(w.path)
}

// read reads a small file of a thread; nil when there is none.
func (w *taskWatch) read(dir, name string) []byte {
	file, err := w.fs.open(dir, name)
	if err != nil {
		return nil
	}
	defer file.Close()
	n := 0
	for {
		got, err := file.Read(w.buf[n:])
		n += got
		if err != nil || n == len(w.buf) {
			// A thread that ended before all was read has nothing to say.
			if err != nil && !errors.Is(err, io.EOF) {
				return nil
			}
			return w.buf[:n]
		}
	}
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

// numberFile is a file with one number, held open for repeated reading.
type numberFile struct {
	file *os.File
	buf  [32]byte
}

// openNumber opens such a file; nil when there is none.
func (f FS) openNumber(name string) *numberFile {
	file, err := f.open(name)
	if err != nil {
		return nil
	}
	return &numberFile{file: file}
}

func (n *numberFile) read() (uint64, error) {
	got, err := n.file.ReadAt(n.buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	v, ok := parseCount(bytes.TrimSpace(n.buf[:got]))
	if !ok {
		return 0, fmt.Errorf("cannot read %s: %q is not a count", n.file.Name(), n.buf[:got])
	}
	return v, nil
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
