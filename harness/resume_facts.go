package harness

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// volatile are the words in the names of facts that are another at every look
// and say nothing about whether two sessions ran on the same machine.
func volatile(path string) bool {
	path = strings.ToLower(path)
	for _, word := range []string{"load", "free", "available", "uptime", "time", "temperature", "pressure", "cached", "used", "current", "running"} {
		if strings.Contains(path, word) {
			return true
		}
	}
	return false
}

// maxDifferences bounds the warnings of a machine that is another altogether.
const maxDifferences = 20

// differences says in what the tool and the machine of a new session differ
// from those of the manifest: runs from both sides are compared with each
// other in one table.
func (m *Manifest) differences(now Provenance) []string {
	var texts []string
	add := func(what, before, after string) {
		if before != after {
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
		for i, element := range v {
			flattenFactsInto(out, fmt.Sprintf("%s[%d]", path, i), element)
		}
	default:
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // v came out of a JSON decoder
		}
		out[path] = string(b)
	}
}
