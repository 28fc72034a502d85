//go:build linux && scenarios

package proof

import (
	"math/rand/v2"
	"testing"

	"goset/internal/vmtest"
)

// TestDisturbedCoreIsNotChosen disturbs a random core 200 times, by a spinning
// process on one of its CPUs or by a storm of interrupts, and asks which CPU
// would be taken.
func TestDisturbedCoreIsNotChosen(t *testing.T) {
	m := smt("6.1")
	m.Devices = []string{"-blockdev", "driver=null-co,node-name=null,size=1073741824,read-zeroes=on",
		"-device", "nvme,drive=null,serial=null,max_ioqpairs=3"}
	g := vmtest.Boot(t, m)
	const trials, cpus = 200, 8
	random := rand.New(rand.NewPCG(1, 2))
	chosen := 0
	for i := range trials {
		cpu := random.IntN(cpus)
		script, kind := spinOn(cpu), "a spinning process"
		disturbed := map[int]bool{cpu / 2: true}
		if i%4 == 3 {
			script, kind = stormFrom(cpu), "a storm of interrupts"
			disturbed[servedBy(cpu)/2] = true
		}
		took := rankedFirst(t, g, script)
		if disturbed[took/2] {
			chosen++
			t.Errorf("trial %d: %s on CPU %d, and CPU %d was chosen", i, kind, cpu, took)
		}
	}
	t.Logf("the disturbed core was chosen in %d of %d trials", chosen, trials)
}
