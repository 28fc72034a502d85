// Package host reads what this machine is and what its counters say, under one
// root, and changes nothing. Absent is not zero: what the kernel does not have
// is an absent value.
//
// A method of [FS] reads the kernel file that it is named after, and a
// parse function reads its text: counters ([FS.Interrupts], [FS.Stat],
// [FS.Softirqs], [FS.Schedstat], [FS.Process]), the arrangement of the CPUs
// ([FS.Topology]) and the circumstances of a measurement ([ReadFacts]). Only
// [Affinity] asks the kernel itself.
package host

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"goset/cpulist"
)

// Facts is what stands in a manifest about the machine: all that decides a
// measurement and that the measurement does not say itself. Every field that
// could not be read is absent.
type Facts struct {
	// Hostname is left out by [ReadFacts]: a result is published, and its
	// machine need not be. Who asks for it sets it from [FS.Hostname].
	Hostname string `json:"hostname,omitempty"`

	Kernel    KernelFacts     `json:"kernel"`
	CPU       CPUFacts        `json:"cpu"`
	Topology  *TopologyFacts  `json:"topology,omitempty"`
	Frequency *FrequencyFacts `json:"frequency,omitempty"`
	SMT       *SMTFacts       `json:"smt,omitempty"`
	Memory    *MemoryFacts    `json:"memory,omitempty"`

	// ASLR is kernel.randomize_va_space: 0 off, 1 stack and libraries, 2 heap
	// as well.
	ASLR *int64 `json:"aslr,omitempty"`
	// THP is the chosen word of transparent_hugepage/enabled.
	THP string `json:"thp,omitempty"`
	// Mitigations is /sys/devices/system/cpu/vulnerabilities by name.
	Mitigations map[string]string `json:"mitigations,omitempty"`
	// Hypervisor is what this machine runs on: the maker that it names, or
	// "unknown" when there is one without a name; nil on bare metal.
	Hypervisor *string `json:"hypervisor,omitempty"`
	// Container is what systemd or docker says this process runs in.
	Container   string `json:"container,omitempty"`
	Clocksource string `json:"clocksource,omitempty"`
	// NUMABalancing is kernel.numa_balancing: 0 is off.
	NUMABalancing *int64 `json:"numa_balancing,omitempty"`
	// Autogroup is kernel.sched_autogroup_enabled.
	Autogroup *int64 `json:"autogroup,omitempty"`
	// Load holds the load averages of 1, 5 and 15 minutes.
	Load []float64 `json:"load,omitempty"`

	// Unread is what is there and could not be read or understood.
	Unread []Unread `json:"unread,omitempty"`
}

// Unread names something of the machine that could not be read, and why.
type Unread struct {
	What  string `json:"what"`
	Cause string `json:"cause"`
}

// KernelFacts is the running kernel.
type KernelFacts struct {
	Type        string `json:"type,omitempty"`    // "Linux"
	Release     string `json:"release,omitempty"` // "6.12.95+deb12-amd64"
	Version     string `json:"version,omitempty"` // build, flavour and date
	CommandLine string `json:"command_line,omitempty"`
	// Boot is the random number that the kernel drew when it started: two
	// readings of the same one are of one boot of one machine.
	Boot string `json:"boot_id,omitempty"`
	// Preemption is the chosen word of the scheduler's model, as "voluntary";
	// only root can read it.
	Preemption string `json:"preemption,omitempty"`
}

// CPUFacts is the first CPU's model; kinds of cores stand in the topology.
type CPUFacts struct {
	Model     string `json:"model,omitempty"`
	Vendor    string `json:"vendor,omitempty"`
	Family    string `json:"family,omitempty"`
	Number    string `json:"model_number,omitempty"`
	Stepping  string `json:"stepping,omitempty"`
	Microcode string `json:"microcode,omitempty"`
	// Flags are the instruction set extensions, sorted.
	Flags []string `json:"flags,omitempty"`
}

// TopologyFacts is the topology in numbers.
type TopologyFacts struct {
	Online         cpulist.Set  `json:"online"`
	Possible       *cpulist.Set `json:"possible,omitempty"`
	Isolated       *cpulist.Set `json:"isolated,omitempty"`
	NoHZFull       *cpulist.Set `json:"nohz_full,omitempty"`
	CPUs           int          `json:"cpus"`
	Cores          *int         `json:"cores,omitempty"`
	ThreadsPerCore *int         `json:"threads_per_core,omitempty"`
	Packages       *int         `json:"packages,omitempty"`
	Nodes          []Node       `json:"nodes,omitempty"`
	Kinds          []Kind       `json:"kinds,omitempty"`
	Caches         []CacheFacts `json:"caches,omitempty"`
}

