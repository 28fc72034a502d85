package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// Results is a result folder that is read: by the report, and before a resume.
type Results struct {
	Dir      string
	Manifest *Manifest
	// Torn is, after Each, the length of a half-written last line in bytes. A
	// kill in the middle of a write leaves one; the run is one without record.
	Torn int64
	// Size is, after Each, the length of the whole lines in bytes.
	Size int64
}

// OpenResults reads the manifest of a result folder. It takes no lock: a
// folder that is being written can be read, and gives the records so far.
func OpenResults(dir string) (*Results, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	return &Results{Dir: dir, Manifest: m}, nil
}

// maxLine bounds a line of records.jsonl in bytes. The longest known records,
// of a million iterations, stay below a tenth of it.
const maxLine = 256 << 20

// batchSize is how many bytes of lines are decoded at a time.
const batchSize = 32 << 10

// batch is a piece of records.jsonl between two newlines, and its records.
type batch struct {
	text    []byte
	line    int // number of its first line, from 1
	records []Record
	err     error
	ready   chan struct{} // closed when records and err are set
}

// Each calls fn with every record in the order of the file. The record is used
// again after fn has returned: what is to stay must be copied. Decoding goes
// on beside fn, on all CPUs that Go may use, a bounded number of bytes ahead.
//
// A line that is no record of this plan is an error that gives its number. An
// error of fn ends the reading and is returned as it is.
func (r *Results) Each(ctx context.Context, fn func(*Record) error) error {
	path := filepath.Join(r.Dir, RecordsFile)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read the records: %v", err)
	}
	defer f.Close() // only read: nothing can be lost
	ctx, cancel := context.WithCancel(ctx)
	workers := max(1, runtime.GOMAXPROCS(0))
	p := &batchPipe{
		results: r, path: path,
		work:  make(chan *batch, 2*workers+2),
		order: make(chan *batch, 2*workers+2),
		free:  make(chan *batch, 2*workers+2),
	}
	for range cap(p.free) {
		p.free <- &batch{}
	}
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for range workers {
		group.Go(p.decode)
	}
	group.Go(func() { p.read(ctx, f) })
	if err := p.deliver(ctx, fn); err != nil {
		return err
	}
	r.Size, r.Torn = p.size, p.torn
	return nil
}

// batchPipe takes batches from the reader past the decoders to the one who
// delivers them; free bounds how many there are.
type batchPipe struct {
	results *Results
	path    string
	work    chan *batch
	order   chan *batch
	free    chan *batch
	// Set by read before it closes order.
	size, torn int64
	err        error
}

// read cuts the file into batches at newlines.
func (p *batchPipe) read(ctx context.Context, f io.Reader) {
	defer close(p.order)
	defer close(p.work)
	var rest []byte // the begun line that the next batch starts with
	line := 1
	for {
		var b *batch
		select {
		case b = <-p.free:
		case <-ctx.Done():
			return
		}
		text, end, err := fillBatch(f, append(b.text[:0], rest...))
		if err != nil {
			p.err = fmt.Errorf("cannot read %q near line %d: %v", p.path, line, err)
			return
		}
		whole := bytes.LastIndexByte(text, '\n') + 1
		rest = append(rest[:0], text[whole:]...)
		if whole > 0 {
			b.text, b.line, b.ready = text[:whole], line, make(chan struct{})
			line += bytes.Count(b.text, []byte{'\n'})
			p.size += int64(whole)
			// Neither blocks: there is room for every batch there is.
			p.work <- b
			p.order <- b
		}
		if end {
			p.torn = int64(len(rest))
			return
		}
	}
}

// fillBatch reads on until text holds batchSize more bytes and a newline, or
// the file ends.
func fillBatch(f io.Reader, text []byte) (filled []byte, end bool, err error) {
	want := len(text) + batchSize
	for {
		from := len(text)
		text = append(text, make([]byte, want-from)...)
		n, err := io.ReadFull(f, text[from:])
		text = text[:from+n]
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return text, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		if bytes.IndexByte(text[from:], '\n') >= 0 {
			return text, false, nil
		}
		if len(text) > maxLine {
			return nil, false, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
		want = 2 * len(text)
	}
}

// decode turns batches into records until there are no more.
func (p *batchPipe) decode() {
	d := newLineDecoder()
	for b := range p.work {
		b.err = p.decodeBatch(d, b)
		close(b.ready)
	}
}

func (p *batchPipe) decodeBatch(d *lineDecoder, b *batch) error {
	n := 0
	for text := b.text; len(text) > 0; n++ {
		end := bytes.IndexByte(text, '\n')
		line := text[:end]
		text = text[end+1:]
		if n < cap(b.records) {
			b.records = b.records[:n+1] // with the maps of an earlier batch
		} else {
			b.records = append(b.records[:n], Record{})
		}
		err := d.decode(line, &b.records[n])
		if err == nil {
			err = b.records[n].fits(p.results.Manifest)
		}
		if err != nil {
			b.records = b.records[:n]
			return fmt.Errorf("cannot read %s:%d: %v, in %q (take that line out to have its run repeated)", p.path, b.line+n, err, line[:min(len(line), 80)])
		}
	}
	b.records = b.records[:n]
	return nil
}

// fits says why a record cannot be one of a plan.
func (r *Record) fits(m *Manifest) error {
	switch {
	case r.Run < 0 || r.Run >= len(m.Runs):
		return fmt.Errorf("\"run\" is %d, and the plan's runs are 0 to %d", r.Run, len(m.Runs)-1)
	case r.Treatment != int(m.Runs[r.Run].Treatment):
		return fmt.Errorf("\"treatment\" of run %d is %d, and the plan has %d", r.Run, r.Treatment, m.Runs[r.Run].Treatment)
	case r.Attempt < 1:
		return fmt.Errorf("\"attempt\" of run %d is %d, and attempts count from 1", r.Run, r.Attempt)
	case r.Outcome != Kept && r.Outcome != Void && r.Outcome != Failed:
		return fmt.Errorf("\"outcome\" of run %d is %q, not %q, %q or %q", r.Run, r.Outcome, Kept, Void, Failed)
	}
	return nil
}

// deliver hands the records to fn, one behind what is known, because the next
// record says whether this one is superseded: attempts at a run are adjacent.
func (p *batchPipe) deliver(ctx context.Context, fn func(*Record) error) error {
	var held *Record
	var heldBatch *batch
	hand := func(next *Record) error {
		if held == nil {
			return nil
		}
		held.Superseded = next != nil && next.Run == held.Run
		return fn(held)
	}
	for b := range p.order {
		select {
		case <-b.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		for i := range b.records {
			if err := hand(&b.records[i]); err != nil {
				return err
			}
			held = &b.records[i]
		}
		if b.err != nil {
			return b.err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if heldBatch != nil {
			p.free <- heldBatch
		}
		heldBatch = b
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.err != nil {
		return p.err
	}
	return hand(nil)
}
