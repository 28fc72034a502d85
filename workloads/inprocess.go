package workloads

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// measureInProcess runs every child as a thread of this process. The Go
// runtime's own threads and its preemption disturb it: it is for systems where
// children cannot be had, and for tests.
func measureInProcess(m Measurement) (*Result, error) {
	if m.HugePages {
		return nil, fmt.Errorf("cannot use huge pages for kernel %q inside the Go process: %w", m.Kernel, ErrNoHugePages)
	}
	const most = 1 << 46 // what make can be asked for without a panic
	if m.Private > most {
		return nil, fmt.Errorf("cannot run kernel %q: %d bytes of memory asked, the limit is %d", m.Kernel, m.Private, int64(most))
	}
	local := newLocalGate(m.Threads)
	regions := make([]unsafe.Pointer, m.Threads)
	var wg sync.WaitGroup
	for i := range regions {
		regions[i] = Align(make([]byte, m.regionBytes()+alignment))
		c := m.child(i, regions[i])
		c.gate.local = local
		c.Private = Align(make([]byte, m.Private+alignment))
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			c.loop()
		})
	}
	wg.Wait()
	return m.collect(RunnerInProcess, regions), nil
}

// alignment is what vector loads and non-temporal stores need: one cache line.
const alignment = 64

// Align returns the first address in b that is aligned to a cache line; b must
// be at least 64 bytes longer than what is used. The pointer keeps b alive.
func Align(b []byte) unsafe.Pointer {
	p := unsafe.Pointer(unsafe.SliceData(b))
	return unsafe.Add(p, -uintptr(p)&(alignment-1))
}
