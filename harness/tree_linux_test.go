package harness

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

func TestParseStat(t *testing.T) {
	for _, test := range []struct {
		text string
		want stat
		ok   bool
	}{
		{"", stat{}, false},
		{"1", stat{}, false},
		{"1 (a)", stat{}, false},
		{"1 (a) S", stat{}, false},
		{"1 (a) S 7", stat{'S', 7}, true},
		{"12 (sh) Z 7 12 12 0", stat{'Z', 7}, true},
		{"12 (a) R 1) S 3 4\n", stat{'S', 3}, true},
		{"12 (a\n b) X 0 1", stat{'X', 0}, true},
		{"12 (a) SS 7", stat{}, false},
		{"12 (a) S seven", stat{}, false},
		{"12 (a) S -1", stat{}, false},
	} {
		if got, ok := parseStat([]byte(test.text)); got != test.want || ok != test.ok {
			t.Errorf("%q: %v, %t; want %v, %t", test.text, got, ok, test.want, test.ok)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (sh) Z 7 12 12 0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, ok := parseStat(text); ok && s.parent < 0 || !ok && s != (stat{}) {
			t.Errorf("%q: %v, %t", text, s, ok)
		}
	})
}

// TestWalkersAgree compares the kernel's lists of children with the table of
// all processes.
func TestWalkersAgree(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// cat ends with its stdin; the shell says so when it has started one.
	cmd := exec.Command("sh", "-c", "cat <&3 & echo; wait")
	cmd.ExtraFiles = []*os.File{in}
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if _, err := said.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	listed := pids(descendants(os.Getpid()))
	scanned := pids((&walker{scan: scanParents()}).below([]proc{{pid: os.Getpid()}}))
	if len(listed) != 2 || !slices.Equal(listed, scanned) || listed[0] != cmd.Process.Pid {
		t.Errorf("listed %v, scanned %v; want the shell %d and its child", listed, scanned, cmd.Process.Pid)
	}
	out.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if left := descendants(cmd.Process.Pid); left != nil {
		t.Errorf("a process that is gone has descendants %v", left)
	}
}

// pids takes the numbers out of a walk.
func pids(procs []proc) []int {
	var ps []int
	for _, p := range procs {
		ps = append(ps, p.pid)
	}
	return ps
}
