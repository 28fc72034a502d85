package isolation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"goset/cpulist"
	"goset/host"
)

// steerLayer keeps device interrupts off the task's CPUs and their SMT
// siblings: those that are routed there now, by their own mask, and those that
// are set up during the run, by the default mask. While the run lasts it looks
// again, since drivers move interrupts too.
//
// What cannot be steered is no failure of the layer and is said: a managed
// interrupt (the queues of NVMe and virtio-blk) belongs to a CPU, and only the
// task's own I/O raises it there, unless CPUs share a queue.
type steerLayer struct {
	machineLayer
	fence cpulist.Set // the task's CPUs and their siblings
	rest  cpulist.Set // where interrupts may go
	irqs  map[int]*steered
	drift int // times that interrupts were found on the fence after all
	// scanned is true once every interrupt was looked at.
	scanned bool
	// first is the masks of those that were not on the fence then.
	first map[int]cpulist.Set
	// was and given are the default mask before the run and during it; empty:
	// it stayed.
	was, given cpulist.Set
	// pause is the least time between two looks of a run; due is the next.
	pause time.Duration
	due   time.Time
	fault string // the first thing that was not as it should be
}

// steered is what became of one interrupt that was routed to the fence.
type steered struct {
	name    string
	verdict verdict
	target  cpulist.Set
	why     string
	moves   int // how often it was steered
}

// verdict says what became of an interrupt.
type verdict string

const (
	// irqSteered is an interrupt that goes elsewhere.
	irqSteered verdict = "steered"
	// irqPending has its new mask and moves at its next occurrence, which
	// still comes to the old CPU: x86 without interrupt remapping.
	irqPending verdict = "pending"
	// irqRefused can never be moved: managed, per CPU, or bound by its chip.
	irqRefused verdict = "refused"
	// irqFailed could not be moved this time: the CPUs are out of vectors.
	irqFailed verdict = "failed"
	// irqVanished was freed meanwhile.
	irqVanished verdict = "vanished"
)

// The bounds of the looks during a run, and of the fight with somebody who
// moves an interrupt back each time.
const (
	steerPause = 250 * time.Millisecond
	maxMoves   = 5
)

const defaultMaskFile = "/proc/irq/default_smp_affinity"

func newSteerLayer(r *applied) layer {
	if !r.mode.Steer {
		return nil
	}
	return &steerLayer{irqs: map[int]*steered{}, first: map[int]cpulist.Set{}, pause: steerPause}
}

func (*steerLayer) key() string { return "steer" }

func (l *steerLayer) probe(r *applied) *Unsupported {
	if r.unpinned() {
		return &Unsupported{Reason: "interrupts are steered off CPUs, and the mode names none", Hint: `add cpus = "quietest"`}
	}
	if _, err := r.kernel.readFile(defaultMaskFile); err != nil {
		return &Unsupported{Reason: fmt.Sprintf("interrupts cannot be steered here (%v)", err), Hint: "a container needs the host's /proc/irq, writable"}
	}
	if r.cpus.Empty() {
		return nil
	}
	_, _, u := l.sides(r)
	return u
}

// sides divides the online CPUs.
func (l *steerLayer) sides(r *applied) (fence, rest cpulist.Set, u *Unsupported) {
	online, err := readSet(r.kernel, cpuFolder+"/online")
	if err == nil {
		fence, err = siblingsOf(r.kernel, r.cpus)
	}
	if err != nil {
		return fence, rest, &Unsupported{Reason: err.Error(), Hint: `leave "steer" out`}
	}
	if rest = online.Minus(fence); rest.Empty() {
		return fence, rest, &Unsupported{
			Reason: fmt.Sprintf("no CPU is left for the interrupts: the task and the SMT siblings of its CPUs take all of %s", online),
			Hint:   "lower n, or leave CPUs of another core",
		}
	}
	return fence, rest, nil
}

func (l *steerLayer) enforce(r *applied) error {
	var u *Unsupported
	if l.fence, l.rest, u = l.sides(r); u != nil {
		return u
	}
	// The default first: an interrupt that is set up in between has it.
	if err := l.setDefault(r); err != nil {
		return err
	}
	if err := l.scan(r); err != nil {
		return err
	}
	l.due = time.Now().Add(l.pause)
	return nil
}

// setDefault keeps interrupts that are set up from now on off the fence.
func (l *steerLayer) setDefault(r *applied) error {
	text, err := r.kernel.readFile(defaultMaskFile)
	if err != nil {
		return err
	}
	mask, err := cpulist.ParseMask(text)
	if err != nil {
		return fmt.Errorf("cannot read %s: %v", defaultMaskFile, err)
	}
	if !mask.Intersects(l.fence) {
		return nil
	}
	l.was, l.given = mask, l.without(mask)
	err = r.journal.Set(KindMask, defaultMaskFile, l.given.Mask())
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EROFS) {
		return &Unsupported{Reason: err.Error(), Hint: "a container needs the host's /proc/irq, writable"}
	}
	return err
}

