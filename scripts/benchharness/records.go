package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"goset/harness"
)

// manyRecords makes a result folder with n records: it begins an experiment of
// n runs for real, ends it after the first ones, and writes the rest as copies
// of those with values of their own.
func manyRecords(tool, dir string, n int) error {
	if err := beginExperiment(tool, dir, n); err != nil {
		return err
	}
	results, err := harness.OpenResults(dir)
	if err != nil {
		return err
	}
	var have []harness.Record
	err = results.Each(context.Background(), func(r *harness.Record) error {
		if len(have) < 100 {
			copied := *r
			copied.Values = map[string]float64{}
			for k, v := range r.Values {
				copied.Values[k] = v
			}
			have = append(have, copied)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(have) == 0 {
		return fmt.Errorf("cannot copy records: the experiment in %q ended without one", dir)
	}
	return writeCopies(filepath.Join(dir, harness.RecordsFile), results.Manifest, have)
}

// beginExperiment runs `true` under two modes and interrupts that soon.
func beginExperiment(tool, dir string, n int) error {
	cmd := exec.Command(tool, "run", "-runs", strconv.Itoa(n/2), "-warmup", "0", "-set", "plan.control=false", "-modes", "unpinned,taskset", "-quiet", "-o", dir, "--", "true")
	if err := cmd.Start(); err != nil {
		return err
	}
	records := filepath.Join(dir, harness.RecordsFile)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(records); err == nil && info.Size() > 100_000 {
			break
		}
		if time.Now().After(deadline) {
			break
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	// It exits with 130; what counts is what it wrote.
	_ = cmd.Wait()
	return nil
}

// writeCopies writes one record per run of the manifest's plan.
func writeCopies(file string, m *harness.Manifest, have []harness.Record) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(w)
	rng := rand.New(rand.NewPCG(1, 2))
	for i, run := range m.Runs {
		r := have[i%len(have)]
		t := m.Treatments[run.Treatment]
		r.Run, r.Block, r.Position, r.Treatment = i, int(run.Block), int(run.Position), t.Index
		r.Workload, r.Mode, r.Levels = t.Workload, t.Mode, t.Levels
		if i > 0 {
			r.Metrics = nil
		}
		for k, v := range r.Values {
			r.Values[k] = v * (1 + 0.01*rng.NormFloat64())
		}
		if err := enc.Encode(&r); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
