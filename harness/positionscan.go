package harness

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// nodeKind is what a value is.
type nodeKind int

const (
	scalarNode nodeKind = iota
	arrayNode
	tableNode
)

// definition is how a table came to be, which decides how a key is added.
type definition int

const (
	byImplication definition = iota // a parent of a header: [a.b] implies a
	byHeader                        // [a], an element of [[a]], or the whole file
	byBraces                        // a = { ... }
	byDots                          // a.b = 1 makes a
)

// node is a value of the file with its place. The scanner says where it is,
// the TOML library says what it is.
type node struct {
	key  string
	path string // "workload.jitter.steps", "plan.skip[0].n"
	name span   // of the key's last part; empty for elements of arrays
	val  span   // of the value; of the header for a table with one
	kind nodeKind
	def  definition

	parent *node // of a table's child
	// home is, for a table made by dots, the table in whose body they stand.
	home *node
	// last is the end of the last statement in the body of a table that has
	// one, or where its first would go.
	last int
	used bool // the body has a statement

	kids  []*node // of a table, in file order
	byKey map[string]*node
	items []*node // of an array
	value any     // of a scalar: string, int64, float64, bool or time.Time
}

// kid returns the child of that name, or nil.
func (n *node) kid(key string) *node { return n.byKey[key] }

// add makes a child.
func (n *node) add(key string, kind nodeKind, def definition) *node {
	c := &node{key: key, path: joinKey(n.path, key), kind: kind, def: def, parent: n}
	if n.byKey == nil {
		n.byKey = map[string]*node{}
	}
	n.byKey[key] = c
	n.kids = append(n.kids, c)
	return c
}

func joinKey(path, key string) string {
	key = toml.Key{key}.String() // quotes where needed
	if path == "" {
		return key
	}
	return path + "." + key
}

// scanner finds where keys and values stand in a text that the TOML library
// has accepted: what that library already refused (duplicates, bad escapes,
// missing brackets) it does not look for, but it never runs past the end.
//
// The library has no public way to ask for the place of a key or value, and
// without one neither "line 12, column 9" for a wrong value nor an override
// that leaves the rest of the file as it was could be had.
type scanner struct {
	text []byte
	pos  int
	// seen, when set, is told every key in the order of MetaData.Keys.
	seen func(path []string)
}

// scanError is a place where scanner and library disagree.
type scanError struct {
	at int
	// twice: a key is there already. The library drops the second value of
	// "a.b = 1, a = 2" without a word.
	twice bool
}

func (e scanError) Error() string {
	if e.twice {
		return fmt.Sprintf("the key at byte %d was defined before as something else", e.at)
	}
	return fmt.Sprintf("cannot follow the text at byte %d", e.at)
}

// scan returns the tree of the text.
func (s *scanner) scan() (*node, error) {
	root := &node{kind: tableNode, def: byHeader}
	body, base := root, []string(nil)
	for {
		s.skipBlank()
		switch {
		case s.pos >= len(s.text):
			return root, nil
		case s.text[s.pos] == '[':
			var err error
			if body, base, err = s.header(root); err != nil {
				return nil, err
			}
		default:
			if err := s.statement(body, base); err != nil {
				return nil, err
			}
		}
	}
}

// header reads [a.b] or [[a.b]] and returns the table that follows.
func (s *scanner) header(root *node) (*node, []string, error) {
	at := s.pos
	isArray := s.pos+1 < len(s.text) && s.text[s.pos+1] == '['
	s.pos++
	if isArray {
		s.pos++
	}
	parts, spans, err := s.keyParts()
	if err != nil {
		return nil, nil, err
	}
	for range 1 + btoi(isArray) {
		if !s.accept(']') {
			return nil, nil, scanError{at: s.pos}
		}
	}
	parent := root
	for i, part := range parts[:len(parts)-1] {
		next := parent.kid(part)
		if next == nil {
			next = parent.add(part, tableNode, byImplication)
			next.name = spans[i]
		}
		if parent = lastElement(next); parent == nil {
			return nil, nil, scanError{spans[i].at, true}
		}
	}
	table, err := defineTable(parent, parts[len(parts)-1], isArray, spans[len(spans)-1])
	if err != nil {
		return nil, nil, err
	}
	table.val, table.last = span{at, s.pos}, s.pos
	s.tell(parts)
	return table, parts, nil
}

