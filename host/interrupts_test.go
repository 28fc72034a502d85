package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"goset/internal/publicdata"
)

func mustInterrupts(t testing.TB, text string) *Interrupts {
	t.Helper()
	x, err := ParseInterrupts([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestParseInterruptsRows(t *testing.T) {
	x := mustInterrupts(t, strings.Join([]string{
		"            CPU0       CPU2       CPU20      ",
		"   0:          1          2   12345678  IR-IO-APIC    2-edge      timer",
		"  12:  123456789 4294967295          0  PCI-MSI 1-edge  a, b",
		"  13:          7          0 99",
		"IPI0:1234567890         10          0  Rescheduling interrupts",
		" LOC:          1          2          3   Local timer interrupts",
		" LOC:          4          5          6   Local timer interrupts for others",
		" ERR:          9",
		" FIQ:              usb_fiq",
		"",
	}, "\n"))
	want := []InterruptRow{
		{Label: "0", Counts: []uint64{1, 2, 12345678}, Text: "IR-IO-APIC    2-edge      timer"},
		{Label: "12", Counts: []uint64{123456789, math.MaxUint32, 0}, Text: "PCI-MSI 1-edge  a, b"},
		{Label: "13", Counts: []uint64{7, 0, 99}},
		{Label: "IPI0", Counts: []uint64{1234567890, 10, 0}, Text: "Rescheduling interrupts"},
		{Label: "LOC", Counts: []uint64{1, 2, 3}, Text: "Local timer interrupts"},
		{Label: "LOC", Occurrence: 1, Counts: []uint64{4, 5, 6}, Text: "Local timer interrupts for others"},
		{Label: "ERR", Global: true, Counts: []uint64{9}},
		{Label: "FIQ", Global: true, Counts: []uint64{}, Text: "usb_fiq"},
	}
	if !reflect.DeepEqual(x.Rows, want) || !slices.Equal(x.CPUs, []int{0, 2, 20}) {
		t.Errorf("got %v\n%+v, want\n%+v", x.CPUs, x.Rows, want)
	}
	if n, ok := x.Count(&x.Rows[0], 20); n != 12345678 || !ok {
		t.Errorf("Count on CPU 20 = %d, %v", n, ok)
	}
	if _, ok := x.Count(&x.Rows[0], 1); ok {
		t.Error("CPU 1 is offline and has a count")
	}
	if _, ok := x.Count(x.Row("ERR", 0), 0); ok {
		t.Error("a row of the whole machine counts for CPU 0")
	}
	if key := x.Row("LOC", 1).Key(); key != "LOC#2" {
		t.Errorf("Key = %q", key)
	}
	if got := x.PerCPU(func(r *InterruptRow) bool { return r.IRQ() >= 0 }); !slices.Equal(got, []uint64{1 + 123456789 + 7, 2 + math.MaxUint32, 12345678 + 99}) {
		t.Errorf("PerCPU of numbered rows = %v", got)
	}
}

func TestParseInterruptsRefuses(t *testing.T) {
	for text, cause := range map[string]string{
		"":                              "must name the CPUs",
		"\n\n":                          "must name the CPUs",
		"  0:   45  IO-APIC  timer\n":   "must name the CPUs",
		"CPU0 CPUx\n":                   "must name the CPUs",
		"CPU0 CPU-1\n":                  "must name the CPUs",
		"CPU0 CPU99999\n":               "must name the CPUs",
		"CPU3 CPU3\n":                   "twice",
		"CPU0\nnonsense\n":              "no colon",
		"CPU0\n0: 18446744073709551616": "above",
	} {
		x, err := ParseInterrupts([]byte(text))
		if err == nil || !strings.Contains(err.Error(), cause) || x != nil {
			t.Errorf("%q: got %v, %v, want an error with %q", text, x, err, cause)
		}
	}
}

func TestFastCellEqualsSlow(t *testing.T) {
	for _, v := range []uint64{0, 1, 9, 10, 99, 100, 999, 1234567, 99999999, 100000000, 4294967295} {
		for _, tail := range []string{" ", "\n", "\t", "a", "1", ""} {
			text := fmt.Appendf(nil, " %10d%s", v, tail)
			if got, ok := fastCell(text, 0); ok && got != v {
				t.Errorf("fastCell(%q) = %d", text, got)
			} else if !ok && v < 1e8 && strings.Contains(" \n\t", tail) && tail != "" {
				t.Errorf("fastCell(%q) gives up", text)
			} else if ok && strings.Contains("a1", tail) {
				t.Errorf("fastCell(%q) reads a count that goes on", text)
			}
		}
	}
	for _, text := range []string{"           ", "       1  1", "        1 2", "         -1", "         :1", "x         1", "         1 "} {
		if got, ok := fastCell([]byte(text+"\n"), 0); ok {
			t.Errorf("fastCell(%q) = %d, want nothing", text, got)
		}
	}
}

// FuzzInterrupts holds the fast parser against a plain one.
func FuzzInterrupts(f *testing.F) {
	f.Add("CPU0 CPU2\n  0:         12          3  IO-APIC 2-edge timer\nERR: 0\n")
	f.Add("CPU0\nIPI0:1234567890 x\n\n:\n")
	f.Fuzz(func(t *testing.T, text string) {
		x, err := ParseInterrupts([]byte(text))
		if err != nil {
			if x != nil {
				t.Fatal("a reading beside an error")
			}
			return
		}
		again := mustInterrupts(t, "CPU0\n 1: 3 x\n 2: 4\n")
		if err := again.Parse([]byte(text)); err != nil || len(again.Rows) != len(x.Rows) || len(x.Rows) > 0 && !reflect.DeepEqual(again.Rows, x.Rows) {
			t.Fatalf("over an older reading: %v\n%+v\n%+v", err, again.Rows, x.Rows)
		}
		for i, want := range plainCounts(text, len(x.CPUs)) {
			if !slices.Equal(want, x.Rows[i].Counts) {
				t.Fatalf("row %d of %q: %v, plainly %v", i, text, x.Rows[i].Counts, want)
			}
		}
		x.Since(again)
	})
}

// plainCounts reads the counts of every row in the simplest way.
func plainCounts(text string, columns int) [][]uint64 {
	var rows [][]uint64
	header := true
	for line := range strings.SplitSeq(text, "\n") {
		if header {
			header = strings.Trim(line, " \t\r\v\f\u0085\u00a0") == ""
			continue
		}
		_, rest, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		rows = append(rows, plainRow(rest, columns))
	}
	return rows
}

func plainRow(rest string, columns int) []uint64 {
	row := []uint64{}
	if end := strings.IndexAny(rest, "\r\x00"); end >= 0 {
		rest = rest[:end] // nothing follows a line's end
	}
	for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" \t", r) }) {
		var v uint64
		if strings.Trim(word, "0123456789") != "" || len(row) == columns {
			break
		}
		if _, err := fmt.Sscan(strings.TrimLeft(word, "0")+"/", &v); err != nil && strings.Trim(word, "0") != "" {
			break
		}
		row = append(row, v)
	}
	return row
}

