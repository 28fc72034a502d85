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

// WriteAll writes the derived files of a result folder: runs.csv,
// iterations.csv.gz, summary.csv (all metrics), summary.md and contrasts.csv
// (those metrics that opts select) and bench.txt. Each is written beside its place and renamed, so that a
// reader sees the old file or the new one, whole. A file that cannot be
// written keeps none of the others from being written; the error names all of them.
func WriteAll(ctx context.Context, dir string, src Source, opts Options) error {
	d, err := Collect(ctx, src, opts.Treatments, opts.MaxIterations)
	if err != nil {
		return err
	}
	doc, err := d.Document(opts)
	if err != nil {
		return err
	}
	return WriteDocument(ctx, dir, d, doc, src, opts)
}

// WriteDocument is WriteAll for a caller that has collected the records and made
// the document already.
func WriteDocument(ctx context.Context, dir string, d *Data, doc *Document, src Source, opts Options) error {
	// Those that read the records again are written beside the others, which
	// only look at d; a source is read once at a time.
	var again error
	var reading sync.WaitGroup
	reading.Go(func() {
		again = errors.Join(
			writeFile(dir, "runs.csv", func(w io.Writer) error { return runsCSV(ctx, w, d, src) }),
			writeFile(dir, "iterations.csv.gz", func(w io.Writer) error { return compressed(ctx, w, d, src) }),
		)
	})
	err := errors.Join(
		writeFile(dir, "summary.csv", func(w io.Writer) error {
			every := opts
			every.Metrics, every.TopK, every.All = nil, 0, true
			all, err := d.Tables(every)
			if err != nil {
				return err
			}
			return SummaryCSV(w, all)
		}),
		writeFile(dir, "summary.md", func(w io.Writer) error { return MarkdownDocument(w, doc) }),
		writeFile(dir, "contrasts.csv", func(w io.Writer) error { return ContrastsCSV(w, doc.Tables) }),
		writeFile(dir, "bench.txt", func(w io.Writer) error { return Bench(w, d, opts) }),
	)
	reading.Wait()
	return errors.Join(err, again)
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
