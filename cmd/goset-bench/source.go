package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"goset/experiments"
	"goset/harness"
	"goset/internal/cli"
)

// source is the text of an experiment and where it came from.
type source struct {
	name string // for messages: the file's path, or "quickstart.toml"
	path string // absolute path of the file; "" for a shipped or composed one
	text []byte
}

// findSource reads an experiment: a file where the argument names one, a
// shipped experiment otherwise. A file wins over a shipped name only when the
// argument looks like a path, so that a stray file cannot shadow "published".
func findSource(arg string) (source, error) {
	shipped := experiments.Names()
	if slices.Contains(shipped, arg) {
		text, err := experiments.Read(arg)
		return source{name: arg + ".toml", text: text}, err
	}
	text, err := os.ReadFile(arg)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(arg, "/.") {
		return source{}, usagef("cannot find experiment %q: no such file, and the shipped ones are %s%s; a command stands behind --, as in run -- %s",
			arg, strings.Join(shipped, ", "), cli.Nearest(arg, shipped), arg)
	}
	if err != nil {
		return source{}, usagef("cannot read experiment: %v", err)
	}
	abs, err := filepath.Abs(arg)
	if err != nil {
		return source{}, usagef("cannot read experiment: %v", err)
	}
	return source{name: arg, path: abs, text: text}, nil
}

// load decodes a source under a person's preferences, and under what this
// machine asks for on top. All faults are printed as they are, one a line.
func (s source) load(prefs *preferences, set []string, machine ...harness.Setting) (*harness.Experiment, harness.LoadOptions, error) {
	opt, err := prefs.settings(set)
	if err != nil {
		return nil, opt, err
	}
	opt.Overrides = append(opt.Overrides, machine...)
	e, err := harness.Load(s.name, s.text, opt)
	if err != nil {
		return nil, opt, &exitError{exitUsage, fmt.Errorf("cannot use experiment:\n%v", err)}
	}
	if s.path != "" {
		e.Dir = filepath.Dir(s.path)
	}
	return e, opt, nil
}
