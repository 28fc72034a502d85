package main

import (
	"os"
	"testing"

	"goset/internal/cli"
)

// TestManPage holds the manual page to the flags that there are.
// UPDATE_MAN=1 writes it anew.
func TestManPage(t *testing.T) {
	const file = "../../docs/man/goset-bench.1"
	a := &app{}
	got := cli.ManPage(a.root(),
		[2]string{"EXIT STATUS", "0 done, 1 a run or a layer failed, 2 usage or experiment faults, 3 worse than -fail-on allows, 4 with -strict that cannot be told, 130 interrupted."},
		[2]string{"ENVIRONMENT", "GOSET_BENCH_RUNS and its like set preferences: the name of a flag in capitals, with _ for -. NO_COLOR turns colour off."},
		[2]string{"FILES", "~/.config/goset-bench/config.toml holds preferences; an experiment and its flags win over it."},
		[2]string{"SEE ALSO", "goset(1), benchstat, hyperfine(1)"})
	if os.Getenv("UPDATE_MAN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the flags say: run UPDATE_MAN=1 go test ./cmd/goset-bench -run ManPage", file)
	}
}
