package isolation

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"goset/cpulist"
)

// Findings are the layers of a mode that cannot be held, in the order of the
// layer table.
type Findings []*Unsupported

// Refused returns the findings that end a run: those of layers that the mode
// does not let go of.
func (f Findings) Refused() Findings {
	return slices.DeleteFunc(slices.Clone(f), func(u *Unsupported) bool { return u.Optional })
}

// Warnings returns the findings that a run goes on without: those of layers
// that the mode named as optional.
func (f Findings) Warnings() Findings {
	return slices.DeleteFunc(slices.Clone(f), func(u *Unsupported) bool { return !u.Optional })
}

// Err joins the refused findings; nil when nothing is refused. Each is an
// *Unsupported to errors.As.
func (f Findings) Err() error {
	var errs []error
	for _, u := range f.Refused() {
		errs = append(errs, u)
	}
	return errors.Join(errs...)
}

// states is how the record keeps what a run went on without.
func (f Findings) states() []LayerState {
	var states []LayerState
	for _, u := range f {
		states = append(states, LayerState{Layer: u.Layer, Asked: u.asked, Note: u.Reason, Optional: true})
	}
	return states
}

// Check says which layers of the mode cannot be held: because this version
// does not have them, or because this machine or this user lacks something.
// It changes nothing. No findings: every run of the mode can start, where its
// journal can be kept.
func Check(m Mode) Findings { return check(m, checkedRun(m)) }

// CheckIn is Check for runs whose journals are kept in a folder; "": DefaultState.
func CheckIn(state string, m Mode) Findings {
	run := checkedRun(m)
	if run.unjournaled == nil {
		run.unjournaled = stateFault(cmp.Or(state, DefaultState))
	}
	return check(m, run)
}

func check(m Mode, run *applied) Findings {
	findings := m.missing()
	_, refused := run.admit()
	findings = append(findings, refused...)
	if m.CPUs != "" {
		if u := checkCPUs(m); u != nil {
			findings = append(Findings{m.unsupported(layerCPUs, m.CPUs, u)}, findings...)
		}
	}
	order := m.asks()
	place := func(u *Unsupported) int {
		return slices.IndexFunc(order, func(a ask) bool { return a.layer == u.Layer })
	}
	slices.SortStableFunc(findings, func(a, b *Unsupported) int { return place(a) - place(b) })
	return findings
}

// checkedRun is a run of the mode that is only asked about.
func checkedRun(m Mode) *applied {
	run := (*Session)(nil).newRun(m, fixedCPUs(m))
	if os.Geteuid() == 0 {
		run.unjournaled = nil
	}
	return run
}

// fixedCPUs is the CPUs of a mode that names them.
func fixedCPUs(m Mode) cpulist.Set {
	cpus, err := cpulist.Parse(m.CPUs)
	if err != nil {
		return cpulist.Set{}
	}
	return cpus
}

// layerCPUs is the layer of which CPUs the task may run on.
const layerCPUs = "cpus"

// ask is one layer that a mode asks for, and the text of what it asks.
type ask struct{ layer, text string }

// asks lists what the mode asks for in the order of the layer table. A layer
// that is false or empty is not asked for; a layer that is a pointer is asked
// for with either value, since "turbo = true" is a claim about the machine too.
func (m Mode) asks() []ask {
	var asks []ask
	add := func(layer string, asked bool, value any) {
		if asked {
			asks = append(asks, ask{layer, fmt.Sprint(value)})
		}
	}
	add(layerCPUs, m.CPUs != "", m.CPUs)
	add("cgroup", m.Cgroup != "", m.Cgroup)
	add("shield", m.Shield, true)
	add("fence", m.Fence, true)
	add("steer", m.Steer, true)
	add("nice", m.Nice != nil, text(m.Nice))
	add("fifo", m.FIFO != 0, m.FIFO)
	add("governor", m.Governor != "", m.Governor)
	add("frequency", m.Frequency != "", m.Frequency)
	add("turbo", m.Turbo != nil, text(m.Turbo))
	add("smt", m.SMT != nil, text(m.SMT))
	add("aslr", m.ASLR != nil, text(m.ASLR))
	add("stable_env", m.StableEnv, true)
	add("env_size", m.EnvSize != 0, m.EnvSize)
	add("thp", m.THP != "", m.THP)
	add("memory", m.Memory != "", m.Memory)
	add("cpu_quota", m.CPUQuota != "", m.CPUQuota)
	add("wrap", len(m.Wrap) > 0, strings.Join(m.Wrap, " "))
	add(layerUser, m.User != "", m.User)
	return asks
}

