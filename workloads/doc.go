// Package workloads runs the bundled kernels: small loops whose speed is known
// so well that what varies is the system's doing.
//
// Its stance: a kernel that measures noise must make none. Go's runtime
// threads share the CPU of the task they are pinned with, so on Linux the
// measured loop never runs in a Go process. The pipeline:
//
//  1. The Go process checks the configuration, builds what the loop reads and
//     maps the memory that results come back in.
//  2. On a locked thread with every signal blocked it clones one child per
//     thread asked for: one thread each, no exec, so no second runtime starts.
//  3. A child runs nothing but nosplit Go and assembly: it cannot grow its
//     stack, allocate, lock or be preempted. It maps and touches its own
//     memory, runs one untimed iteration and then the timed ones, each started
//     at a barrier in shared memory when there are several children.
//  4. The Go process sleeps in wait4 with its collector off, then verifies the
//     checksums and prints the Go benchmark format, one line per iteration.
//
// With several children an iteration has one value. Where it is a time, it is
// the slowest child's; where it is a rate, it is the work of all children over
// the slowest child's time. The children do not share arrays: each does the
// whole configured work.
//
// Elsewhere than on Linux on amd64 and arm64 the same loops run in the Go
// process itself, and the output says "runner: in-process".
//
// The kernel yield is another thing: it measures the Go runtime's scheduler, and
// so runs in the Go process everywhere.
package workloads
