package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestOutput(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("a long old report"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	if o, err := openOutput(""); o != nil || err != nil || o.close() != nil {
		t.Errorf("nowhere is %v, %v", o, err)
	}
	for _, name := range []string{dir, filepath.Join(dir, "nowhere", "x")} {
		if o, err := openOutput(name); o != nil || err == nil {
			t.Errorf("%s is %v, %v", name, o, err)
		}
	}

	// A file that is not written to is as it was: there, or not.
	for _, name := range []string{there, filepath.Join(dir, "new")} {
		o, err := openOutput(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(o.close(), o.close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) || text(there) != "a long old report" {
		t.Errorf("without a report: %v, %q", err, text(there))
	}

	for _, name := range []string{there, filepath.Join(dir, "new")} {
		o, err := openOutput(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(o.write([]byte("report"), nil), o.close()); err != nil || text(name) != "report" {
			t.Errorf("%s holds %q, %v", name, text(name), err)
		}
	}

	var stdout bytes.Buffer
	o, err := openOutput("-")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(o.write([]byte("report"), &stdout), o.close()); err != nil || stdout.String() != "report" {
		t.Errorf("stdout has %q, %v", stdout.String(), err)
	}
}

func TestOutputsAreTwoFiles(t *testing.T) {
	dir := t.TempDir()
	one := filepath.Join(dir, "one")
	if err := errors.Join(os.WriteFile(one, nil, 0o644), os.Symlink(one, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		json, report string
		good         bool
	}{
		{"", "", true}, {one, "", true}, {one, filepath.Join(dir, "other"), true}, {os.DevNull, os.DevNull, true},
		{one, filepath.Join(dir, "link"), false}, {filepath.Join(dir, "new"), filepath.Join(dir, "nowhere", "x"), false},
	} {
		o := options{json: test.json, report: test.report}
		out, err := o.openOutputs()
		if (err == nil) != test.good {
			t.Errorf("%+v: %v", test, err)
		}
		if err := out.close(); err != nil {
			t.Error(err)
		}
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 2 {
		t.Errorf("left %q, %v", names, err)
	}
}
