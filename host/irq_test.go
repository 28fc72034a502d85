package host

import (
	"os"
	"testing"
)

func TestDevice(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"IR-IO-APIC    2-edge      timer": "timer",
		"IO-APIC  16-fasteoi   ehci_hcd:usb1, mmc0":              "ehci_hcd:usb1, mmc0",
		"PCI-MSIX-0000:00:03.0    1-edge      nvme0q1":           "nvme0q1",
		"IO-APIC-edge      timer":                                "timer",
		"IO-APIC-level  ide0, ide1, libata":                      "ide0, ide1, libata",
		"IO-APIC-edge  PS/2 Mouse":                               "PS/2 Mouse",
		"XT-PIC  NVidia nForce3":                                 "NVidia nForce3",
		"PCI-MSI  mlx5_comp0@pci:0002:00:00.0":                   "mlx5_comp0@pci:0002:00:00.0",
		"GIC-0 318 Edge":                                         "",
		"GIC-0  27 Level     arch_timer":                         "arch_timer",
		"MS_MAIN_INTC 119 Edge      ms_sdmmc_cdz":                "ms_sdmmc_cdz",
		"xen-dyn     Edge    -event     xenbus":                  "xenbus",
		"xen-percpu    -virq      timer0":                        "timer0",
		"APLIC-MSI-d000000.aplic   8 Level   -fasteoi   virtio0": "virtio0",
		"RISC-V INTC   5 Edge      riscv-timer":                  "riscv-timer",
		"SiFive PLIC 111 Edge      17030000.power-controller":    "17030000.power-controller",
		"Xilinx INTC   1-level     eth0":                         "eth0",
		"MIPS   7  timer":                                        "timer",
		"UIC   6 Level     MAL TX EOB":                           "MAL TX EOB",
		"GICv3  33 Level     10":                                 "10",
	} {
		r := InterruptRow{Label: "7", Text: text}
		if got := r.Device(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	r := InterruptRow{Label: "LOC", Text: "Local timer interrupts"}
	if r.Device() != r.Text || r.IRQ() != -1 {
		t.Errorf("LOC: %q, %d", r.Device(), r.IRQ())
	}
}

func TestSteering(t *testing.T) {
	f := writeTree(t, map[string]string{
		"proc/irq/24/smp_affinity_list":       "0-3\n",
		"proc/irq/24/effective_affinity_list": "2\n",
		"proc/irq/25/smp_affinity_list":       "1\n",
		"proc/irq/26/smp_affinity_list":       "0-3\n",
		"proc/irq/26/effective_affinity_list": "\n",
		"proc/irq/27/smp_affinity_list":       "0-\n",
	})
	if err := os.Chmod(f.Path("proc/irq/25/smp_affinity_list"), 0o444); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		label, text string
		want        Steering
	}{
		{"LOC", "Local timer interrupts", PerCPU},
		{"IPI0", "Rescheduling interrupts", PerCPU},
		{"24", "PCI-MSI 1-edge  eth0", Steerable},
		{"24", "PCI-MSI 1-edge  nvme0q0", Steerable}, // the admin queue is not managed
		{"24", "PCI-MSI 1-edge  nvme0q12", Managed},
		{"24", "PCI-MSI 1-edge  virtio2-req.0", Managed},
		{"25", "PCI-MSI 1-edge  eth0", Fixed},     // its mode says so
		{"26", "GICv3 23 Level  pmu", PerCPU},     // no effective CPU
		{"99", "PCI-MSI 1-edge  eth0", Steerable}, // another machine's dump: the row decides
		{"0", "IO-APIC 2-edge  timer", Fixed},
		{"11", "GICv3  27 Level     arch_timer", PerCPU},
	} {
		got, err := f.Steering(&InterruptRow{Label: c.label, Text: c.text})
		if err != nil || got != c.want {
			t.Errorf("%s %q: %s, %v, want %s", c.label, c.text, got, err, c.want)
		}
	}
	if got, err := f.Steering(&InterruptRow{Label: "27", Text: "PCI-MSI 1-edge  eth0"}); err == nil {
		t.Errorf("a list that cannot be read: %s", got)
	}
	irq, err := f.IRQ(24)
	if err != nil || irq.Affinity.String() != "0-3" || irq.Effective.String() != "2" || irq.Refused {
		t.Errorf("IRQ 24: %+v, %v", irq, err)
	}
}
