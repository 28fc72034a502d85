package harness

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// volatile is true for facts of host.Facts that are others at every look and
// say nothing about whether two sessions ran on the same machine.
func volatile(path string) bool {
	return path == "load" || path == "memory.available" || path == "memory.swap_free"
}

// The bounds of what is said about a machine that is another altogether.
const (
	maxDifferences = 20  // warnings
	maxShown       = 400 // bytes of the two values, as of the flags of a CPU
)

// differences says in what the tool and the machine of a new session differ
// from those of the manifest: runs from both sides are compared with each
// other in one table.
func (m *Manifest) differences(now Provenance) []string {
	var texts []string
	add := func(what, before, after string) {
		switch {
		case before == after:
		case len(before)+len(after) > maxShown:
			texts = append(texts, what+" is another than when the runs began (both are in the manifest)")
		default:
			texts = append(texts, fmt.Sprintf("%s was %s when the runs began and is %s now", what, before, after))
		}
	}
	add("goset-bench", strconv.Quote(m.Tool), strconv.Quote(now.Tool))
	add("its Go", strconv.Quote(m.Toolchain), strconv.Quote(runtime.Version()))
	if m.Host == nil || now.Host == nil {
		return texts
	}
	before, after := flattenFacts(m.Host), flattenFacts(now.Host)
	paths := make([]string, 0, len(before))
	for path := range before {
		paths = append(paths, path)
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		if !volatile(path) {
			add(path, orAbsent(before, path), orAbsent(after, path))
		}
	}
	if n := len(texts); n > maxDifferences {
		texts = append(texts[:maxDifferences], fmt.Sprintf("%d further facts about the machine differ", n-maxDifferences))
	}
	return texts
}

func orAbsent(facts map[string]string, path string) string {
	if v, ok := facts[path]; ok {
		return v
	}
	return "absent"
}

// flattenFacts gives the values of a JSON document by path, each as JSON; nothing
// for what is no JSON, which differs from everything.
func flattenFacts(text json.RawMessage) map[string]string {
	out := map[string]string{}
	var v any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber() // a float64 would make different large numbers equal
	if err := d.Decode(&v); err != nil {
		out["host facts"] = strconv.Quote(string(text))
		return out
	}
	flattenFactsInto(out, "", v)
	return out
}

func flattenFactsInto(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			flattenFactsInto(out, strings.TrimPrefix(path+"."+name, "."), member)
		}
	case []any:
		if !slices.ContainsFunc(v, nested) {
			// A list as the flags of a CPU is one fact: by index, one flag more
			// would make all that follow differ.
			out[path] = factText(v)
			return
		}
		for i, element := range v {
			flattenFactsInto(out, fmt.Sprintf("%s[%d]", path, i), element)
		}
	default:
		out[path] = factText(v)
	}
}

// nested is true for what has values inside.
func nested(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// factText writes a value that came out of a JSON decoder.
func factText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what was decoded can be encoded
	}
	return string(b)
}
