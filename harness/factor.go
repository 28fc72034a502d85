package harness

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"goset/internal/lazy"
)

// placeholders matches what could be a {factor}: "${HOME}" is left to the
// shell that it is meant for, and "{{name}}" is how "{name}" itself is written.
var placeholders = lazy.Regexp(`\$\{[^{}]*\}|\{\{[A-Za-z_][A-Za-z0-9_]*\}\}|\{[A-Za-z_][A-Za-z0-9_]*\}`)

// placeholderNames are the names in a text, in order.
func placeholderNames(text string) []string {
	if !strings.Contains(text, "{") {
		return nil // most texts, and the pattern costs a microsecond
	}
	var names []string
	for _, m := range placeholders().FindAllString(text, -1) {
		if m[0] == '{' && m[1] != '{' {
			names = append(names, m[1:len(m)-1])
		}
	}
	return names
}

// wholePlaceholder is the name when the text is one placeholder and nothing
// else, as a number of a kernel may be.
func wholePlaceholder(text string) string {
	if names := placeholderNames(text); len(names) == 1 && text == "{"+names[0]+"}" {
		return names[0]
	}
	return ""
}

// fill replaces the placeholders of a text. Names without a value stay.
func fill(text string, values map[string]string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	return placeholders().ReplaceAllStringFunc(text, func(m string) string {
		switch {
		case m[0] == '$':
			return m
		case m[1] == '{':
			return m[1 : len(m)-1]
		}
		if v, ok := values[m[1:len(m)-1]]; ok {
			return v
		}
		return m
	})
}

// factorsOf are the keys that vary for a workload under a mode and a condition:
// those of the workload, of the mode and of the condition, each in the order of
// the file.
func factorsOf(w *Workload, m *ModeSpec, c *Condition) []Param {
	var fs []Param
	for _, keys := range [][]Param{w.Params, w.Env, m.Keys, c.Keys} {
		for _, k := range keys {
			if len(k.Levels) > 1 {
				fs = append(fs, k)
			}
		}
	}
	return fs
}

// combinations is the number of treatments before skips; math.MaxInt when it
// is beyond that.
func (e *Experiment) combinations() int {
	total := 0
	e.pairs(func(p *pair) {
		n := 1
		for _, f := range factorsOf(p.w, p.m, p.c) {
			n = timesCapped(n, len(f.Levels))
		}
		total = plusCapped(total, n)
	})
	return total
}

// timesCapped multiplies numbers that are not negative, up to math.MaxInt.
func timesCapped(a, b int) int {
	if a > 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}

func plusCapped(a, b int) int {
	if b > math.MaxInt-a {
		return math.MaxInt
	}
	return a + b
}

// Treatments returns every combination of levels that is not skipped, the
// workloads outermost, then the conditions, the modes, and the factors with the
// last one varying fastest. An experiment that Load returned gives no error.
func (e *Experiment) Treatments() ([]Treatment, error) {
	if n := e.combinations(); n > MaxTreatments {
		return nil, fmt.Errorf("cannot expand %s: %s treatments, at most %d are allowed", e.Name, countText(n), MaxTreatments)
	}
	var out []Treatment
	var first error
	e.expand(func(t Treatment, misfits []misfit) {
		if len(misfits) > 0 && first == nil {
			first = fmt.Errorf("cannot expand workload %q under mode %q: %s %s, got %q", t.Workload, t.Mode, misfits[0].key, misfits[0].rule, misfits[0].got)
		}
		t.Index = len(out)
		out = append(out, t)
	})
	if first != nil {
		return nil, first
	}
	return out, nil
}

func countText(n int) string {
	if n == math.MaxInt {
		return "more than 10^18"
	}
	return strconv.Itoa(n)
}

// place is whose table a key stands in.
type place int

const (
	inWorkload place = iota
	inMode
	inCondition
)

// misfit is what is wrong with a treatment once its levels are known.
type misfit struct {
	in   place // whose key it is
	key  string
	rule string
	got  string
	hint string
	// unknown is the name of a placeholder that names no key.
	unknown string
}

// expand walks the treatments that are not skipped.
func (e *Experiment) expand(yield func(Treatment, []misfit)) {
	layers := map[string]layerKey{}
	for _, k := range layerKeys() {
		layers[k.name] = k
	}
	loads := map[string]conditionKey{}
	for _, k := range conditionKeys() {
		loads[k.name] = k
	}
	e.pairs(func(p *pair) {
		p.layers, p.loads = layers, loads
		p.expand(yield)
	})
}

// pairs walks the workloads under the conditions and modes.
func (e *Experiment) pairs(yield func(*pair)) {
	conditions := e.conditions()
	for i := range e.Workloads {
		for k := range conditions {
			for j := range e.Modes {
				yield(&pair{e: e, w: &e.Workloads[i], m: &e.Modes[j], c: &conditions[k]})
			}
		}
	}
}

