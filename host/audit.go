package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// AuditOptions say what an audit does.
type AuditOptions struct {
	// Target is the CPU whose interrupts are counted, and a process that runs
	// on it. The caller itself must run elsewhere.
	Target Target
	Reads  int
}

// Audit is what reading each source did to another CPU. It is worth nothing
// unless the control was seen: that proves that this way of counting sees
// interrupts that one CPU causes on another.
type Audit struct {
	CPU     int        `json:"cpu"`
	Kernel  string     `json:"kernel"` // its release
	Version string     `json:"version"`
	Reads   int        `json:"reads"`
	Control AuditRow   `json:"control"`
	Seen    bool       `json:"control_seen"`
	Sources []AuditRow `json:"sources"`
}

// AuditRow is one source.
type AuditRow struct {
	Source string `json:"source"`
	About  string `json:"about"`
	Reads  int    `json:"reads"` // 0: this machine does not have it
	// Caused are the interrupts on the other CPU while the source was read, by
	// kind, and Idle those in as much time without reading.
	Caused IPIs `json:"caused"`
	Idle   IPIs `json:"idle"`
	// Silent is true when the reading was shown to interrupt nobody, and Verdict
	// says it in words.
	Silent  bool   `json:"silent"`
	Verdict string `json:"verdict"`
}

// IPIs are interrupts of a CPU by kind.
type IPIs struct {
	Call       uint64 `json:"CAL"` // function calls
	Reschedule uint64 `json:"RES"`
	TLB        uint64 `json:"TLB"` // shootdowns
	Work       uint64 `json:"IWI"` // IRQ work
	Local      uint64 `json:"LOC"` // the timer
}

// Sum is those that another CPU sends.
func (n IPIs) Sum() uint64 { return n.Call + n.Reschedule + n.TLB + n.Work }

// kind is where a row counts; nil for rows that are no such interrupt. arm64
// numbers its interprocessor interrupts and says what they are in words.
func (n *IPIs) kind(r *InterruptRow) *uint64 {
	switch r.Label {
	case "CAL":
		return &n.Call
	case "RES":
		return &n.Reschedule
	case "TLB":
		return &n.TLB
	case "IWI":
		return &n.Work
	case "LOC":
		return &n.Local
	}
	if !strings.HasPrefix(r.Label, "IPI") {
		return nil
	}
	switch text := strings.ToLower(r.Text); {
	case strings.Contains(text, "function call"):
		return &n.Call
	case strings.Contains(text, "rescheduling"):
		return &n.Reschedule
	case strings.Contains(text, "irq work"):
		return &n.Work
	}
	return nil
}

// controlReads are as many as are needed to be sure: each refresh makes every
// CPU add up its statistics (mm/vmstat.c: vmstat_refresh).
const controlReads = 50

// noiseShare is how many interrupts per read still count as somebody else's: a
// reading that interrupts the CPU does it every time.
const noiseShare = 20

// Audit reads every source many times, and counts the interrupts on the target
// CPU meanwhile. It takes a few seconds. Reading the control needs root.
func (f FS) Audit(ctx context.Context, opt AuditOptions) (*Audit, error) {
	a := &auditor{fs: f, opt: opt}
	var err error
	if a.file, err = f.OpenInterrupts(); err != nil {
		return nil, err
	}
	defer a.file.Close()
	out := &Audit{CPU: opt.Target.CPU, Reads: opt.Reads}
	if out.Kernel, err = f.text("proc/sys/kernel/osrelease"); err != nil {
		return nil, err
	}
	if out.Version, err = f.text("proc/sys/kernel/version"); err != nil {
		return nil, err
	}
	control := Source{Name: "control", About: "/proc/sys/vm/stat_refresh, which interrupts every CPU",
		path: func(FS, Target) string { return "proc/sys/vm/stat_refresh" }}
	if out.Control, err = a.row(ctx, control, controlReads); err != nil {
		return nil, err
	}
	out.Seen = out.Control.Caused.Sum() >= out.Control.Idle.Sum()+uint64(out.Control.Reads)/2 && out.Control.Reads > 0
	if out.Control.Reads > 0 {
		out.Control.Silent, out.Control.Verdict = false, "control: not seen"
		if out.Seen {
			out.Control.Verdict = "control: seen"
		}
	}
	for _, s := range Sources() {
		row, err := a.row(ctx, s, opt.Reads)
		if err != nil {
			return nil, err
		}
		if row.Silent && !out.Seen {
			row.Silent, row.Verdict = false, "not proven: the control was not seen"
		}
		out.Sources = append(out.Sources, row)
	}
	return out, nil
}

