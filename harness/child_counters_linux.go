package harness

import (
	"strings"

	"goset/cpulist"
	"goset/host"
)

// interrupts counts the interrupts of a run.
type interrupts struct {
	file                *host.InterruptsFile // nil: not to be had
	before, after, diff host.Interrupts
	valid               bool // before was read
}

// open opens /proc/interrupts once: every run of a pinned mode reads it twice.
func (x *interrupts) open() {
	if file, err := host.Local.OpenInterrupts(); err == nil {
		x.file = file
	}
}

// close closes the file.
func (x *interrupts) close() {
	if x.file != nil {
		x.file.Close()
	}
}

// begin reads the counts before a run, where they are wanted.
func (x *interrupts) begin(wanted bool) {
	x.valid = wanted && x.file != nil && x.file.Read(&x.before) == nil
}

// end reads the counts after it, and returns by how much they went up.
func (x *interrupts) end(cpus cpulist.Set) map[string]float64 {
	if !x.valid || x.file.Read(&x.after) != nil {
		return nil
	}
	x.diff.Sub(&x.after, &x.before)
	if cpus.Empty() {
		cpus = x.diff.Set()
	}
	var all, device uint64
	counters := map[string]float64{}
	if !cpus.SubsetOf(x.diff.Set()) {
		return nil
	}
	for i := range x.diff.Rows {
		row := &x.diff.Rows[i]
		var here uint64
		for cpu := range cpus.All() {
			n, ok := x.diff.Count(row, cpu)
			if !ok {
				continue // a row of the whole machine
			}
			here += n
		}
		all += here
		if row.IRQ() >= 0 {
			device += here
		}
		if x.ever(i, cpus) {
			counters[rowCounter(row)] = float64(here)
		}
	}
	counters[CounterInterrupts], counters[CounterDevice] = float64(all), float64(device)
	return counters
}

// ever says that a row has interrupted one of the CPUs since boot: of the
// hundreds of rows of a large machine, few concern a run.
func (x *interrupts) ever(row int, cpus cpulist.Set) bool {
	for cpu := range cpus.All() {
		if n, ok := x.after.Count(&x.after.Rows[row], cpu); ok && n > 0 {
			return true
		}
	}
	return false
}

// rowCounter names the counter of a row: "irq.LOC", "irq.24:nvme0q1". The
// handler's name is in it because numbers differ between boots.
func rowCounter(row *host.InterruptRow) string {
	name := CounterRow + row.Key()
	if fields := strings.Fields(row.Text); row.IRQ() >= 0 && len(fields) > 0 {
		name += ":" + fields[len(fields)-1]
	}
	return name
}