// text is the value behind a pointer, or nothing.
func text[T any](p *T) string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(*p)
}

// missing lists the layers that the mode asks for and that this version does
// not have.
func (m Mode) missing() Findings {
	var findings Findings
	for _, a := range m.asks() {
		if a.layer == layerCPUs || slices.ContainsFunc(stages(), func(st stage) bool { return st.key == a.layer }) {
			continue
		}
		findings = append(findings, m.unsupported(a.layer, a.text, &Unsupported{
			Reason: "this version of goset does not have it",
			Hint:   fmt.Sprintf("leave %q out, or name it in optional to run without it", a.layer),
		}))
	}
	return findings
}

// unsupported fills in whose layer a finding is about.
func (m Mode) unsupported(layer, asked string, u *Unsupported) *Unsupported {
	u.Mode, u.Layer, u.asked = m.Name, layer, asked
	u.Binding = u.Binding || m.Binding(layer) != ""
	u.Optional = !u.Binding && slices.Contains(m.Optional, layer)
	return u
}

// checkCPUs finds out whether the CPUs of a mode can be had; nil: they can.
func checkCPUs(m Mode) *Unsupported {
	allowed, err := Allowed()
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `leave "cpus" out`}
	}
	byName, err := usable()
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `leave "cpus" out`}
	}
	if m.CPUs == "rotate" || m.CPUs == "quietest" {
		return checkChoice(m, allowed, byName)
	}
	cpus, err := cpulist.Parse(m.CPUs)
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `give a CPU list as "2" or "0-3", "rotate" or "quietest"`}
	}
	return checkList(cpus, byName)
}

// checkList compares a list with the CPUs that this process may use.
func checkList(cpus, allowed cpulist.Set) *Unsupported {
	if cpus.Empty() {
		return &Unsupported{Reason: "the CPU list is empty", Hint: fmt.Sprintf("choose among %s", allowed)}
	}
	lacking := cpus.Minus(allowed)
	if lacking.Empty() {
		return nil
	}
	return &Unsupported{Reason: whyLacking(lacking), Hint: fmt.Sprintf("choose among %s", allowed)}
}

// checkChoice finds out whether there are enough CPUs to choose from. Include
// puts CPUs first and does not bound the choice, exclude does. CPUs that can be
// had by name alone have to be included. Both lists name CPUs, and are binding.
func checkChoice(m Mode, allowed, byName cpulist.Set) *Unsupported {
	pool, include, err := m.pool(allowed)
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `give a CPU list as "0-3,8"`, Binding: true}
	}
	if lacking := include.Minus(byName); !lacking.Empty() {
		return &Unsupported{Reason: "include: " + whyLacking(lacking), Hint: fmt.Sprintf("choose among %s", byName), Binding: true}
	}
	if n := max(m.N, 1); pool.Len() < n {
		return &Unsupported{
			Room:   new(pool.Len()),
			Reason: fmt.Sprintf("n is %d, with %s to choose from", n, counted(pool.Len(), "CPU")),
			Hint:   fmt.Sprintf("lower n, or exclude fewer of %s", allowed),
		}
	}
	return nil
}

// pool is the CPUs that the mode chooses from, with those that it includes by
// name.
func (m Mode) pool(allowed cpulist.Set) (pool, include cpulist.Set, err error) {
	if include, err = cpulist.Parse(m.Include); err != nil {
		return pool, include, fmt.Errorf("include: %w", err)
	}
	exclude, err := cpulist.Parse(m.Exclude)
	if err != nil {
		return pool, include, fmt.Errorf("exclude: %w", err)
	}
	return allowed.Union(include).Minus(exclude), include, nil
}

// named puts the word for CPUs before a list of them.
func named(s cpulist.Set) string {
	if s.Len() == 1 {
		return "CPU " + s.String()
	}
	return "CPUs " + s.String()
}