// CacheFacts counts the caches of one level, type and size.
type CacheFacts struct {
	Level int    `json:"level"`
	Type  string `json:"type,omitempty"`
	Bytes *int64 `json:"bytes,omitempty"`
	Count int    `json:"count"`
}

// FrequencyFacts is how frequencies are chosen. Where CPUs differ, every word
// stands once, sorted.
type FrequencyFacts struct {
	Driver   []string `json:"driver,omitempty"`
	Governor []string `json:"governor,omitempty"`
	EPP      []string `json:"energy_performance_preference,omitempty"`
	// MinHz and MaxHz are the limits that the policies allow now, the lowest
	// and the highest of all.
	MinHz *int64 `json:"min_hz,omitempty"`
	MaxHz *int64 `json:"max_hz,omitempty"`
	// Turbo is true when frequencies above the base are allowed.
	Turbo *bool `json:"turbo,omitempty"`
	// IdleDriver and IdleGovernor choose how deeply an idle CPU sleeps.
	IdleDriver   string `json:"idle_driver,omitempty"`
	IdleGovernor string `json:"idle_governor,omitempty"`
}

// SMTFacts is /sys/devices/system/cpu/smt.
type SMTFacts struct {
	Control string `json:"control,omitempty"` // on, off, forceoff, notsupported, notimplemented
	// Active is true when some core runs two threads. The file is wrong where
	// the control is not implemented (arm64), and absent then.
	Active *bool `json:"active,omitempty"`
}

// MemoryFacts is /proc/meminfo, in bytes.
type MemoryFacts struct {
	Total     *int64 `json:"total,omitempty"`
	Available *int64 `json:"available,omitempty"`
	SwapTotal *int64 `json:"swap_total,omitempty"`
	SwapFree  *int64 `json:"swap_free,omitempty"`
	HugePages *int64 `json:"huge_pages,omitempty"` // a count
	HugePage  *int64 `json:"huge_page_size,omitempty"`
}

// ReadFacts reads the facts of the machine under a root. It never fails as a
// whole: what is not there is absent, and what is there and cannot be read is
// named in Unread.
//
// Some of these files interrupt other CPUs (on x86, /proc/cpuinfo before
// kernel 5.19 and the energy preference): read them before a run, never during
// one.
func ReadFacts(f FS) Facts {
	r := factReader{fs: f}
	info := sync.OnceValues(f.CPUInfo) // of hundreds of CPUs it takes milliseconds
	r.kernel()
	r.cpu(info)
	r.topology(info)
	r.frequency()
	r.smt()
	r.memory()
	r.platform()
	r.load()
	return r.facts
}

// Hostname reads the machine's name.
func (f FS) Hostname() (string, error) { return f.text("proc/sys/kernel/hostname") }

type factReader struct {
	fs    FS
	facts Facts
}

// note keeps a failure that is more than an absent file.
func (r *factReader) note(what string, err error) {
	if err != nil && !absent(err) {
		r.facts.Unread = append(r.facts.Unread, Unread{What: what, Cause: cause(err)})
	}
}

