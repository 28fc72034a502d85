package report

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Written is what Write made of a source.
type Written struct {
	Data     *Data
	Document *Document
	// Unwritten names every file that could not be written, with the cause;
	// nil: none.
	Unwritten error
}

// Write collects the records of a source, makes the document of what opts
// select, and writes the derived files of a result folder: runs.csv,
// iterations.csv.gz, summary.csv (all metrics), summary.md and contrasts.csv
// (those metrics that opts select) and bench.txt. Each is written beside its
// place and renamed, so that a reader sees the old file or the new one, whole. A
// file that cannot be written keeps none of the others from being written, and is
// no error here: what the document says does not depend on it.
func Write(ctx context.Context, dir string, src Source, opts Options) (*Written, error) {
	d, err := Collect(ctx, src, opts.Treatments, opts.MaxIterations)
	if err != nil {
		return nil, err
	}
	// Most of the files need no document: they are written while it is made.
	// All of it only looks at d, and the source is read once at a time.
	var runs, rest error
	var writing sync.WaitGroup
	writing.Go(func() { runs = d.writeRuns(ctx, dir, src) })
	writing.Go(func() { rest = d.writeRest(dir, opts) })
	doc, err := d.Document(opts)
	var tables error
	if err == nil {
		tables = errors.Join(
			writeFile(dir, "summary.md", func(w io.Writer) error { return MarkdownDocument(w, doc) }),
			writeFile(dir, "contrasts.csv", func(w io.Writer) error { return ContrastsCSV(w, doc.Tables) }),
		)
	}
	writing.Wait()
	unwritten := errors.Join(tables, rest, runs)
	if err != nil {
		return nil, errors.Join(err, unwritten)
	}
	return &Written{d, doc, unwritten}, nil
}

// WriteAll is Write for a caller that wants nothing but the files.
func WriteAll(ctx context.Context, dir string, src Source, opts Options) error {
	w, err := Write(ctx, dir, src, opts)
	if err != nil {
		return err
	}
	return w.Unwritten
}

// writeRuns writes the files that have lines for every run.
func (d *Data) writeRuns(ctx context.Context, dir string, src Source) error {
	return errors.Join(
		writeFile(dir, "runs.csv", func(w io.Writer) error { return runsCSV(ctx, w, d, src) }),
		writeFile(dir, "iterations.csv.gz", func(w io.Writer) error { return compressed(ctx, w, d, src) }),
	)
}

// writeRest writes the others that need no document.
func (d *Data) writeRest(dir string, opts Options) error {
	return errors.Join(
		writeFile(dir, "summary.csv", func(w io.Writer) error {
			every := opts
			every.Metrics, every.TopK, every.All = nil, 0, true
			all, err := d.Tables(every)
			if err != nil {
				return err
			}
			return SummaryCSV(w, all)
		}),
		writeFile(dir, "bench.txt", func(w io.Writer) error { return Bench(w, d, opts) }),
	)
}

// compressed writes the iterations with gzip's fastest level: the digits of
// noise do not compress better for more work.
func compressed(ctx context.Context, w io.Writer, d *Data, src Source) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := iterationsCSV(ctx, z, d, src); err != nil {
		return err
	}
	return z.Close()
}

// writeFile writes a file beside its place and renames it. It does not wait for
// the disk: what a power cut may take of it, report -write makes again.
func writeFile(dir, name string, write func(io.Writer) error) (err error) {
	path := filepath.Join(dir, name)
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write %q: %w", path, err)
		}
	}()
	// Not CreateTemp: its files are private, and a result is to be shared as the
	// umask has it. One process writes a folder at a time, under its lock.
	temp := filepath.Join(dir, "."+name+".new")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreMissing(os.Remove(temp)))
		}
	}()
	b := bufio.NewWriterSize(f, 1<<18)
	if err := errors.Join(finish(b, write), f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// finish stops at the first fault: what follows would only repeat it.
func finish(b *bufio.Writer, write func(io.Writer) error) error {
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
