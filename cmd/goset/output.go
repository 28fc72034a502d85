package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"goset/internal/cli"
)

// output is where a report goes that is not for stderr. A file is there and open
// from before the command runs: hours of a task are not to end in a report that
// cannot be written.
type output struct {
	name string
	file *os.File // nil: stdout, or what is opened when it is written to
	made bool     // by us, and nothing is in it yet
}

// openOutput makes sure that something can be written; "" is nowhere, and nil. What
// stands in a file stays until there is a report.
func openOutput(name string) (*output, error) {
	o := &output{name: name}
	switch name {
	case "":
		return nil, nil
	case "-":
		return o, nil
	}
	if info, err := os.Stat(name); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		// Opening it would wait for who reads, or be the end of what is read.
		return o, nil
	}
	var err error
	if o.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
		o.made = true
		return o, nil
	}
	if errors.Is(err, fs.ErrExist) {
		o.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	}
	if err != nil {
		return nil, cannotWrite(err)
	}
	return o, nil
}

func cannotWrite(err error) error { return fmt.Errorf("cannot write the report: %w", err) }

// write puts a report in the place of what the file held.
func (o *output) write(text []byte, stdout io.Writer) error {
	if o.name == "-" {
		_, err := stdout.Write(text)
		return err
	}
	if o.file == nil {
		if err := os.WriteFile(o.name, text, 0o644); err != nil {
			return cannotWrite(err)
		}
		return nil
	}
	o.made = false
	info, err := o.file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = o.file.Truncate(0)
	}
	if err == nil {
		_, err = o.file.Write(text)
	}
	if cerr := o.file.Close(); err == nil {
		err = cerr
	}
	o.file = nil
	if err != nil {
		return cannotWrite(err)
	}
	return nil
}

// close lets go of a file that no report came to, and takes one away that was
// made for it.
func (o *output) close() error {
	if o == nil || o.file == nil {
		return nil
	}
	err := o.file.Close()
	o.file = nil
	if o.made {
		err = errors.Join(err, os.Remove(o.name))
	}
	return err
}

// sameFile reports whether two outputs would overwrite each other.
func sameFile(a, b *output) bool {
	if a == nil || b == nil || a.file == nil || b.file == nil {
		return false
	}
	x, xerr := a.file.Stat()
	y, yerr := b.file.Stat()
	return xerr == nil && yerr == nil && x.Mode().IsRegular() && os.SameFile(x, y)
}

// outputs are the files of one run.
type outputs struct{ json, report *output }

// openOutputs makes sure of both.
func (o *options) openOutputs() (outputs, error) {
	var out outputs
	var jerr, rerr error
	out.json, jerr = openOutput(o.json)
	out.report, rerr = openOutput(o.report)
	err := errors.Join(jerr, rerr)
	if err == nil && sameFile(out.json, out.report) {
		err = usagef("cannot write both -json and -report to one file, %s: give each its own", o.json)
	}
	if err != nil {
		return outputs{}, errors.Join(err, out.close())
	}
	return out, nil
}

func (o outputs) close() error { return errors.Join(o.json.close(), o.report.close()) }

// write writes the report to where the flags say. What no file takes goes to
// stderr, so that it is not lost; nobody misses it who closed a pipe.
func (t *task) write(r *taskReport, color bool) error {
	var errs []error
	put := func(o *output, text []byte) {
		err := o.write(text, t.stdout)
		if err == nil || errors.Is(err, syscall.EPIPE) {
			return
		}
		errs = append(errs, err)
		if _, err := t.stderr.Write(text); err != nil {
			errs = append(errs, err)
		}
	}
	if t.outputs.json != nil {
		var text bytes.Buffer
		if err := writeJSON(&text, r); err != nil {
			errs = append(errs, err)
		} else {
			put(t.outputs.json, text.Bytes())
		}
	}
	switch {
	case t.outputs.report != nil:
		put(t.outputs.report, []byte(r.text(&page{})))
	case !t.opt.quiet:
		if _, err := io.WriteString(t.stderr, r.text(&page{color: color, width: cli.Width(t.stderr)})); err != nil && !errors.Is(err, syscall.EPIPE) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
