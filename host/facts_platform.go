package host

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// frequency reads cpufreq by policy: CPUs that share one have the same words.
func (r *factReader) frequency() {
	const base = "sys/devices/system/cpu/"
	q := &FrequencyFacts{IdleDriver: r.text(base + "cpuidle/current_driver")}
	// current_governor is the newer name (kernel 5.8).
	if q.IdleGovernor = r.text(base + "cpuidle/current_governor"); q.IdleGovernor == "" {
		q.IdleGovernor = r.text(base + "cpuidle/current_governor_ro")
	}
	for _, dir := range r.policies() {
		p, ok := r.policy(dir)
		if !ok {
			continue
		}
		q.Driver = append(q.Driver, p.Driver)
		q.Governor = appendWord(q.Governor, p.Governor)
		q.EPP = appendWord(q.EPP, p.EPP)
		q.MinHz = extreme(q.MinHz, p.MinKHz, -1)
		q.MaxHz = extreme(q.MaxHz, p.MaxKHz, +1)
	}
	for _, words := range []*[]string{&q.Driver, &q.Governor, &q.EPP} {
		slices.Sort(*words)
		*words = slices.Compact(*words)
	}
	q.Turbo = r.turbo()
	if len(q.Driver) > 0 || q.Turbo != nil || q.IdleDriver != "" {
		r.facts.Frequency = q
	}
}

// Policy is one policy of cpufreq: CPUs whose clock changes together
// (Documentation/admin-guide/pm/cpufreq.rst). Frequencies are in kHz, as the
// files have them and take them.
type Policy struct {
	Path     string // "/sys/devices/system/cpu/cpufreq/policy0"
	Driver   string
	Governor string
	EPP      string // energy_performance_preference; "": none
	// MinKHz and MaxKHz are the limits in force.
	MinKHz, MaxKHz *int64

	// What follows is read by [ReadSurvey] alone: the governors that there are,
	// the limits of the hardware, and the frequency that the maker rates it for.
	Governors             []string
	LowestKHz, HighestKHz *int64
	BaseKHz               *int64
}

// policy reads a folder of cpufreq. An offline policy answers EBUSY: it is no
// part of this machine now.
func (r *factReader) policy(dir string) (Policy, bool) {
	p := Policy{Path: "/" + dir}
	var err error
	if p.Driver, err = r.fs.text(dir, "scaling_driver"); err != nil {
		r.note(p.Path+"/scaling_driver", err)
		return p, false
	}
	p.Governor = r.text(dir + "/scaling_governor")
	p.EPP = r.text(dir + "/energy_performance_preference")
	p.MinKHz = r.number(dir + "/scaling_min_freq")
	p.MaxKHz = r.number(dir + "/scaling_max_freq")
	return p, true
}

func appendWord(words []string, word string) []string {
	if word == "" {
		return words
	}
	return append(words, word)
}

// extreme keeps the lower (-1) or higher (+1) of two frequencies, in Hz; the
// files have kHz.
func extreme(hz, khz *int64, sign int64) *int64 {
	if khz == nil {
		return hz
	}
	v := *khz * 1000
	if hz != nil && (v-*hz)*sign <= 0 {
		return hz
	}
	return &v
}

// policies are the folders of cpufreq; before kernel 4.3 they are the CPUs'.
func (r *factReader) policies() []string {
	const base = "sys/devices/system/cpu/"
	var dirs []string
	ids, err := r.fs.numbered("policy", base+"cpufreq")
	r.note("/"+base+"cpufreq", err)
	for id := range ids.All() {
		dirs = append(dirs, base+"cpufreq/policy"+strconv.Itoa(id))
	}
	if len(dirs) > 0 {
		return dirs
	}
	ids, err = r.fs.numbered("cpu", base)
	r.note("/"+base, err)
	for id := range ids.All() {
		dirs = append(dirs, cpuDir(id)+"/cpufreq")
	}
	return dirs
}

