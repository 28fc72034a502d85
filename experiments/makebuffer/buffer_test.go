// Package makebuffer is the bundled Go benchmark of experiments that compare
// conditions: it is built by the machine's own toolchain, as anybody's benchmark
// would be.
package makebuffer

import "testing"

// sink keeps the buffers on the heap: what escapes to a global cannot stay on
// the stack.
var sink []byte

// BenchmarkMakeBuffer allocates 64 bytes: one call of the allocator, and the
// collector's work behind it.
func BenchmarkMakeBuffer(b *testing.B) {
	for range b.N {
		sink = make([]byte, 64)
	}
}
