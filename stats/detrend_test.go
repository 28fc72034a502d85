package stats

import "testing"

func TestDetrendedSDs(t *testing.T) {
	for _, tc := range []struct {
		name    string
		columns [][]float64
		ok      bool
	}{
		{"none", nil, false},
		{"one mode", [][]float64{{1, 2, 3}}, false},
		{"no blocks", [][]float64{{}, {}}, false},
		{"one block", [][]float64{{1}, {2}}, false},
		{"two blocks", [][]float64{{1, 3}, {2, 4}}, true},
	} {
		got, err := DetrendedSDs(tc.columns)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		for i, v := range got {
			if v.OK != tc.ok || !v.OK && v.Why == "" {
				t.Errorf("%s: mode %d: %+v", tc.name, i, v)
			}
		}
	}
	// A common drift goes, whatever the levels; what is a mode's own stays.
	drift := [][]float64{{0, 10, 20, 30, 40}, {100, 110, 120, 130, 140}, {1000, 1011, 1020, 1031, 1040}}
	got, err := DetrendedSDs(drift)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].V > 1e-9 || got[1].V > 1e-9 || got[2].V < 0.4 || got[2].V > 0.7 {
		t.Errorf("sds %v without the drift: want 0, 0 and about 0.55", got)
	}
	if _, err := DetrendedSDs([][]float64{{1, 2}, {1}}); err == nil {
		t.Error("modes of different blocks give no error")
	}
}
