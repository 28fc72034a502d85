package harness

// The counters of a run: what the kernel counted on the run's CPUs, or, of a
// run that is not pinned, on all of them. What the kernel does not have is
// absent, and so is what was not read because it would have cost more than the
// run: see machine.
const (
	// CounterInterrupts is the interrupts of every kind.
	CounterInterrupts = "interrupts"
	// CounterDevice is those of them that devices raised: the numbered rows.
	CounterDevice = "device_interrupts"
	// CounterRow begins the names of single rows of /proc/interrupts; rows that
	// never came on these CPUs since boot are left out.
	CounterRow = "irq."
	// CounterDelay is how many seconds the main thread was ready and waited for
	// a CPU, CounterMigrations how often it changed its CPU.
	CounterDelay      = "runq_delay_seconds"
	CounterMigrations = "migrations"
	// CounterSteal is the seconds that the hypervisor took, CounterSoftirq those
	// of soft interrupts, CounterForeign those of other tasks and of the kernel.
	// All three come in ticks of 10 ms.
	CounterSteal   = "steal_seconds"
	CounterSoftirq = "softirq_seconds"
	CounterForeign = "foreign_seconds"
	// CounterSiblings is the seconds of work on the SMT siblings of the run's
	// CPUs that are not its own, CounterSiblingInterrupts their interrupts.
	CounterSiblings          = "sibling_seconds"
	CounterSiblingInterrupts = "sibling_interrupts"
	// CounterThrottles is thermal throttle events of the run's cores and
	// packages; CounterFrequency the mean frequency in Hz at the run's end.
	CounterThrottles = "throttles"
	CounterFrequency = "frequency_hz"
	// CounterLoad is how many CPUs, on average, the background load of the
	// condition had during the run. It is a mean and no sum: a slow run is not
	// to have more of it for being long.
	CounterLoad = "load_cpus"
)