// defineTable makes or finds the table that a header opens.
func defineTable(parent *node, key string, isArray bool, name span) (*node, error) {
	n := parent.kid(key)
	if n == nil {
		kind := tableNode
		if isArray {
			kind = arrayNode
		}
		n = parent.add(key, kind, byHeader)
		n.name = name
	}
	if !isArray {
		if n.kind != tableNode {
			return nil, scanError{name.at, true}
		}
		n.def, n.name = byHeader, name
		return n, nil
	}
	if n.kind != arrayNode {
		return nil, scanError{name.at, true}
	}
	e := &node{path: fmt.Sprintf("%s[%d]", n.path, len(n.items)), kind: tableNode, def: byHeader, name: name}
	n.items = append(n.items, e)
	return e, nil
}

// lastElement is where a header's path goes on below n: n itself, or the last
// element of an array of tables.
func lastElement(n *node) *node {
	for n.kind == arrayNode {
		if len(n.items) == 0 {
			return nil
		}
		n = n.items[len(n.items)-1]
	}
	if n.kind != tableNode {
		return nil
	}
	return n
}

// statement reads key = value in the body of a table with a header or braces.
func (s *scanner) statement(body *node, base []string) error {
	parts, spans, err := s.keyParts()
	if err != nil {
		return err
	}
	if !s.accept('=') {
		return scanError{at: s.pos}
	}
	parent := body
	for i, part := range parts[:len(parts)-1] {
		next := parent.kid(part)
		if next == nil {
			next = parent.add(part, tableNode, byDots)
			next.name, next.home = spans[i], body
			next.val = spans[i]
		}
		if parent = lastElement(next); parent == nil {
			return scanError{spans[i].at, true}
		}
	}
	key := parts[len(parts)-1]
	if parent.kid(key) != nil {
		return scanError{spans[len(spans)-1].at, true}
	}
	n := parent.add(key, scalarNode, byHeader)
	n.name = spans[len(spans)-1]
	path := append(base[:len(base):len(base)], parts...)
	s.tell(path)
	if err := s.valueOf(n, path); err != nil {
		return err
	}
	body.last, body.used = n.val.end, true
	return nil
}

// keyParts reads a dotted key with the place of each part.
func (s *scanner) keyParts() (parts []string, spans []span, err error) {
	for {
		s.skipSpace()
		at := s.pos
		part, err := s.keyPart()
		if err != nil {
			return nil, nil, err
		}
		parts, spans = append(parts, part), append(spans, span{at, s.pos})
		if !s.accept('.') {
			return parts, spans, nil
		}
	}
}

func (s *scanner) keyPart() (string, error) {
	at := s.pos
	if at >= len(s.text) {
		return "", scanError{at: at}
	}
	if c := s.text[at]; c == '"' || c == '\'' {
		if err := s.quoted(c, false); err != nil {
			return "", err
		}
		return unquoteKey(string(s.text[at:s.pos]), at)
	}
	for s.pos < len(s.text) && isBareKey(s.text[s.pos]) {
		s.pos++
	}
	if s.pos == at {
		return "", scanError{at: at}
	}
	return string(s.text[at:s.pos]), nil
}

// unquoteKey asks the library what a quoted key says: keys and one-line
// strings have the same escapes, and one reader of escapes is enough.
func unquoteKey(quoted string, at int) (string, error) {
	var v struct{ K string }
	if _, err := toml.Decode("K = "+quoted, &v); err != nil {
		return "", scanError{at: at}
	}
	return v.K, nil
}

// valueOf reads a value into n.
func (s *scanner) valueOf(n *node, path []string) error {
	s.skipSpace()
	n.val.at = s.pos
	if s.pos >= len(s.text) {
		return scanError{at: s.pos}
	}
	var err error
	switch c := s.text[s.pos]; c {
	case '[':
		n.kind = arrayNode
		err = s.array(n, path)
	case '{':
		n.kind, n.def = tableNode, byBraces
		err = s.inlineTable(n, path)
	case '"', '\'':
		err = s.quoted(c, true)
	default:
		err = s.word()
	}
	n.val.end = s.pos
	return err
}

