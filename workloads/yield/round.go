package yield

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pause      = 5 * time.Millisecond // from the end of a probe to the next
	baseProbes = 20                   // of a round, while nothing else runs
)

// epoch is where the clock starts.
var epoch = time.Now()

// now reads the monotonic clock, in nanoseconds.
func now() int64 { return int64(time.Since(epoch)) }

// round is what one round measured, in nanoseconds.
type round struct {
	base   []int64 // latency of each probe, in time order, while nothing else ran
	peak   int64   // the largest latency of a probe while the workers ran
	probes int64   // how many there were
	work   int64   // from the start of the workers to the end of the last
}

// measure runs all rounds. GOMAXPROCS and the collector are set back at the end.
func measure(cfg Config) ([]round, *background, error) {
	work, err := newBackground(cfg)
	if err != nil {
		return nil, nil, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	// A limit of the environment would start the collector all the same.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1<<63 - 1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cfg.Procs))
	work.procs = runtime.GOMAXPROCS(0)
	runtime.GC() // ends what an earlier collection left to sweep
	rounds := make([]round, cfg.Rounds)
	for i := range rounds {
		rounds[i].base = make([]int64, baseProbes)
	}
	p := newProbe(cfg.Goroutines)
	keepGoroutines(cfg)
	untimed := round{base: make([]int64, 1)}
	untimed.run(p, work.shortened())
	if err := work.verify(work.shortened()); err != nil {
		return nil, nil, err
	}
	for i := range rounds {
		rounds[i].run(p, work.whole())
		if err := work.verify(work.whole()); err != nil {
			return nil, nil, err
		}
	}
	return rounds, work, nil
}

// run is one round; everything that it needs was made before.
func (r *round) run(p *probe, work job) {
	for i := range r.base {
		time.Sleep(pause)
		r.base[i] = p.latency()
	}
	time.Sleep(pause)
	start := now()
	work.start()
	for {
		r.peak = max(r.peak, p.latency())
		r.probes++
		if !work.running() {
			break
		}
		time.Sleep(pause)
		if !work.running() {
			break
		}
	}
	r.work = work.wait() - start
}

// probe starts goroutines that read the clock.
type probe struct {
	n      int
	left   atomic.Int64
	latest atomic.Int64
	done   chan struct{}
	read   func() // one goroutine, made once: a go statement with it allocates nothing
}

func newProbe(n int) *probe {
	p := &probe{n: n, done: make(chan struct{}, 1)}
	p.read = func() {
		at := now()
		for old := p.latest.Load(); at > old && !p.latest.CompareAndSwap(old, at); old = p.latest.Load() {
		}
		if p.left.Add(-1) == 0 {
			p.done <- struct{}{}
		}
	}
	return p
}

// latency is the time from before the first goroutine is started until the last
// one has read the clock.
func (p *probe) latency() int64 {
	p.left.Store(int64(p.n))
	p.latest.Store(0)
	start := now()
	for range p.n {
		go p.read()
	}
	<-p.done
	return p.latest.Load() - start
}

// keepGoroutines leaves the runtime enough ended goroutines to start all of a
// round's from. It keeps up to 64 of them with each of its procs, where no
// other finds them, and has to allocate when it finds none.
func keepGoroutines(cfg Config) {
	n := cfg.Goroutines + cfg.Workers + 64*(cfg.Procs+1)
	var alive, ended sync.WaitGroup
	alive.Add(n)
	for range n {
		ended.Go(func() {
			alive.Done()
			alive.Wait()
		})
	}
	ended.Wait()
}
