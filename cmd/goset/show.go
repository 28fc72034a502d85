package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"goset/cpulist"
	"goset/host"
	"goset/internal/cli"
	"goset/isolation"
)

// machine is what goset shows without a command, and the form of its JSON. What
// is not known is null.
type machine struct {
	CPUs       cpusReport        `json:"cpus"`
	Packages   []host.Package    `json:"packages"`
	Cores      []coreReport      `json:"cores"`
	Nodes      []host.Node       `json:"nodes"`
	Kinds      []host.Kind       `json:"kinds"`
	Caches     []host.Cache      `json:"caches"`
	Interrupts *interruptsReport `json:"interrupts"`
	Facts      host.Facts        `json:"facts"`
	Movers     []host.Mover      `json:"movers"`
	Cgroups    *host.Cgroups     `json:"cgroups"`
	// Leftovers are what earlier runs did not undo; null: not looked for.
	Leftovers []string      `json:"leftovers"`
	undo      string        // how they are undone
	Layers    []layerReport `json:"layers,omitempty"`
	Sources   []host.Off    `json:"sources_off,omitempty"`
	Errors    []string      `json:"errors,omitempty"`
}

type cpusReport struct {
	Online   *cpulist.Set `json:"online"`
	Possible *cpulist.Set `json:"possible"`
	Present  *cpulist.Set `json:"present"`
	Isolated *cpulist.Set `json:"isolated"`
	NoHZFull *cpulist.Set `json:"nohz_full"`
	RCUNoCBs *cpulist.Set `json:"rcu_nocbs"`
	Allowed  *cpulist.Set `json:"allowed"` // to this process
}

// coreReport is a core with its online CPUs.
type coreReport struct {
	Package *int        `json:"package"`
	Die     *int        `json:"die"`
	Node    *int        `json:"node"`
	CPUs    cpulist.Set `json:"cpus"`
	Kind    string      `json:"kind"` // "" when all cores are of one
}

// interruptsReport is /proc/interrupts as it is printed: totals are over all
// numbers of the file, those of the rows for the whole machine with them.
type interruptsReport struct {
	CPUs   []int       `json:"cpus"`
	Rows   []rowReport `json:"rows"`
	Total  uint64      `json:"total"`
	PerCPU []uint64    `json:"per_cpu"`
}

type rowReport struct {
	Label  string   `json:"label"`
	Counts []uint64 `json:"counts"`
	Device string   `json:"device"`
}

// layerReport says whether a layer can be had.
type layerReport struct {
	Layer     string `json:"layer"`
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"`
	Hint      string `json:"hint,omitempty"`
	// Note is what is worth knowing about a layer that is available.
	Note string `json:"note,omitempty"`
}

// show is goset without a command.
func (a *app) show(cmd *cobra.Command) error {
	if err := showOnly(cmd.Flags()); err != nil {
		return err
	}
	color, err := cli.Color(a.opt.color, a.stdout)
	if err != nil {
		return usageError{err}
	}
	m, err := a.machine()
	if err != nil {
		return err
	}
	if a.opt.json != "" {
		if err := writeTo(a.opt.json, a.stdout, func(w io.Writer) error { return writeJSON(w, m) }); err != nil {
			return err
		}
	}
	if a.opt.json != "-" {
		if _, err := io.WriteString(a.stdout, m.text(&page{color: color, width: cli.Width(a.stdout)})); err != nil {
			return err
		}
	}
	if len(m.Errors) > 0 {
		return &exitError{code: exitFailed, err: errors.New(joined(m.Errors))}
	}
	return nil
}

func joined(lines []string) string {
	var errs []error
	for _, l := range lines {
		errs = append(errs, errors.New(l))
	}
	return errors.Join(errs...).Error()
}

// machine reads everything. What could not be read is in Errors, and the rest
// is shown all the same; a file that was named and cannot be read is an error.
func (a *app) machine() (*machine, error) {
	root := a.opt.root()
	if a.opt.sysroot != "" {
		if info, err := os.Stat(a.opt.sysroot); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("cannot read -sysroot %q: it is no folder", a.opt.sysroot)
		}
	}
	m := &machine{Packages: []host.Package{}, Cores: []coreReport{}, Nodes: []host.Node{}, Kinds: []host.Kind{}, Caches: []host.Cache{}}
	interrupts, err := a.readInterrupts(root)
	if err != nil && a.opt.interrupts != "" {
		return nil, err
	}
	m.note(err)
	m.addInterrupts(interrupts)
	top, err := root.Topology()
	if root.IsLocal() || root.HasCPUs() {
		m.note(err)
	}
	m.addTopology(root, top)
	m.Facts = host.ReadFacts(root)
	if m.Movers, err = root.Movers(); !host.Absent(err) {
		m.note(err)
	}
	if m.Cgroups, err = root.Cgroups(); !host.Absent(err) {
		m.note(err)
	}
	if root.IsLocal() {
		a.addLocal(m)
	}
	return m, nil
}