func (s *scanner) array(n *node, path []string) error {
	s.pos++
	for {
		s.skipBlank()
		if s.accept(']') {
			return nil
		}
		e := &node{path: fmt.Sprintf("%s[%d]", n.path, len(n.items))}
		if err := s.valueOf(e, path); err != nil {
			return err
		}
		n.items = append(n.items, e)
		s.skipBlank()
		if !s.accept(',') && (s.pos >= len(s.text) || s.text[s.pos] != ']') {
			return scanError{at: s.pos}
		}
	}
}

func (s *scanner) inlineTable(n *node, path []string) error {
	s.pos++
	n.last = s.pos
	for {
		s.skipBlank()
		if s.accept('}') {
			return nil
		}
		if err := s.statement(n, path); err != nil {
			return err
		}
		s.skipBlank()
		if !s.accept(',') && (s.pos >= len(s.text) || s.text[s.pos] != '}') {
			return scanError{at: s.pos}
		}
	}
}

// quoted reads a string of either quote; multi allows the tripled form. A run
// of more than three quotes ends a multi-line string with its last three.
func (s *scanner) quoted(q byte, multi bool) error {
	at := s.pos
	fence := 1
	if multi && strings.HasPrefix(string(s.text[s.pos:min(s.pos+3, len(s.text))]), strings.Repeat(string(q), 3)) {
		fence = 3
	}
	s.pos += fence
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '\\' && q == '"':
			s.pos += 2
		case c == q:
			run := 0
			for s.pos < len(s.text) && s.text[s.pos] == q && (fence == 3 || run < 1) {
				s.pos++
				run++
			}
			if run >= fence {
				return nil
			}
		default:
			s.pos++
		}
	}
	s.pos = len(s.text)
	return scanError{at: at}
}

// word reads a number, a boolean or a date, which may have one space in it.
func (s *scanner) word() error {
	at := s.pos
	for s.pos < len(s.text) && !strings.ContainsRune(",]}#\r\n", rune(s.text[s.pos])) {
		s.pos++
	}
	for s.pos > at && isSpace(s.text[s.pos-1]) {
		s.pos--
	}
	if s.pos == at {
		return scanError{at: at}
	}
	return nil
}

// accept steps over c, after blanks on the line, when c is there.
func (s *scanner) accept(c byte) bool {
	s.skipSpace()
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) skipSpace() {
	for s.pos < len(s.text) && isSpace(s.text[s.pos]) {
		s.pos++
	}
}

// skipBlank steps over space, line ends and comments.
func (s *scanner) skipBlank() {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case isSpace(c) || c == '\n' || c == '\r':
			s.pos++
		case c == '#':
			for s.pos < len(s.text) && s.text[s.pos] != '\n' {
				s.pos++
			}
		default:
			return
		}
	}
}

func (s *scanner) tell(path []string) {
	if s.seen != nil {
		s.seen(path)
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func isBareKey(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// attach gives every node the value that the library decoded for it.
func attach(n *node, decoded any) error {
	switch v := decoded.(type) {
	case map[string]any:
		if n.kind != tableNode || len(v) != len(n.kids) {
			return scanError{at: n.val.at}
		}
		for _, k := range n.kids {
			d, ok := v[k.key]
			if !ok {
				return scanError{at: k.name.at}
			}
			if err := attach(k, d); err != nil {
				return err
			}
		}
	case []map[string]any:
		return attachItems(n, len(v), func(i int) any { return v[i] })
	case []any:
		return attachItems(n, len(v), func(i int) any { return v[i] })
	default:
		if n.kind != scalarNode {
			return scanError{at: n.val.at}
		}
		n.value = decoded
	}
	return nil
}

func attachItems(n *node, count int, item func(int) any) error {
	if n.kind != arrayNode || count != len(n.items) {
		return scanError{at: n.val.at}
	}
	for i, e := range n.items {
		if err := attach(e, item(i)); err != nil {
			return err
		}
	}
	return nil
}
