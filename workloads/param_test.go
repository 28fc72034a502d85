package workloads

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func testParams() []Param {
	return []Param{
		{Name: "steps", Kind: KindInt, Default: "3", Min: 1, Max: 9},
		{Name: "huge", Kind: KindBool, Default: "false"},
		{Name: "every", Kind: KindDuration, Default: "1ms", Min: 1, Max: int64(time.Second)},
		PathParam(),
	}
}

func TestParseParams(t *testing.T) {
	for _, c := range []struct {
		name  string
		given map[string]string
		steps int64
		huge  bool
		path  string
		every time.Duration
	}{
		{"none given", nil, 3, false, "auto", time.Millisecond},
		{"lowest", map[string]string{"steps": "1", "every": "1ns"}, 1, false, "auto", 1},
		{"all", map[string]string{"steps": "9", "huge": "true", "path": "avx2", "every": "1000ms"}, 9, true, "avx2", time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := ParseParams("k", testParams(), c.given)
			if err != nil {
				t.Fatal(err)
			}
			if v.Int("steps") != c.steps || v.Bool("huge") != c.huge || v.Word("path") != c.path || v.Duration("every") != c.every {
				t.Errorf("got %d %t %q %v, want %d %t %q %v", v.Int("steps"), v.Bool("huge"), v.Word("path"), v.Duration("every"), c.steps, c.huge, c.path, c.every)
			}
		})
	}
}

func TestParseParamsFaults(t *testing.T) {
	for _, c := range []struct {
		given map[string]string
		want  []string // one per fault, in order
	}{
		{map[string]string{"steps": "0"}, []string{`steps: must be an integer from 1 to 9, got "0"`}},
		{map[string]string{"steps": "10"}, []string{`steps: must be an integer from 1 to 9, got "10"`}},
		{map[string]string{"steps": ""}, []string{`steps: must be an integer from 1 to 9, got ""`}},
		{map[string]string{"steps": "1e3"}, []string{`steps: must be an integer`}},
		{map[string]string{"steps": "99999999999999999999"}, []string{`steps: must be an integer`}},
		{map[string]string{"huge": "1"}, []string{`huge: must be true or false, got "1"`}},
		{map[string]string{"every": "0s"}, []string{`every: must be a duration from 1ns to 1s, as 100µs, got "0s"`}},
		{map[string]string{"every": "1001ms"}, []string{`every: must be a duration`}},
		{map[string]string{"every": "5"}, []string{`every: must be a duration`}},
		{map[string]string{"every": ""}, []string{`every: must be a duration`}},
		{map[string]string{"path": "sse"}, []string{`path: must be one of auto, avx512, avx2, portable, got "sse"`}},
		{map[string]string{"stpes": "2", "steps": "-1", "huge": "yes"}, []string{
			`parameter: must be one of the parameters steps, huge, every, path, got "stpes"`, `steps: must be`, `huge: must be`}},
	} {
		_, err := ParseParams("k", testParams(), c.given)
		var p *ParamError
		if !errors.As(err, &p) {
			t.Errorf("%v: got %v, want a *ParamError", c.given, err)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(c.want) {
			t.Errorf("%v: got %d faults, want %d:\n%v", c.given, len(lines), len(c.want), err)
			continue
		}
		for i, w := range c.want {
			if !strings.HasPrefix(lines[i], `cannot run kernel "k": `+w) {
				t.Errorf("%v: got %q, want %q", c.given, lines[i], w)
			}
		}
	}
}

func TestResolvePath(t *testing.T) {
	paths := Paths()
	if paths[len(paths)-1] != PathPortable {
		t.Fatalf("the last path is %q, want portable", paths[len(paths)-1])
	}
	if got, err := ResolvePath("k", PathAuto); err != nil || got != paths[0] {
		t.Errorf("auto: got %q, %v, want %q", got, err, paths[0])
	}
	for _, p := range paths {
		if got, err := ResolvePath("k", p); err != nil || got != p {
			t.Errorf("%s: got %q, %v", p, got, err)
		}
	}
	var p *ParamError
	if _, err := ResolvePath("k", "neon9"); !errors.As(err, &p) || p.Value != "neon9" {
		t.Errorf("got %v, want a *ParamError", err)
	}
}

// A text is taken as its parameter's rule says, or is a fault.
func FuzzParseParams(f *testing.F) {
	for _, s := range []string{"", "3", "-1", "true", "100µs", "1e3s", "auto", "9223372036854775808"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range testParams() {
			v, err := ParseParams("k", testParams(), map[string]string{p.Name: text})
			n := v.ints[p.Name]
			ranged := p.Kind == KindInt || p.Kind == KindDuration
			if err == nil && (ranged && (n < p.Min || n > p.Max) || p.Kind == KindWord && !slices.Contains(p.Words, text)) {
				t.Errorf("%s: took %q", p.Name, text)
			}
			var fault *ParamError
			if err != nil && (!errors.As(err, &fault) || fault.Param != p.Name || fault.Value != text) {
				t.Errorf("%s: %q: got %v", p.Name, text, err)
			}
		}
	})
}
