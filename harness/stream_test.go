package harness

import (
	"bytes"
	"testing"
)

// pattern is n bytes of which no two windows are alike for long.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 + i>>8*13 + i>>16*31)
	}
	return p
}

// checkCapture compares what was kept of all with what should have been.
func checkCapture(t *testing.T, all []byte, limit int64, pieces int) {
	t.Helper()
	c := capture{limit: limit}
	for rest := all; len(rest) > 0; {
		n := min(pieces, len(rest))
		c.write(rest[:n])
		rest = rest[n:]
	}
	s := c.stream()
	head := all[:min(int64(len(all)), limit)]
	tail := all[len(head):]
	tail = tail[max(0, len(tail)-tailSize):]
	if s.Total != int64(len(all)) || !bytes.Equal(s.Head, head) || !bytes.Equal(s.Tail, tail) {
		t.Errorf("%d bytes in pieces of %d, limit %d: total %d, head %d, tail %d bytes; want %d, %d, %d and the same bytes",
			len(all), pieces, limit, s.Total, len(s.Head), len(s.Tail), len(all), len(head), len(tail))
	}
	if s.Cut() != (int64(len(all)) > limit) || s.Lost() != int64(len(all)-len(head)-len(tail)) {
		t.Errorf("%d bytes, limit %d: cut %t, lost %d", len(all), limit, s.Cut(), s.Lost())
	}
}

func TestCapture(t *testing.T) {
	for _, n := range []int{0, 1, 2, 99, 100, 101, 100 + tailSize, 101 + tailSize, 100 + 3*tailSize + 5} {
		for _, limit := range []int64{0, 1, 100} {
			for _, pieces := range []int{1, 3, 4096, tailSize, 2*tailSize + 1} {
				checkCapture(t, pattern(n), limit, pieces)
			}
		}
	}
}

func FuzzCapture(f *testing.F) {
	f.Add(100, int64(10), 7)
	f.Add(tailSize*2, int64(0), tailSize-1)
	f.Fuzz(func(t *testing.T, n int, limit int64, pieces int) {
		if n < 0 || n > 4*tailSize || limit < 0 || limit > 4*tailSize || pieces < 1 {
			t.Skip()
		}
		checkCapture(t, pattern(n), limit, pieces)
	})
}

func TestStreamEnd(t *testing.T) {
	for _, test := range []struct {
		summary string
		stream  Stream
		n       int
		want    string
	}{
		{"nothing", Stream{}, 5, ""},
		{"all of a short one", Stream{Head: []byte("ab"), Total: 2}, 5, "ab"},
		{"end of the head", Stream{Head: []byte("abc"), Total: 3}, 2, "bc"},
		{"head and tail meet", Stream{Head: []byte("abc"), Tail: []byte("d"), Total: 4}, 3, "bcd"},
		{"tail is enough", Stream{Head: []byte("abc"), Tail: []byte("def"), Total: 6}, 2, "ef"},
		{"no gap is bridged", Stream{Head: []byte("abc"), Tail: []byte("yz"), Total: 26}, 4, "yz"},
	} {
		if got := string(test.stream.End(test.n)); got != test.want {
			t.Errorf("%s: end of %d is %q, want %q", test.summary, test.n, got, test.want)
		}
		if test.stream.Head != nil && string(test.stream.Head) != "abc"[:len(test.stream.Head)] {
			t.Errorf("%s: the head has changed to %q", test.summary, test.stream.Head)
		}
	}
}
