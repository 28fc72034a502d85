package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"goset/cpulist"
	"goset/internal/lazy"
	"goset/isolation"
)

// layerKey is a key of a mode whose value may vary.
type layerKey struct {
	name  string
	takes types
	rule  string
	words []string // for "did you mean"
	// set puts a level into the mode; false for one that breaks the rule.
	set func(m *isolation.Mode, text string) bool
}

// layerKeys are the keys of a mode, but for the lists wrap and optional. What
// they ask for may still not be had: that is for package isolation to say,
// which knows the machine.
func layerKeys() []layerKey {
	return slices.Concat(placeKeys(), groupKeys(), speedKeys(), processKeys())
}

// SetKey gives a key of a mode the value that a file would: "fifo", "5". The
// error says the key's rule.
func SetKey(m *isolation.Mode, name, value string) error {
	for _, key := range layerKeys() {
		if key.name != name {
			continue
		}
		if !key.set(m, value) {
			return fmt.Errorf("%s, got %q%s", key.rule, value, hintOf(value, key.words))
		}
		return nil
	}
	return fmt.Errorf("%q is no key of a mode", name)
}

func hintOf(value string, words []string) string {
	if hint := didYouMean(value, words); hint != "" {
		return " (" + hint + ")"
	}
	return ""
}

// placeKeys choose the CPUs.
func placeKeys() []layerKey {
	const list = `must be a CPU list as "2" or "0-3,8"`
	return []layerKey{
		{"cpus", aString | anInteger, list + `, "rotate" or "quietest"`, []string{"rotate", "quietest"},
			func(m *isolation.Mode, s string) bool {
				m.CPUs = s
				return s == "rotate" || s == "quietest" || cpuCount(s) > 0
			}},
		intKey("n", 1, 4096, func(m *isolation.Mode, v int) { m.N = v }),
		{"include", aString | anInteger, list, nil, func(m *isolation.Mode, s string) bool { m.Include = s; return cpuCount(s) > 0 }},
		{"exclude", aString | anInteger, list, nil, func(m *isolation.Mode, s string) bool { m.Exclude = s; return cpuCount(s) > 0 }},
		{"numa", aString | anInteger, `must be "auto" or the number of a node`, []string{"auto"},
			func(m *isolation.Mode, s string) bool {
				m.NUMA = s
				v, err := strconv.ParseUint(s, 10, 10)
				return s == "auto" || err == nil && strconv.FormatUint(v, 10) == s
			}},
		{"sample", aString, durationRule(10*time.Millisecond, 10*time.Minute), nil,
			func(m *isolation.Mode, s string) (ok bool) {
				m.Sample, ok = durationWithin(s, 10*time.Millisecond, 10*time.Minute)
				return ok
			}},
		wordKey("rank", []string{"interrupts", "busy", "all"}, func(m *isolation.Mode, s string) { m.Rank = s }),
		wordKey("choose", []string{"run", "block", "experiment"}, func(m *isolation.Mode, s string) { m.Choose = s }),
	}
}

// groupKeys keep others off the CPUs and bound the task.
func groupKeys() []layerKey {
	partitions := []string{"member", "root", "isolated"}
	return []layerKey{
		{"cgroup", aString | aBoolean, "must be true (the strongest that holds), false, " + orList(partitions), partitions,
			func(m *isolation.Mode, s string) bool {
				m.Cgroup = s
				if s == "false" {
					m.Cgroup = ""
				}
				return s == "true" || s == "false" || slices.Contains(partitions, s)
			}},
		boolKey("shield", func(m *isolation.Mode, v bool) { m.Shield = v }),
		boolKey("fence", func(m *isolation.Mode, v bool) { m.Fence = v }),
		boolKey("steer", func(m *isolation.Mode, v bool) { m.Steer = v }),
		{"memory", aString | anInteger, `must be a size above 0, as "512MiB"`, nil,
			func(m *isolation.Mode, s string) bool {
				m.Memory = s
				v, err := isolation.ParseSize(s)
				return err == nil && v > 0
			}},
		{"cpu_quota", aString | anInteger, `must be a number of CPUs as "1.5", or a part of one as "50%"`, nil,
			func(m *isolation.Mode, s string) bool {
				m.CPUQuota = s
				return quotaText().MatchString(s) && !noNumber(s)
			}},
	}
}

