package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"goset/isolation"
)

// keyOf is the key of a mode behind a flag: stable_env behind -stable-env.
func keyOf(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// flagOf is the flag of a key, without its dash.
func flagOf(key string) string { return strings.ReplaceAll(key, "_", "-") }

// flagsOf are the flags of keys, as -optional takes them.
func flagsOf(keys []string) string {
	var flags []string
	for _, key := range keys {
		flags = append(flags, flagOf(key))
	}
	return strings.Join(flags, ",")
}

// layerName is how a person knows a layer: by its flag, or what is held for one.
func layerName(layer string) string {
	if isFlag(layer) {
		return "-" + flagOf(layer)
	}
	return layer
}

// isFlag tells the layers that have a flag of their own from irqbalance.
func isFlag(layer string) bool {
	return slices.ContainsFunc(everyLayer(), func(m isolation.Mode) bool { return m.Name == layer })
}

// refused words what cannot be held, a line each.
func refused(findings isolation.Findings) string {
	var lines []string
	for _, u := range findings {
		lines = append(lines, refusedLayer(u))
	}
	return strings.Join(lines, "\n")
}

func refusedLayer(u *isolation.Unsupported) string {
	s := fmt.Sprintf("cannot hold %s: %s", layerName(u.Layer), u.Reason)
	if u.Hint != "" {
		s += " (" + inFlags(u.Hint) + ")"
	}
	return s
}

// worded says an error that is made of refused layers as refused does.
func worded(err error) error {
	if u, ok := err.(*isolation.Unsupported); ok {
		return errors.New(refusedLayer(u))
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	parts := joined.Unwrap()
	if errors.Join(parts...).Error() != err.Error() {
		return err
	}
	var errs []error
	for _, part := range parts {
		errs = append(errs, worded(part))
	}
	return errors.Join(errs...)
}

// inFlags says a hint, which is written for files, in flags: cgroup = true is
// -cgroup there, "cgroup" is -cgroup, and frequency = "base" -frequency=base.
func inFlags(hint string) string {
	var keys []string
	for _, m := range everyLayer() {
		keys = append(keys, m.Name)
	}
	key := "(" + strings.Join(keys, "|") + ")"
	hint = regexp.MustCompile(`"`+key+`"`).ReplaceAllStringFunc(hint, func(s string) string { return "-" + flagOf(strings.Trim(s, `"`)) })
	hint = regexp.MustCompile(`\b`+key+` = ("[^"]*"|-?\w+)`).ReplaceAllStringFunc(hint, func(s string) string {
		name, value, _ := strings.Cut(s, " = ")
		if value = strings.Trim(value, `"`); value == "true" {
			return "-" + flagOf(name)
		}
		return "-" + flagOf(name) + "=" + value
	})
	return strings.NewReplacer("in optional", "in -optional", "lower n", "lower -n").Replace(hint)
}

// wayOut says how to run without what was refused; "" when there is no such way
// for any of it.
func wayOut(findings isolation.Findings) string {
	if len(findings.Waivable()) == 0 {
		return ""
	}
	which, but := "them", ""
	if binding := findings.Binding().Layers(); len(binding) > 0 {
		which, but = "the others", fmt.Sprintf(" (not without %s)", flagsOf(binding))
	}
	// With those that are optional already: the list is given anew.
	waived := slices.DeleteFunc(slices.Clone(findings), func(u *isolation.Unsupported) bool { return u.Binding })
	return fmt.Sprintf("\nRun it without %s: -best-effort, or -optional %s%s", which, flagsOf(waived.Layers()), but)
}
