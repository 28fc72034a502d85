package all

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"goset/workloads"
)

func TestRun(t *testing.T) {
	for _, k := range Kernels() {
		params := map[string]string{"iterations": "2", "threads": "2"}
		if k.Name == "stream" {
			params["elements"] = "1000"
		}
		var b bytes.Buffer
		if err := Run(k.Name, params, &b); err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		for _, want := range []string{"\nkernel: " + k.Name + "\n", "\nthreads: 2\n", "\nchecksum: ", "\nUnit ", "\nBenchmark"} {
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
		{"yield", nil, `must be one of jitter, chase, matmul, stream, got "yield"`},
		{"jitter", map[string]string{"kib": "1"}, `must be one of the parameters steps, iterations, threads, got "kib"`},
		{"chase", map[string]string{"kib": "0"}, `kib: must be an integer from 1 to 4294967296, got "0"`},
		{"matmul", map[string]string{"path": "sse"}, `path: must be one of auto, avx512, avx2, portable, got "sse"`},
		{"stream", map[string]string{"elements": "7"}, `elements: must be an integer from 8 to 68719476736, got "7"`},
	} {
		var b bytes.Buffer
		err := Run(c.kernel, c.params, &b)
		var p *workloads.ParamError
		if !errors.As(err, &p) || !strings.Contains(err.Error(), c.want) || b.Len() > 0 {
			t.Errorf("%s %v: got %v and output %q, want %q and none", c.kernel, c.params, err, &b, c.want)
		}
	}
}