// without takes the fence out of a mask. What has no online CPU then may go
// everywhere else: the kernel refuses a mask without one.
func (l *steerLayer) without(mask cpulist.Set) cpulist.Set {
	if target := mask.Minus(l.fence); target.Intersects(l.rest) {
		return target
	}
	return l.rest
}

// scan looks at every interrupt and steers those that are on the fence.
func (l *steerLayer) scan(r *applied) error {
	rows, err := interruptRows(r.kernel)
	if err != nil {
		return err
	}
	for n, s := range l.irqs {
		if _, there := rows[n]; !there && s.verdict != irqVanished {
			s.verdict, s.why = irqVanished, "it was freed"
		}
	}
	for _, n := range sortedKeys(rows) {
		if err := l.look(r, n, rows[n]); err != nil {
			return err
		}
	}
	l.scanned = true
	return nil
}

// look looks at one interrupt.
func (l *steerLayer) look(r *applied, n int, name string) error {
	mask, route, err := routeOf(r.kernel, n)
	if isGone(err) || errors.Is(err, syscall.EIO) {
		return nil
	}
	if err != nil {
		return err
	}
	s := l.irqs[n]
	if s != nil && (s.name != name || s.verdict == irqVanished) {
		// Its number is another device's now.
		s = nil
	}
	on := route.Intersects(l.fence)
	switch {
	case s == nil && !on:
		return l.born(r, n, name, mask)
	case s == nil:
		s = &steered{name: name, why: "it was set up on the task's CPUs during the run"}
		l.irqs[n] = s
	case s.verdict == irqRefused:
		return nil
	case mask.Equal(s.target):
		s.verdict = irqSteered
		if on {
			s.verdict = irqPending
		}
		return nil
	case !on:
		return nil
	default:
		l.drift++
		s.why = fmt.Sprintf("somebody moved it back to %s", mask)
	}
	if s.moves == maxMoves {
		s.verdict = irqFailed
		return nil
	}
	late := l.scanned && s.moves == 0
	err = l.steer(r, n, s, mask)
	if late && (s.verdict == irqSteered || s.verdict == irqPending) {
		l.drift++
	}
	return err
}

// born remembers the masks of interrupts at first, and later puts those into the
// journal that came to have the default of the run: their driver set them up
// meanwhile, as drivers do that are bound anew or when a network interface comes
// up. After the run they get what they had, or the default from before it.
func (l *steerLayer) born(r *applied, n int, name string, mask cpulist.Set) error {
	old, known := l.first[n]
	if !known {
		old = l.was
	}
	switch {
	case !l.scanned:
		l.first[n] = mask
		return nil
	case l.given.Empty() || !mask.Equal(l.given) || mask.Equal(old):
		return nil
	}
	l.first[n] = mask
	// A managed interrupt chooses its mask itself, and takes no other.
	if err := r.kernel.writeFile(affinityFile(n), mask.String()); err != nil {
		return nil //nolint:nilerr // it cannot be moved, and so not be put back
	}
	if err := r.journal.Adopt(KindIRQ, affinityFile(n), old.String(), name); err != nil && !isGone(err) {
		return err
	}
	return nil
}

// steer writes the mask of one interrupt. The error is for what is no answer
// about this interrupt.
func (l *steerLayer) steer(r *applied, n int, s *steered, mask cpulist.Set) error {
	s.moves++
	target := l.without(mask)
	err := r.journal.SetAs(KindIRQ, affinityFile(n), target.String(), s.name)
	var set *SetError
	switch {
	case err == nil:
	case isGone(err):
		s.verdict, s.why = irqVanished, "it was freed"
		return nil
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.EPERM):
		s.verdict, s.why = irqRefused, "managed or per-CPU"
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EBUSY):
		s.verdict, s.why = irqFailed, err.Error()
		return nil
	case errors.As(err, &set):
		return fmt.Errorf("cannot steer interrupt %d (%s): %w", n, s.name, err)
	default:
		return err
	}
	if !l.scanned {
		s.why = ""
	}
	s.target, s.verdict = target, irqSteered
	if _, route, err := routeOf(r.kernel, n); err == nil && route.Intersects(l.fence) {
		s.verdict = irqPending
	}
	return nil
}

