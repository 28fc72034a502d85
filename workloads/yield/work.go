package yield

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync/atomic"
)

// background is the work of all workers. The input is zeros: it compresses so
// fast that a block takes microseconds, and a yield function is felt.
type background struct {
	workers []*worker
	block   []byte
	blocks  int64  // of all workers in a round
	sum     uint32 // CRC-32 of all input of the first worker in a round
	procs   int    // GOMAXPROCS, as read back
	left    atomic.Int64
	ended   atomic.Int64 // when the last worker ended
	done    chan struct{}
}

// worker compresses its share of a round into a stream of its own.
type worker struct {
	blocks int64 // its share of a whole round
	todo   int64 // its share of this round
	since  int64 // when it last came back from a yield
	gzip   *gzip.Writer
	out    tail
	err    error
	run    func()
}

// newBackground makes all that the rounds need.
func newBackground(cfg Config) (*background, error) {
	b := &background{block: make([]byte, cfg.Block), done: make(chan struct{}, 1)}
	b.blocks = (cfg.Bytes + cfg.Block - 1) / cfg.Block
	for i := range int64(cfg.Workers) {
		w := &worker{blocks: (b.blocks + int64(cfg.Workers) - 1 - i) / int64(cfg.Workers)}
		w.gzip = gzip.NewWriter(&w.out)
		yield := cfg.function(w)
		w.run = func() { b.work(w, yield) }
		b.workers = append(b.workers, w)
	}
	b.sum = b.checksum(b.workers[0].blocks)
	return b, nil
}

// bytes of a round.
func (b *background) bytes() int64 { return b.blocks * int64(len(b.block)) }

// work is the life of one worker's goroutine in a round.
func (b *background) work(w *worker, yield func()) {
	w.since = now()
	w.out = tail{}
	w.gzip.Reset(&w.out)
	w.err = nil
	for range w.todo {
		yield()
		if _, err := w.gzip.Write(b.block); err != nil {
			w.err = err
			break
		}
	}
	if err := w.gzip.Close(); w.err == nil {
		w.err = err
	}
	if b.left.Add(-1) == 0 {
		b.ended.Store(now())
		b.done <- struct{}{}
	}
}

// job is a round's work: whole, or the untimed round's shortened one.
type job struct {
	*background
	shift int // every worker does its share >> shift, and one block at least
}

// shortening makes the untimed round an eighth of a timed one.
const shortening = 3

func (b *background) whole() job     { return job{b, 0} }
func (b *background) shortened() job { return job{b, shortening} }

func (j job) share(w *worker) int64 {
	if w.blocks == 0 {
		return 0
	}
	return max(1, w.blocks>>j.shift)
}

// start starts the workers.
func (j job) start() {
	j.left.Store(int64(len(j.workers)))
	for _, w := range j.workers {
		w.todo = j.share(w)
		go w.run()
	}
}

// running is false when the last worker has ended.
func (j job) running() bool { return j.left.Load() > 0 }

// wait returns when the last worker ended.
func (j job) wait() int64 {
	<-j.done
	return j.ended.Load()
}

// tail takes a gzip stream and keeps its last eight bytes: CRC-32 and length of
// what was compressed (RFC 1952).
type tail struct {
	n    int64
	last [8]byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.n += int64(len(p))
	if len(p) >= len(t.last) {
		copy(t.last[:], p[len(p)-len(t.last):])
		return len(p), nil
	}
	copy(t.last[:], t.last[len(p):])
	copy(t.last[len(t.last)-len(p):], p)
	return len(p), nil
}

// verify holds the streams of a round to what their ends must say.
func (b *background) verify(j job) error {
	sums := map[int64]uint32{}
	for i, w := range b.workers {
		n := j.share(w)
		if _, ok := sums[n]; !ok {
			sums[n] = b.checksum(n)
		}
		if w.err != nil {
			return fmt.Errorf("cannot trust kernel %q: worker %d: %w", Name, i+1, w.err)
		}
		sum, length := binary.LittleEndian.Uint32(w.out.last[:4]), binary.LittleEndian.Uint32(w.out.last[4:])
		if want := uint32(n * int64(len(b.block))); sum != sums[n] || length != want {
			return fmt.Errorf("cannot trust kernel %q: worker %d compressed %d bytes (modulo 2^32) with checksum %08x, want %d with %08x", Name, i+1, length, sum, want, sums[n])
		}
	}
	return nil
}

// checksum is the CRC-32 of n blocks.
func (b *background) checksum(n int64) uint32 {
	sum := uint32(0)
	for range n {
		sum = crc32.Update(sum, crc32.IEEETable, b.block)
	}
	return sum
}
