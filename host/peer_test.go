package host

import (
	"os"
	"path/filepath"
	"testing"

	"goset/internal/publicdata"

	"github.com/prometheus/procfs"
)

// peerRoot holds the interrupts of 512 CPUs where both sides look for them, in
// memory where there is a place. It has 160 rows, since procfs reads no more
// than 1 MiB of a file.
func peerRoot(b *testing.B) (root string, size int64) {
	root = publicdata.MemoryFolder(b)
	text := bigInterrupts(512, 160)
	for _, dir := range []string{"proc", "proc/1"} {
		err := os.MkdirAll(filepath.Join(root, dir), 0o755)
		if err := errorsOf(err, os.WriteFile(filepath.Join(root, dir, "interrupts"), text, 0o644)); err != nil {
			b.Fatal(err)
		}
	}
	return root, int64(len(text))
}

// BenchmarkInterruptsPoll reads, parses and subtracts, as a poll does.
func BenchmarkInterruptsPoll(b *testing.B) {
	root, size := peerRoot(b)
	file, err := FS(root).OpenInterrupts()
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	var now, last, diff Interrupts
	for _, x := range []*Interrupts{&now, &last} {
		if err := file.Read(x); err != nil {
			b.Fatal(err)
		}
		diff.Sub(x, &now)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if err := file.Read(&now); err != nil {
			b.Fatal(err)
		}
		diff.Sub(&now, &last)
		now, last = last, now
	}
}

// BenchmarkInterruptsParsePeer parses what BenchmarkInterruptsProcfs reads and
// parses: the reading is a twentieth of the latter's time.
func BenchmarkInterruptsParsePeer(b *testing.B) { benchmarkParse(b, bigInterrupts(512, 160)) }

// BenchmarkInterruptsProcfs reads the same with prometheus/procfs, which
// leaves the counts as text.
func BenchmarkInterruptsProcfs(b *testing.B) {
	root, size := peerRoot(b)
	fs, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		b.Fatal(err)
	}
	proc, err := fs.Proc(1)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		rows, err := proc.Interrupts()
		if err != nil || len(rows) != 162 {
			b.Fatalf("%d rows, %v", len(rows), err)
		}
	}
}
