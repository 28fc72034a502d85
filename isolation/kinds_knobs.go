package isolation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"goset/cpulist"
	"goset/internal/lazy"
)

// The kinds of change of the layers about interrupts, clocks and hotplug.
const (
	// KindIRQ is the smp_affinity_list of an interrupt: its number may come to
	// be another device's.
	KindIRQ Kind = "irq"
	// KindSpread is an interrupt whose CPUs go offline, for which the kernel
	// then takes all CPUs. The new value is what that holds at least.
	KindSpread Kind = "spread"
	// KindStranded is a thread that loses CPUs which go offline: the kernel
	// then lets it run on all CPUs of its cpuset, or on what is left of its
	// own. The new value is what the first holds at least, and after a
	// semicolon, where there is one, the second.
	KindStranded Kind = "stranded"
	// KindKthread is a thread of the kernel that may be moved, while CPUs go and
	// come. It is like KindStranded, but for CPUs that are offline before, which
	// count: the kernel lets it run there once they are online.
	KindKthread Kind = "kthread"
	// KindClock is a limit of a clock, in kHz. Drivers round what is written.
	KindClock Kind = "clock"
	// KindFloor is a number that the kernel lowers as a side effect. The new
	// value is the old one.
	KindFloor Kind = "floor"
)

// knobKind is the table of these kinds.
func knobKind(name Kind) (kind, bool) {
	file := kind{valid: validFile, read: kernel.readFile, write: kernel.writeFile}
	switch name {
	case KindIRQ, KindSpread:
		file.valid, file.same, file.identify, file.write = validIRQ, sameCPUs, identifyIRQ, writeIRQ
		if name == KindSpread {
			file.ours = holdsCPUs
		}
		return file, true
	case KindStranded:
		return kind{valid: validTask, read: readAffinity, write: writeAffinity, same: sameCPUs, ours: strandedCPUs}, true
	case KindKthread:
		return kind{valid: validTask, read: readWhole, write: writeAffinity, same: sameCPUs, ours: strandedCPUs, undo: undoWhole}, true
	case KindClock:
		file.same, file.ours, file.write, file.lags = sameNumber, nearClock, writeClock, true
		return file, true
	case KindFloor:
		file.same, file.ours = sameNumber, lowered
		return file, true
	}
	return kind{}, false
}

var irqFile = lazy.Regexp(`^/proc/irq/(\d{1,9})/smp_affinity_list$`)

// validIRQ accepts the affinity of an interrupt.
func validIRQ(object string) error {
	if !irqFile().MatchString(object) {
		return fmt.Errorf("%.200q is no affinity of an interrupt", object)
	}
	return nil
}

// identifyIRQ names the device behind an interrupt: what sysfs says (from
// kernel 4.9 on), or the handlers that have folders in /proc/irq/N.
func identifyIRQ(k kernel, object string) (string, error) {
	number := irqFile().FindStringSubmatch(object)[1]
	var words []string
	for _, name := range []string{"chip_name", "hwirq", "actions"} {
		text, err := optionalFile(k, "/sys/kernel/irq/"+number+"/"+name)
		if err != nil {
			return "", err
		}
		words = append(words, text)
	}
	if id := strings.Join(words, " "); strings.TrimSpace(id) != "" {
		return strings.ToValidUTF8(id, "?"), nil
	}
	names, err := k.entries("/proc/irq/" + number)
	if err != nil {
		return "", err
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		return slices.Contains([]string{"affinity_hint", "effective_affinity", "effective_affinity_list", "node", "smp_affinity", "smp_affinity_list", "spurious"}, n)
	})
	slices.Sort(names)
	return strings.ToValidUTF8(strings.Join(names, " "), "?"), nil
}

// holdsCPUs says that a list holds all CPUs of another one that is not empty.
func holdsCPUs(current, least string) bool {
	now, nerr := cpulist.Parse(strings.TrimSpace(current))
	want, werr := cpulist.Parse(strings.TrimSpace(least))
	return nerr == nil && werr == nil && !want.Empty() && want.SubsetOf(now)
}

// strandedCPUs says that a thread's CPUs are what losing some made of them.
func strandedCPUs(current, written string) bool {
	least, rest, _ := strings.Cut(written, ";")
	return holdsCPUs(current, least) || rest != "" && sameCPUs(current, rest)
}

// readWhole reads the CPUs of a thread with those that are offline, which
// sched_getaffinity leaves out.
func readWhole(k kernel, object string) (string, error) {
	tid, _, err := liveTask(k, object)
	if err != nil {
		return "", err
	}
	text, err := k.readFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return "", err
	}
	cpus, err := parseStatusCPUs(text)
	if err != nil {
		return "", fmt.Errorf("cannot tell the CPUs of thread %d: %w", tid, err)
	}
	return cpus.String(), nil
}

// parseStatusCPUs takes the CPUs out of /proc/TID/status.
func parseStatusCPUs(text string) (cpulist.Set, error) {
	for line := range strings.Lines(text) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return cpulist.Parse(strings.TrimSpace(list))
		}
	}
	return cpulist.Set{}, errors.New("its status has no Cpus_allowed_list")
}

// undoWhole gives a thread its CPUs back, but for those that are offline where
// the kernel takes these out of what is written (seen on 6.1).
func undoWhole(k kernel, e Entry) error {
	if err := writeAffinity(k, e.Object, e.Old); err != nil {
		return err
	}
	now, err := readWhole(k, e.Object)
	if err != nil {
		return err
	}
	online, err := everyone(k)
	if err != nil {
		return err
	}
	old, err := cpulist.Parse(e.Old)
	if err == nil && sameCPUs(now, old.Intersect(online).String()) {
		return errLeft
	}
	return err
}

// writeIRQ writes a mask and waits until it reads so. An interrupt that comes in
// that moment makes the kernel show the old mask while it changes over
// (kernel/irq/migration.c: irq_move_masked_irq).
func writeIRQ(k kernel, object, value string) error {
	return writeAndWait(k, object, value, sameCPUs, irqPatience)
}

// writeClock writes a limit and waits until it is in force: the kernel leaves
// that to a worker (drivers/base/power/qos.c, cpufreq.c: cpufreq_notifier_min),
// which a busy machine lets wait. A limit that the driver rounds never reads as
// it was written; what it reads then is the caller's to judge.
func writeClock(k kernel, object, value string) error {
	return writeAndWait(k, object, value, sameNumber, clockPatience)
}

// writeAndWait writes a value and waits for a while until it reads so.
func writeAndWait(k kernel, object, value string, same func(a, b string) bool, patience time.Duration) error {
	if err := k.writeFile(object, value); err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause *= 2 {
		now, err := k.readFile(object)
		if err != nil || same(now, value) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// irqPatience bounds the wait for an interrupt to change over.
const irqPatience = 200 * time.Millisecond

// clockPatience bounds the wait for a limit to be in force.
const clockPatience = time.Second

// nearClock says that a limit came of writing another one.
func nearClock(current, written string) bool {
	got, gerr := parseKHz(current)
	want, werr := parseKHz(written)
	return gerr == nil && werr == nil && near(got, want)
}

// lowered says that a number is below what it was.
func lowered(current, before string) bool {
	now, nerr := strconv.ParseInt(strings.TrimSpace(current), 10, 64)
	was, werr := strconv.ParseInt(strings.TrimSpace(before), 10, 64)
	return nerr == nil && werr == nil && now < was
}
