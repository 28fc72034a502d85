package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	records := filepath.Join(dir, harness.RecordsFile)
	size := func() int64 {
		if info, err := os.Stat(records); err == nil {
			return info.Size()
		}
		return 0
	}
	// How it exits does not matter, 130 when it is interrupted: what counts is
	// that it wrote something.
	wrote := func(err error) error {
		if size() == 0 {
			return fmt.Errorf("cannot make records: %v\n%s", err, said.Bytes())
		}
		return nil
	}
	for deadline := time.Now().Add(time.Minute); size() < 100_000 && time.Now().Before(deadline); {
		select {
		case err := <-ended:
			return wrote(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return wrote(<-ended)
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