func TestCounterDelta(t *testing.T) {
	for _, c := range []struct{ before, after, want uint64 }{
		{0, 0, 0}, {3, 5, 2}, {math.MaxUint32, 0, 1}, {math.MaxUint32 - 9, 10, 20},
		{1000, 3, 3}, {1 << 33, 5, 5}, {0, math.MaxUint32, math.MaxUint32},
	} {
		if got := CounterDelta(c.before, c.after); got != c.want {
			t.Errorf("CounterDelta(%d, %d) = %d, want %d", c.before, c.after, got, c.want)
		}
	}
}

func TestSince(t *testing.T) {
	before := mustInterrupts(t, "CPU0 CPU1 CPU2\n 1: 10 20 30 a\n 2: 1 1 1 gone\nLOC: 5 5 4294967290 t\nERR: 1\n")
	after := mustInterrupts(t, "CPU0 CPU2 CPU3\n 1: 11 32 99 a\nLOC: 6 4 7 t\nSPU: 3 0 0 appears\nERR: 4\n")
	d := after.Since(before)
	want := []InterruptRow{
		{Label: "1", Counts: []uint64{1, 2}, Text: "a"},
		{Label: "LOC", Counts: []uint64{1, 10}, Text: "t"},
		{Label: "SPU", Counts: []uint64{3, 0}, Text: "appears"},
		{Label: "ERR", Global: true, Counts: []uint64{3}},
	}
	if !slices.Equal(d.CPUs, []int{0, 2}) || !reflect.DeepEqual(d.Rows, want) {
		t.Errorf("got %v %+v, want %+v", d.CPUs, d.Rows, want)
	}
	if n, ok := d.Count(&d.Rows[1], 2); n != 10 || !ok {
		t.Errorf("Count on CPU 2 = %d, %v", n, ok)
	}
	if _, ok := d.Count(&d.Rows[1], 3); ok {
		t.Error("CPU 3 came in between and has a difference")
	}
	if d := after.Since(&Interrupts{}); len(d.CPUs) != 0 || d.Row("ERR", 0).Counts[0] != 4 {
		t.Errorf("since nothing: %+v", d)
	}
}

