// Package vmtest boots small Linux guests for tests: a machine with the CPUs,
// topology, kernel command line and devices that a test asks for, under
// software emulation, so that any machine can change cpusets, interrupts,
// frequency and SMT for real and none of its own.
//
// A guest is a Debian kernel, an initramfs written here (busybox, an agent and
// the project's own commands, all static) and QEMU. The agent runs commands
// for the test and sends back what they did over a serial line of its own, so
// that a test reads as a list of steps with a second observer beside them:
//
//	g := vmtest.Boot(t, vmtest.Machine{Kernel: "6.1"})
//	g.Sh("echo 2 >/proc/irq/4/smp_affinity_list")
//	p := g.Start("goset-bench", "run", "x.toml")
//	...
//	before.Same(t, g.Snapshot())
//
// What can be judged here are states and counters, never latency: the emulated
// CPUs are threads that share the cores of the host.
//
// Where QEMU, busybox or the kernels are missing (scripts/test installs them),
// Boot skips the test with an [Unavailable]; where CI is set it fails it.
package vmtest
