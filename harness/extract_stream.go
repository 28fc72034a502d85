package harness

import "bytes"

// view is what is known of a stream: whole, or its first and last lines with a
// gap between.
type view struct {
	head, tail []byte
	lost       int64 // bytes between head and tail
	limit      int   // bytes that were kept from the start
}

// viewOf looks at a stream. Where it was cut, the line that the cut went
// through is left out on both sides: half a number would be read as a number.
// A tail that reaches back to the head closes the gap.
func viewOf(s Stream) view {
	v := view{head: s.Head, limit: len(s.Head)}
	if !s.Cut() {
		return v
	}
	tail := s.Tail
	gap := s.Total - int64(len(s.Head)) - int64(len(tail))
	if gap <= 0 {
		over := min(int(-gap), len(tail))
		v.head = append(append([]byte(nil), s.Head...), tail[over:]...)
		return v
	}
	v.lost = gap
	v.head = s.Head[:bytes.LastIndexByte(s.Head, '\n')+1]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		v.tail = tail[i+1:]
	}
	return v
}

// cut says in words that a stream was cut, and what limits it.
func (v view) cut(name string) string {
	return name + " is longer than plan.output, so " + byteCount(v.lost) + " of it after the first " + byteCount(int64(v.limit)) + " were not kept"
}
