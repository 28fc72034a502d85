package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"goset/harness"
	"goset/host/doctor"
)

// TestExaminationInks: every finding stands once, in its list, in both forms;
// an empty list is a list.
func TestExaminationInks(t *testing.T) {
	long := "echo x > /sys/" + strings.Repeat("long/", 60) + "file"
	x := &examination{system: "linux", findings: []doctor.Finding{
		{List: doctor.Warning, Check: "governor", Value: "schedutil", Why: "it <moves>", Change: []string{long}, Undo: []string{"echo y > z"}, Mode: "governor = 1"},
		{List: doctor.CannotTell, Check: "timer", Value: "cannot read /f: no", Why: "slow", File: "/f"},
		{List: doctor.Warning, Check: "load", Value: "9", Why: "busy"},
	}}
	var text, plain bytes.Buffer
	if err := x.json(&text); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema     int
		System     string
		InOrder    []doctor.Finding `json:"in_order"`
		Advice     []doctor.Finding
		Warning    []doctor.Finding
		CannotTell []doctor.Finding `json:"cannot_tell"`
		Jitter     *doctor.Jitter
	}
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != doctorSchema || got.System != "linux" || len(got.Warning) != 2 || len(got.CannotTell) != 1 || got.Advice == nil || got.InOrder == nil || got.Jitter != nil {
		t.Errorf("got %+v", got)
	}
	if w := got.Warning[0]; w.Check != "governor" || w.Why != "it <moves>" || w.Change[0] != long || w.Undo[0] != "echo y > z" || w.Mode == "" || w.File != "" {
		t.Errorf("got %+v", w)
	}
	if err := x.text(&plain, tableStyle{width: 60}); err != nil {
		t.Fatal(err)
	}
	want := `in order (0)
  none

advice (0)
  none

warning (2)
  governor  schedutil
            it <moves>
            change: ` + long + `
            put back: echo y > z
            for the runs alone: governor = 1 in a mode
  load      9
            busy

cannot tell (1)
  timer     cannot read /f: no
            slow
`
	if plain.String() != want {
		t.Errorf("got\n%s\nwant\n%s", plain.String(), want)
	}
	plain.Reset()
	if err := x.text(&plain, tableStyle{color: true}); err != nil || !strings.Contains(plain.String(), "\x1b[1;33mwarning (2)\x1b[0m") {
		t.Errorf("in colour, %v: %q", err, plain.String())
	}
}

func TestJitterOf(t *testing.T) {
	res := &harness.Result{Wall: time.Second, Involuntary: 3}
	if _, err := jitterOf(nil, res); err == nil {
		t.Error("no times were taken for some")
	}
	for _, c := range []struct {
		times             []float64
		median, most, off float64
		long              int
	}{
		{[]float64{2}, 2, 2, 0, 0},
		{[]float64{1, 3}, 2, 3, 0.25, 0},
		{[]float64{1, 1, 1, 2, 5}, 1, 5, 0.5, 2},
	} {
		j, err := jitterOf(c.times, res)
		if err != nil {
			t.Fatal(err)
		}
		if j.Median != c.median || j.Max != c.most || j.Lost != c.off || j.Long != c.long || j.Iterations != len(c.times) || j.Involuntary != 3 || j.Over != time.Second || j.Steal != nil {
			t.Errorf("%v: %+v", c.times, j)
		}
	}
}