// Knob is a file with a number that says yes or no, or how much.
type Knob struct {
	Path  string // "/sys/devices/system/cpu/intel_pstate/no_turbo"
	Value int64
}

// knob reads an optional one.
func (r *factReader) knob(name string) *Knob {
	n := r.number(name)
	if n == nil {
		return nil
	}
	return &Knob{Path: "/" + name, Value: *n}
}

// NoTurbo is the name of the knob whose 1 is off; that of the others, boost, is
// on at 1.
const NoTurbo = "no_turbo"

// On reports whether a knob of [Survey.Turbo] allows more than the base
// frequency.
func (k Knob) On() bool { return (k.Value == 0) == (path.Base(k.Path) == NoTurbo) }

// turboKnob reads the two ways of saying it: intel_pstate's no_turbo, and the
// other drivers' boost.
func (r *factReader) turboKnob() *Knob {
	if k := r.knob("sys/devices/system/cpu/intel_pstate/" + NoTurbo); k != nil {
		return k
	}
	return r.knob("sys/devices/system/cpu/cpufreq/boost")
}

func (r *factReader) turbo() *bool {
	k := r.turboKnob()
	if k == nil {
		return nil
	}
	return new(k.On())
}

func (r *factReader) platform() {
	f := &r.facts
	f.ASLR = r.number("proc/sys/kernel/randomize_va_space")
	f.THP = chosen(r.text("sys/kernel/mm/transparent_hugepage/enabled"))
	f.Clocksource = r.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
	f.NUMABalancing = r.number("proc/sys/kernel/numa_balancing")
	f.Autogroup = r.number("proc/sys/kernel/sched_autogroup_enabled")
	r.mitigations()
	r.hypervisor()
	r.container()
}

func (r *factReader) mitigations() {
	const dir = "sys/devices/system/cpu/vulnerabilities"
	folder, err := r.fs.open(dir)
	r.note("/"+dir, err)
	if err != nil {
		return
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	r.note("/"+dir, err)
	for _, name := range names {
		if text := r.text(dir + "/" + name); text != "" {
			if r.facts.Mitigations == nil {
				r.facts.Mitigations = map[string]string{}
			}
			r.facts.Mitigations[name] = text
		}
	}
}

// hypervisor names what a virtual machine runs on: what Xen says of itself, a
// device tree's node, or the maker of the board when the CPU says that there is
// a hypervisor.
func (r *factReader) hypervisor() {
	if kind := r.text("sys/hypervisor/type"); kind != "" {
		r.facts.Hypervisor = &kind
		return
	}
	if node := r.text("proc/device-tree/hypervisor/compatible"); node != "" {
		r.facts.Hypervisor = &node
		return
	}
	vendor, err := r.fs.text("sys/class/dmi/id/sys_vendor")
	r.note("/sys/class/dmi/id/sys_vendor", err)
	product, err := r.fs.text("sys/class/dmi/id/product_name")
	r.note("/sys/class/dmi/id/product_name", err)
	name := strings.TrimSpace(vendor + " " + product)
	// Not every architecture has the flag; these makers make nothing else.
	virtual := r.facts.Hypervisor != nil || slices.ContainsFunc(
		[]string{"QEMU", "KVM", "VMware", "VirtualBox", "Amazon EC2 ", "Google Compute Engine", "Bochs", "Xen"},
		func(maker string) bool { return strings.Contains(name, maker) })
	if virtual && name != "" {
		r.facts.Hypervisor = &name
	}
}

func (r *factReader) container() {
	// systemd-nspawn, podman and others say it; docker leaves an empty file.
	if r.facts.Container = r.text("run/systemd/container"); r.facts.Container != "" {
		return
	}
	file, err := r.fs.open(".dockerenv")
	if err == nil {
		file.Close()
		r.facts.Container = "docker"
	} else if !errors.Is(err, fs.ErrPermission) {
		r.note("/.dockerenv", err)
	}
}
