package harness

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/theory/jsonpath"

	"goset/internal/lazy"
	"goset/metric"
)

// workload reads [workload.X].
func (l *loader) workload(n *node) {
	before := len(l.faults)
	w := Workload{Name: n.key}
	kernel, hasKernel := l.kernel(n)
	fields := []field{
		{"kernel", func(*node) {}},
		{"command", func(n *node) { l.command(n, &w) }},
		{"env", func(n *node) { l.env(n, &w) }},
		{"dir", func(n *node) { w.Dir, _ = l.text(n) }},
		{"expect", l.span(&w.Expect, time.Nanosecond)},
		{"go", func(n *node) { l.goTable(n, &w) }},
	}
	if n.kid("go") != nil {
		l.noGo(n)
	}
	if hasKernel {
		w.Kernel = kernel.Name
		fields = append(fields, l.params(kernel, &w)...)
		l.noMeasures(n)
	}
	fields = append(fields,
		field{"format", func(n *node) { w.Format, _ = l.word(n, Formats()) }},
		field{"extract", func(n *node) { w.Extract = l.boolean(n) }},
		field{"metric", func(n *node) { l.metrics(n, &w) }})
	l.table(n, fields)
	l.whatRuns(n)
	if w.Extract && (w.Format != "" || len(w.Metrics) > 0) {
		l.fail(n.kid("extract"), "takes every number of the output, which leaves nothing to format and metric", "leave one of them out")
	}
	l.exp.Workloads = append(l.exp.Workloads, w)
	l.workloads = append(l.workloads, named{n, len(l.faults) == before})
}

// kernel is the kernel that the workload names. Of an unknown one, the
// parameters of all kernels are let through: the name is the fault.
func (l *loader) kernel(n *node) (Kernel, bool) {
	k := n.kid("kernel")
	if k == nil {
		return Kernel{}, false
	}
	var names []string
	all := Kernel{}
	for _, kernel := range Kernels() {
		if k.value == kernel.Name {
			return kernel, true
		}
		names = append(names, kernel.Name)
		for _, p := range kernel.Params {
			if !slices.ContainsFunc(all.Params, func(q KernelParam) bool { return q.Name == p.Name }) {
				all.Params = append(all.Params, p)
			}
		}
	}
	l.word(k, names)
	return all, true
}

// whatRuns checks that a workload is one thing.
func (l *loader) whatRuns(n *node) {
	var first *node
	for _, key := range []string{"kernel", "command", "go"} {
		k := n.kid(key)
		switch {
		case k == nil:
		case first == nil:
			first = k
		default:
			l.failAt(k.name, Fault{Key: k.path, Rule: fmt.Sprintf("a workload is a %s or a %s, not both", nounOf(first.key), nounOf(key)), Hint: "make two workloads of it"})
		}
	}
	if first == nil {
		l.failAt(n.name, Fault{Key: n.path, Rule: "must have a kernel, a command or Go benchmarks", Hint: `as kernel = "jitter", command = ["./task"] or go = { package = "." }`})
	}
}

func nounOf(key string) string {
	if key == "go" {
		return "package of Go benchmarks"
	}
	return key
}

// noMeasures refuses for kernels what says how the output of a command is read.
func (l *loader) noMeasures(n *node) {
	for _, key := range []string{"format", "extract", "metric"} {
		if k := n.kid(key); k != nil && n.kid("command") == nil {
			l.failAt(k.name, Fault{Key: k.path, Rule: "is for commands: a kernel has metrics of its own"})
		}
	}
}

// command reads the words of a command.
func (l *loader) command(n *node, w *Workload) {
	const rule = "must be a list of strings: one string would need a shell to split it, and the shell's start would be timed with the task"
	words, ok := l.texts(n, rule)
	if ok && (len(words) == 0 || words[0] == "") {
		l.fail(n, "must name a program first", "")
		return
	}
	w.Command = words
}

var goodEnv = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (l *loader) env(n *node, w *Workload) {
	if n.kind != tableNode {
		l.fail(n, `must be a table, as { OMP_NUM_THREADS = "{n}" }`, "")
		return
	}
	for _, k := range n.kids {
		if !goodEnv().MatchString(k.key) {
			l.failAt(k.name, Fault{Key: k.path, Rule: "names of environment variables have letters, digits and '_', and start with no digit", Got: fmt.Sprintf("%q", k.key)})
			continue
		}
		if slices.Contains(reserved(), k.key) {
			l.failAt(k.name, Fault{Key: k.path, Rule: fmt.Sprintf("%q is the name of a column of every table", k.key), Hint: "use another name, or set it in the command with env(1)"})
			continue
		}
		levels := l.levels(k, aString|anInteger, "must be a string or a whole number", nil, func(string) bool { return true })
		w.Env = append(w.Env, Param{Name: k.key, Levels: levels})
	}
}

