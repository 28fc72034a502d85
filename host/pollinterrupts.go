package host

import (
	"cmp"
	"slices"
	"strconv"

	"goset/cpulist"
)

// sumInterrupts splits the rows into steerable and fixed ones, and lists those
// that counted, the largest first.
func (p *Poller) sumInterrupts(t *Telemetry) {
	for i := range t.CPUs {
		if p.interrupts.seen[t.CPUs[i].CPU] {
			t.CPUs[i].Steerable, t.CPUs[i].Fixed = new(uint64), new(uint64)
		}
	}
	for i := range p.interrupts.rows {
		row := &p.interrupts.rows[i]
		out := RowTelemetry{Row: row.row.Key(), Device: row.row.Device()}
		var err error
		for j, n := range row.counts {
			if n == 0 {
				continue
			}
			if out.Steering == "" {
				if out.Steering, err = p.fs.Steering(&row.row); err != nil {
					p.fail("steering", err)
				}
			}
			if p.cpus[j].sibling {
				out.Siblings += n
			} else {
				out.Task += n
			}
			if to := t.CPUs[j].Fixed; out.Steering == Steerable {
				*t.CPUs[j].Steerable += n
			} else if to != nil {
				*to += n
			}
		}
		if out.Steering != "" {
			t.Rows = append(t.Rows, out)
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b RowTelemetry) int {
		return cmp.Or(-cmp.Compare(a.Task, b.Task), -cmp.Compare(a.Siblings, b.Siblings))
	})
}

// interruptWatch adds up /proc/interrupts on the watched CPUs.
type interruptWatch struct {
	file            *InterruptsFile
	last, now, diff Interrupts
	rows            []rowSum
	seen            map[int]bool
	homes           map[int]cpulist.Set // where numbered interrupts went before
}

// rowSum is one row's counts, by watched CPU.
type rowSum struct {
	row    InterruptRow // without counts
	counts []uint64
}

func (w *interruptWatch) begin(f FS, task cpulist.Set) error {
	w.seen = map[int]bool{}
	if w.file == nil {
		return nil
	}
	if err := w.file.Read(&w.last); err != nil {
		return err
	}
	w.homes = map[int]cpulist.Set{}
	for i := range w.last.Rows {
		if n := w.last.Rows[i].IRQ(); n >= 0 {
			if home, err := f.irqHome(n); err == nil && !home.Empty() {
				w.homes[n] = home
			}
		}
	}
	return nil
}

// irqHome is where an interrupt goes.
func (f FS) irqHome(n int) (cpulist.Set, error) {
	dir := "proc/irq/" + strconv.Itoa(n)
	home, err := f.cpus(dir, "effective_affinity_list")
	if absent(err) {
		home, err = f.cpus(dir, "smp_affinity_list")
	}
	return home, err
}

// add adds what was counted since the last reading. It allocates nothing while
// rows and columns stay the same.
func (w *interruptWatch) add(p *Poller) error {
	if w.file == nil {
		return nil
	}
	if err := w.file.Read(&w.now); err != nil {
		return err
	}
	w.diff.Sub(&w.now, &w.last)
	w.last, w.now = w.now, w.last
	for i := range p.cpus {
		if cpu := p.cpus[i].cpu; w.diff.has(cpu) && !w.seen[cpu] {
			w.seen[cpu] = true
		}
	}
	for i := range w.diff.Rows {
		row := &w.diff.Rows[i]
		if row.Global {
			continue
		}
		sum := w.rowSum(i, row, len(p.cpus))
		for j := range p.cpus {
			n, _ := w.diff.Count(row, p.cpus[j].cpu)
			sum.counts[j] += n
		}
	}
	return nil
}

// rowSum finds the sum of a row, which mostly stands at the same place. An
// interrupt that another device got is another row.
func (w *interruptWatch) rowSum(i int, row *InterruptRow, cpus int) *rowSum {
	same := func(s *rowSum) bool {
		return s.row.Label == row.Label && s.row.Occurrence == row.Occurrence && s.row.Text == row.Text
	}
	if i < len(w.rows) && same(&w.rows[i]) {
		return &w.rows[i]
	}
	for j := range w.rows {
		if same(&w.rows[j]) {
			return &w.rows[j]
		}
	}
	w.rows = append(w.rows, rowSum{
		row:    InterruptRow{Label: row.Label, Occurrence: row.Occurrence, Text: row.Text},
		counts: make([]uint64, cpus),
	})
	return &w.rows[len(w.rows)-1]
}

// drift finds the interrupts that moved onto the task's CPUs, or counted there
// though they belonged elsewhere; nil where the kernel does not say where
// interrupts go.
func (w *interruptWatch) drift(f FS, p *Poller) []Drift {
	if len(w.homes) == 0 {
		return nil
	}
	found := []Drift{}
	for i := range w.rows {
		row := &w.rows[i]
		irq := row.row.IRQ()
		from, known := w.homes[irq]
		if irq < 0 || !known || from.Intersects(p.opt.Task) {
			continue
		}
		d := Drift{IRQ: irq, Device: row.row.Device(), From: from}
		for j, n := range row.counts {
			if !p.cpus[j].sibling {
				d.Count += n
			}
		}
		to, err := f.irqHome(irq)
		if err == nil {
			d.To = to
		}
		if d.Count > 0 || to.Intersects(p.opt.Task) {
			found = append(found, d)
		}
	}
	return found
}