// bigInterrupts is a machine of many CPUs and rows.
func bigInterrupts(cpus, rows int) []byte {
	var b bytes.Buffer
	b.WriteString("     ")
	for c := range cpus {
		fmt.Fprintf(&b, "%11s", fmt.Sprintf("CPU%-5d ", c))
	}
	for r := range rows {
		label, text := fmt.Sprint(r), "  IR-PCI-MSIX-0000:17:00.0   12-edge      mlx5_comp12@pci:0000:17:00.0"
		if r >= rows-10 {
			label, text = "R"+label, "   Local timer interrupts"
		}
		fmt.Fprintf(&b, "\n%4s:", label)
		for c := range cpus {
			n := 0
			if r >= rows-10 || c == r%cpus {
				n = r * 7654321 % 4000000000
			}
			fmt.Fprintf(&b, " %10d", n)
		}
		b.WriteString(text)
	}
	b.WriteString("\nERR:          0\nMIS:          0\n")
	return b.Bytes()
}

func TestParseAllocatesNothingWhenRepeated(t *testing.T) {
	text := bigInterrupts(64, 100)
	var x, y, d Interrupts
	poll := func() {
		if err := x.Parse(text); err != nil {
			t.Fatal(err)
		}
		d.Sub(&x, &y)
	}
	if err := y.Parse(text); err != nil {
		t.Fatal(err)
	}
	poll()
	poll()
	if n := testing.AllocsPerRun(10, poll); n != 0 {
		t.Errorf("a repeated poll makes %v allocations, want 0", n)
	}
}

// TestInterruptsFile polls a file that grows beyond the first buffer.
func TestInterruptsFile(t *testing.T) {
	f := writeTree(t, map[string]string{"proc/interrupts": string(bigInterrupts(64, 300))})
	file, err := f.OpenInterrupts()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want, err := f.Interrupts()
	if err != nil || len(want.Rows) != 302 {
		t.Fatalf("%d rows, %v", len(want.Rows), err)
	}
	var x Interrupts
	poll := func() {
		if err := file.Read(&x); err != nil {
			t.Fatal(err)
		}
	}
	poll()
	if !reflect.DeepEqual(x.Rows, want.Rows) {
		t.Error("the poll differs from a single reading")
	}
	if n := testing.AllocsPerRun(5, poll); n != 0 {
		t.Errorf("a repeated poll makes %v allocations, want 0", n)
	}
}

