package harness

import (
	"goset/cpulist"
	"goset/host"
	"goset/isolation"
)

// The counters of a pinned run. Where /proc/interrupts cannot be read, or does
// not have all of the run's CPUs, they are absent.
const (
	// CounterInterrupts is the interrupts of every kind on the run's CPUs.
	CounterInterrupts = "interrupts"
	// CounterDevice is those of them that devices raised: the numbered rows.
	CounterDevice = "device_interrupts"
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

// begin reads the counts before a run.
func (x *interrupts) begin(held *isolation.Held) {
	x.valid = held.Pinned() && x.file != nil && x.file.Read(&x.before) == nil
}

// end reads the counts after it, and returns by how much they went up.
func (x *interrupts) end(cpus cpulist.Set) map[string]float64 {
	if !x.valid || x.file.Read(&x.after) != nil {
		return nil
	}
	x.diff.Sub(&x.after, &x.before)
	var all, device uint64
	if !cpus.SubsetOf(x.diff.Set()) {
		return nil
	}
	for i := range x.diff.Rows {
		row := &x.diff.Rows[i]
		for cpu := range cpus.All() {
			n, ok := x.diff.Count(row, cpu)
			if !ok {
				continue // a row of the whole machine
			}
			all += n
			if row.IRQ() >= 0 {
				device += n
			}
		}
	}
	return map[string]float64{CounterInterrupts: float64(all), CounterDevice: float64(device)}
}
