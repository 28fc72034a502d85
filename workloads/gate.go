package workloads

import (
	"sync"
	"unsafe"
)

// gate is the barrier that all children of a measurement pass together. With
// one child it does nothing.
type gate struct {
	n     uint32
	words unsafe.Pointer // shared memory of forked children: see passShared
	local *localGate     // of threads of one process
}

//go:nosplit
//go:norace
//go:nocheckptr
func (g *gate) pass() {
	switch {
	case g.n == 1:
	case g.local != nil:
		g.local.pass()
	default:
		g.passShared()
	}
}

// localGate is the barrier inside one process.
type localGate struct {
	mu         sync.Mutex
	turn       *sync.Cond
	n, waiting int
	generation int64
}

func newLocalGate(n int) *localGate {
	g := &localGate{n: n}
	g.turn = sync.NewCond(&g.mu)
	return g
}

func (g *localGate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting++
	if g.waiting == g.n {
		g.waiting = 0
		g.generation++
		g.turn.Broadcast()
		return
	}
	for mine := g.generation; g.generation == mine; {
		g.turn.Wait()
	}
}
