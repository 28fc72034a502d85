package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"goset/isolation"
)

// TestFullDisk: a disk that fills up ends the session between two runs, so
// that no run is lost, and the session goes on once there is space.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=256k"); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENODEV) {
			t.Skipf("cannot mount a small file system here: %v", err)
		}
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	}()
	s, x := testSession(t, 30, []string{"a"}, isolation.Mode{Name: "m"})
	s.Dir = filepath.Join(mount, "results")
	s.Extractor = func(Workload) (Extractor, error) {
		return fakeExtractor(func(Result) (Extracted, error) {
			return Extracted{Iterations: map[string][]float64{"t": make([]float64, 7000)}}, nil
		}), nil
	}
	sum, err := Execute(t.Context(), s)
	if !errors.Is(err, syscall.ENOSPC) || sum.Done() {
		t.Fatalf("%v, %+v: want a full disk", err, sum)
	}
	made := len(x.jobs)
	if got := len(records(t, s.Dir)); got != made || made < 5 {
		t.Errorf("%d records of %d runs, want one for each and some", got, made)
	}
	// Still full: refused again, nothing changed.
	if _, err := Resume(t.Context(), s.Dir, s, resumeOptions(s)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("resume on a full disk: %v", err)
	}
	if err := syscall.Mount("tmpfs", mount, "tmpfs", syscall.MS_REMOUNT, "size=4m"); err != nil {
		t.Fatal(err)
	}
	sum, err = Resume(t.Context(), s.Dir, s, resumeOptions(s))
	if err != nil || !sum.Done() || len(x.jobs) != 30 || len(records(t, s.Dir)) != 30 {
		t.Errorf("resumed: %+v, %v, %d jobs, %d records", sum, err, len(x.jobs), len(records(t, s.Dir)))
	}
}

// TestFullDiskOfOutput: output that cannot be kept does not cost the record.
func TestFullDiskOfOutput(t *testing.T) {
	s, x := testSession(t, 1, []string{"a"}, isolation.Mode{Name: "m"})
	x.answer = func(context.Context, int, Job) (Result, error) {
		// A file where the folder should be: it cannot be made.
		if err := os.WriteFile(filepath.Join(s.Dir, OutputFolder), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		return Result{Exit: 1, Stdout: Stream{Head: []byte("x"), Total: 1}}, nil
	}
	if _, err := Execute(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if r := records(t, s.Dir)[0]; r.Output != "" || len(r.Warnings) != 1 {
		t.Errorf("output %q, warnings %q", r.Output, r.Warnings)
	}
}
