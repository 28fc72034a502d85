package host

import "slices"

// CounterDelta is by how much a counter of 32 bits went up. The kernel keeps
// interrupt counts in an unsigned int and prints them so, and a busy row wraps
// within a day. A value that is lower by more than half the range was not
// wrapped but started anew: the interrupt was freed and requested again.
func CounterDelta(before, after uint64) uint64 {
	if after >= before {
		return after - before
	}
	if before>>32 == 0 {
		if d := uint64(uint32(after) - uint32(before)); d < 1<<31 {
			return d
		}
	}
	return after
}

// Since is the difference of two readings: a reading with the rows of x and
// the columns that both have. A CPU that came online in between has no
// difference: what it counted before was not printed. A row that appeared
// counts from zero, because the kernel leaves out rows while they are zero or
// without a handler; a row that vanished is lost. Since nil is since boot.
func (x *Interrupts) Since(before *Interrupts) *Interrupts {
	if before == nil {
		before = x.zeroed()
	}
	d := &Interrupts{}
	d.Sub(x, before)
	return d
}

// zeroed is a reading of the same rows and columns before anything was counted.
func (x *Interrupts) zeroed() *Interrupts {
	z := &Interrupts{CPUs: x.CPUs, column: x.column, Rows: slices.Clone(x.Rows)}
	for i := range z.Rows {
		z.Rows[i].Counts = make([]uint64, len(z.Rows[i].Counts))
	}
	return z
}

// Sub makes d the difference of after and before, as [Interrupts.Since] does,
// and allocates nothing while rows and columns stay the same. d must be
// neither of the two.
func (d *Interrupts) Sub(after, before *Interrupts) {
	d.layOut(after, before)
	same := slices.Equal(after.CPUs, before.CPUs) && slices.Equal(d.CPUs, after.CPUs)
	for i := range after.Rows {
		row, out := &after.Rows[i], &d.Rows[i]
		out.Label, out.Occurrence, out.Text, out.Global = row.Label, row.Occurrence, row.Text, row.Global
		old := before.rowLike(i, row)
		switch {
		case same || row.Global:
			d.subRow(out, row, old)
		default:
			d.subColumns(out, row, old, after, before)
		}
	}
}

// rowLike finds the row of the same identity, which mostly stands at the same
// place.
func (x *Interrupts) rowLike(i int, row *InterruptRow) *InterruptRow {
	if i < len(x.Rows) && x.Rows[i].Label == row.Label && x.Rows[i].Occurrence == row.Occurrence {
		return &x.Rows[i]
	}
	return x.Row(row.Label, row.Occurrence)
}

// layOut gives d the common columns and storage for the rows of after.
func (d *Interrupts) layOut(after, before *Interrupts) {
	common := 0
	for _, cpu := range after.CPUs {
		if before.has(cpu) {
			if common == len(d.CPUs) || d.CPUs[common] != cpu {
				d.CPUs = append(d.CPUs[:common:common], cpu)
			}
			common++
		}
	}
	d.CPUs = d.CPUs[:common]
	d.column = slices.Grow(d.column[:0], len(after.column))[:len(after.column)]
	clear(d.column)
	for i, cpu := range d.CPUs {
		d.column[cpu] = i + 1
	}
	d.header = d.header[:0]
	d.Rows = slices.Grow(d.Rows[:0], len(after.Rows))[:len(after.Rows)]
	// A global row keeps its own count even where no column is common.
	width := max(len(d.CPUs), len(after.CPUs))
	d.counts = slices.Grow(d.counts[:0], width*len(after.Rows))[:width*len(after.Rows)]
	for i := range d.Rows {
		d.Rows[i].Counts = d.counts[i*width : i*width : (i+1)*width]
	}
}

func (x *Interrupts) has(cpu int) bool {
	return cpu >= 0 && cpu < len(x.column) && x.column[cpu] != 0
}

// subRow fills a row whose columns are those of the row before.
func (d *Interrupts) subRow(out, row, old *InterruptRow) {
	out.Counts = out.Counts[:len(row.Counts)]
	if old == nil || len(old.Counts) != len(row.Counts) {
		copy(out.Counts, row.Counts)
		return
	}
	for j, n := range row.Counts {
		out.Counts[j] = CounterDelta(old.Counts[j], n)
	}
}

// subColumns fills a row column by column, by CPU number.
func (d *Interrupts) subColumns(out, row, old *InterruptRow, after, before *Interrupts) {
	out.Counts = out.Counts[:len(d.CPUs)]
	for j, cpu := range d.CPUs {
		n, _ := after.Count(row, cpu)
		was := uint64(0)
		if old != nil {
			was, _ = before.Count(old, cpu)
		}
		out.Counts[j] = CounterDelta(was, n)
	}
}
