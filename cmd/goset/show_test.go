package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"goset/cpulist"
	"goset/internal/publicdata"
)

func readFacts(t *testing.T, file string, facts any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, facts)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// goset runs the whole program and decodes its JSON.
func goset(t *testing.T, args ...string) (shown, int, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), append(args, "-json", "-"), strings.NewReader(""), &stdout, &stderr)
	var s shown
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &s); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, stdout.Bytes())
		}
	}
	return s, code, stderr.String()
}

// shown is what others read from the JSON, declared anew as they would.
type shown struct {
	CPUs struct {
		Online, Possible, Isolated *string
		NoHZFull                   *string `json:"nohz_full"`
	}
	Cores []struct {
		Package    *int
		CPUs, Kind string
	}
	Nodes []struct {
		ID   int
		CPUs string
	}
	Interrupts *struct {
		CPUs []int
		Rows []struct {
			Label, Device string
			Counts        []uint64
		}
		Total  uint64
		PerCPU []uint64 `json:"per_cpu"`
	}
}

func TestShowsPublicInterrupts(t *testing.T) {
	dir := publicdata.Path(t, "interrupts")
	var facts []struct {
		File, Error string
		NCPUs       int `json:"n_cpus"`
		CPUs        []int
		Rows        int
		Total       uint64
		PerCPU      []uint64 `json:"per_cpu"`
		Short       []string `json:"rows_with_fewer_counts_than_cpus"`
		Unnamed     []string `json:"rows_without_name"`
	}
	readFacts(t, filepath.Join(dir, "facts.json"), &facts)
	if len(facts) == 0 {
		t.Fatal("no facts")
	}
	for _, want := range facts {
		t.Run(want.File, func(t *testing.T) {
			// The file itself is named, and the machine is an empty one.
			s, code, stderr := goset(t, "-sysroot", t.TempDir(), "-interrupts", filepath.Join(dir, want.File))
			if want.Error != "" {
				if code != exitFailed || stderr == "" || s.Interrupts != nil {
					t.Errorf("exit %d, %q, %v; want a refusal: %s", code, stderr, s.Interrupts, want.Error)
				}
				return
			}
			if code != 0 || s.Interrupts == nil {
				t.Fatalf("exit %d, %s", code, stderr)
			}
			x := s.Interrupts
			if len(x.Rows) != want.Rows || x.Total != want.Total || !slices.Equal(x.PerCPU, want.PerCPU) || len(x.CPUs) != want.NCPUs {
				t.Errorf("got %d CPUs, %d rows, total %d, %v; want %+v", len(x.CPUs), len(x.Rows), x.Total, x.PerCPU, want)
			}
			if want.CPUs != nil && !slices.Equal(x.CPUs, want.CPUs) {
				t.Errorf("CPUs %v, want %v", x.CPUs, want.CPUs)
			}
			var short, unnamed []string
			for _, r := range x.Rows {
				if len(r.Counts) < len(x.CPUs) {
					short = append(short, r.Label)
				}
				if _, err := strconv.Atoi(r.Label); err == nil && r.Device == "" {
					unnamed = append(unnamed, r.Label)
				}
			}
			if !slices.Equal(short, want.Short) || !slices.Equal(unnamed, want.Unnamed) {
				t.Errorf("short %v, unnamed %v; want %+v", short, unnamed, want)
			}
		})
	}
}

func TestShowsPublicMachines(t *testing.T) {
	dir := publicdata.Path(t, "sysfs")
	var facts []machineFacts
	readFacts(t, filepath.Join(dir, "facts.json"), &facts)
	if len(facts) == 0 {
		t.Fatal("no facts")
	}
	for _, want := range facts {
		t.Run(want.Name, func(t *testing.T) {
			s, code, stderr := goset(t, "-sysroot", publicdata.Unpack(t, filepath.Join(dir, want.Archive)))
			if code != 0 {
				t.Errorf("exit %d: %s", code, stderr)
			}
			want.compare(t, s)
		})
	}
}

type machineFacts struct {
	Name, Archive, Online string
	Possible, Isolated    *string
	NoHZFull              *string  `json:"nohz_full"`
	PackageIDs            []string `json:"package_ids"`
	NCores                *int     `json:"n_cores"`
	MaxThreads            *int     `json:"max_threads_per_core"`
	SingleThreads         *int     `json:"cores_with_1_thread"`
	Nodes, Kinds          map[string]string
}

