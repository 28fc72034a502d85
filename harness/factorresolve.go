package harness

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"goset/isolation"
)

// resolver replaces placeholders and notes what does not fit.
type resolver struct {
	values  map[string]string
	both    map[string]bool
	misfits []misfit
}

// count settles n: as the mode says, or the length of its CPU list, or 1.
// Every mode has an n, so that threads = "{n}" works for all of them.
func (r *resolver) count(layers *isolation.Mode, named bool) {
	listed := 0
	if layers.CPUs != "" && layers.CPUs != "rotate" && layers.CPUs != "quietest" {
		listed = cpuCount(layers.CPUs)
	}
	if layers.N == 0 {
		layers.N = max(1, listed)
	}
	if !named {
		r.values["n"] = strconv.Itoa(layers.N)
	}
	if listed > 0 && layers.N > listed {
		r.misfits = append(r.misfits, misfit{in: inMode, key: "n", got: strconv.Itoa(layers.N),
			rule: fmt.Sprintf("must be at most the %d CPUs of cpus = %q", listed, layers.CPUs), hint: "skip that combination, or name more CPUs"})
	}
	if layers.Include != "" && layers.CPUs == "quietest" {
		r.bound(layers)
	}
}

// bound checks that enough CPUs are left to choose from.
func (r *resolver) bound(layers *isolation.Mode) {
	left := leftCPUs(layers.Include, layers.Exclude)
	if layers.N > left {
		r.misfits = append(r.misfits, misfit{in: inMode, key: "include", got: layers.Include,
			rule: fmt.Sprintf("must leave n = %d CPUs to choose from, and with exclude = %q leaves %d", layers.N, layers.Exclude, left)})
	}
}

// lookup checks that a name may stand at a key.
func (r *resolver) lookup(in place, key, name string) {
	v, ok := r.values[name]
	m := misfit{in: in, key: key, got: "{" + name + "}"}
	of := fmt.Sprintf("of workload %q or of mode %q", r.values["workload"], r.values["mode"])
	if c, ok := r.values["condition"]; ok {
		of = fmt.Sprintf("of workload %q, of mode %q or of condition %q", r.values["workload"], r.values["mode"], c)
	}
	switch {
	case in == inMode && name == "cpus":
		return
	case name == "cpus":
		m.rule = "cannot hold {cpus}: which CPUs they are is known only when the run starts"
		m.hint = "wrap can hold it; {n} is their number"
	case !ok:
		m.unknown = name
		m.rule = "names no key " + of
		m.hint = didYouMean(name, slices.Sorted(maps.Keys(r.values)))
		if m.hint == "" {
			m.hint = fmt.Sprintf("{{%s}} stands for {%s} itself", name, name)
		}
	case r.both[name]:
		m.rule = "names two keys at once, " + of
		m.hint = "rename the variable in env"
	case len(placeholderNames(v)) > 0:
		m.rule = fmt.Sprintf("names a key whose own value is %q", v)
		m.hint = "name the factor itself"
	default:
		return
	}
	r.misfits = append(r.misfits, m)
}

func (r *resolver) text(key, text string) string {
	for _, name := range placeholderNames(text) {
		r.lookup(inWorkload, key, name)
	}
	return fill(text, r.values)
}

func (r *resolver) texts(key string, words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = r.text(key, word)
	}
	return out
}

// wrap leaves {cpus} for the run.
func (r *resolver) wrap(words []string) []string {
	if words == nil {
		return nil
	}
	values := maps.Clone(r.values)
	values["cpus"] = "{cpus}"
	out := make([]string, len(words))
	for i, word := range words {
		for _, name := range placeholderNames(word) {
			r.lookup(inMode, "wrap", name)
		}
		out[i] = fill(word, values)
	}
	return out
}

// loadCommand fills in the command of a condition.
func (r *resolver) loadCommand(words []string) []string {
	var out []string
	for _, word := range words {
		for _, name := range placeholderNames(word) {
			r.lookup(inCondition, "command", name)
		}
		out = append(out, fill(word, r.values))
	}
	return out
}

func (r *resolver) env(env []Param) ([]Param, []string) {
	var params []Param
	var texts []string
	for _, v := range env {
		text := r.text("env."+v.Name, r.values[v.Name])
		params = append(params, Param{Name: v.Name, Levels: []string{text}})
		texts = append(texts, v.Name+"="+text)
	}
	return params, texts
}

// params gives every parameter of a kernel, those of the file and the rest by
// default, so that a record says with what a kernel ran.
func (r *resolver) params(known []KernelParam) ([]Param, []string) {
	params := make([]Param, 0, len(known))
	args := make([]string, 0, len(known))
	for _, p := range known {
		text := r.values[p.Name]
		if filled := r.text(p.Name, text); filled != text {
			if !paramFits(p, filled) {
				_, rule := paramRule(p)
				r.misfits = append(r.misfits, misfit{key: p.Name, rule: rule, got: text + " = " + filled})
			}
			text = filled
		}
		params = append(params, Param{Name: p.Name, Levels: []string{text}})
		args = append(args, "-"+p.Name+"="+text)
	}
	return params, args
}