// pair expands one workload under one mode and one condition.
type pair struct {
	e      *Experiment
	w      *Workload
	m      *ModeSpec
	c      *Condition
	loads  map[string]conditionKey
	layers map[string]layerKey
	params []KernelParam
	named  bool // n is a key of the workload or mode
	// both holds the names that two of workload, mode and condition have as a
	// key: a placeholder of such a name could mean either.
	both map[string]bool
}

func (p *pair) expand(yield func(Treatment, []misfit)) {
	factors := factorsOf(p.w, p.m, p.c)
	p.params = kernelParams(p.w.Kernel)
	values := p.fixedValues() // one map for all treatments: a plan may have 100,000
	choice := make([]int, len(factors))
	for {
		if !p.named {
			delete(values, "n") // what the last treatment's CPU list gave
		}
		levels := make([]Level, len(factors))
		for i, f := range factors {
			levels[i] = Level{Factor: f.Name, Value: f.Levels[choice[i]]}
			values[f.Name] = levels[i].Value
		}
		if !p.skipped(values) {
			yield(p.treatment(levels, values))
		}
		i := len(choice) - 1
		for ; i >= 0; i-- {
			if choice[i]++; choice[i] < len(factors[i].Levels) {
				break
			}
			choice[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// fixedValues is what the names of this pair stand for before the factors
// have their levels.
func (p *pair) fixedValues() map[string]string {
	values := map[string]string{"workload": p.w.Name, "mode": p.m.Name}
	if p.c.Name != "" {
		values["condition"] = p.c.Name
	}
	for _, param := range p.params {
		values[param.Name] = param.Default
	}
	if p.w.Go != nil {
		maps.Copy(values, goDefaults())
	}
	p.both = map[string]bool{}
	set := map[string]bool{}
	for _, keys := range [][]Param{p.c.Keys, p.m.Keys, p.w.Env, p.w.Params} {
		for _, k := range keys {
			if len(k.Levels) > 0 {
				p.both[k.Name] = p.both[k.Name] || set[k.Name]
				set[k.Name] = true
				values[k.Name] = k.Levels[0]
			}
		}
	}
	p.named = set["n"]
	return values
}

func kernelParams(kernel string) []KernelParam {
	k, _ := kernelOf(kernel)
	return k.Params
}

// skipped is true when an entry of plan.skip fits: every key that it names
// has that level. A combination without the key is not meant.
func (p *pair) skipped(values map[string]string) bool {
	for _, entry := range p.e.Plan.Skip {
		fits := len(entry) > 0
		for key, want := range entry {
			got, ok := values[key]
			fits = fits && ok && got == want
		}
		if fits {
			return true
		}
	}
	return false
}

// treatment resolves one combination.
func (p *pair) treatment(levels []Level, values map[string]string) (Treatment, []misfit) {
	t := Treatment{Workload: p.w.Name, Mode: p.m.Name, Condition: values["condition"], Levels: levels, Layers: p.m.Layers, Load: p.c.Load, Spec: *p.w}
	for _, k := range p.m.Keys {
		if key, ok := p.layers[k.Name]; ok {
			key.set(&t.Layers, p.levelOf(k, levels))
		}
	}
	for _, k := range p.c.Keys {
		if key, ok := p.loads[k.Name]; ok {
			key.set(&t.Load, p.levelOf(k, levels))
		}
	}
	r := &resolver{values: values, both: p.both}
	r.count(&t.Layers, p.named)
	if t.Layers.CPUs != "quietest" {
		t.Layers.Sample = 0
	} else if t.Layers.Sample == 0 {
		t.Layers.Sample = DefaultSample
	}
	t.Layers.Wrap = r.wrap(p.m.Layers.Wrap)
	t.Load.Command = r.loadCommand(p.c.Command)
	t.Spec.Dir = r.text("dir", p.w.Dir)
	t.Spec.Env, t.Env = r.env(p.w.Env)
	if p.w.Go != nil {
		t.Spec.Go = r.goSpec()
	} else if p.w.Kernel != "" {
		t.Spec.Params, t.Args = r.params(p.params)
	} else {
		t.Spec.Command = r.texts("command", p.w.Command)
		t.Args = t.Spec.Command
	}
	return t, r.misfits
}

// levelOf is a key's own level: its name may be that of another table's key.
func (p *pair) levelOf(key Param, levels []Level) string {
	if len(key.Levels) > 1 {
		for _, l := range levels {
			if l.Factor == key.Name {
				return l.Value
			}
		}
	}
	return key.Levels[0]
}
