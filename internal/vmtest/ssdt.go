package vmtest

import (
	"fmt"
	"strings"
)

// PStates is the source of an ACPI table (an SSDT) that gives the first cpus
// CPUs of a QEMU machine processor performance states, which acpi-cpufreq
// turns into policies: four steps of 1.0, 2.0, 2.5 and 3.0 GHz, one policy a
// CPU (ACPI specification 6.5, section 8.4.5). The control register is an I/O
// port that nobody listens to, so that a write goes nowhere and a read says
// 0xFF: what can be tested is the kernel's bookkeeping, not a frequency.
func PStates(cpus int) string {
	var dsl strings.Builder
	dsl.WriteString("DefinitionBlock (\"ssdt.aml\", \"SSDT\", 2, \"GOSET\", \"PSTATES\", 1) {\n")
	for cpu := range cpus {
		fmt.Fprintf(&dsl, "  External (\\_SB.CPUS.C%03X, DeviceObj)\n", cpu)
	}
	for cpu := range cpus {
		port := 0x5510 + 4*cpu
		fmt.Fprintf(&dsl, "  Scope (\\_SB.CPUS.C%03X) {\n", cpu)
		dsl.WriteString("    Name (_PPC, 0)\n")
		fmt.Fprintf(&dsl, "    Name (_PCT, Package () { ResourceTemplate () { Register (SystemIO, 8, 0, 0x%X, ,) }, ResourceTemplate () { Register (SystemIO, 8, 0, 0x%X, ,) } })\n", port, port+1)
		dsl.WriteString("    Name (_PSS, Package () {\n")
		for state, mhz := range []int{3000, 2500, 2000, 1000} {
			// MHz, mW, two latencies in µs, the control and the status value.
			fmt.Fprintf(&dsl, "      Package () { %d, %d, 10, 10, %d, 255 },\n", mhz, 30*mhz, state)
		}
		dsl.WriteString("    })\n")
		// Coordinated by hardware (0xFE), one domain a CPU, with one CPU each.
		fmt.Fprintf(&dsl, "    Name (_PSD, Package () { Package () { 5, 0, %d, 0xFE, 1 } })\n  }\n", cpu)
	}
	dsl.WriteString("}\n")
	return dsl.String()
}
