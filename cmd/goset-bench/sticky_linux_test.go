package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"goset/isolation"
)

// Between the runs irqbalance goes on, or stays held when plan.sticky is true. The
// balancer is a script that counts, and every run looks how far it has come. Tests
// of other packages that hold every irqbalance of the machine may come in between,
// so that one try in several has to show it.
func TestSticky(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to hold a process")
	}
	allowed, err := isolation.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	mode := isolation.Mode{CPUs: fmt.Sprint(allowed.Last()), Steer: true}
	if findings := isolation.Check(mode); len(findings) > 0 {
		t.Skipf("unsupported here: %v", findings)
	}
	for _, sticky := range []bool{false, true} {
		shown := false
		for try := 0; try < 4 && !shown; try++ {
			shown = heldThroughout(t, mode.CPUs, sticky) == sticky
		}
		if !shown {
			t.Errorf("with sticky = %t irqbalance is held between the runs: %t", sticky, !sticky)
		}
	}
}

// heldThroughout tells whether three runs found the balancer where the first did.
func heldThroughout(t *testing.T, cpus string, sticky bool) bool {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	balancer := exec.Command(write("irqbalance", "#!/bin/sh\ncd "+dir+"\nn=0\nwhile :; do n=$((n+1)); echo $n >new; mv new count; sleep 0.02; done\n", 0o755))
	if err := balancer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := balancer.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = balancer.Wait() // it was killed
	}()
	for _, err := os.Stat(dir + "/count"); err != nil; _, err = os.Stat(dir + "/count") {
		time.Sleep(10 * time.Millisecond)
	}
	experiment := write("x.toml", fmt.Sprintf(`[plan]
runs = 3
warmup = 0
idle = "300ms"
sticky = %t
[workload.a]
command = ["sh", "-c", "cat count >>seen"]
dir = "."
[mode.m]
cpus = %q
steer = true
user = "root"
`, sticky, cpus), 0o644)
	var stderr strings.Builder
	code := run(context.Background(), []string{"run", experiment, "-quiet", "-state", dir + "/state", "-lock", write("lock", "", 0o644), "-o", dir + "/out"},
		strings.NewReader(""), io.Discard, &stderr)
	if code != 0 {
		t.Logf("sticky = %t: exit %d\n%s", sticky, code, &stderr)
		return !sticky
	}
	text, err := os.ReadFile(dir + "/seen")
	if err != nil {
		t.Fatal(err)
	}
	counts := strings.Fields(string(text))
	if len(counts) != 3 {
		t.Fatalf("the runs saw %q", text)
	}
	return len(slices.Compact(counts)) == 1
}
