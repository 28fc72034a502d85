package workloads

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"testing"

	"golang.org/x/perf/benchfmt"
)

func TestOutput(t *testing.T) {
	var b bytes.Buffer
	o := NewOutput(&b, "jitter", &Result{Runner: RunnerChild, Sums: make([][]uint64, 2)})
	o.Config("checksum", "0x1")
	o.Unit("ns/load", "lower")
	o.Line("Jitter/steps=1", 1, 5049123, "ns/iteration")
	o.Line("Chase/kib=192", 2000000, 2.6123456789, "ns/load")
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	r := benchfmt.NewReader(&b, "test")
	var names []string
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(rec)
		case *benchfmt.Result:
			names = append(names, string(rec.Name.Full()))
			for _, key := range []string{"goos", "goarch", "pkg", "kernel", "runner", "checksum"} {
				if rec.GetConfig(key) == "" {
					t.Errorf("no configuration line %q", key)
				}
			}
			if got := rec.GetConfig("threads"); got != "2" {
				t.Errorf("threads: got %q, want 2", got)
			}
		}
	}
	if len(names) != 2 || names[0] != "Jitter/steps=1" || names[1] != "Chase/kib=192" {
		t.Errorf("got %q", names)
	}
}

func TestOutputRefusesWhatWasNotTimed(t *testing.T) {
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		o := NewOutput(&bytes.Buffer{}, "stream", &Result{})
		o.Line("Stream/op=copy", 1, v, "MB/s")
		if o.Flush() == nil {
			t.Errorf("%v was written", v)
		}
	}
}

func TestFormatValue(t *testing.T) {
	for v, want := range map[float64]string{
		1: "1", 5049123: "5049123", 2.5: "2.5000000", 0.125: "0.12500000",
		40826.125: "40826.125", 123456789.5: "123456790",
	} {
		got := string(appendValue(nil, v))
		if got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
		if back, err := strconv.ParseFloat(got, 64); err != nil || math.Abs(back-v) > 1e-7*v {
			t.Errorf("%v: reads back as %v, %v", v, back, err)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left")

func TestOutputKeepsWriteErrors(t *testing.T) {
	o := NewOutput(fullDisk{}, "jitter", &Result{})
	for range 10000 {
		o.Line("Jitter", 1, 1, "ns/iteration")
	}
	if err := o.Flush(); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}
