package harness

import (
	"fmt"
	"slices"
	"strings"

	"goset/cpulist"
)

// leftCPUs is how many CPUs of one list another one leaves.
func leftCPUs(include, exclude string) int {
	in, err := cpulist.Parse(include)
	if err != nil {
		return 0
	}
	out, err := cpulist.Parse(exclude)
	if err != nil {
		return in.Len()
	}
	return in.Minus(out).Len()
}

// check holds the tables of the experiment against each other.
func (l *loader) check(root *node) {
	l.somethingToRun(root)
	l.baseline(root)
	l.planFits(root)
	l.expects(root)
	l.factorNames()
	l.skipNames()
	l.size(root)
}

func (l *loader) somethingToRun(root *node) {
	if len(l.workloads) == 0 && noNames(root, "workload") {
		l.failAt(span{}, Fault{Key: "workload", Rule: "an experiment must have a workload", Hint: "as [workload.jitter] with kernel = \"jitter\""})
	}
	if len(l.modes) == 0 && noNames(root, "mode") {
		l.failAt(span{}, Fault{Key: "mode", Rule: "an experiment must have a mode", Hint: "[mode.unpinned] asks for nothing"})
	}
}

func noNames(root *node, key string) bool {
	n := root.kid(key)
	return n == nil || len(n.kids) == 0
}

func (l *loader) modeNames() []string {
	var names []string
	for _, m := range l.exp.Modes {
		names = append(names, m.Name)
	}
	return names
}

func (l *loader) workloadNames() []string {
	var names []string
	for _, w := range l.exp.Workloads {
		names = append(names, w.Name)
	}
	return names
}

// baseline is the first mode unless the plan names one.
func (l *loader) baseline(root *node) {
	names, p := l.modeNames(), &l.exp.Plan
	n := planKey(root, "baseline")
	if n == nil {
		if len(names) > 0 {
			p.Baseline = names[0]
		}
		return
	}
	if text, ok := n.value.(string); ok && !slices.Contains(names, text) {
		l.fail(n, "must be the name of a mode", didYouMean(text, names))
	}
}

func planKey(root *node, key string) *node {
	if plan := root.kid("plan"); plan != nil {
		return plan.kid(key)
	}
	return nil
}

// expects refuses estimates that the timeout would end.
func (l *loader) expects(root *node) {
	timeout := l.exp.Plan.Timeout
	for i, w := range l.exp.Workloads {
		if timeout > 0 && w.Expect > timeout {
			n := l.workloads[i].table.kid("expect")
			l.fail(n, fmt.Sprintf("must be at most plan.timeout, %s, or every run would be ended", shortDuration(timeout)), "")
		}
	}
}

// factorNames refuses factors of one name from two places: their levels
// would share a column.
func (l *loader) factorNames() {
	l.conditionFactors()
	for i, w := range l.exp.Workloads {
		for _, v := range varied(w.Env) {
			n := l.workloads[i].table.kid("env").kid(v.Name)
			if slices.ContainsFunc(w.Params, func(p Param) bool { return p.Name == v.Name && len(p.Levels) > 1 }) {
				l.twice(n, v.Name, fmt.Sprintf("workload %q", w.Name))
			}
		}
		for _, m := range l.exp.Modes {
			for _, k := range varied(m.Keys) {
				if n := l.factorNode(i, k.Name); n != nil {
					l.twice(n, k.Name, fmt.Sprintf("mode %q", m.Name))
				}
			}
		}
	}
}

// conditionFactors refuses factors of conditions that a workload or a mode has,
// too.
func (l *loader) conditionFactors() {
	for i, c := range l.exp.Conditions {
		for _, k := range varied(c.Keys) {
			n := l.conditions[i].table.kid(k.Name)
			for j, w := range l.exp.Workloads {
				if l.factorNode(j, k.Name) != nil {
					l.twice(n, k.Name, fmt.Sprintf("workload %q", w.Name))
				}
			}
			for _, m := range l.exp.Modes {
				if len(m.levelsOf(k.Name)) > 1 {
					l.twice(n, k.Name, fmt.Sprintf("mode %q", m.Name))
				}
			}
		}
	}
}

func varied(keys []Param) []Param {
	var out []Param
	for _, k := range keys {
		if len(k.Levels) > 1 {
			out = append(out, k)
		}
	}
	return out
}

// factorNode is where workload i has a factor of that name.
func (l *loader) factorNode(i int, name string) *node {
	w, table := l.exp.Workloads[i], l.workloads[i].table
	for _, p := range varied(w.Params) {
		if p.Name == name && w.Go != nil {
			return table.kid("go").kid(name)
		}
		if p.Name == name {
			return table.kid(name)
		}
	}
	for _, p := range varied(w.Env) {
		if p.Name == name {
			return table.kid("env").kid(name)
		}
	}
	return nil
}

func (l *loader) twice(n *node, name, other string) {
	l.failAt(n.name, Fault{Key: n.path, Rule: fmt.Sprintf("%q is a factor of %s too, and two factors need two names", name, other),
		Hint: fmt.Sprintf(`vary one of them and write "{%s}" for the other, or rename it`, name)})
}

