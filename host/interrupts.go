package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"goset/cpulist"
)

// Interrupts is one reading of /proc/interrupts, or the difference of two.
//
// Only online CPUs have a column, and a column's CPU is the number in the
// header: with CPU 1 offline the second column is CPU 2. Rows appear and
// vanish between two readings (kernel/irq/proc.c: show_interrupts,
// arch/*/kernel/irq.c).
//
// Reading into the same value again with [Interrupts.Parse] allocates nothing
// as long as the rows and columns stay the same.
type Interrupts struct {
	// CPUs are the header's CPU numbers in the order of the columns.
	CPUs []int
	Rows []InterruptRow

	header []byte   // the header line that CPUs was read from
	counts []uint64 // the storage of all Rows[i].Counts
	column []int    // CPU number -> column + 1; 0: none
}

// InterruptRow is one line of /proc/interrupts.
type InterruptRow struct {
	// Label is what stands before the colon: "24", "LOC", "IPI0", "Err".
	Label string
	// Occurrence counts rows of the same label from 0: powerpc prints two rows
	// LOC. Label and Occurrence identify a row.
	Occurrence int
	// Global is true for a row that is shorter than the header, as ERR and MIS
	// are: it counts for the whole machine, and its number is not CPU 0's.
	Global bool
	// Counts has one count per column, of a global row what it has.
	Counts []uint64
	// Text is what follows the counts: for a numbered row the chip, the
	// hardware's number, the trigger and the names of the handlers; for others
	// a description.
	Text string
}

