package harness

// tailSize is how many of the last bytes of a stream are kept once it is
// longer than its Head.
const tailSize = 64 << 10

// Lost is how many bytes between Head and Tail were thrown away.
func (s Stream) Lost() int64 { return s.Total - int64(len(s.Head)) - int64(len(s.Tail)) }

// End returns up to n of the last bytes that were kept, without a gap in them.
func (s Stream) End(n int) []byte {
	end := s.Tail
	if s.Lost() == 0 && len(end) < n {
		end = append(s.Head[max(0, len(s.Head)-(n-len(end))):len(s.Head):len(s.Head)], s.Tail...)
	}
	return end[max(0, len(end)-n):]
}

// capture keeps what a child writes to one stream in bounded memory: the first
// limit bytes and, of what follows, the last tailSize.
type capture struct {
	limit int64
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	total int64
}

// write takes what was read next.
func (c *capture) write(p []byte) {
	c.total += int64(len(p))
	if room := c.limit - int64(len(c.head)); room > 0 {
		n := int(min(room, int64(len(p))))
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > tailSize {
		p = p[len(p)-tailSize:]
	}
	if n := min(tailSize-len(c.tail), len(p)); n > 0 {
		c.tail = append(c.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.next:], p)
		c.next = (c.next + n) % tailSize
		p = p[n:]
	}
}

// stream returns what was kept.
func (c *capture) stream() Stream {
	s := Stream{Head: c.head, Total: c.total, Tail: c.tail}
	if c.next > 0 {
		s.Tail = append(append(make([]byte, 0, tailSize), c.tail[c.next:]...), c.tail[:c.next]...)
	}
	return s
}