// cause leaves out the path that [Unread.What] says already.
func cause(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// text reads an optional line.
func (r *factReader) text(name string) string {
	text, err := r.fs.text(name)
	r.note("/"+name, err)
	return text
}

// number reads an optional number.
func (r *factReader) number(name string) *int64 {
	n, err := r.fs.number(name)
	r.note("/"+name, err)
	if err != nil {
		return nil
	}
	return &n
}

// chosen is the word in brackets of "always [madvise] never".
func chosen(text string) string {
	_, after, ok := strings.Cut(text, "[")
	word, _, ok2 := strings.Cut(after, "]")
	if !ok || !ok2 {
		return text
	}
	return word
}

func (r *factReader) kernel() {
	r.facts.Kernel = KernelFacts{
		Type:        r.text("proc/sys/kernel/ostype"),
		Release:     r.text("proc/sys/kernel/osrelease"),
		Version:     r.text("proc/sys/kernel/version"),
		CommandLine: r.text("proc/cmdline"),
		Boot:        r.text("proc/sys/kernel/random/boot_id"),
	}
	// debugfs is root's alone: that others may not look is no finding.
	preempt, err := r.fs.text("sys/kernel/debug/sched/preempt")
	if err == nil {
		for word := range strings.FieldsSeq(preempt) {
			if name, ok := strings.CutPrefix(word, "("); ok {
				r.facts.Kernel.Preemption = strings.TrimSuffix(name, ")")
			}
		}
	} else if !errors.Is(err, fs.ErrPermission) {
		r.note("/sys/kernel/debug/sched/preempt", err)
	}
}

func (r *factReader) cpu(read cpuInfo) {
	info, err := read()
	r.note("/proc/cpuinfo", err)
	if len(info) == 0 {
		return
	}
	// Each architecture has its own names, and its own place for them.
	first := func(names ...string) string {
		for _, cpu := range slices.Sorted(maps.Keys(info)) {
			for _, name := range names {
				if v := info[cpu][name]; v != "" {
					return v
				}
			}
			if cpu >= 0 {
				break
			}
		}
		return ""
	}
	c := &r.facts.CPU
	c.Model = first("model name", "Model Name", "cpu model", "cpu", "uarch", "Processor")
	c.Vendor = first("vendor_id", "CPU implementer", "mvendorid")
	c.Family = first("cpu family", "CPU architecture", "CPU Family")
	c.Number = first("model", "CPU part", "marchid")
	c.Stepping = first("stepping", "CPU revision", "revision")
	c.Microcode = first("microcode")
	c.Flags = slices.Sorted(strings.FieldsSeq(first("flags", "Features", "features", "isa")))
	if slices.Contains(c.Flags, "hypervisor") {
		r.facts.Hypervisor = new("unknown")
	}
}

func (r *factReader) topology(info cpuInfo) {
	top, err := r.fs.topology(info)
	if err != nil {
		r.facts.Unread = append(r.facts.Unread, Unread{What: "topology", Cause: err.Error()})
	}
	if top == nil {
		return
	}
	t := &TopologyFacts{
		Online: top.Online, Possible: top.Possible, Isolated: top.Isolated, NoHZFull: top.NoHZFull,
		CPUs: top.Online.Len(), Nodes: top.Nodes, Kinds: top.Kinds,
	}
	if n := len(top.Cores); n > 0 {
		t.Cores, t.ThreadsPerCore = &n, new(top.ThreadsPerCore())
	}
	if n := len(top.Packages); n > 0 {
		t.Packages = &n
	}
	for _, c := range top.Caches {
		t.Caches = countCache(t.Caches, c)
	}
	r.facts.Topology = t
}

func countCache(facts []CacheFacts, c Cache) []CacheFacts {
	for i := range facts {
		f := &facts[i]
		if f.Level == c.Level && f.Type == c.Type && equal(f.Bytes, c.Bytes) {
			f.Count++
			return facts
		}
	}
	return append(facts, CacheFacts{Level: c.Level, Type: c.Type, Bytes: c.Bytes, Count: 1})
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func (r *factReader) smt() {
	control := r.text("sys/devices/system/cpu/smt/control")
	active := r.number("sys/devices/system/cpu/smt/active")
	if control == "" && active == nil {
		return
	}
	r.facts.SMT = &SMTFacts{Control: control}
	if active != nil && control != "notimplemented" {
		r.facts.SMT.Active = new(*active == 1)
	}
}

func (r *factReader) memory() {
	text, err := r.fs.read("proc", "meminfo")
	r.note("/proc/meminfo", err)
	if err != nil {
		return
	}
	m := &MemoryFacts{}
	for _, c := range []struct {
		name string
		to   **int64
	}{{"MemTotal", &m.Total}, {"MemAvailable", &m.Available}, {"SwapTotal", &m.SwapTotal}, {"SwapFree", &m.SwapFree},
		{"HugePages_Total", &m.HugePages}, {"Hugepagesize", &m.HugePage}} {
		n, err := meminfo(string(text), c.name)
		if err != nil {
			r.facts.Unread = append(r.facts.Unread, Unread{What: "/proc/meminfo", Cause: err.Error()})
		}
		*c.to = n
	}
	r.facts.Memory = m
}

// meminfo finds "Name:   123 kB" (or "Name:  123", a count); nil without it.
func meminfo(text, name string) (*int64, error) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		fields := strings.Fields(value)
		if len(fields) == 0 {
			return nil, errors.New(name + " has no value")
		}
		n, err := strconv.ParseInt(fields[0], 10, 52)
		if err != nil || len(fields) > 2 || len(fields) == 2 && fields[1] != "kB" {
			return nil, errors.New(name + " is neither a count nor a number of kB: " + strconv.Quote(strings.TrimSpace(value)))
		}
		if len(fields) == 2 {
			n *= 1024
		}
		return &n, nil
	}
	return nil, nil
}

func (r *factReader) load() {
	fields := strings.Fields(r.text("proc/loadavg"))
	if len(fields) < 3 {
		return
	}
	for _, field := range fields[:3] {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			r.facts.Unread = append(r.facts.Unread, Unread{What: "/proc/loadavg", Cause: strconv.Quote(field) + " is not a number"})
			r.facts.Load = nil
			return
		}
		r.facts.Load = append(r.facts.Load, v)
	}
}
