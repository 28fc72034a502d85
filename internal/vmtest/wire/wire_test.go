package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	var line bytes.Buffer
	want := []Reply{{ID: 1, Kind: Started, PID: 7}, {}, {ID: 1, Kind: Done, Exit: 3, Stdout: []byte("GOVM\x00\n")}}
	for _, r := range want {
		line.WriteString("[    1.0] noise of a console GOVGO\r\n")
		if err := Write(&line, r); err != nil {
			t.Fatal(err)
		}
	}
	in := bufio.NewReader(&line)
	for _, w := range want {
		var got Reply
		if err := Read(in, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, w) {
			t.Errorf("read %+v, want %+v", got, w)
		}
	}
	if err := Read(in, new(Reply)); !errors.Is(err, io.EOF) {
		t.Errorf("after the last frame: %v, want EOF", err)
	}
}

func TestDamagedFrames(t *testing.T) {
	var line bytes.Buffer
	if err := Write(&line, Reply{ID: 1, Kind: Done}); err != nil {
		t.Fatal(err)
	}
	whole := line.String()
	for name, c := range map[string]struct{ frame, want string }{
		"empty":     {"", "EOF"},
		"cut":       {whole[:len(whole)-1], "unexpected EOF"},
		"damaged":   {strings.Replace(whole, "done", "dome", 1), "checksum"},
		"too large": {"GOVM\xff\xff\xff\xff0000", "limit"},
	} {
		err := Read(bufio.NewReader(strings.NewReader(c.frame)), new(Reply))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	var line bytes.Buffer
	_ = Write(&line, Request{ID: 1, Op: "run", Argv: []string{"true"}})
	f.Add(line.Bytes())
	f.Add([]byte("GOVM\x00\x00\x00\x02\x00\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Request
		if Read(bufio.NewReader(bytes.NewReader(data)), &r) != nil {
			return
		}
		// What was read can be sent again and means the same.
		var out bytes.Buffer
		if err := Write(&out, r); err != nil {
			t.Fatal(err)
		}
		var again Request
		if err := Read(bufio.NewReader(&out), &again); err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
	})
}
