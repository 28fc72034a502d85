package harness

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// GoOptions say what `go` on the command line runs. A zero field leaves what
// an experiment has by default.
type GoOptions struct {
	Packages, Refs, Toolchains []string
	Bench, Benchtime           string
	CPU                        []int
	NoBenchmem                 bool
	Tags, GCFlags, LDFlags     string
	Dir                        string
	RandLayout                 bool
	Procs                      string
	Modes                      []string // of KnownModes; none: the first
	N                          int      // CPUs for taskset and goset
}

// GoText writes the experiment file for Go benchmarks without one, so that
// they go through Load as all others do. The error is a Faults.
func GoText(o GoOptions) ([]byte, error) {
	modes := o.Modes
	if len(modes) == 0 {
		modes = KnownModes()[:1]
	}
	packages := o.Packages
	if len(packages) == 0 {
		packages = []string{"."}
	}
	if faults := o.faults(modes, packages); len(faults) > 0 {
		return nil, faults
	}
	var b strings.Builder
	fmt.Fprintf(&b, "title = %s\n\n[plan]\n\n[workload.go.go]\n", tomlString(goTitle(packages, o)))
	b.WriteString("package = " + tomlLevels(packages) + "\n")
	o.write(&b)
	for _, mode := range modes {
		writeMode(&b, mode, o.N)
	}
	return []byte(b.String()), nil
}

// faults are the words that no experiment file can hold, and modes that are
// not known.
func (o *GoOptions) faults(modes, packages []string) Faults {
	faults := commandFaults([]string{"go"}, CommandOptions{Modes: modes})
	for _, words := range [][]string{packages, o.Refs, o.Toolchains, {o.Bench, o.Benchtime, o.Tags, o.GCFlags, o.LDFlags, o.Dir, o.Procs}} {
		for _, w := range words {
			if !utf8.ValidString(w) {
				faults = append(faults, Fault{Origin: "go", Rule: "words must be UTF-8, which experiment files are", Got: fmt.Sprintf("%q", w)})
			}
		}
	}
	return faults
}

// write writes the keys of the workload that were given.
func (o *GoOptions) write(b *strings.Builder) {
	for _, k := range []struct{ key, value string }{
		{"bench", o.Bench}, {"benchtime", o.Benchtime}, {"tags", o.Tags}, {"gcflags", o.GCFlags}, {"ldflags", o.LDFlags}, {"dir", o.Dir},
	} {
		if k.value != "" {
			b.WriteString(k.key + " = " + tomlString(k.value) + "\n")
		}
	}
	if len(o.Refs) > 0 {
		b.WriteString("ref = " + tomlLevels(o.Refs) + "\n")
	}
	if len(o.Toolchains) > 0 {
		b.WriteString("toolchain = " + tomlLevels(o.Toolchains) + "\n")
	}
	if len(o.CPU) > 0 {
		fmt.Fprintf(b, "cpu = [%s]\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(o.CPU), " ", ", "), "[]"))
	}
	if o.NoBenchmem {
		b.WriteString("benchmem = false\n")
	}
	if o.RandLayout {
		b.WriteString("randlayout = true\n")
	}
	if n, err := strconv.Atoi(o.Procs); err == nil {
		fmt.Fprintf(b, "procs = %d\n", n)
	} else if o.Procs != "" {
		b.WriteString("procs = " + tomlString(o.Procs) + "\n")
	}
}

// goTitle is what is compared, on one line.
func goTitle(packages []string, o GoOptions) string {
	words := []string{"go"}
	for _, p := range packages {
		words = append(words, path.Clean(p))
	}
	if o.Bench != "" {
		words = append(words, o.Bench)
	}
	for _, r := range o.Refs {
		words = append(words, "@"+r)
	}
	return title(words)
}

// tomlLevels writes one string, or a list of them.
func tomlLevels(texts []string) string {
	if len(texts) == 1 {
		return tomlString(texts[0])
	}
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = tomlString(t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// PackageSettings replaces package patterns such as "./..." in an experiment's
// Go benchmarks by the packages that have matching benchmarks, as settings of
// the text: the plan itself asks no machine. A package that a ref lacks is
// skipped there.
func PackageSettings(e *Experiment, list func(GoTask, string) ([]string, error)) ([]Setting, error) {
	var out []Setting
	skips := e.Plan.Skip
	for i := range e.Workloads {
		w := &e.Workloads[i]
		if w.Go == nil {
			continue
		}
		x := expansion{w: w, dir: e.Dir}
		packages, missing, err := x.packages(list)
		if err != nil {
			return nil, err
		}
		if packages == nil {
			continue
		}
		out = append(out, Setting{Key: "workload." + tomlKey(w.Name) + ".go.package", Value: tomlLevels(packages)})
		skips = append(skips, missing...)
	}
	if len(skips) > len(e.Plan.Skip) {
		out = append(out, Setting{Key: "plan.skip", Value: SkipText(skips)})
	}
	return out, nil
}