func (m *machine) note(err error) {
	if err != nil {
		m.Errors = append(m.Errors, err.Error())
	}
}

// readInterrupts reads the file that was named, or the machine's own. Another
// machine's files may lack it: nil.
func (a *app) readInterrupts(root host.FS) (*host.Interrupts, error) {
	if a.opt.interrupts != "" {
		return host.InterruptsIn(a.opt.interrupts)
	}
	x, err := root.Interrupts()
	if !root.IsLocal() && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return x, err
}

func (m *machine) addInterrupts(x *host.Interrupts) {
	if x == nil {
		return
	}
	r := &interruptsReport{CPUs: x.CPUs, Rows: []rowReport{}}
	for i := range x.Rows {
		row := &x.Rows[i]
		r.Rows = append(r.Rows, rowReport{Label: row.Label, Counts: row.Counts, Device: row.Device()})
	}
	r.PerCPU, r.Total = x.ColumnSums()
	m.Interrupts = r
}

func (m *machine) addTopology(root host.FS, top *host.Topology) {
	if top == nil {
		return
	}
	m.CPUs = cpusReport{
		Online: &top.Online, Possible: top.Possible, Present: top.Present, Isolated: top.Isolated, NoHZFull: top.NoHZFull,
		RCUNoCBs: root.RCUNoCBs(top),
	}
	for _, c := range top.Cores {
		m.Cores = append(m.Cores, coreReport{Package: c.Package, Die: c.Die, Node: c.Node, CPUs: c.CPUs, Kind: c.Kind})
	}
	m.Packages = append(m.Packages, top.Packages...)
	m.Nodes = append(m.Nodes, top.Nodes...)
	m.Kinds = append(m.Kinds, top.Kinds...)
	m.Caches = append(m.Caches, top.Caches...)
}

// addLocal adds what can be known of the machine that goset runs on alone.
func (a *app) addLocal(m *machine) {
	if allowed, err := isolation.Allowed(); err == nil {
		m.CPUs.Allowed = &allowed
	} else if !errors.Is(err, errors.ErrUnsupported) {
		m.note(err)
	}
	_, m.Sources = host.Local.Silent(proven())
	m.Leftovers = a.leftovers()
	m.undo = (&isolation.StaleError{State: a.opt.state, Tool: tool}).Undo()
	for _, mode := range everyLayer() {
		layer := layerReport{Layer: mode.Name, Available: true}
		for _, f := range isolation.CheckIn(a.opt.state, mode) {
			if f.Layer != layer.Layer {
				continue // of what it stands on
			}
			layer.Available, layer.Reason, layer.Hint = false, f.Reason, inFlags(f.Hint)
		}
		for _, c := range isolation.Caveats(mode) {
			if c.Layer == layer.Layer {
				layer.Note = c.Text
			}
		}
		m.Layers = append(m.Layers, layer)
	}
}

// everyLayer asks for every layer by itself, with a value that most machines
// can have.
func everyLayer() []isolation.Mode {
	return []isolation.Mode{
		{Name: "cpus", CPUs: "quietest"},
		{Name: "cgroup", CPUs: "quietest", Cgroup: "true"},
		{Name: "shield", CPUs: "quietest", Cgroup: "true", Shield: true},
		{Name: "fence", CPUs: "quietest", Cgroup: "true", Fence: true},
		{Name: "steer", CPUs: "quietest", Steer: true},
		{Name: "nice", Nice: new(-5)},
		{Name: "fifo", FIFO: 1},
		{Name: "governor", CPUs: "quietest", Governor: "performance"},
		{Name: "frequency", CPUs: "quietest", Frequency: "base"},
		{Name: "turbo", Turbo: new(false)},
		{Name: "smt", SMT: new(false)},
		{Name: "aslr", ASLR: new(false)},
		{Name: "stable_env", StableEnv: true},
		{Name: "env_size", EnvSize: 4096},
		{Name: "thp", THP: "never"},
		{Name: "memory", Memory: "512MiB"},
		{Name: "cpu_quota", CPUQuota: "50%"},
		{Name: "wrap", Wrap: []string{"env"}},
		{Name: "user", User: "nobody"},
	}
}
