package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"goset/harness"
	"goset/internal/cli"
	"goset/workloads/all"
)

// The keys of an experiment and the flags are harness's table; what runs has its
// own. The two must be one.
func TestKernelTables(t *testing.T) {
	known, kernels := harness.Kernels(), all.Kernels()
	if len(known) != len(kernels) {
		t.Fatalf("harness knows %d kernels, there are %d", len(known), len(kernels))
	}
	for i, k := range kernels {
		h := known[i]
		if h.Short == "" || h.Long == "" {
			t.Errorf("nothing says what kernel %s measures", h.Name)
		}
		if h.Name != k.Name || len(h.Params) != len(k.Params) {
			t.Errorf("harness has %s with %d parameters, want %s with %d", h.Name, len(h.Params), k.Name, len(k.Params))
			continue
		}
		for j, p := range k.Params {
			q := h.Params[j]
			if q.Name != p.Name || q.Kind != p.Kind || q.Default != p.Default || q.Min != p.Min || q.Max != p.Max || !slices.Equal(q.Words, p.Words) || q.Help == "" {
				t.Errorf("%s: harness has %+v, want %+v and a help", k.Name, q, p)
			}
		}
	}
}

// Every metric that harness expects of a kernel is in what the kernel prints,
// and every line that it prints is one of a metric.
func TestKernelMetrics(t *testing.T) {
	small := map[string]string{"iterations": "2", "elements": "1000", "steps": "1000", "loads": "1000", "multiplications": "2", "rounds": "2", "bytes": "65536", "goroutines": "10"}
	for _, k := range harness.Kernels() {
		params := map[string]string{}
		for _, p := range k.Params {
			if v, ok := small[p.Name]; ok {
				params[p.Name] = v
			}
		}
		var out bytes.Buffer
		if err := all.Run(k.Name, params, &out); err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		x, err := harness.NewExtractor(harness.Workload{Name: "w", Kernel: k.Name})
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Extract(harness.Result{Stdout: harness.Stream{Head: out.Bytes(), Total: int64(out.Len())}})
		if err != nil || got.Void != "" {
			t.Errorf("%s: %v, void: %q", k.Name, err, got.Void)
		}
		lines, expected := bytes.Count(out.Bytes(), []byte("\nBenchmark")), 0
		for _, m := range k.Metrics {
			if v, ok := got.Values[m.Name]; !ok || !(v > 0) {
				t.Errorf("%s: metric %s is %v", k.Name, m.Name, v)
			}
			if !m.Best {
				expected += len(got.Iterations[m.Name])
			}
		}
		if lines != expected {
			t.Errorf("%s: %d lines, the metrics have %d", k.Name, lines, expected)
		}
	}
}

// What is read without the command tree, and is in order, means the same to the
// tree.
func FuzzPlainKernel(f *testing.F) {
	for _, args := range []string{
		"jitter", "jitter -steps=10 --iterations 3", "chase -hugepages -kib 16", "chase -hugepages=false", "jitter -steps", "jitter -h", "jitter 3",
		"nothing -steps=1", "stream -nontemporal=true -path avx2", "yield -every=1ms", "jitter -steps=1 -steps=2", "jitter -- -steps=1", "jitter ---steps=1", "jitter -steps=",
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Fields(text)
		k, params, ok := plainKernel(append([]string{"workload"}, args...))
		if !ok || all.Check(k.Name, params) != nil {
			return // the tree's own answer
		}
		cmd := (&app{}).kernelCommand(k)
		if err := cmd.ParseFlags(cli.OneDash(args[1:])); err != nil || len(cmd.Flags().Args()) > 0 {
			t.Fatalf("%q: %v; the tree: %v, arguments %q", args, params, err, cmd.Flags().Args())
		}
		for _, p := range k.Params {
			want := cmd.Flags().Lookup(p.Name).Value.String()
			got, given := params[p.Name]
			if given && got != want && strings.TrimLeft(got, "+0") != strings.TrimLeft(want, "+0") {
				t.Errorf("%q: %s is %q, to the tree %q", args, p.Name, got, want)
			}
		}
	})
}
