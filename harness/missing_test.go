package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"goset/isolation"
)

func TestMissingCommands(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"there": 0o755, "plain": 0o644, "bin/tool": 0o755} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	of := func(layers isolation.Mode, argv ...string) Treatment {
		return Treatment{Workload: "w", Spec: Workload{Command: argv}, Args: argv, Layers: layers}
	}
	env := func(t Treatment, env ...string) Treatment {
		t.Env = env
		return t
	}
	loaded := func(argv ...string) Treatment {
		t := of(isolation.Mode{}, "./there")
		t.Condition, t.Load.Command = "busy", argv
		return t
	}
	wrap := func(words ...string) isolation.Mode { return isolation.Mode{Wrap: words} }
	optional := func(words ...string) isolation.Mode {
		return isolation.Mode{Wrap: words, Optional: []string{"wrap"}}
	}
	golang := Treatment{Workload: "g", Spec: Workload{Go: &GoSpec{}}}
	for _, tt := range []struct {
		name       string
		treatments []Treatment
		want       []string // a part of each fault
	}{
		{"nothing", nil, nil},
		{"there", []Treatment{of(isolation.Mode{}, "./there")}, nil},
		{"by PATH", []Treatment{of(isolation.Mode{}, "tool")}, nil},
		{"not in the task's PATH", []Treatment{env(of(isolation.Mode{}, "tool"), "PATH=/none")}, []string{`cannot run workload "w": cannot start "tool": not found in PATH (PATH is "/none"`}},
		{"in the task's PATH alone", []Treatment{env(of(isolation.Mode{}, "there"), "PATH="+dir)}, nil},
		{"missing, once for all modes", []Treatment{of(isolation.Mode{Name: "a"}, "./gone"), of(isolation.Mode{Name: "b"}, "./gone")},
			[]string{"gone\": no such file or directory (relative paths start at the experiment's folder"}},
		{"every level that is missing", []Treatment{of(isolation.Mode{}, "./gone"), of(isolation.Mode{}, "./lost"), of(isolation.Mode{}, "./there")},
			[]string{"gone", "lost"}},
		{"not executable", []Treatment{of(isolation.Mode{}, "./plain")}, []string{"not executable (chmod +x"}},
		{"a folder", []Treatment{of(isolation.Mode{}, "./bin")}, []string{"it is a folder"}},
		{"a load", []Treatment{loaded("./there"), loaded("tool")}, nil},
		{"a load that is missing", []Treatment{loaded("gone"), loaded("gone")}, []string{`cannot run condition "busy": cannot start "gone"`}},
		{"both", []Treatment{of(isolation.Mode{}, "./gone"), loaded("lost")}, []string{"gone", "lost"}},
		// What a container runs need not be here.
		{"wrapped", []Treatment{of(wrap("tool"), "of-the-image")}, nil},
		{"wrapped, if it can be", []Treatment{of(optional("tool"), "of-the-image")}, nil},
		{"not wrapped, as it may be", []Treatment{of(optional("no-engine"), "./there")}, nil},
		{"not wrapped, and not here", []Treatment{of(optional("no-engine"), "gone")}, []string{`cannot start "gone"`}},
		{"layer wrap says it", []Treatment{of(wrap("no-engine"), "gone")}, nil},
		{"a wrapper by its path", []Treatment{of(wrap("/no/engine"), "gone")}, []string{`cannot start "/no/engine"`}},
		{"a kernel", []Treatment{{Workload: "k", Spec: Workload{Kernel: "jitter"}}}, nil},
		{"what is built first", []Treatment{golang}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Session{Experiment: &Experiment{Dir: dir}, Env: []string{"PATH=" + filepath.Join(dir, "bin")}, Self: []string{filepath.Join(dir, "there"), "workload"}}
			faults := MissingCommands(&s, tt.treatments)
			if len(faults) != len(tt.want) {
				t.Fatalf("%v, want %d", faults, len(tt.want))
			}
			for i, want := range tt.want {
				if !strings.Contains(faults[i].Error(), want) {
					t.Errorf("%v, want %q", faults[i], want)
				}
			}
		})
	}
}
