//go:build linux

package proof

import (
	"os"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// kernels are the releases that the scenarios run on, or those of GOSET_KERNELS, as
// in GOSET_KERNELS="6.1 7".
func kernels() []string {
	if list := strings.Fields(os.Getenv("GOSET_KERNELS")); len(list) > 0 {
		return list
	}
	return []string{"6.1", "6.12"}
}

// newest is the start of the release of a kernel that only some scenarios run on.
const newest = "7"

// onKernels runs a scenario's steps on a guest of each kernel.
func onKernels(t *testing.T, machine func(kernel string) vmtest.Machine, steps func(t *testing.T, g *vmtest.Guest)) {
	for _, kernel := range kernels() {
		onKernel(t, kernel, machine, steps)
	}
}

func onKernel(t *testing.T, kernel string, machine func(kernel string) vmtest.Machine, steps func(t *testing.T, g *vmtest.Guest)) {
	t.Run(kernel, func(t *testing.T) {
		m := machine(kernel)
		// Side by side the CPUs of an emulated guest die now and then when this
		// one patches its text at boot.
		m.OneThread = m.OneThread || kernel == newest
		steps(t, vmtest.Boot(t, m))
	})
}
