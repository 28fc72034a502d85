//go:build linux && scenarios

package proof

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"goset/internal/vmtest"
)

// TestDisturbedCoreIsNotChosen disturbs a random core 200 times, by a spinning
// process on one of its CPUs or by a storm of interrupts, and asks which CPU
// would be taken.
func TestDisturbedCoreIsNotChosen(t *testing.T) {
	onKernels(t, func(kernel string) vmtest.Machine {
		m := smt(kernel)
		m.Devices = []string{"-blockdev", "driver=null-co,node-name=null,size=1073741824,read-zeroes=on",
			"-device", "nvme,drive=null,serial=null,max_ioqpairs=3"}
		return m
	}, func(t *testing.T, g *vmtest.Guest) {
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
	})
}

// servedBy is the CPU that a queue of an eight-CPU guest with three of them
// interrupts: the last of those that share it.
func servedBy(reader int) int { return [8]int{2, 2, 2, 5, 5, 5, 7, 7}[reader] }

func rankedFirst(t *testing.T, g *vmtest.Guest, script string) int {
	t.Helper()
	var answer struct{ Task string }
	text := g.Sh(script)
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	cpu, err := strconv.Atoi(answer.Task)
	if err != nil {
		t.Fatalf("took %q", answer.Task)
	}
	return cpu
}

// burn is the flag with which the task burns its CPU while it waits.
func burn(b *bench) []string {
	return []string{"-set", fmt.Sprintf(`workload.w.command=["/vm/bin/agent", "hold", %q, "burn"]`, b.hold)}
}

// startBurning is start with a task that never gives up its CPU.
func startBurning(g *vmtest.Guest, mode string) *bench {
	b, argv := prepare(g, mode)
	b.begin(append(argv, burn(b)...)...)
	return b
}

func spinOn(cpu int) string {
	return fmt.Sprintf("taskset %x sh -c 'while :; do :; done' & p=$!\n%s; %s", 1<<cpu, rankQuestion, disturbanceEnds)
}

// stormFrom reads from a disk that needs no time: every read raises an interrupt
// on the CPU that serves the reader's queue. The answer counts when a storm blew
// while it was found: on a loaded host the reader may have had no CPU meanwhile.
func stormFrom(reader int) string {
	return fmt.Sprintf(`taskset %x dd if=/dev/nvme0n1 of=/dev/null bs=4k iflag=direct 2>/dev/null & p=$!
storm() { awk '/nvme0q[1-9]/ { for (i = 2; i <= 9; i++) n += $i } END { print n + 0 }' /proc/interrupts; }
for try in 1 2 3 4 5 6 7 8 9 10; do
	before=$(storm)
	answer=$(%s)
	[ $(($(storm) - before)) -lt %d ] || break
done
echo "$answer"; %s`, 1<<reader, rankQuestion, aStorm, disturbanceEnds)
}

// aStorm is how many interrupts within a sample are a storm: four times the
// tick of a CPU that is busy, which is 75.
const aStorm = 300

// rankQuestion is asked beside a disturbance.
const (
	rankQuestion    = `goset rank -sample 300ms -json -`
	disturbanceEnds = `kill $p; wait $p 2>/dev/null; true`
)
