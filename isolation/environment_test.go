//go:build linux

package isolation

import (
	"slices"
	"strings"
	"testing"
)

func TestPadding(t *testing.T) {
	for _, size := range []int{0, leastPad, leastPad + 1, 4096, maxPad, maxPad + 1, maxPad + leastPad - 1, 3*maxPad + 7, 1 << 20} {
		pads, ok := padding(size)
		if !ok || len(envBlock(pads)) != size {
			t.Errorf("padding of %d bytes is %d, %t", size, len(envBlock(pads)), ok)
		}
		for _, p := range pads {
			// MAX_ARG_STRLEN
			if len(p) >= 128<<10 {
				t.Errorf("padding of %d bytes has a string of %d", size, len(p))
			}
		}
	}
	for _, size := range []int{-1, 1, leastPad - 1} {
		if pads, ok := padding(size); ok {
			t.Errorf("%d bytes are %q", size, pads)
		}
	}
}

func TestEnvSize(t *testing.T) {
	r := newKnobKernel(nil).run(t, Mode{EnvSize: 4096}, "")
	l := newEnvSizeLayer(r).(commandLayer)
	c := Command{Env: []string{"A=1", padName + "0=xyz"}}
	for range 2 { // a second time from what came of the first
		if err := l.command(r, &c); err != nil || len(envBlock(c.Env)) != 4096 || c.Env[0] != "A=1" {
			t.Errorf("%d bytes, %v", len(envBlock(c.Env)), err)
		}
	}
	c = Command{Env: []string{"A=" + strings.Repeat("x", 5000)}}
	if err := l.command(r, &c); err == nil || !strings.Contains(err.Error(), "5003 bytes already") || !strings.Contains(err.Error(), "stable_env") {
		t.Error(err)
	}
}

func TestStableEnv(t *testing.T) {
	r := newKnobKernel(nil).run(t, Mode{StableEnv: true}, "")
	l := newStableEnvLayer(r).(commandLayer)
	var first []string
	for _, env := range [][]string{
		{"HOME=/home/a", "TERM=xterm", "LC_ALL=de_DE", "THREADS=4", "TZ=CET"},
		{"TZ=CET", "SSH_CLIENT=1 2 3", "HOME=/", "HOME=/home/a", "PATH=/x", "THREADS=4"},
	} {
		c := Command{Env: env, Own: []string{"THREADS=4", "TZ=CET"}}
		if err := l.command(r, &c); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = c.Env
		}
		if !slices.Equal(c.Env, first) || !slices.Contains(c.Env, "TZ=CET") || !slices.Contains(c.Env, "HOME=/home/a") || slices.Contains(c.Env, "TZ=UTC") {
			t.Errorf("%q, want %q", c.Env, first)
		}
	}
}

func TestSetEnv(t *testing.T) {
	env := []string{"A=1", "B=2", "A=3"}
	if got := setEnv(env, "A", "4"); !slices.Equal(got, []string{"B=2", "A=4"}) || env[0] != "A=1" {
		t.Errorf("%q", got)
	}
	if v, ok := getEnv(env, "A"); v != "3" || !ok {
		t.Errorf("%q, %t", v, ok)
	}
	if _, ok := getEnv(env, "AB"); ok {
		t.Error("AB is there")
	}
}

func TestSudoCaller(t *testing.T) {
	for _, test := range []struct {
		uid  string
		euid int
		want string
	}{{"", 0, ""}, {"1000", 0, "1000"}, {"1000", 1000, ""}, {"0", 0, ""}, {"x", 0, ""}, {"-1", 0, ""}, {"4294967295", 0, ""}} {
		if got := SudoCaller(func(string) string { return test.uid }, test.euid); got != test.want {
			t.Errorf("SUDO_UID %q as %d: %q, want %q", test.uid, test.euid, got, test.want)
		}
	}
}
