package harness

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"goset/internal/lazy"
)

// GoSpec is the go = { … } of a workload at one combination of its levels:
// which Go benchmarks are run, and from what.
type GoSpec struct {
	Package   string // one package, relative to Dir, or a pattern such as "./..."
	Bench     string // as -bench; "." is all of them
	Benchtime string // as -benchtime; "": Go's default
	CPU       int    // as -cpu; 0: Procs
	Benchmem  bool
	Tags      string
	GCFlags   string
	LDFlags   string
	Dir       string // where the module is, relative to the experiment; "": there
	// Ref is a commit, branch or tag of Dir's git repository; "." is its
	// working tree as it is.
	Ref       string
	Toolchain string // as GOTOOLCHAIN; "": the environment's
	// RandLayout links one binary per block, each with another order of
	// functions, the same for all treatments of the block.
	RandLayout bool
	// Procs is GOMAXPROCS: a number, procsSame, or "" for what the mode's CPUs
	// give.
	Procs string
}

// procsSame gives all modes of a workload the smallest GOMAXPROCS of them.
const procsSame = "same"

// goKey is one key of go = { … }.
type goKey struct {
	name  string
	takes types
	rule  string
	words []string
	// set stores a level's text, false: it breaks the rule.
	set       func(s *GoSpec, text string) bool
	otherwise string // the level where the file is silent
}

// goKeys are the keys in the order of the reference.
func goKeys() []goKey {
	text := func(name, otherwise, rule string, to func(*GoSpec) *string, good func(string) bool) goKey {
		return goKey{name, aString, rule, nil, func(s *GoSpec, t string) bool { *to(s) = t; return good(t) }, otherwise}
	}
	flag := func(name, otherwise string, to func(*GoSpec) *bool) goKey {
		return goKey{name, aBoolean, "must be true or false", []string{"true", "false"},
			func(s *GoSpec, t string) bool { *to(s) = t == "true"; return t == "true" || t == "false" }, otherwise}
	}
	return []goKey{
		text("package", ".", `must be a package or a pattern, as "./parse" or "./..."`, func(s *GoSpec) *string { return &s.Package }, goodWord),
		text("bench", ".", "must be a regular expression (RE2) of benchmarks, its parts split by slashes", func(s *GoSpec) *string { return &s.Bench }, goodBench),
		text("benchtime", "", `must be a duration or a number of iterations, as "1s" or "100x"`, func(s *GoSpec) *string { return &s.Benchtime }, goodBenchtime),
		{"cpu", anInteger | aString, `must be a whole number from 1 to 65536, or a factor as "{n}"`, nil, func(s *GoSpec, t string) bool {
			n, ok := goodProcs(t)
			s.CPU = n
			return ok || t == ""
		}, ""},
		flag("benchmem", "true", func(s *GoSpec) *bool { return &s.Benchmem }),
		text("tags", "", "must be build tags with commas between", func(s *GoSpec) *string { return &s.Tags }, goodTags().MatchString),
		text("gcflags", "", "must be flags as go build -gcflags takes them", func(s *GoSpec) *string { return &s.GCFlags }, anyText),
		text("ldflags", "", "must be flags as go build -ldflags takes them", func(s *GoSpec) *string { return &s.LDFlags }, anyText),
		text("dir", "", "must be the folder of a module", func(s *GoSpec) *string { return &s.Dir }, anyText),
		text("ref", ".", `must be a commit, a branch or a tag, or "." for the working tree`, func(s *GoSpec) *string { return &s.Ref }, goodWord),
		text("toolchain", "", `must be a toolchain as GOTOOLCHAIN names it: "go1.26.5", "local"`, func(s *GoSpec) *string { return &s.Toolchain }, goodToolchain().MatchString),
		flag("randlayout", "false", func(s *GoSpec) *bool { return &s.RandLayout }),
		{"procs", anInteger | aString, `must be a whole number from 1 to 65536, "same", or a factor as "{n}"`, []string{procsSame}, func(s *GoSpec, t string) bool {
			_, ok := goodProcs(t)
			s.Procs = t
			return ok || t == procsSame || t == ""
		}, ""},
	}
}