func (want machineFacts) compare(t *testing.T, s shown) {
	t.Helper()
	if s.CPUs.Online == nil || *s.CPUs.Online != want.Online {
		t.Errorf("online %v, want %s", s.CPUs.Online, want.Online)
	}
	for name, pair := range map[string][2]*string{
		"possible": {s.CPUs.Possible, want.Possible}, "isolated": {s.CPUs.Isolated, want.Isolated}, "nohz_full": {s.CPUs.NoHZFull, want.NoHZFull},
	} {
		if got, want := normal(pair[0]), normal(pair[1]); got != want {
			t.Errorf("%s %s, want %s", name, got, want)
		}
	}
	threads, single, packages := 0, 0, []string{}
	kinds := map[string]cpulist.Set{}
	for _, c := range s.Cores {
		cpus, err := cpulist.Parse(c.CPUs)
		if err != nil {
			t.Fatal(err)
		}
		threads = max(threads, cpus.Len())
		if cpus.Len() == 1 {
			single++
		}
		if c.Package != nil {
			packages = append(packages, strconv.Itoa(*c.Package))
		}
		kinds[c.Kind] = kinds[c.Kind].Union(cpus)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	zero := 0
	value := func(p *int) int {
		if p == nil {
			p = &zero
		}
		return *p
	}
	if len(s.Cores) != value(want.NCores) || threads != value(want.MaxThreads) || single != value(want.SingleThreads) {
		t.Errorf("%d cores, %d threads, %d single; want %+v", len(s.Cores), threads, single, want)
	}
	if len(packages) != len(want.PackageIDs) || len(want.PackageIDs) > 0 && !slices.Equal(packages, want.PackageIDs) {
		t.Errorf("packages %v, want %v", packages, want.PackageIDs)
	}
	nodes := map[string]string{}
	for _, n := range s.Nodes {
		nodes[strconv.Itoa(n.ID)] = n.CPUs
	}
	if fmt.Sprint(nodes) != fmt.Sprint(want.Nodes) && len(nodes)+len(want.Nodes) > 0 {
		t.Errorf("nodes %v, want %v", nodes, want.Nodes)
	}
	for kind, cpus := range want.Kinds {
		if kinds[kind].String() != cpus {
			t.Errorf("kind %s: %s, want %s", kind, kinds[kind], cpus)
		}
	}
}

// normal is a list in the form of the kernel; absent is not empty.
func normal(list *string) string {
	if list == nil {
		return "absent"
	}
	set, err := cpulist.Parse(*list)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%q", set)
}

// TestShowsPublicLists puts masks and lists that kernels printed where goset
// reads them.
func TestShowsPublicLists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(publicdata.Path(t, "cpulists"), "mask_list_pairs.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	var want []string
	for line := range strings.Lines(string(text)) {
		field := strings.Split(line, "\t")
		if len(field) < 2 || strings.HasPrefix(line, "#") {
			continue
		}
		dir := filepath.Join(root, "sys/devices/system/node", "node"+strconv.Itoa(len(want)))
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "cpumap"), []byte(strings.Trim(field[0], "'")+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		want = append(want, strings.Trim(field[1], "'"))
	}
	cpu := filepath.Join(root, "sys/devices/system/cpu")
	if err := errors.Join(os.MkdirAll(cpu, 0o755), os.WriteFile(filepath.Join(cpu, "online"), []byte("0\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	s, code, stderr := goset(t, "-sysroot", root)
	if code != 0 || len(s.Nodes) != len(want) || len(want) == 0 {
		t.Fatalf("exit %d, %d nodes, want %d: %s", code, len(s.Nodes), len(want), stderr)
	}
	for _, n := range s.Nodes {
		if n.CPUs != normalText(want[n.ID]) {
			t.Errorf("mask %d: got %q, want %q", n.ID, n.CPUs, want[n.ID])
		}
	}
}

func normalText(list string) string {
	set, err := cpulist.Parse(list)
	if err != nil {
		return err.Error()
	}
	return set.String()
}
