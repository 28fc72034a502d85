package harness

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// Setting is a value for a key from outside the experiment file.
type Setting struct {
	Key string // a dotted TOML key: "plan.runs"
	// Value is a TOML value. What is none and does not begin like one with a
	// bracket or a quote is taken as a string, so that plan.idle = 0s and
	// plan.order = shuffled need no quotes within the shell's.
	Value  string
	Origin string // for messages: "-set plan.runs=3", "GOSET_BENCH_RUNS"
}

// origin is the setting's name in messages, which keep to one line.
func (s Setting) origin() string {
	text := s.Origin
	if text == "" {
		text = s.Key + "=" + s.Value
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return strconv.Quote(text)
	}
	return text
}

// fault is a fault of the setting itself.
func (s Setting) fault(f Fault) *Fault {
	f.Origin = s.origin()
	return &f
}

// override splices the setting into the text: the value of a key that is
// there is replaced where it stands, another key is added to its table.
// Editing the text instead of the decoded values has the settings pass
// the checks of the file, and has the result folder keep the text that was run.
func override(src *source, set Setting, onlyIfSilent bool) *Fault {
	parts, f := settingKey(set)
	if f != nil {
		return f
	}
	value, f := settingValue(set)
	if f != nil {
		return f
	}
	root, f := parse(src)
	if f != nil {
		return f
	}
	if len(parts) > 1 && isNamed(parts[0]) {
		kinds := root.kid(parts[0])
		if kinds == nil || kinds.kid(parts[1]) == nil {
			if onlyIfSilent {
				return nil // a preference for a mode that this experiment lacks
			}
			return set.fault(noSuchName(parts, kinds))
		}
	}
	at, rest := descend(root, parts)
	if len(rest) == 0 {
		if onlyIfSilent {
			return nil
		}
		return replace(src, at, set, value)
	}
	if at.kind != tableNode {
		return set.fault(Fault{Key: set.Key, Rule: fmt.Sprintf("cannot be set, for %s is no table", at.path)})
	}
	insert(src, at, parts, rest, value, set.origin())
	return nil
}

// isNamed is true for the tables whose keys are names that the author chose.
// A setting adds none: it would be a misspelt name far more often than a wish.
func isNamed(key string) bool { return key == "workload" || key == "mode" || key == "condition" }

func noSuchName(parts []string, kinds *node) Fault {
	f := Fault{Key: toml.Key(parts).String(), Rule: fmt.Sprintf("the experiment has no %s of that name", parts[0]), Got: fmt.Sprintf("%q", parts[1])}
	if kinds != nil {
		if f.Hint = didYouMean(parts[1], keysOf(kinds)); f.Hint == "" {
			f.Hint = "it has " + strings.Join(keysOf(kinds), ", ")
		}
	}
	return f
}

func keysOf(n *node) []string {
	var keys []string
	for _, k := range n.kids {
		keys = append(keys, k.key)
	}
	return keys
}

// descend follows the key as far as the tree goes.
func descend(n *node, parts []string) (*node, []string) {
	for len(parts) > 0 {
		next := n.kid(parts[0])
		if next == nil {
			break
		}
		n, parts = next, parts[1:]
	}
	return n, parts
}

// settingKey splits a dotted key as TOML does.
func settingKey(set Setting) ([]string, *Fault) {
	bad := Fault{Rule: "must be a dotted key", Got: fmt.Sprintf("%q", set.Key), Hint: `as "plan.runs" or "mode.goset.n"`}
	src := newSource("", []byte(set.Key+" = 0"))
	if strings.ContainsAny(set.Key, "=#\n\r") || checkText(src) != nil {
		return nil, set.fault(bad)
	}
	if _, err := decodeTOML(string(src.text)); err != nil {
		return nil, set.fault(bad)
	}
	s := &scanner{text: []byte(set.Key)}
	parts, _, err := s.keyParts()
	if err != nil || s.pos != len(s.text) {
		return nil, set.fault(bad)
	}
	return parts, nil
}

// settingValue returns the value as TOML text without anything around it, so
// that no comment or further line comes into the file with it.
func settingValue(set Setting) (string, *Fault) {
	if !utf8.ValidString(set.Value) {
		return "", set.fault(Fault{Key: set.Key, Rule: "must be UTF-8 text", Got: fmt.Sprintf("%q", set.Value)})
	}
	src := newSource("", []byte("v = "+set.Value+"\n"))
	root, f := parse(src)
	if f == nil && len(root.kids) == 1 && root.kids[0].key == "v" {
		v := root.kids[0].val
		return string(src.text[v.at:v.end]), nil
	}
	if text := strings.TrimSpace(set.Value); text == "" || strings.ContainsAny(text[:1], `[{"'`) || strings.ContainsAny(text, "\n\r") {
		rule := "must be one TOML value"
		if f != nil {
			rule += ": " + strings.TrimPrefix(f.Rule, "is no TOML: ")
		}
		return "", set.fault(Fault{Key: set.Key, Rule: rule, Got: fmt.Sprintf("%q", set.Value)})
	}
	return tomlString(strings.TrimSpace(set.Value)), nil
}

// replace puts the value in the place of the one that is there.
func replace(src *source, n *node, set Setting, value string) *Fault {
	inText := n.kind != tableNode || n.def == byBraces
	if len(n.items) > 0 && n.items[0].def == byHeader && n.items[0].kind == tableNode {
		inText = false
	}
	if !inText {
		return set.fault(Fault{Key: set.Key, Rule: "is a table of the file and cannot be replaced whole", Hint: fmt.Sprintf("set its keys, as %s.KEY", set.Key)})
	}
	src.splice(n.val, value, set.origin())
	return nil
}

// insert adds the key rest, the end of parts, below table n.
func insert(src *source, n *node, parts, rest []string, value, origin string) {
	// A table made by dots has no body: the statement goes where theirs stand.
	depth := len(parts) - len(rest)
	for n.def == byDots {
		depth -= dotted(n)
		n = n.home
	}
	statement := toml.Key(parts[depth:]).String() + " = " + value
	switch {
	case n.def == byImplication || len(rest) > 1 && n.path == "":
		table, key := parts[:len(parts)-1], parts[len(parts)-1:]
		text := fmt.Sprintf("[%s]\n%s = %s\n", toml.Key(table), toml.Key(key), value)
		if len(src.text) > 0 && !bytes.HasSuffix(src.text, []byte("\n")) {
			text = "\n" + text
		}
		src.splice(span{len(src.text), len(src.text)}, text, origin)
	case n.def == byBraces:
		if n.used {
			statement = ", " + statement
		}
		src.splice(span{n.last, n.last}, statement, origin)
	case n.path == "" && !n.used:
		src.splice(span{0, 0}, statement+"\n", origin)
	default:
		at := lineEnd(src.text, n.last)
		src.splice(span{at, at}, "\n"+statement, origin)
	}
}

// dotted is how many parts lie between a table made by dots and its home.
func dotted(n *node) int {
	count := 0
	for p := n; p != nil && p != n.home; p = p.parent {
		count++
	}
	return count
}

// lineEnd is the end of the line after a statement, past its comment.
func lineEnd(text []byte, at int) int {
	for at < len(text) && text[at] != '\n' {
		at++
	}
	if at > 0 && at < len(text) && text[at-1] == '\r' {
		at--
	}
	return at
}

// tomlString writes s, which is UTF-8, as a basic string.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
