package load

import "testing"

func TestSpinIsAGenerator(t *testing.T) {
	// Marsaglia's triple (13, 7, 17) from 1.
	for _, tt := range []struct {
		n    int
		want uint64
	}{{0, 1}, {1, 0x40822041}, {2, 0x100041060c011441}} {
		if got := spin(1, tt.n); got != tt.want {
			t.Errorf("%d steps: %#x, want %#x", tt.n, got, tt.want)
		}
	}
	if spin(spin(1, 5), 7) != spin(1, 12) {
		t.Error("12 steps are not 5 and 7: some were left out")
	}
}

// The loops run beside what is measured: they must not allocate, or their
// collector would be a load of its own.
func TestSpinDoesNotAllocate(t *testing.T) {
	x := uint64(1)
	if n := testing.AllocsPerRun(10, func() { x = spin(x, 1000) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestTouchWritesEveryWord(t *testing.T) {
	words := make([]uint64, 3*512)
	touch(words)
	for i := 1; i < len(words); i++ {
		if words[i] == 0 {
			t.Fatalf("word %d is untouched", i)
		}
	}
}
