package harness

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"goset/internal/lazy"
)

// Bounds of a text. The TOML library keeps every prefix of a dotted or nested
// key as a string of its own, so that depth costs it the square: a line of
// 100,000 dots would take gigabytes.
const (
	maxText  = 1 << 20
	maxDepth = 100
	maxDots  = 256 // in a line
)

// parse checks the syntax of the text and returns its tree. The second result
// has one fault when the text is no TOML.
func parse(src *source) (*node, *Fault) {
	if f := checkText(src); f != nil {
		return nil, f
	}
	decoded, err := decodeTOML(string(src.text))
	if err != nil {
		return nil, syntaxFault(src, err)
	}
	s := &scanner{text: src.text}
	root, err := s.scan()
	if err == nil {
		err = attach(root, decoded)
	}
	if err != nil {
		return nil, placeFault(src, err)
	}
	return root, nil
}

// placeFault is for a text that the library accepts and the scanner does not.
func placeFault(src *source, err error) *Fault {
	var se scanError
	if !errors.As(err, &se) {
		return src.fault(0, Fault{Rule: err.Error()})
	}
	if se.twice {
		return src.fault(se.at, Fault{Rule: "this key was defined before as something else"})
	}
	return src.fault(se.at, Fault{Rule: "cannot tell the places of the keys from here on",
		Hint: "a table that is spread over several places may be written in one"})
}

// decodeTOML is the library's decoder with its panics made errors: it ends a
// few malformed texts with "BUG in lexer".
func decodeTOML(text string) (m map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("cannot be read as TOML: %v", r)
		}
	}()
	_, err = toml.Decode(text, &m)
	return m, err
}

// checkText refuses what the library must not be given.
func checkText(src *source) *Fault {
	text := src.text
	if len(text) > maxText {
		return src.fault(0, Fault{Rule: fmt.Sprintf("an experiment is at most %d bytes of text", maxText), Got: fmt.Sprint(len(text))})
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 || r == 0 {
			return src.fault(i, Fault{Rule: "an experiment is UTF-8 text", Got: fmt.Sprintf("byte 0x%02x", text[i])})
		}
		i += n
	}
	depth, dots := 0, 0
	for i, c := range text {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '.':
			dots++
		case '\n':
			dots = 0
		}
		if depth > maxDepth {
			return src.fault(i, Fault{Rule: fmt.Sprintf("brackets are nested at most %d deep", maxDepth)})
		}
		if dots > maxDots {
			return src.fault(i, Fault{Rule: fmt.Sprintf("a line has at most %d dots", maxDots)})
		}
	}
	return nil
}

var bareWord = lazy.Regexp(`^expected value but found "(\pL+)" instead$`)

// syntaxFault is the library's complaint in the form of all others.
func syntaxFault(src *source, err error) *Fault {
	var pe toml.ParseError
	if !errors.As(err, &pe) {
		return src.fault(0, Fault{Rule: lowerFirst(err.Error())})
	}
	f := Fault{Key: pe.LastKey, Rule: "is no TOML: " + lowerFirst(strings.TrimSuffix(pe.Message, "."))}
	if pe.LastKey == "" {
		f.Rule = "no TOML: " + lowerFirst(strings.TrimSuffix(pe.Message, "."))
	}
	if m := bareWord().FindStringSubmatch(pe.Message); m != nil {
		f.Hint = fmt.Sprintf("quote it: %q", m[1])
	}
	return src.fault(pe.Position.Start, f)
}

// lowerFirst makes a sentence a part of one; "TOML" stays as it is.
func lowerFirst(s string) string {
	if len(s) > 1 && unicode.IsUpper(rune(s[1])) {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

// fault places f at an offset of the text.
func (s *source) fault(offset int, f Fault) *Fault {
	f.File = s.file
	f.Line, f.Col, f.Origin = s.position(offset)
	return &f
}

// written is a value as it stands in the text, on one line and not too long.
func (s *source) written(where span) string {
	if where.at < 0 || where.end > len(s.text) || where.at >= where.end {
		return ""
	}
	text := string(bytes.Join(bytes.Fields(s.text[where.at:where.end]), []byte(" ")))
	const most = 60
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	return text
}
