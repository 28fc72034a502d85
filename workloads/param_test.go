package workloads

import (
	"errors"
	"strings"
	"testing"
)

func testParams() []Param {
	return []Param{
		{Name: "steps", Kind: KindInt, Default: "3", Min: 1, Max: 9},
		{Name: "huge", Kind: KindBool, Default: "false"},
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
	}{
		{"none given", nil, 3, false, "auto"},
		{"lowest", map[string]string{"steps": "1"}, 1, false, "auto"},
		{"all", map[string]string{"steps": "9", "huge": "true", "path": "avx2"}, 9, true, "avx2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := ParseParams("k", testParams(), c.given)
			if err != nil {
				t.Fatal(err)
			}
			if v.Int("steps") != c.steps || v.Bool("huge") != c.huge || v.Word("path") != c.path {
				t.Errorf("got %d %t %q, want %d %t %q", v.Int("steps"), v.Bool("huge"), v.Word("path"), c.steps, c.huge, c.path)
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
		{map[string]string{"path": "sse"}, []string{`path: must be one of auto, avx512, avx2, portable, got "sse"`}},
		{map[string]string{"stpes": "2", "steps": "-1", "huge": "yes"}, []string{
			`parameter: must be one of the parameters steps, huge, path, got "stpes"`, `steps: must be`, `huge: must be`}},
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