func (l *steerLayer) check(r *applied, at moment) {
	now := time.Now()
	if at.phase == beforeRun || at.phase == duringRun && now.Before(l.due) {
		return
	}
	l.due = now.Add(l.pause)
	if err := l.scan(r); err != nil {
		l.fail(err.Error())
	}
	text, err := r.kernel.readFile(defaultMaskFile)
	if err != nil {
		l.fail(err.Error())
		return
	}
	if mask, err := cpulist.ParseMask(text); err != nil || mask.Intersects(l.fence) {
		l.fail(fmt.Sprintf("%s came to be %s", defaultMaskFile, text))
	}
}

func (l *steerLayer) fail(what string) {
	if l.fault == "" {
		l.fault = what
	}
}

// state counts: applied interrupts have their new mask, rejected ones could
// not be given one, remaining ones are still routed to the fence.
func (l *steerLayer) state() LayerState {
	var applied, rejected, remaining, failed int
	for _, s := range l.irqs {
		switch s.verdict {
		case irqSteered, irqPending:
			applied++
		case irqRefused:
			rejected++
		case irqFailed:
			rejected++
			failed++
		}
		if s.verdict != irqSteered && s.verdict != irqVanished {
			remaining++
		}
	}
	s := LayerState{
		Layer: l.key(), Asked: "true",
		Achieved: fmt.Sprintf("off %s: applied %d, rejected %d, remaining %d, drift %d", l.fence, applied, rejected, remaining, l.drift),
		Held:     !l.rest.Empty() && failed == 0 && l.drift == 0 && l.fault == "",
		Note:     l.fault,
	}
	for _, v := range []verdict{irqPending, irqRefused, irqFailed, irqVanished} {
		s = s.with(l.list(v))
	}
	if l.drift > 0 {
		s = s.with(l.drifted())
	}
	return s
}

// maxListed bounds the interrupts that are named for one verdict.
const maxListed = 16

// list names the interrupts of a verdict.
func (l *steerLayer) list(v verdict) string {
	var words []string
	for _, n := range sortedKeys(l.irqs) {
		if s := l.irqs[n]; s.verdict == v {
			words = append(words, fmt.Sprintf("%d %s", n, s.name))
		}
	}
	if len(words) == 0 {
		return ""
	}
	if more := len(words) - maxListed; more > 0 {
		words = append(words[:maxListed], fmt.Sprintf("and %d more", more))
	}
	meaning := map[verdict]string{
		irqPending: " (moves when it next occurs)", irqRefused: " (managed or per-CPU: the kernel moves it for nobody)",
		irqFailed: "", irqVanished: " (freed meanwhile)",
	}
	return string(v) + ": " + strings.Join(words, ", ") + meaning[v]
}

// drifted says of one interrupt who came back.
func (l *steerLayer) drifted() string {
	for _, n := range sortedKeys(l.irqs) {
		if s := l.irqs[n]; s.why != "" && (s.verdict == irqSteered || s.verdict == irqPending || s.verdict == irqFailed) {
			return fmt.Sprintf("interrupt %d %s: %s", n, s.name, s.why)
		}
	}
	return ""
}

// affinityFile is where the CPUs of an interrupt are read and set.
func affinityFile(n int) string { return fmt.Sprintf("/proc/irq/%d/smp_affinity_list", n) }

// irqNumbers lists the folders of /proc/irq.
func irqNumbers(k kernel) ([]int, error) {
	names, err := k.entries("/proc/irq")
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// interruptRows reads the interrupts that have handlers, with their names.
func interruptRows(k kernel) (map[int]string, error) {
	text, err := k.readFile("/proc/interrupts")
	if err != nil {
		return nil, err
	}
	table, err := host.ParseInterrupts(bytes.TrimRight([]byte(text), "\n"))
	if err != nil {
		return nil, err
	}
	rows := map[int]string{}
	for i := range table.Rows {
		if n := table.Rows[i].IRQ(); n >= 0 {
			rows[n] = cmp.Or(table.Rows[i].Device(), "unnamed")
		}
	}
	return rows, nil
}

// routeOf reads the mask of an interrupt and the CPUs it goes to now. Where the
// kernel does not keep those, any of the mask.
func routeOf(k kernel, n int) (mask, route cpulist.Set, err error) {
	if mask, err = readSet(k, affinityFile(n)); err != nil {
		return mask, route, err
	}
	text, err := optionalFile(k, fmt.Sprintf("/proc/irq/%d/effective_affinity_list", n))
	if err != nil {
		return mask, route, err
	}
	if route, err = cpulist.Parse(text); err != nil {
		return mask, route, fmt.Errorf("cannot read the effective affinity of interrupt %d: %v", n, err)
	}
	if route.Empty() {
		route = mask
	}
	return mask, route, nil
}

func sortedKeys[V any](m map[int]V) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
