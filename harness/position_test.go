package harness

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// flatten lists every value of a tree as "path @line:col text".
func flatten(src *source, n *node) []string {
	var out []string
	if n.kind == scalarNode {
		line, col, _ := src.position(n.val.at)
		out = append(out, fmt.Sprintf("%s @%d:%d %s", n.path, line, col, src.text[n.val.at:n.val.end]))
	}
	for _, k := range n.kids {
		out = append(out, flatten(src, k)...)
	}
	for _, e := range n.items {
		out = append(out, flatten(src, e)...)
	}
	return out
}

func TestScanPlaces(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"comment", "# x = 1\n", nil},
		{"one key", "a = 1", []string{"a @1:5 1"}},
		{"two keys", "a = 1\nb = \"x\" # c", []string{"a @1:5 1", `b @2:5 "x"`}},
		{"spaces", " \t a  =  1  \n", []string{"a @1:10 1"}},
		{"crlf", "a = 1\r\nb = 2\r\n", []string{"a @1:5 1", "b @2:5 2"}},
		{"characters, not bytes", "é = 1", nil}, // no bare key
		{"quoted key", "\"é\" = 1", []string{"\"é\" @1:7 1"}},
		{"escaped key", `"a\u0062\"" = 1`, []string{`"ab\"" @1:15 1`}},
		{"raw key", `'a.b' . c = 1`, []string{`"a.b".c @1:13 1`}},
		{"table", "[ a . b ]\nc = 1\n[a]\nd = 2", []string{"a.b.c @2:5 1", "a.d @4:5 2"}},
		{"dotted", "a.b.c = 1\na.b.d = 2", []string{"a.b.c @1:9 1", "a.b.d @2:9 2"}},
		{"inline", "a = { b = 1, c.d = 2 }", []string{"a.b @1:11 1", "a.c.d @1:20 2"}},
		{"inline over lines", "a = { # x\n b = 1, # y\n}", []string{"a.b @2:6 1"}},
		{"array", "a = [1, # x\n [2,\n3,],]", []string{"a[0] @1:6 1", "a[1][0] @2:3 2", "a[1][1] @3:1 3"}},
		{"tables in arrays", "a = [{b=1},{b=2}]", []string{"a[0].b @1:9 1", "a[1].b @1:15 2"}},
		{"arrays of tables", "[[a]]\nb=1\n[a.c]\nd=2\n[[a]]\nb=3", []string{"a[0].b @2:3 1", "a[0].c.d @4:3 2", "a[1].b @6:3 3"}},
		{"strings", `a = "x\"]# " # "`, []string{`a @1:5 "x\"]# "`}},
		{"multi-line strings", "a = \"\"\"\nx\\\"\"\"\"\"\"\nb = '''y'''''\nc = ''", []string{"a @1:5 \"\"\"\nx\\\"\"\"\"\"\"", "b @3:5 '''y'''''", "c @4:5 ''"}},
		{"dates", "a = 1979-05-27 07:32:00 # x\nb = [07:32:00]", []string{"a @1:5 1979-05-27 07:32:00", "b[0] @2:6 07:32:00"}},
		{"numbers", "a=-1_0.5e+3\nb=0xfF\nc=+inf", []string{"a @1:3 -1_0.5e+3", "b @2:3 0xfF", "c @3:3 +inf"}},
	} {
		src := newSource("f", []byte(tt.text))
		root, f := parse(src)
		if f != nil {
			if tt.want != nil {
				t.Errorf("%s: %v", tt.name, f)
			}
			continue
		}
		if got := flatten(src, root); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// FuzzScan holds the scanner against the library: of every text that the
// library accepts, the same keys in the same order, and every value where the
// scanner says that it stands.
func FuzzScan(f *testing.F) {
	for _, s := range []string{"", "a = 1", "[a.b]\nc = [1, {d = 2}]\n[[e]]\n'f' = \"\"\"x\"\"\"", "a = { b.c = 1, }\r\n", `"\u00e9" = 07:32:00`, "[a]\n[a.b]\nc.d=1\nc.e=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := newSource("f", []byte(text))
		if strings.HasPrefix(text, "\ufeff") || checkText(src) != nil {
			return
		}
		var m map[string]any
		md, err := decodeWithMeta(text, &m)
		if err != nil {
			return
		}
		var got [][]string
		s := &scanner{text: src.text, seen: func(path []string) { got = append(got, append([]string(nil), path...)) }}
		root, err := s.scan()
		if se, ok := err.(scanError); ok && se.twice {
			return
		}
		if err != nil {
			t.Fatalf("%v in %q, which the library accepts", err, text)
		}
		if want := md.Keys(); len(got) != len(want) {
			t.Fatalf("keys %q, want %q in %q", got, want, text)
		}
		for i, want := range md.Keys() {
			if !reflect.DeepEqual(got[i], []string(want)) {
				t.Fatalf("key %d is %q, want %q in %q", i, got[i], want, text)
			}
		}
		if err := attach(root, m); err != nil {
			t.Fatalf("%v: the trees differ for %q", err, text)
		}
		checkValues(t, src, root)
	})
}

func decodeWithMeta(text string, m *map[string]any) (md toml.MetaData, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return toml.Decode(text, m)
}

// checkValues decodes each scalar's bytes alone: they must say what the
// library found in the whole.
func checkValues(t *testing.T, src *source, n *node) {
	for _, k := range n.kids {
		checkValues(t, src, k)
	}
	for _, e := range n.items {
		checkValues(t, src, e)
	}
	if n.kind != scalarNode {
		return
	}
	var v struct{ V any }
	if _, err := toml.Decode("V = "+string(src.text[n.val.at:n.val.end]), &v); err != nil || fmt.Sprint(v.V) != fmt.Sprint(n.value) {
		t.Fatalf("%s stands at %q and is %v (%v)", n.path, src.text[n.val.at:n.val.end], n.value, err)
	}
}

func TestSplicePositions(t *testing.T) {
	src := newSource("f", []byte("a = 1\nb = 2\nc = 3\n"))
	src.splice(span{4, 5}, "[1,\n2]", "one")
	at := strings.Index(string(src.text), "2\nc")
	src.splice(span{at, at + 1}, "x", "two")
	src.splice(span{0, 0}, "t = 0\n", "three")
	src.splice(span{len(src.text), len(src.text)}, "z = 1", "four")
	if want := "t = 0\na = [1,\n2]\nb = x\nc = 3\nz = 1"; string(src.text) != want {
		t.Fatalf("text %q, want %q", src.text, want)
	}
	for _, tt := range []struct {
		what      string
		line, col int
		origin    string
	}{
		{"t =", 0, 0, "three"}, {"a =", 1, 1, ""}, {"[1", 0, 0, "one"}, {"2]", 0, 0, "one"},
		{"b =", 2, 1, ""}, {"x", 0, 0, "two"}, {"c =", 3, 1, ""}, {"3", 3, 5, ""}, {"z", 0, 0, "four"},
	} {
		line, col, origin := src.position(strings.Index(string(src.text), tt.what))
		if line != tt.line || col != tt.col || origin != tt.origin {
			t.Errorf("%q: %d:%d %q, want %d:%d %q", tt.what, line, col, origin, tt.line, tt.col, tt.origin)
		}
	}
}
