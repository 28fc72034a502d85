package workloads

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of a parameter.
const (
	KindInt      = "int"
	KindBool     = "bool"
	KindWord     = "word"
	KindDuration = "duration"
)

// Param is one parameter of a kernel, with its rule.
type Param struct {
	Name     string
	Kind     string // KindInt, KindBool, KindWord or KindDuration
	Default  string
	Min, Max int64    // of an int, or of a duration in nanoseconds
	Words    []string // of a word
}

// ThreadsParam is the parameter that every kernel has: the number of processes
// that run it side by side.
func ThreadsParam() Param {
	return Param{Name: "threads", Kind: KindInt, Default: "1", Min: 1, Max: 4096}
}

// IterationsParam is the number of timed iterations.
func IterationsParam(def string) Param {
	return Param{Name: "iterations", Kind: KindInt, Default: def, Min: 1, Max: 10_000_000}
}

// PathParam is the choice of vector instructions.
func PathParam() Param {
	return Param{Name: "path", Kind: KindWord, Default: PathAuto, Words: []string{PathAuto, PathAVX512, PathAVX2, PathPortable}}
}

// ParamError is a parameter that breaks its rule: a fault of usage, found
// before anything runs.
type ParamError struct {
	Kernel string
	Param  string
	Rule   string // "must be an integer from 1 to 4096"
	Value  string
}

// Error names the kernel, the parameter, the rule and the value.
func (e *ParamError) Error() string {
	return fmt.Sprintf("cannot run kernel %q: %s: %s, got %q", e.Kernel, e.Param, e.Rule, e.Value)
}

// Values holds the parsed parameters of a kernel, defaults filled in.
type Values struct {
	ints  map[string]int64 // durations too, in nanoseconds
	bools map[string]bool
	words map[string]string
}

// Int returns the value of an int parameter.
func (v Values) Int(name string) int64 { return v.ints[name] }

// Bool returns the value of a bool parameter.
func (v Values) Bool(name string) bool { return v.bools[name] }

// Word returns the value of a word parameter.
func (v Values) Word(name string) string { return v.words[name] }

// Duration returns the value of a duration parameter.
func (v Values) Duration(name string) time.Duration { return time.Duration(v.ints[name]) }

// ParseParams reads the given texts by the rules of params. All faults come
// back at once, joined, each a *ParamError.
func ParseParams(kernel string, params []Param, given map[string]string) (Values, error) {
	v := Values{ints: map[string]int64{}, bools: map[string]bool{}, words: map[string]string{}}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(params, func(p Param) bool { return p.Name == name }) {
			rule := "must be one of the parameters " + names(params)
			faults = append(faults, &ParamError{Kernel: kernel, Param: "parameter", Rule: rule, Value: name})
		}
	}
	for _, p := range params {
		text, ok := given[p.Name]
		if !ok {
			text = p.Default
		}
		if !v.set(p, text) {
			faults = append(faults, &ParamError{Kernel: kernel, Param: p.Name, Rule: p.rule(), Value: text})
		}
	}
	return v, errors.Join(faults...)
}

// set parses one text; false when it breaks the rule.
func (v Values) set(p Param, text string) bool {
	switch p.Kind {
	case KindInt:
		n, err := strconv.ParseInt(text, 10, 64)
		v.ints[p.Name] = n
		return err == nil && p.Min <= n && n <= p.Max
	case KindDuration:
		d, err := time.ParseDuration(text)
		v.ints[p.Name] = int64(d)
		return err == nil && p.Min <= int64(d) && int64(d) <= p.Max
	case KindBool:
		v.bools[p.Name] = text == "true"
		return text == "true" || text == "false"
	default:
		v.words[p.Name] = text
		return slices.Contains(p.Words, text)
	}
}

// CheckParams holds a configuration that was not parsed from text to the same
// rules.
func CheckParams(kernel string, params []Param, config map[string]string) error {
	_, err := ParseParams(kernel, params, config)
	return err
}

func (p Param) rule() string {
	switch p.Kind {
	case KindInt:
		return fmt.Sprintf("must be an integer from %d to %d", p.Min, p.Max)
	case KindDuration:
		return fmt.Sprintf("must be a duration from %v to %v, as 100µs", time.Duration(p.Min), time.Duration(p.Max))
	case KindBool:
		return "must be true or false"
	default:
		return "must be one of " + strings.Join(p.Words, ", ")
	}
}

func names(params []Param) string {
	var s []string
	for _, p := range params {
		s = append(s, p.Name)
	}
	return strings.Join(s, ", ")
}
