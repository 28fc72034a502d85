package harness

import (
	"fmt"
	"slices"
	"strconv"

	"goset/cpulist"
)

// conditionKey is a key of a condition whose value may vary.
type conditionKey struct {
	name  string
	takes types
	rule  string
	words []string // for "did you mean"
	// set puts a level into the load; false for one that breaks the rule.
	set func(s *LoadSpec, text string) bool
}

// conditionKeys are the keys of a condition, but for command.
func conditionKeys() []conditionKey {
	const most = 1_000_000 // wake-ups a second: a timer of a microsecond is the CPU's whole time
	return []conditionKey{
		processesKey("spinners", func(s *LoadSpec) *string { return &s.Spinners }),
		processesKey("memory", func(s *LoadSpec) *string { return &s.Memory }),
		{"interrupts", anInteger, fmt.Sprintf("must be wake-ups per second on each CPU, a whole number from 1 to %d", most), nil,
			func(s *LoadSpec, text string) bool {
				v, err := strconv.Atoi(text)
				s.Interrupts = v
				return err == nil && v >= 1 && v <= most
			}},
		{"everywhere", aBoolean, "must be true (also on the CPUs of the task and in the fence) or false", nil,
			func(s *LoadSpec, text string) bool {
				s.Everywhere = text == "true"
				return text == "true" || text == "false"
			}},
	}
}

func processesKey(name string, to func(*LoadSpec) *string) conditionKey {
	rule := fmt.Sprintf(`must be "all" (one for each CPU), a number of processes from 1 to %d, or a CPU list as "2-5"`, maxLoad)
	return conditionKey{name, anInteger | aString, rule, []string{loadAll}, func(s *LoadSpec, text string) bool {
		*to(s) = text
		if n, err := strconv.Atoi(text); err == nil {
			return n >= 1 && n <= maxLoad && strconv.Itoa(n) == text
		}
		set, err := cpulist.Parse(text)
		return text == loadAll || err == nil && !set.Empty()
	}}
}

// condition reads [condition.X].
func (l *loader) condition(n *node) {
	before := len(l.faults)
	c := Condition{Name: n.key}
	var fields []field
	for _, key := range conditionKeys() {
		fields = append(fields, field{key.name, func(n *node) { l.loadKey(n, key, &c) }})
	}
	fields = append(fields, field{"command", func(n *node) { l.loadCommand(n, &c) }})
	l.table(n, fields)
	if k := n.kid("everywhere"); k != nil && c.Load.None() {
		l.failAt(k.name, Fault{Key: k.path, Rule: "says where a load may run, and this condition has none", Got: l.src.written(k.val), Hint: `as spinners = "all"`})
	}
	l.exp.Conditions = append(l.exp.Conditions, c)
	l.conditions = append(l.conditions, named{n, len(l.faults) == before})
}

// loadKey reads a key with all its levels.
func (l *loader) loadKey(n *node, key conditionKey, c *Condition) {
	before := len(l.faults)
	levels := l.levels(n, key.takes, key.rule, key.words, func(text string) bool {
		return key.set(&LoadSpec{}, text)
	})
	if len(l.faults) == before {
		l.quotedNumber(n, key)
	}
	if len(levels) == 0 {
		return
	}
	c.Keys = append(c.Keys, Param{Name: key.name, Levels: levels})
	key.set(&c.Load, levels[0])
}

// quotedNumber refuses "3" where 3 is a number of processes: it may as well be
// meant as the list of CPU 3.
func (l *loader) quotedNumber(n *node, key conditionKey) {
	for _, e := range append([]*node{n}, n.items...) {
		text, ok := e.value.(string)
		if !ok {
			continue
		}
		if _, err := strconv.Atoi(text); err == nil {
			l.fail(e, key.rule, fmt.Sprintf("without quotes it is a number of processes; %q is CPU %s alone", text+"-"+text, text))
		}
	}
}

func (l *loader) loadCommand(n *node, c *Condition) {
	words, ok := l.texts(n, "must be a list of strings, the words of one command")
	if ok && (len(words) == 0 || words[0] == "") {
		l.fail(n, "must name a program first", "")
		return
	}
	c.Command, c.Load.Command = words, words
}

// conditions are what the runs meet: those of the file, or nothing.
func (e *Experiment) conditions() []Condition {
	if len(e.Conditions) == 0 {
		return []Condition{{}}
	}
	return e.Conditions
}

// HasLoad is true when some condition starts something.
func (e *Experiment) HasLoad() bool {
	return slices.ContainsFunc(e.Conditions, func(c Condition) bool { return !c.Load.None() })
}

func (l *loader) conditionNames() []string {
	var names []string
	for _, c := range l.exp.Conditions {
		names = append(names, c.Name)
	}
	return names
}
