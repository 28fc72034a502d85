//go:build amd64 || arm64

package all

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// roots are all functions that a forked child enters by itself or by the
// functions in workloads.Body, which a disassembly does not connect.
func roots() []string {
	r := []string{"goset/workloads.(*Child).live", "goset/workloads.Nothing"}
	for kernel, functions := range map[string]string{
		"jitter": "run after end",
		"chase":  "start run after end",
		"matmul": "fill run after",
		"stream": "fill run after",
	} {
		for _, f := range strings.Fields(functions) {
			r = append(r, "goset/workloads/"+kernel+"."+f)
		}
	}
	return r
}

// leaves are what a child may call besides this project's own functions: they
// are nosplit and enter the kernel.
func leaves() []string {
	return []string{"syscall.RawSyscall", "syscall.RawSyscall6"}
}

// A function that a child runs and that could grow the stack, allocate, panic
// or meet a write barrier would end in a runtime that the child does not have.
// The machine code says what the compiler made of it.
func TestChildNeedsNoRuntime(t *testing.T) {
	calls := disassemble(t)
	seen := map[string]bool{}
	queue := roots()
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		if seen[f] {
			continue
		}
		seen[f] = true
		callees, ok := calls[f]
		if !ok {
			t.Errorf("%s is not in the test binary", f)
		}
		for _, callee := range callees {
			switch {
			// The gate of threads in one process, which no child has.
			case callee == "goset/workloads.(*localGate).pass":
			case slices.Contains(leaves(), callee):
			case strings.HasPrefix(callee, "goset/workloads"):
				queue = append(queue, callee)
			default:
				t.Errorf("%s calls %s", f, callee)
			}
		}
	}
	if len(seen) < 25 {
		t.Errorf("only %d functions seen: %v", len(seen), seen)
	}
}

// disassemble returns the functions that each function of this project in the
// test binary calls.
func disassemble(t *testing.T) map[string][]string {
	t.Helper()
	// The binary that is running was linked without symbols.
	exe := filepath.Join(t.TempDir(), "all.test")
	if out, err := exec.Command("go", "test", "-c", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	out, err := exec.Command("go", "tool", "objdump", "-s", "^goset/workloads", exe).Output()
	if err != nil {
		t.Fatal("go tool objdump:", err)
	}
	text := regexp.MustCompile(`^TEXT (\S+?)(?:\.abi0)?\(SB\)`)
	call := regexp.MustCompile(`\t(?:CALL|JMP|B) (\S+?)(?:\.abi0)?\(SB\)`)
	calls, current := map[string][]string{}, ""
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if m := text.FindStringSubmatch(lines.Text()); m != nil {
			current = m[1]
			calls[current] = nil
		} else if m := call.FindStringSubmatch(lines.Text()); m != nil && m[1] != current {
			calls[current] = append(calls[current], m[1])
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return calls
}
