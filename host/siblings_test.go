package host

import (
	"os"
	"path/filepath"
	"testing"

	"goset/cpulist"
)

func TestSiblings(t *testing.T) {
	root := t.TempDir()
	for cpu, text := range map[string]string{"0": "0,4\n", "4": "0,4\n", "1": "1\n", "2": "x\n"} {
		dir := filepath.Join(root, "sys/devices/system/cpu/cpu"+cpu, "topology")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "core_cpus_list"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ cpus, want []int }{
		{nil, nil},
		{[]int{1}, []int{1}},
		{[]int{0}, []int{0, 4}},
		{[]int{1, 4}, []int{0, 1, 4}},
		{[]int{9}, []int{9}}, // no topology is told: no siblings
	} {
		got, err := FS(root).Siblings(cpulist.Of(test.cpus...))
		if err != nil || !got.Equal(cpulist.Of(test.want...)) {
			t.Errorf("siblings of %v are %v, %v; want %v", test.cpus, got, err, test.want)
		}
	}
	if got, err := FS(root).Siblings(cpulist.Of(2)); err == nil {
		t.Errorf("siblings of a CPU with a broken file are %v", got)
	}
}
