package harness

import (
	"os"
	"strings"
	"testing"
)

// TestKeysAreDocumented holds docs/experiments.md to the keys that there are,
// with the defaults of the kernels.
func TestKeysAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	keys := []string{"runs", "warmup", "idle", "order", "seed", "timeout", "retries", "output", "baseline", "skip", "control", "until", "compare", "equivalence",
		"kernel", "command", "env", "dir", "format", "extract", "expect", "pattern", "json", "unit", "better", "take", "shown", "wrap", "optional"}
	for _, k := range layerKeys() {
		keys = append(keys, k.name)
	}
	for _, k := range conditionKeys() {
		keys = append(keys, k.name)
	}
	for _, k := range goKeys() {
		keys = append(keys, k.name)
	}
	for _, f := range Formats() {
		keys = append(keys, `"`+f+`"`)
	}
	for _, k := range append(keys, "go") {
		if !strings.Contains(doc, "`"+k+"`") {
			t.Errorf("key %q is not in docs/experiments.md", k)
		}
	}
	for _, k := range Kernels() {
		for _, p := range k.Params {
			value := p.Default
			if p.Kind == "word" || p.Kind == "duration" {
				value = `"` + value + `"`
			}
			plain := strings.ReplaceAll(doc, "_", "")
			if want := "`" + p.Name + " = " + value + "`"; !strings.Contains(plain, want) {
				t.Errorf("parameter %s of kernel %s: %q is not in docs/experiments.md", p.Name, k.Name, want)
			}
		}
	}
}