// skipNames checks that every skip names factors and levels that exist: one
// that fits nothing by a misspelling would let the combination run.
func (l *loader) skipNames() {
	known := map[string][]string{"workload": l.workloadNames(), "mode": l.modeNames()}
	names := []string{"workload", "mode"}
	if len(l.exp.Conditions) > 0 {
		names = append(names, "condition")
		known["condition"] = l.conditionNames()
	}
	for _, w := range l.exp.Workloads {
		for _, keys := range [][]Param{w.Params, w.Env} {
			names = addLevels(known, names, keys)
		}
	}
	for _, m := range l.exp.Modes {
		names = addLevels(known, names, m.Keys)
	}
	for _, c := range l.exp.Conditions {
		names = addLevels(known, names, c.Keys)
	}
	for _, e := range l.skip {
		for _, k := range e.kids {
			text, _ := levelText(k)
			levels, ok := known[k.key]
			switch {
			case !ok:
				hint := didYouMean(k.key, names)
				if hint == "" {
					hint = "factors here: " + strings.Join(names, ", ")
				}
				l.failAt(k.name, Fault{Key: k.path, Rule: "names no factor of this experiment", Got: fmt.Sprintf("%q", k.key), Hint: hint})
			case !slices.Contains(levels, text):
				hint := didYouMean(text, levels)
				if hint == "" {
					hint = "levels: " + strings.Join(levels[:min(len(levels), 12)], ", ")
				}
				l.fail(k, fmt.Sprintf("is no level of %s", k.key), hint)
			}
		}
	}
}

// addLevels notes the factors among the keys, by name, with all their levels.
func addLevels(known map[string][]string, names []string, keys []Param) []string {
	for _, k := range varied(keys) {
		if _, ok := known[k.Name]; !ok {
			names = append(names, k.Name)
		}
		known[k.Name] = append(known[k.Name], k.Levels...)
	}
	return names
}

// size checks the number of treatments and runs, and each treatment.
func (l *loader) size(root *node) {
	at := func(key string) span {
		if n := planKey(root, key); n != nil {
			return n.val
		}
		if n := root.kid("plan"); n != nil {
			return n.name
		}
		return span{}
	}
	if n := l.exp.combinations(); n > MaxTreatments {
		l.failAt(at("runs"), Fault{Key: "plan", Rule: fmt.Sprintf("the levels multiply to %s treatments, at most %d are allowed", countText(n), MaxTreatments)})
		return
	}
	count := l.treatments()
	// A skip that is wrong itself may have left out too much.
	wrong := slices.ContainsFunc(l.faults, func(f Fault) bool { return strings.HasPrefix(f.Key, "plan.skip") })
	if len(l.exp.Workloads) > 0 && len(l.exp.Modes) > 0 && count == 0 && !wrong {
		l.failAt(at("skip"), Fault{Key: "plan.skip", Rule: "leaves nothing to run"})
	}
	p := l.exp.Plan
	if total := timesCapped(p.Runs+p.Warmup, count); total > maxRuns {
		l.failAt(at("runs"), Fault{Key: "plan.runs", Rule: fmt.Sprintf("%d treatments × (%d runs + %d warm-up runs) are %d, at most %d are allowed", count, p.Runs, p.Warmup, total, maxRuns)})
	}
}

// treatments expands the experiment and records what does not fit. Of tables
// with faults of their own only what no mending of those would change.
func (l *loader) treatments() int {
	all := [3]map[string]named{{}, {}, {"": {table: &node{}, clean: true}}}
	for in, tables := range [3][]named{inWorkload: l.workloads, inMode: l.modes, inCondition: l.conditions} {
		for _, t := range tables {
			all[in][t.table.key] = t
		}
	}
	count := 0
	seen := map[[3]string]bool{}
	l.exp.expand(func(t Treatment, misfits []misfit) {
		count++
		w, m, c := all[inWorkload][t.Workload], all[inMode][t.Mode], all[inCondition][t.Condition]
		tables := [3]*node{w.table, m.table, c.table}
		if slices.Contains(tables[:], nil) {
			return
		}
		for _, f := range misfits {
			if !(w.clean && m.clean && c.clean) && !namesNothing(f, tables) {
				continue
			}
			table := tables[f.in]
			id := [3]string{table.path, f.key, f.got}
			if !seen[id] {
				seen[id] = true
				l.misfit(table, f)
			}
		}
	})
	return count
}

// namesNothing is true for a placeholder whose name stands nowhere in the
// tables of its treatment, in no key that was refused either. A kernel and Go
// benchmarks have names of their own, which are unknown where that key is wrong
// itself.
func namesNothing(f misfit, tables [3]*node) bool {
	w := tables[inWorkload]
	return f.unknown != "" && w.kid("kernel") == nil && w.kid("go") == nil &&
		!slices.ContainsFunc(tables[:], func(n *node) bool { return hasKey(n, f.unknown) })
}

// hasKey looks for a key in a table and all tables in it.
func hasKey(n *node, key string) bool {
	return slices.ContainsFunc(n.kids, func(k *node) bool { return k.key == key || hasKey(k, key) })
}

// misfit places a fault of a treatment at the key that it comes from.
func (l *loader) misfit(table *node, f misfit) {
	n, rest := descend(table, strings.Split(f.key, "."))
	where := n.val
	if len(rest) > 0 {
		where = table.name
	}
	for _, e := range n.items {
		if text, ok := e.value.(string); ok && strings.Contains(text, f.got) {
			where = e.val
		}
	}
	l.failAt(where, Fault{Key: joinPath(table.path, f.key), Rule: f.rule, Got: f.got, Hint: f.hint})
}

func joinPath(path, key string) string { return path + "." + key }