// Runs reports whether a kernel of this release and build runs here.
func (f FS) Runs(release, version string) bool {
	is, err1 := f.text("proc/sys/kernel/osrelease")
	built, err2 := f.text("proc/sys/kernel/version")
	return err1 == nil && err2 == nil && is == release && built == version
}

// Proven are the sources that were shown to be silent.
func (a *Audit) Proven() []string {
	var names []string
	for _, row := range a.Sources {
		if row.Silent {
			names = append(names, row.Source)
		}
	}
	return names
}

type auditor struct {
	fs   FS
	opt  AuditOptions
	file *InterruptsFile
	now  Interrupts
}

// count reads the kinds of interrupts of the target CPU.
func (a *auditor) count() (IPIs, error) {
	var n IPIs
	if err := a.file.Read(&a.now); err != nil {
		return n, err
	}
	for i := range a.now.Rows {
		row := &a.now.Rows[i]
		if to := n.kind(row); to != nil {
			v, ok := a.now.Count(row, a.opt.Target.CPU)
			if !ok {
				return n, fmt.Errorf("CPU %d has no column in the interrupts: it is offline", a.opt.Target.CPU)
			}
			*to += v
		}
	}
	return n, nil
}

func (n IPIs) since(before IPIs) IPIs {
	return IPIs{
		Call: CounterDelta(before.Call, n.Call), Reschedule: CounterDelta(before.Reschedule, n.Reschedule),
		TLB: CounterDelta(before.TLB, n.TLB), Work: CounterDelta(before.Work, n.Work), Local: CounterDelta(before.Local, n.Local),
	}
}

// row reads one source, and waits for as long as that took.
func (a *auditor) row(ctx context.Context, s Source, reads int) (AuditRow, error) {
	row := AuditRow{Source: s.Name, About: s.About}
	if err := s.Read(a.fs, a.opt.Target); err != nil {
		row.Verdict = "absent"
		if !absent(err) {
			row.Verdict = "cannot be read: " + cause(err)
		}
		return row, nil
	}
	start := time.Now()
	caused, err := a.during(func() error {
		for range reads {
			if err := errors.Join(ctx.Err(), s.Read(a.fs, a.opt.Target)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return row, fmt.Errorf("cannot audit %s: %w", s.Name, err)
	}
	took := time.Since(start)
	row.Reads, row.Caused = reads, caused
	row.Idle, err = a.during(func() error { return wait(ctx, took) })
	if err != nil {
		return row, fmt.Errorf("cannot audit %s: %w", s.Name, err)
	}
	row.judge()
	return row, nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// during counts what happens while something is done.
func (a *auditor) during(do func() error) (IPIs, error) {
	before, err := a.count()
	if err != nil {
		return IPIs{}, err
	}
	if err := do(); err != nil {
		return IPIs{}, err
	}
	after, err := a.count()
	return after.since(before), err
}

// judge compares what was caused with what happens anyway.
func (r *AuditRow) judge() {
	limit := uint64(r.Reads / noiseShare)
	switch caused, idle := r.Caused.Sum(), r.Idle.Sum(); {
	case idle > limit:
		r.Verdict = fmt.Sprintf("not proven: %d interrupts came without any reading", idle)
	case caused > idle+limit:
		r.Verdict = fmt.Sprintf("loud: %.2g interrupts per read", float64(caused-idle)/float64(r.Reads))
	default:
		r.Silent, r.Verdict = true, "silent"
	}
}
