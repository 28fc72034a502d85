package host

import (
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"goset/cpulist"
)

// Device names what raises the interrupt: of a numbered row the handlers
// ("eth0", "ehci_hcd:usb1, mmc0"; "" when none is registered), of another row
// its description. The text before the handlers is the chip, the hardware's
// number and the trigger, in as many forms as there are chips
// (kernel/irq/proc.c: show_interrupts):
//
//	IR-IO-APIC   2-edge      timer
//	GIC-0  27 Level     arch_timer
//	APLIC-MSI-d000000.aplic   8 Level   -fasteoi   virtio0
//	xen-dyn     Edge    -event     xenbus
//	XT-PIC  timer
//	MIPS   7  timer
func (r *InterruptRow) Device() string {
	if r.IRQ() < 0 {
		return r.Text
	}
	for rest := r.Text; rest != ""; {
		word, after, gap := cutWord(rest)
		next, _, _ := cutWord(after)
		if isTrigger(word) || gap >= 2 && !isNumber(next) && !isTrigger(next) {
			return dropName(after)
		}
		rest = after
	}
	return ""
}

// cutWord splits text after its first word; gap is how many blanks followed.
func cutWord(text string) (word, after string, gap int) {
	end := strings.IndexByte(text, ' ')
	if end < 0 {
		return text, "", 0
	}
	after = strings.TrimLeft(text[end:], " ")
	return text[:end], after, len(text) - end - len(after)
}

func isNumber(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

// isTrigger reports whether a word ends the chip's part: "Level", "Edge", or
// x86's "2-edge", "16-fasteoi".
func isTrigger(word string) bool {
	if word == "Level" || word == "Edge" {
		return true
	}
	number, kind, ok := strings.Cut(word, "-")
	return ok && isNumber(number) && kind != "" && strings.IndexFunc(kind, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' && r != '-' }) < 0
}

// dropName drops the flow handler's name ("-fasteoi") before the handlers.
func dropName(text string) string {
	if strings.HasPrefix(text, "-") {
		_, text, _ = cutWord(text)
	}
	return text
}

// Steering says whether an interrupt can be moved to other CPUs.
type Steering string

// The kinds of steering.
const (
	// Steerable interrupts go where /proc/irq/N/smp_affinity says.
	Steerable Steering = "steerable"
	// Managed interrupts belong to a queue that the driver has spread over the
	// CPUs; the kernel refuses to move them.
	Managed Steering = "managed"
	// PerCPU interrupts are raised on every CPU for itself: the timer, IPIs.
	PerCPU Steering = "per-cpu"
	// Fixed interrupts cannot be moved for another reason.
	Fixed Steering = "fixed"
)

// managedName matches the handlers that drivers spread over the CPUs, for
// kernels before 6.11, which do not show it in the file's mode: NVMe's I/O
// queues (nvme0q0, the admin queue, is not one) and virtio-blk's requests.
var managedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(nvme\d+q[1-9]\d*|virtio\d+-req\.\d+)$`)
})

// IRQ is what /proc/irq/N says about one interrupt.
type IRQ struct {
	Number int
	// Affinity is the set it is allowed on; Effective the CPUs that it really
	// goes to, absent where the kernel does not keep it.
	Affinity, Effective *cpulist.Set
	// Refused is true when the file's mode says that no write will do (from
	// kernel 6.11 on, kernel/irq/proc.c: register_irq_proc).
	Refused bool
}

// IRQ reads /proc/irq/N; the error is fs.ErrNotExist where there is none.
func (f FS) IRQ(n int) (IRQ, error) {
	number := strconv.Itoa(n)
	irq := IRQ{Number: n}
	file, err := f.open("proc", "irq", number, "smp_affinity_list")
	if err != nil {
		return irq, err
	}
	info, err := file.Stat()
	file.Close()
	if err != nil {
		return irq, err
	}
	irq.Refused = info.Mode().Perm()&0o222 == 0
	affinity, err := f.cpus("proc", "irq", number, "smp_affinity_list")
	// An interrupt can be freed between two reads.
	if irq.Affinity, err = optional(affinity, err); err != nil {
		return irq, err
	}
	effective, err := f.cpus("proc", "irq", number, "effective_affinity_list")
	irq.Effective, err = optional(effective, err)
	return irq, err
}

// Steering says whether the kernel lets the row's interrupt be moved. It reads
// /proc/irq where the row has a number; where that says nothing (no such file,
// as in another machine's dump), the row alone decides.
func (f FS) Steering(r *InterruptRow) (Steering, error) {
	n := r.IRQ()
	if n < 0 {
		return PerCPU, nil
	}
	irq, err := f.IRQ(n)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Fixed, err
	}
	return steering(r, irq), nil
}

func steering(r *InterruptRow, irq IRQ) Steering {
	device := r.Device()
	switch {
	case managed(device):
		return Managed
	// arm64 and RISC-V have the CPU's own timer and counters among the numbers.
	case strings.HasSuffix(device, "arch_timer") || device == "riscv-timer" || device == "arm-pmu":
		return PerCPU
	case irq.Effective != nil && irq.Effective.Empty() && irq.Affinity != nil && !irq.Affinity.Empty():
		return PerCPU
	case irq.Refused, device == "timer", device == "cascade":
		return Fixed
	}
	return Steerable
}

// managed reports whether all handlers of a row are managed queues.
func managed(device string) bool {
	for name := range strings.SplitSeq(device, ", ") {
		if !managedName().MatchString(name) {
			return false
		}
	}
	return true
}