// speedKeys are about the clock of the CPUs.
func speedKeys() []layerKey {
	governors := []string{"performance", "powersave", "schedutil", "ondemand", "conservative", "userspace"}
	return []layerKey{
		wordKey("governor", governors, func(m *isolation.Mode, s string) { m.Governor = s }),
		{"frequency", aString, `must be "base", a frequency as "2.4GHz" or a part of the highest as "70%"`, []string{"base"},
			func(m *isolation.Mode, s string) bool { m.Frequency = s; return s == "base" || goodFrequency(s) }},
		boolKey("turbo", func(m *isolation.Mode, v bool) { m.Turbo = &v }),
		boolKey("smt", func(m *isolation.Mode, v bool) { m.SMT = &v }),
	}
}

// processKeys are about the process itself.
func processKeys() []layerKey {
	return []layerKey{
		intKey("nice", -20, 19, func(m *isolation.Mode, v int) { m.Nice = &v }),
		intKey("fifo", 1, 99, func(m *isolation.Mode, v int) { m.FIFO = v }),
		boolKey("aslr", func(m *isolation.Mode, v bool) { m.ASLR = &v }),
		boolKey("stable_env", func(m *isolation.Mode, v bool) { m.StableEnv = v }),
		intKey("env_size", 0, 1<<20, func(m *isolation.Mode, v int) { m.EnvSize = v }),
		wordKey("thp", []string{"always", "madvise", "never"}, func(m *isolation.Mode, s string) { m.THP = s }),
		{"user", aString | anInteger, "must be the name or number of a user", nil,
			func(m *isolation.Mode, s string) bool { m.User = s; return goodUser().MatchString(s) }},
	}
}

