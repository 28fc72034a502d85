package chase

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"goset/workloads"
)

func TestShuffleIsOneCycle(t *testing.T) {
	for _, lines := range []uint64{1, 2, 3, 16, 1000, 4096} {
		for seed := range uint64(5) {
			ring := workloads.Align(make([]byte, lines*lineSize+64))
			shuffle(ring, lines, seed)
			seen, at := map[uint64]bool{}, uint64(0)
			for !seen[at] {
				seen[at] = true
				at = walk(ring, at, 1)
			}
			if at != 0 || uint64(len(seen)) != lines {
				t.Errorf("%d lines, seed %d: a cycle of %d back to %d", lines, seed, len(seen), at)
			}
		}
	}
}

func TestSeedsDiffer(t *testing.T) {
	const lines = 1000
	a, b := workloads.Align(make([]byte, lines*lineSize+64)), workloads.Align(make([]byte, lines*lineSize+64))
	shuffle(a, lines, 1)
	shuffle(b, lines, 2)
	if walk(a, 0, 10) == walk(b, 0, 10) && walk(a, 0, 20) == walk(b, 0, 20) {
		t.Error("seeds 1 and 2 give the same ring")
	}
}

func TestFollow(t *testing.T) {
	const lines = 16
	ring := workloads.Align(make([]byte, lines*lineSize+64))
	shuffle(ring, lines, 1)
	for _, loads := range []uint64{0, 1, 2, lines - 1, lines, 5*lines + 3} {
		got := (uint64(uintptr(follow(ring, loads))) - uint64(uintptr(ring))) / lineSize
		if want := walk(ring, 0, loads); got != want {
			t.Errorf("%d loads: line %d, want %d", loads, got, want)
		}
	}
}

// The walk's length is reduced by whole rounds of the ring.
func TestWalkArgument(t *testing.T) {
	for _, c := range []struct {
		kib, loads, iterations int64
		want                   uint64
	}{
		{1, 1, 1, 2},
		{1, 16, 9, 0},
		{1, 3, 6, 21 % 16},
		{3, 1 << 40, 10_000_000, 16 * 10_000_001 % 48}, // even powers of two are 16 modulo 48
	} {
		m := Config{KiB: c.kib, Loads: c.loads, Iterations: c.iterations, Threads: 1}.measurement()
		if got := m.Args[argWalk]; got != c.want {
			t.Errorf("%+v: got %d, want %d", c, got, c.want)
		}
	}
}

func TestRun(t *testing.T) {
	for _, c := range []Config{
		{KiB: 1, Loads: 1, Iterations: 1, Threads: 1},
		{KiB: 1, Loads: 2, Iterations: 2, Threads: 1, Seed: 9},
		{KiB: 192, Loads: 10000, Iterations: 3, Threads: 2, Seed: 1},
		{KiB: 16, Loads: 200000, Iterations: 2, Threads: 2, Seed: 1, inProcess: true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			var b bytes.Buffer
			if err := Run(c, &b); err != nil {
				t.Fatal(err)
			}
			r, lines := benchfmt.NewReader(&b, "test"), 0
			for r.Scan() {
				rec, ok := r.Result().(*benchfmt.Result)
				if !ok {
					if err, bad := r.Result().(*benchfmt.SyntaxError); bad {
						t.Fatal(err)
					}
					continue
				}
				lines++
				if got, want := string(rec.Name.Full()), fmt.Sprintf("Chase/kib=%d", c.KiB); got != want {
					t.Errorf("name: got %q, want %q", got, want)
				}
				if got, want := rec.GetConfig("checksum"), fmt.Sprintf("%#x", expected(c)); got != want {
					t.Errorf("checksum: got %q, want %q", got, want)
				}
				if v := rec.Values[0]; v.OrigUnit != "ns/load" || v.OrigValue <= 0 || rec.Iters != int(c.Loads) {
					t.Errorf("got %d %+v, want %d loads and ns/load", rec.Iters, v, c.Loads)
				}
			}
			if lines != int(c.Iterations) {
				t.Errorf("got %d lines, want %d", lines, c.Iterations)
			}
		})
	}
}

// expected is the offset that all loads end at, by Sattolo's algorithm on a
// slice and one step at a time.
func expected(c Config) uint64 {
	next := make([]uint64, c.KiB*1024/lineSize)
	for i := range next {
		next[i] = uint64(i)
	}
	state := uint64(c.Seed)
	for i := len(next) - 1; i > 0; i-- {
		j, _ := mulHigh(splitMix(&state), uint64(i))
		next[i], next[j] = next[j], next[i]
	}
	at := uint64(0)
	for range (c.Iterations + 1) * c.Loads {
		at = next[at]
	}
	return at * lineSize
}

// mulHigh is the upper half of a product, from 32-bit digits.
func mulHigh(a, b uint64) (hi, lo uint64) {
	const mask = 1<<32 - 1
	x := (a&mask)*(b&mask)>>32 + (a>>32)*(b&mask)
	y := x&mask + (a&mask)*(b>>32)
	return (a>>32)*(b>>32) + x>>32 + y>>32, a * b
}

func TestHugePages(t *testing.T) {
	var b bytes.Buffer
	err := Run(Config{KiB: 5000, Loads: 100, Iterations: 1, Threads: 2, HugePages: true}, &b)
	if errors.Is(err, workloads.ErrNoHugePages) {
		t.Skip("unsupported here:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\nhugepages: true\nhugepages-kib: ") {
		t.Errorf("no line about huge pages:\n%s", &b)
	}
}

func TestRunFaults(t *testing.T) {
	var b bytes.Buffer
	err := Run(Config{KiB: 0, Loads: 0, Iterations: 1, Threads: 4097, Seed: -1}, &b)
	var p *workloads.ParamError
	if !errors.As(err, &p) || strings.Count(err.Error(), "must be an integer from") != 4 || b.Len() > 0 {
		t.Errorf("got %v and output %q, want four faults and none", err, &b)
	}
}

func TestVerifyFindsWrongChecksums(t *testing.T) {
	res, err := workloads.Measure(Config{KiB: 1, Loads: 5, Iterations: 3, Threads: 2}.measurement())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verify(res); err != nil {
		t.Fatal(err)
	}
	res.Sums[1][sumGot]++
	if _, err := verify(res); err == nil || !strings.Contains(err.Error(), "thread 2 of 2") {
		t.Errorf("got %v, want an error about thread 2", err)
	}
}

func BenchmarkFollow(b *testing.B) {
	const lines = 192 << 10 / lineSize
	ring := workloads.Align(make([]byte, lines*lineSize+64))
	shuffle(ring, lines, 1)
	for range b.N {
		follow(ring, 1000)
	}
}