// IRQ is the row's interrupt number, or -1 for a row that is none: NMI, LOC.
func (r *InterruptRow) IRQ() int {
	n, err := strconv.Atoi(r.Label)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// Key is the row's identity as text: its label, and "#2" for the second row
// of that label.
func (r *InterruptRow) Key() string {
	if r.Occurrence == 0 {
		return r.Label
	}
	return r.Label + "#" + strconv.Itoa(r.Occurrence+1)
}

// Count is the row's count on a CPU; false where the row or the reading has
// none for it.
func (x *Interrupts) Count(r *InterruptRow, cpu int) (uint64, bool) {
	if r.Global || cpu < 0 || cpu >= len(x.column) || x.column[cpu] == 0 {
		return 0, false
	}
	return r.Counts[x.column[cpu]-1], true
}

// Set is the CPUs of the header.
func (x *Interrupts) Set() cpulist.Set { return cpulist.Of(x.CPUs...) }

// Row finds a row by label and occurrence; nil when there is none.
func (x *Interrupts) Row(label string, occurrence int) *InterruptRow {
	for i := range x.Rows {
		if r := &x.Rows[i]; r.Label == label && r.Occurrence == occurrence {
			return r
		}
	}
	return nil
}

// ColumnSums adds up the columns as they are printed, the global rows' numbers
// with them, and returns also the sum of all. It answers what the file holds;
// what a CPU was interrupted by is [Interrupts.PerCPU].
func (x *Interrupts) ColumnSums() (perColumn []uint64, total uint64) {
	perColumn = make([]uint64, len(x.CPUs))
	for _, r := range x.Rows {
		for i, n := range r.Counts {
			perColumn[i] += n
			total += n
		}
	}
	return perColumn, total
}

// PerCPU adds up, per column, the rows that keep accepts; global rows belong
// to no CPU. A nil keep accepts all.
func (x *Interrupts) PerCPU(keep func(*InterruptRow) bool) []uint64 {
	perColumn := make([]uint64, len(x.CPUs))
	for i := range x.Rows {
		r := &x.Rows[i]
		if r.Global || keep != nil && !keep(r) {
			continue
		}
		for j, n := range r.Counts {
			perColumn[j] += n
		}
	}
	return perColumn
}

// Interrupts reads /proc/interrupts.
func (f FS) Interrupts() (*Interrupts, error) {
	text, err := f.readBounded(maxBigFile, "proc", "interrupts")
	if err != nil {
		return nil, err
	}
	x := &Interrupts{}
	if err := x.Parse(text); err != nil {
		return nil, fmt.Errorf("cannot read %s: %v", f.Path("proc/interrupts"), err)
	}
	return x, nil
}

// InterruptsFile is /proc/interrupts held open for repeated reading.
type InterruptsFile struct{ hot *hotFile }

// OpenInterrupts opens /proc/interrupts for repeated reading.
func (f FS) OpenInterrupts() (*InterruptsFile, error) {
	hot, err := f.openHot(64<<10, "proc/interrupts")
	if err == nil && hot == nil {
		err = &fs.PathError{Op: "open", Path: f.Path("proc/interrupts"), Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	return &InterruptsFile{hot}, nil
}

// Close closes the file.
func (p *InterruptsFile) Close() error { return p.hot.close() }

// Read reads the file anew into x. It allocates nothing once its buffer has
// the size of the file and as long as the rows stay the same.
func (p *InterruptsFile) Read(x *Interrupts) error {
	text, err := p.hot.read()
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", p.hot.file.Name(), err)
	}
	return x.Parse(text)
}

// ParseInterrupts reads the text of a /proc/interrupts.
func ParseInterrupts(text []byte) (*Interrupts, error) {
	x := &Interrupts{}
	if err := x.Parse(text); err != nil {
		return nil, err
	}
	return x, nil
}

// The bounds of a text: 8192 CPUs with 8192 rows, and for fewer CPUs 65,536
// rows; nr_irqs of large machines is some thousands.
const (
	maxCounts = 1 << 26
	maxRows   = 1 << 16
)

// Parse reads the text of a /proc/interrupts into x, over what x held before.
// After an error x is empty. The text is not kept.
func (x *Interrupts) Parse(text []byte) error {
	err := x.parse(text)
	if err != nil {
		*x = Interrupts{}
	}
	return err
}

func (x *Interrupts) parse(text []byte) error {
	header, rest := cutLine(text)
	for len(bytes.TrimSpace(header)) == 0 && len(rest) > 0 {
		header, rest = cutLine(rest)
	}
	if err := x.parseHeader(header); err != nil {
		return err
	}
	n := 0
	for len(rest) > 0 {
		end, err := x.parseRow(n, rest)
		if err != nil {
			return err
		}
		rest = rest[end.next:]
		if !end.blank {
			n++
		}
	}
	x.Rows = x.Rows[:n]
	return nil
}

func cutLine(text []byte) (line, rest []byte) {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[:i], text[i+1:]
	}
	return text, nil
}

func (x *Interrupts) parseHeader(line []byte) error {
	if len(x.CPUs) > 0 && bytes.Equal(line, x.header) {
		return nil
	}
	*x = Interrupts{header: bytes.Clone(line)}
	for _, name := range strings.Fields(string(line)) {
		digits, ok := strings.CutPrefix(name, "CPU")
		cpu, err := strconv.Atoi(digits)
		if !ok || err != nil || cpu < 0 || cpu > cpulist.MaxCPU {
			return fmt.Errorf("the first line must name the CPUs, as \"CPU0 CPU1\", got %q", clip(line))
		}
		for len(x.column) <= cpu {
			x.column = append(x.column, 0)
		}
		if x.column[cpu] != 0 {
			return fmt.Errorf("the first line names CPU %d twice", cpu)
		}
		x.CPUs = append(x.CPUs, cpu)
		x.column[cpu] = len(x.CPUs)
	}
	if len(x.CPUs) == 0 {
		return errors.New("the first line must name the CPUs, as \"CPU0 CPU1\", got an empty text")
	}
	return nil
}

// rowEnd is where a row stopped.
type rowEnd struct {
	next  int  // offset of the next line
	blank bool // the line was empty: no row
}

// parseRow reads the line at the start of text as row n.
func (x *Interrupts) parseRow(n int, text []byte) (rowEnd, error) {
	colon := bytes.IndexByte(text, ':')
	if colon < 0 || bytes.IndexByte(text[:colon], '\n') >= 0 {
		line, _ := cutLine(text)
		if len(bytes.TrimSpace(line)) != 0 {
			return rowEnd{}, fmt.Errorf("row %q has no colon", clip(line))
		}
		return rowEnd{next: min(len(line)+1, len(text)), blank: true}, nil
	}
	if err := x.useRow(n, bytes.TrimSpace(text[:colon])); err != nil {
		return rowEnd{}, err
	}
	r := &x.Rows[n]
	counts := x.counts[n*len(x.CPUs) : (n+1)*len(x.CPUs)]
	got, pos, err := parseCounts(text, colon+1, counts)
	if err != nil {
		return rowEnd{}, fmt.Errorf("row %q: %v", r.Label, err)
	}
	r.Counts, r.Global = counts[:got:got], got < len(x.CPUs)
	newline := bytes.IndexByte(text[pos:], '\n')
	next := len(text)
	end := len(text)
	if newline >= 0 {
		end, next = pos+newline, pos+newline+1
	}
	if rest := trimBlank(text[pos:end]); string(rest) != r.Text {
		r.Text = string(rest)
	}
	return rowEnd{next: next}, nil
}

// useRow makes x.Rows[n] the row of the given label, with storage for its
// counts. In the steady state it already is.
func (x *Interrupts) useRow(n int, label []byte) error {
	if n < len(x.Rows) && string(label) == x.Rows[n].Label {
		return nil
	}
	if n >= maxRows {
		return fmt.Errorf("it has more than %d rows", maxRows)
	}
	// From here on the layout differs: what follows is read as new.
	x.Rows = x.Rows[:min(n, len(x.Rows))]
	if need := (n + 1) * len(x.CPUs); need > len(x.counts) {
		if need > maxCounts {
			return fmt.Errorf("it has more than %d counts", maxCounts)
		}
		x.grow(max(need, min(2*need, maxCounts)))
	}
	row := InterruptRow{Label: string(label)}
	// Repeated labels are rare, and never numbers: IRQs have one row each.
	if len(label) == 0 || label[0] < '0' || label[0] > '9' {
		for i := range x.Rows {
			if x.Rows[i].Label == row.Label {
				row.Occurrence++
			}
		}
	}
	x.Rows = append(x.Rows, row)
	return nil
}

// grow moves the counts to a larger storage and points the rows to it.
func (x *Interrupts) grow(size int) {
	counts := make([]uint64, size)
	copy(counts, x.counts)
	x.counts = counts
	for i := range x.Rows {
		at, n := i*len(x.CPUs), len(x.Rows[i].Counts)
		x.Rows[i].Counts = counts[at : at+n : at+n]
	}
}

func clip(line []byte) string {
	const most = 60
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}

func trimBlank(b []byte) []byte { return bytes.Trim(b, " \t\r\x00") }