// TestInterruptsHere polls the kernel's own file, which serves pieces.
func TestInterruptsHere(t *testing.T) {
	file, err := Local.OpenInterrupts()
	if absent(err) {
		t.Skip("this system has no /proc/interrupts")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var before, after Interrupts
	if err := errorsOf(file.Read(&before), file.Read(&after)); err != nil {
		t.Fatal(err)
	}
	online, err := Local.online()
	if err != nil || !after.Set().Equal(online) || len(after.Rows) == 0 {
		t.Errorf("CPUs %v, online %v, %d rows, %v", after.Set(), online, len(after.Rows), err)
	}
	for _, row := range after.Since(&before).Rows {
		for _, n := range row.Counts {
			if n > 1<<24 {
				t.Errorf("row %s went up by %d between two reads", row.Key(), n)
			}
		}
	}
}

func BenchmarkInterruptsParse(b *testing.B) { benchmarkParse(b, bigInterrupts(512, 1000)) }

func benchmarkParse(b *testing.B, text []byte) {
	var x Interrupts
	if err := x.Parse(text); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := x.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInterruptsSub(b *testing.B) {
	text := bigInterrupts(512, 1000)
	var x, y, d Interrupts
	if err := errorsOf(x.Parse(text), y.Parse(text)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		d.Sub(&x, &y)
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestPublicInterrupts(t *testing.T) {
	dir := publicdata.Path(t, "interrupts")
	text, err := os.ReadFile(filepath.Join(dir, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var facts []struct {
		File, Error string
		NCPUs       int `json:"n_cpus"`
		CPUs        []int
		Rows        int
		Total       uint64
		PerCPU      []uint64 `json:"per_cpu"`
		Short       []string `json:"rows_with_fewer_counts_than_cpus"`
		Unnamed     []string `json:"rows_without_name"`
		Duplicate   []string `json:"duplicate_labels"`
	}
	if err := json.Unmarshal(text, &facts); err != nil || len(facts) == 0 {
		t.Fatalf("%d facts, %v", len(facts), err)
	}
	for _, want := range facts {
		t.Run(want.File, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, want.File))
			if err != nil {
				t.Fatal(err)
			}
			x, err := ParseInterrupts(text)
			if (err != nil) != (want.Error != "") {
				t.Fatalf("error %v, want %q", err, want.Error)
			}
			if err != nil {
				return
			}
			perCPU, total := x.ColumnSums()
			if len(x.Rows) != want.Rows || total != want.Total || !slices.Equal(perCPU, want.PerCPU) {
				t.Errorf("%d rows, total %d, %v, want %+v", len(x.Rows), total, perCPU, want)
			}
			if want.CPUs != nil && !slices.Equal(x.CPUs, want.CPUs) || len(x.CPUs) != want.NCPUs {
				t.Errorf("CPUs %v, want %v", x.CPUs, want)
			}
			var short, unnamed, duplicate []string
			for i := range x.Rows {
				r := &x.Rows[i]
				if r.Global {
					short = append(short, r.Label)
				}
				if r.IRQ() >= 0 && r.Device() == "" {
					unnamed = append(unnamed, r.Label)
				}
				if r.Occurrence == 1 {
					duplicate = append(duplicate, r.Label)
				}
			}
			if !slices.Equal(short, want.Short) || !slices.Equal(unnamed, want.Unnamed) || !slices.Equal(duplicate, want.Duplicate) {
				t.Errorf("short %v, unnamed %v, duplicate %v, want %+v", short, unnamed, duplicate, want)
			}
		})
	}
}

// Runs of zeros are read many at once: whatever ends or follows them, the counts
// are those that are read one by one.
func TestParseCountsOfZeros(t *testing.T) {
	const zero = "          0"
	for k := range 20 {
		for _, after := range []string{"", "\n", "          7", " 4294967295", "0", "-edge", "  12-edge", "  eth0", zero + "1"} {
			text := []byte(strings.Repeat(zero, k) + after)
			for _, room := range []int{0, 1, 7, 8, 9, 16, 17, 30} {
				got, want := make([]uint64, room), make([]uint64, room)
				n, end, err := parseCounts(text, 0, got)
				m, pos := 0, 0
				for m < room {
					v, next, ok, err := slowCount(text, pos)
					if err != nil {
						t.Fatal(err)
					}
					if !ok {
						break
					}
					want[m], pos = v, next
					m++
				}
				if err != nil || n != m || end != pos || !slices.Equal(got, want) {
					t.Fatalf("%d zeros and %q into %d: %d counts %v to %d, %v; one by one %d counts %v to %d", k, after, room, n, got, end, err, m, want, pos)
				}
			}
		}
	}
}
