package main

import (
	"testing"

	"goset/internal/clitest"
)

func TestManPage(t *testing.T) {
	a := &app{}
	clitest.CheckManPage(t, "../../docs/man/goset-bench.1", a.root(),
		[2]string{"EXIT STATUS", "0 done, 1 a run or a layer failed, 2 usage or experiment faults, 3 worse than -fail-on allows, 4 with -strict that cannot be told, 130 interrupted."},
		[2]string{"ENVIRONMENT", "GOSET_BENCH_RUNS and its like set preferences: the name of a flag in capitals, with _ for -. NO_COLOR turns colour off."},
		[2]string{"FILES", "~/.config/goset-bench/config.toml holds preferences; an experiment and its flags win over it."},
		[2]string{"SEE ALSO", "goset(1), benchstat, hyperfine(1)"})
}
