package all

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"goset/workloads"
	"goset/workloads/yield"
)

func TestRun(t *testing.T) {
	for _, k := range Kernels() {
		params, threads := map[string]string{"iterations": "2", "threads": "2"}, "\nthreads: 2\n"
		switch k.Name {
		case "stream":
			params["elements"] = "1000"
		case "yield":
			params, threads = map[string]string{"rounds": "2", "bytes": "4096", "goroutines": "2"}, "\nthreads: 1\n"
		}
		if err := Check(k.Name, params); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		var b bytes.Buffer
		if err := Run(k.Name, params, &b); err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		for _, want := range []string{"\nkernel: " + k.Name + "\n", threads, "\nchecksum: ", "\nUnit ", "\nBenchmark"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in:\n%s", k.Name, want, &b)
			}
		}
	}
}

func TestRunFaults(t *testing.T) {
	for _, c := range []struct {
		kernel string
		params map[string]string
		want   string
	}{
		{"shout", nil, `must be one of jitter, chase, matmul, stream, yield, got "shout"`},
		{"jitter", map[string]string{"kib": "1"}, `must be one of the parameters steps, iterations, threads, got "kib"`},
		{"chase", map[string]string{"kib": "0"}, `kib: must be an integer from 1 to 4294967296, got "0"`},
		{"matmul", map[string]string{"path": "sse"}, `path: must be one of auto, avx512, avx2, portable, got "sse"`},
		{"yield", map[string]string{"every": "2s"}, `every: must be a duration from 0s to 1s, as 100µs, got "2s"`},
		{"yield", map[string]string{"yield": "sleep"}, `yield: must be one of none, gosched, paced, runtime, got "sleep"`},
		{"stream", map[string]string{"elements": "7"}, `elements: must be an integer from 8 to 68719476736, got "7"`},
	} {
		var b bytes.Buffer
		err := Run(c.kernel, c.params, &b)
		var p *workloads.ParamError
		if !errors.As(err, &p) || !strings.Contains(err.Error(), c.want) || b.Len() > 0 {
			t.Errorf("%s %v: got %v and output %q, want %q and none", c.kernel, c.params, err, &b, c.want)
		}
		if checked := Check(c.kernel, c.params); checked == nil || checked.Error() != err.Error() {
			t.Errorf("%s %v: Check says %v, Run %v", c.kernel, c.params, checked, err)
		}
	}
}

// What the machine or the toolchain lacks is known before anything runs.
func TestCheckAvailable(t *testing.T) {
	if err := Check(yield.Name, map[string]string{"yield": yield.Runtime}); (err == nil) != (yield.Available(yield.Runtime) == nil) {
		t.Errorf("yield: %v", err)
	}
	for _, path := range []string{workloads.PathAVX512, workloads.PathAVX2, workloads.PathPortable} {
		for _, kernel := range []string{"matmul", "stream"} {
			if err := Check(kernel, map[string]string{"path": path}); (err == nil) != slices.Contains(workloads.Paths(), path) {
				t.Errorf("%s on path %s: %v", kernel, path, err)
			}
		}
	}
}
