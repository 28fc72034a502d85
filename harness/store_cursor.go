package harness

import (
	"slices"
	"strconv"
	"time"
)

// lineCursor reads one line from left to right.
type lineCursor struct {
	b []byte
	i int
	d *lineDecoder
}

func (c *lineCursor) take(b byte) bool {
	if c.i < len(c.b) && c.b[c.i] == b {
		c.i++
		return true
	}
	return false
}

func (c *lineCursor) literal(s string) error {
	if len(c.b)-c.i < len(s) || string(c.b[c.i:c.i+len(s)]) != s {
		return errSlow
	}
	c.i += len(s)
	return nil
}

// raw reads a string without escapes and gives its bytes.
func (c *lineCursor) raw() ([]byte, error) {
	if !c.take('"') {
		return nil, errSlow
	}
	from := c.i
	for ; c.i < len(c.b); c.i++ {
		switch b := c.b[c.i]; {
		case b == '"':
			c.i++
			return c.b[from : c.i-1], nil
		case b < ' ' || b == '\\' || b >= 0x80:
			return nil, errSlow
		}
	}
	return nil, errSlow
}

func (c *lineCursor) integer(n *int) error {
	from := c.i
	negative := c.take('-')
	first := c.i
	v := 0
	for ; c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9'; c.i++ {
		v = v*10 + int(c.b[c.i]-'0')
	}
	digits := c.i - first
	// Nine digits fit an int everywhere; a leading zero is not JSON.
	if digits == 0 || digits > 9 || digits > 1 && c.b[first] == '0' {
		c.i = from
		return errSlow
	}
	if negative {
		v = -v
	}
	*n = v
	return nil
}

// number reads a JSON number.
func (c *lineCursor) number() (float64, error) {
	from := c.i
	c.take('-')
	if !c.take('0') && c.digits() == 0 {
		return 0, errSlow
	}
	if c.take('.') && c.digits() == 0 {
		return 0, errSlow
	}
	if c.take('e') || c.take('E') {
		if !c.take('+') {
			c.take('-')
		}
		if c.digits() == 0 {
			return 0, errSlow
		}
	}
	v, err := strconv.ParseFloat(string(c.b[from:c.i]), 64)
	if err != nil {
		return 0, errSlow
	}
	return v, nil
}

// digits passes over digits and counts them.
func (c *lineCursor) digits() int {
	from := c.i
	for c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9' {
		c.i++
	}
	return c.i - from
}

func (c *lineCursor) time(t *time.Time) error {
	raw, err := c.raw()
	if err != nil {
		return err
	}
	return t.UnmarshalText(raw)
}

// members calls value for each member of an object, the cursor on its value.
func (c *lineCursor) members(value func(name string) error) error {
	if !c.take('{') {
		return errSlow
	}
	if c.take('}') {
		return nil
	}
	for {
		raw, err := c.raw()
		if err != nil {
			return err
		}
		if !c.take(':') {
			return errSlow
		}
		if err := value(c.d.intern(raw)); err != nil {
			return err
		}
		if c.take('}') {
			return nil
		}
		if !c.take(',') {
			return errSlow
		}
	}
}

func (c *lineCursor) array() ([]float64, error) {
	if !c.take('[') {
		return nil, errSlow
	}
	if c.take(']') {
		return []float64{}, nil
	}
	c.d.series = c.d.series[:0]
	for {
		v, err := c.number()
		if err != nil {
			return nil, err
		}
		c.d.series = append(c.d.series, v)
		if c.take(']') {
			return slices.Clone(c.d.series), nil
		}
		if !c.take(',') {
			return nil, errSlow
		}
	}
}

// value passes over one object or array and gives its bytes; whether they are
// well formed is for encoding/json to say.
func (c *lineCursor) value() ([]byte, error) {
	from, depth := c.i, 0
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			if !c.skipString() {
				return nil, errSlow
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.i++
		if depth == 0 {
			return c.b[from:c.i], nil
		}
		if depth < 0 {
			break
		}
	}
	return nil, errSlow
}

// skipString passes over a string with its escapes.
func (c *lineCursor) skipString() bool {
	for c.i++; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case '\\':
			c.i++
		case '"':
			c.i++
			return true
		}
	}
	return false
}