var (
	quotaText     = lazy.Regexp(`^\d{1,6}(\.\d{1,3})?%?$`)
	frequencyText = lazy.Regexp(`^(\d{1,9})(\.\d{1,6})? ?(GHz|MHz|kHz)$`)
	percentText   = lazy.Regexp(`^(\d{1,3})(\.\d{1,2})?%$`)
	goodUser      = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?$`)
)

// noNumber is true for "0", "0.00%" and the like.
func noNumber(s string) bool { return strings.Trim(s, "0.%kMGHz ") == "" }

func goodFrequency(s string) bool {
	if p := percentText().FindStringSubmatch(s); p != nil {
		v, err := strconv.ParseFloat(p[1]+p[2], 64)
		return err == nil && v > 0 && v <= 100
	}
	return frequencyText().MatchString(s) && !noNumber(s)
}

func intKey(name string, least, most int, set func(*isolation.Mode, int)) layerKey {
	return layerKey{name, anInteger, fmt.Sprintf("must be a whole number from %d to %d", least, most), nil,
		func(m *isolation.Mode, s string) bool {
			v, err := strconv.Atoi(s)
			if err != nil || v < least || v > most {
				return false
			}
			set(m, v)
			return true
		}}
}

func boolKey(name string, set func(*isolation.Mode, bool)) layerKey {
	return layerKey{name, aBoolean, "must be true or false", nil,
		func(m *isolation.Mode, s string) bool {
			set(m, s == "true")
			return s == "true" || s == "false"
		}}
}

func wordKey(name string, words []string, set func(*isolation.Mode, string)) layerKey {
	return layerKey{name, aString, "must be " + orList(words), words,
		func(m *isolation.Mode, s string) bool { set(m, s); return slices.Contains(words, s) }}
}

// cpuCount is the number of CPUs of a list; 0 for what is no list.
func cpuCount(list string) int {
	set, err := cpulist.Parse(list)
	if err != nil {
		return 0
	}
	return set.Len()
}

// mode reads [mode.X].
func (l *loader) mode(n *node) {
	before := len(l.faults)
	m := ModeSpec{Name: n.key, Layers: isolation.Mode{Name: n.key}}
	var fields []field
	for _, key := range layerKeys() {
		fields = append(fields, field{key.name, func(n *node) { l.layer(n, key, &m) }})
	}
	fields = append(fields,
		field{"wrap", func(n *node) { l.wrap(n, &m) }},
		field{"optional", func(n *node) { m.Layers.Optional, _ = l.texts(n, "must be a list of keys of this mode") }})
	l.table(n, fields)
	if m.Layers.CPUs == "quietest" && m.Layers.Sample == 0 {
		m.Layers.Sample = DefaultSample
	}
	l.modeFits(n, &m)
	l.exp.Modes = append(l.exp.Modes, m)
	l.modes = append(l.modes, named{n, len(l.faults) == before})
}

// layer reads a key with all its levels.
func (l *loader) layer(n *node, key layerKey, m *ModeSpec) {
	levels := l.levels(n, key.takes, key.rule, key.words, func(text string) bool {
		var probe isolation.Mode
		return key.set(&probe, text)
	})
	if len(levels) == 0 {
		return
	}
	m.Keys = append(m.Keys, Param{Name: key.name, Levels: levels})
	key.set(&m.Layers, levels[0])
}

func (l *loader) wrap(n *node, m *ModeSpec) {
	words, ok := l.texts(n, `must be a list of strings, as ["docker", "run", "--cpuset-cpus={cpus}", "image"]`)
	if ok && (len(words) == 0 || words[0] == "") {
		l.fail(n, "must name a program first", "")
		return
	}
	m.Layers.Wrap = words
}

// modeFits checks the keys of a mode against each other.
func (l *loader) modeFits(n *node, m *ModeSpec) {
	cpus := m.levelsOf("cpus")
	for _, key := range []string{"cgroup", "shield", "fence", "steer"} {
		k := n.kid(key)
		if k == nil || n.kid("cpus") != nil || !slices.ContainsFunc(m.levelsOf(key), func(s string) bool { return s != "false" && s != "member" }) {
			continue
		}
		l.failAt(k.name, Fault{Key: k.path, Rule: "needs cpus: it keeps others off the CPUs of the task", Got: l.src.written(k.val), Hint: `as cpus = "quietest"`})
	}
	for _, key := range []string{"include", "exclude", "numa", "sample", "rank", "choose"} {
		if k := n.kid(key); k != nil && !slices.Contains(cpus, "quietest") {
			l.failAt(k.name, Fault{Key: k.path, Rule: `is for cpus = "quietest": it binds that choice`, Got: l.src.written(k.val)})
		}
	}
	if k := n.kid("optional"); k != nil {
		l.optionalFits(n, k, m)
	}
	if f, x := n.kid("fifo"), n.kid("nice"); f != nil && x != nil {
		l.failAt(x.name, Fault{Key: x.path, Rule: "has no meaning with fifo: the kernel ignores the nice of a FIFO task", Got: l.src.written(x.val)})
	}
}

// optionalFits checks that every optional layer is one that the mode asks for and
// may let go of.
func (l *loader) optionalFits(mode, optional *node, m *ModeSpec) {
	var asked []string
	for _, k := range mode.kids {
		if k != optional {
			asked = append(asked, k.key)
		}
	}
	for _, e := range optional.items {
		if name, ok := e.value.(string); ok && !slices.Contains(asked, name) {
			hint := didYouMean(name, asked)
			l.fail(e, "must name a layer that this mode asks for", hint)
		} else if why := m.binding(name); ok && why != "" {
			l.fail(e, "must not name a layer that no run goes on without: "+why, "")
		}
	}
}

// binding says why no level of a key may be let go of; "": one may be.
func (m *ModeSpec) binding(key string) (why string) {
	for _, level := range m.levelsOf(key) {
		layers := m.Layers
		if key == "cpus" {
			layers.CPUs = level
		}
		if why = layers.Binding(key); why == "" {
			return ""
		}
	}
	return why
}

// levelsOf are the levels of a key; none when the mode does not have it.
func (m *ModeSpec) levelsOf(key string) []string {
	for _, k := range m.Keys {
		if k.Name == key {
			return k.Levels
		}
	}
	return nil
}