// GoSides names the keys of go = { … } that make another program of the same
// benchmarks: their levels are compared with the first one, row by row.
func GoSides() []string {
	return []string{"ref", "toolchain", "tags", "gcflags", "ldflags", "randlayout", "dir"}
}

var (
	goodTags      = lazy.Regexp(`^[A-Za-z0-9_.]*(?:,[A-Za-z0-9_.]+)*$`)
	goodToolchain = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9.+_-]*$|^$`)
)

func anyText(string) bool { return true }

// goodWord keeps words from being taken for flags.
func goodWord(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsAny(s, "\n\r\x00")
}

func goodProcs(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= 1<<16
}

func goodBenchtime(text string) bool {
	if text == "" {
		return true
	}
	if n, ok := strings.CutSuffix(text, "x"); ok {
		v, err := strconv.ParseInt(n, 10, 64)
		return err == nil && v > 0
	}
	d, err := time.ParseDuration(text)
	return err == nil && d > 0
}

// goodBench checks every part of a -bench pattern.
func goodBench(text string) bool {
	if text == "" {
		return false
	}
	for _, alternative := range splitPattern(text, '|') {
		for _, part := range splitPattern(alternative, '/') {
			if _, err := regexp.Compile(part); err != nil {
				return false
			}
		}
	}
	return true
}

// splitPattern splits a pattern outside of brackets, as the testing package
// does.
func splitPattern(s string, sep byte) []string {
	var parts []string
	squares, rounds, start := 0, 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '[':
			squares++
		case c == ']':
			squares = max(0, squares-1)
		case c == '(' && squares == 0:
			rounds++
		case c == ')' && squares == 0:
			rounds = max(0, rounds-1)
		case c == '\\':
			i++
		case c == sep && squares == 0 && rounds == 0:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// goTable reads the go = { … } of a workload.
func (l *loader) goTable(n *node, w *Workload) {
	if n.kind != tableNode {
		l.fail(n, "must be a table", `as go = { package = ".", bench = "MakeBuffer", ref = ["main", "."] }`)
		return
	}
	w.Go = &GoSpec{}
	var fields []field
	for _, k := range goKeys() {
		fields = append(fields, field{k.name, func(n *node) {
			levels := l.levels(n, k.takes, k.rule, k.words, func(text string) bool {
				return k.set(&GoSpec{}, text) && text != "" || len(placeholderNames(text)) > 0 || text == k.otherwise
			})
			w.Params = append(w.Params, Param{Name: k.name, Levels: levels})
		}})
	}
	l.table(n, fields)
}

// noGo refuses what a workload of Go benchmarks has of its own.
func (l *loader) noGo(n *node) {
	for _, key := range []string{"format", "extract", "metric", "dir"} {
		if k := n.kid(key); k != nil {
			hint := ""
			if key == "dir" {
				hint = `go = { dir = "…" } says where the module is; benchmarks run in their package's folder`
			}
			l.failAt(k.name, Fault{Key: k.path, Rule: "is for commands: Go benchmarks have it of their own", Hint: hint})
		}
	}
	if env := n.kid("env"); env != nil {
		if k := env.kid("GOMAXPROCS"); k != nil {
			l.failAt(k.name, Fault{Key: k.path, Rule: "is set from go = { procs = … }, so that it is recorded"})
		}
	}
}

// goSpec resolves the go = { … } of a treatment.
func (r *resolver) goSpec() *GoSpec {
	spec := &GoSpec{}
	for _, k := range goKeys() {
		text := r.values[k.name]
		filled := r.text("go."+k.name, text)
		if !k.set(spec, filled) {
			r.misfits = append(r.misfits, misfit{key: "go." + k.name, rule: k.rule, got: filled})
		}
	}
	return spec
}

// goDefaults are the levels of the keys that a file may leave out.
func goDefaults() map[string]string {
	values := map[string]string{}
	for _, k := range goKeys() {
		values[k.name] = k.otherwise
	}
	return values
}

// goLabel is the spec in words for messages: package "./a" of ref "main".
func (s *GoSpec) goLabel() string {
	text := fmt.Sprintf("package %q", s.Package)
	if s.Ref != "." {
		text += fmt.Sprintf(" of ref %q", s.Ref)
	}
	return text
}