// reserved are the names that no factor may have.
func reserved() []string { return []string{"workload", "mode", "condition"} }

// params are the fields for the parameters of a kernel.
func (l *loader) params(kernel Kernel, w *Workload) []field {
	var fields []field
	for _, p := range kernel.Params {
		fields = append(fields, field{p.Name, func(n *node) {
			takes, rule := paramRule(p)
			levels := l.levels(n, takes, rule, p.Words, func(text string) bool {
				return paramFits(p, text) || p.Kind == "int" && wholePlaceholder(text) != ""
			})
			w.Params = append(w.Params, Param{Name: p.Name, Levels: levels})
		}})
	}
	return fields
}

// paramRule says what a parameter of a kernel must be.
func paramRule(p KernelParam) (types, string) {
	switch p.Kind {
	case "int":
		return anInteger | aString, fmt.Sprintf(`must be a whole number from %d to %d, or a factor as "{n}"`, p.Min, p.Max)
	case "duration":
		return aString, durationRule(time.Duration(p.Min), time.Duration(p.Max))
	case "bool":
		return aBoolean, "must be true or false"
	default:
		return aString, "must be " + orList(p.Words)
	}
}

// paramFits is true for a value that the kernel takes.
func paramFits(p KernelParam, text string) bool {
	switch p.Kind {
	case "int":
		v, err := strconv.ParseInt(text, 10, 64)
		return err == nil && v >= p.Min && v <= p.Max
	case "duration":
		_, ok := durationWithin(text, time.Duration(p.Min), time.Duration(p.Max))
		return ok
	case "bool":
		return text == "true" || text == "false"
	default:
		return slices.Contains(p.Words, text)
	}
}

var goodMetric = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._+% -]{0,63}$`)

// metrics reads [workload.X.metric.NAME].
func (l *loader) metrics(n *node, w *Workload) {
	if n.kind != tableNode {
		l.fail(n, fmt.Sprintf("must be tables with names, as [workload.%s.metric.NAME]", w.Name), "")
		return
	}
	for _, k := range n.kids {
		if !goodMetric().MatchString(k.key) || strings.HasSuffix(k.key, " ") {
			l.failAt(k.name, Fault{Key: k.path, Rule: "names of metrics have letters, digits, '.', '_', '+', '%', '-' and spaces inside, start with a letter or digit, and are at most 64 long", Got: fmt.Sprintf("%q", k.key)})
		}
		if slices.ContainsFunc(BaseMetrics(), func(b metric.Metric) bool { return b.Name == k.key }) {
			l.failAt(k.name, Fault{Key: k.path, Rule: "is the name of a metric that comes with every run", Hint: "give it another name"})
		}
		m := MetricSpec{Metric: metric.Metric{Name: k.key, Shown: true}}
		l.table(k, []field{
			{"pattern", func(n *node) { l.pattern(n, &m) }},
			{"json", func(n *node) { l.jsonPath(n, &m) }},
			{"unit", func(n *node) { m.Unit, _ = l.text(n) }},
			{"better", func(n *node) {
				better, _ := l.word(n, []string{string(metric.Lower), string(metric.Higher)})
				m.Better = metric.Direction(better)
			}},
			{"take", func(n *node) { m.Take, _ = l.word(n, []string{"last", "first", "median", "all"}) }},
			{"shown", func(n *node) { m.Shown = l.boolean(n) }},
		})
		if k.kind == tableNode && (k.kid("pattern") == nil) == (k.kid("json") == nil) {
			l.failAt(k.name, Fault{Key: k.path, Rule: "must have a pattern or a json path, and not both"})
		}
		w.Metrics = append(w.Metrics, m)
	}
}

func (l *loader) pattern(n *node, m *MetricSpec) {
	text, ok := l.text(n)
	if !ok {
		return
	}
	re, err := regexp.Compile(text)
	switch {
	case err != nil:
		l.fail(n, "must be a regular expression (RE2): "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "")
	case re.NumSubexp() != 1:
		l.fail(n, fmt.Sprintf("must have one group, around the number; this one has %d", re.NumSubexp()), "(?:...) groups without capturing")
	default:
		m.Pattern = text
	}
}

func (l *loader) jsonPath(n *node, m *MetricSpec) {
	text, ok := l.text(n)
	if !ok {
		return
	}
	if _, err := jsonpath.Parse(text); err != nil {
		hint := ""
		if !strings.HasPrefix(text, "$") {
			hint = "a path starts at the root: " + strconv.Quote("$."+text)
		}
		l.fail(n, "must be a JSON path (RFC 9535): "+strings.TrimPrefix(err.Error(), "jsonpath: "), hint)
		return
	}
	m.JSON = text
}
