package harness

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"goset/internal/lazy"
)

// LoadOptions are the values from outside the file.
type LoadOptions struct {
	// Defaults are a person's preferences: each applies where the file is
	// silent. One for a workload or mode that the file does not have is
	// passed over.
	Defaults []Setting
	// Overrides win over the file; of two for one key the later one wins.
	Overrides []Setting
}

// Load decodes and checks an experiment. name is its path, which messages
// and relative paths go by. The error is a Faults with everything that is
// wrong, sorted by position; syntax faults alone come one at a time, since
// nothing behind one can be read.
//
// The settings of opt are spliced into the text, which Experiment.Text keeps:
// loading that text again without options gives the same experiment.
func Load(name string, text []byte, opt LoadOptions) (*Experiment, error) {
	src := newSource(name, bytes.TrimPrefix(text, []byte("\ufeff")))
	if _, f := parse(src); f != nil {
		return nil, Faults{*f}
	}
	faults := splice(src, opt)
	root, f := parse(src)
	if f != nil {
		return nil, append(faults, *f).sorted()
	}
	l := &loader{src: src, faults: faults, exp: &Experiment{
		Name: strings.TrimSuffix(filepath.Base(name), ".toml"),
		Text: src.text,
		Dir:  dirOf(name),
	}}
	l.experiment(root)
	l.check(root)
	if len(l.faults) > 0 {
		return nil, l.faults.sorted()
	}
	return l.exp, nil
}

// dirOf is the folder of a file, "" for one in the current folder.
func dirOf(name string) string {
	if dir := filepath.Dir(name); dir != "." {
		return dir
	}
	return ""
}

// splice puts all settings into the text. One that cannot be put in is a
// fault, and the others go on.
func splice(src *source, opt LoadOptions) Faults {
	var faults Faults
	for _, set := range opt.Overrides {
		if f := override(src, set, false); f != nil {
			faults = append(faults, *f)
		}
	}
	for _, set := range opt.Defaults {
		if f := override(src, set, true); f != nil {
			faults = append(faults, *f)
		}
	}
	return faults
}

// loader decodes one tree and collects what is wrong with it.
type loader struct {
	src    *source
	faults Faults
	exp    *Experiment

	// The tables of exp.Workloads, exp.Modes and exp.Conditions, by the same
	// index, with what of them could be decoded whole.
	workloads, modes, conditions []named
	skip                         []*node // the tables of exp.Plan.Skip
}

// named is a [workload.X], [mode.X] or [condition.X].
type named struct {
	table *node
	clean bool // without faults of its own, so that faults in its use are no echo
}

// field is a key of a table and what reads it.
type field struct {
	name string
	read func(n *node)
}

// experiment decodes the whole file.
func (l *loader) experiment(root *node) {
	l.table(root, []field{
		{"title", l.title},
		{"plan", l.plan},
		{"workload", func(n *node) { l.names(n, "workload", l.workload) }},
		{"mode", func(n *node) { l.names(n, "mode", l.mode) }},
		{"condition", func(n *node) { l.names(n, "condition", l.condition) }},
	})
	if root.kid("plan") == nil {
		l.exp.Plan = defaultPlan()
	}
}

// table reads every key of a table with its field; a key without a field is
// a fault.
func (l *loader) table(n *node, fields []field) {
	if n.kind != tableNode {
		l.fail(n, "must be a table", "")
		return
	}
	byName := make(map[string]func(*node), len(fields))
	var known []string
	for _, f := range fields {
		byName[f.name] = f.read
		known = append(known, f.name)
	}
	for _, k := range n.kids {
		read, ok := byName[k.key]
		if !ok {
			l.unknown(k, known)
			continue
		}
		read(k)
	}
}

// nameRule is what the names of workloads, modes, conditions and metrics must
// look like: they become columns, cell addresses and parts of file names.
const nameRule = "names have letters, digits, '.', '_', '+' and '-', start with a letter or digit, and are at most 64 long"

var goodName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)

// names reads a table whose keys are names of the author's choice.
func (l *loader) names(n *node, what string, read func(*node)) {
	if n.kind != tableNode {
		l.fail(n, fmt.Sprintf("must be tables with names, as [%s.NAME]", what), "")
		return
	}
	for _, k := range n.kids {
		if !goodName().MatchString(k.key) {
			l.failAt(k.name, Fault{Key: k.path, Rule: nameRule, Got: fmt.Sprintf("%q", k.key)})
		}
		if k.kind != tableNode {
			hint := ""
			if n.def == byHeader {
				hint = fmt.Sprintf("the keys of a %s stand below [%s.NAME]", what, what)
			}
			l.fail(k, "must be a table", hint)
			continue
		}
		read(k)
	}
}

func (l *loader) title(n *node) {
	text, ok := l.text(n)
	if ok && (len(text) > 200 || strings.ContainsFunc(text, unicode.IsControl)) {
		l.fail(n, "must be one line of at most 200 bytes", "")
		return
	}
	l.exp.Title = text
}
