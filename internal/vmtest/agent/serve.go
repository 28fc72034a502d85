//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"goset/internal/vmtest/wire"
)

// server answers the test's requests; runs go on side by side.
type server struct {
	line *os.File
	mu   sync.Mutex // of writing to line
}

// serve answers requests on the serial line until it is told to stop.
func serve(args []string) error {
	if len(args) != 1 {
		return errors.New("want the serial line")
	}
	line, err := openRaw(args[0])
	if err != nil {
		return err
	}
	defer line.Close()
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return err
	}
	s := &server{line: line}
	if err := s.reply(wire.Reply{Kind: wire.Hello, Data: []byte(unix.ByteSliceToString(uts.Release[:]))}); err != nil {
		return err
	}
	in := bufio.NewReaderSize(line, 64<<10)
	for {
		var r wire.Request
		if err := wire.Read(in, &r); err != nil {
			return err
		}
		go s.handle(r)
	}
}

// openRaw opens a serial line and takes away everything that a terminal does
// to bytes.
func openRaw(path string) (*os.File, error) {
	line, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	term, err := unix.IoctlGetTermios(int(line.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	term.Iflag, term.Oflag, term.Lflag = 0, 0, 0
	term.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B115200
	term.Cc[unix.VMIN], term.Cc[unix.VTIME] = 1, 0
	return line, unix.IoctlSetTermios(int(line.Fd()), unix.TCSETS, term)
}

func (s *server) reply(r wire.Reply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return wire.Write(s.line, r)
}

// handle does one request. A reply that cannot be sent ends the guest's use,
// and the test sees it as no answer.
func (s *server) handle(r wire.Request) {
	done := wire.Reply{ID: r.ID, Kind: wire.Done}
	var err error
	switch r.Op {
	case "run":
		err = s.run(r, &done)
	case "read":
		done.Data, err = os.ReadFile(r.Path)
	case "write":
		err = write(r)
	default:
		err = fmt.Errorf("unknown request %q", r.Op)
	}
	if err != nil {
		done.Err = err.Error()
	}
	if err := s.reply(done); err != nil {
		fmt.Fprintln(os.Stderr, "agent: cannot reply:", err)
	}
}

func write(r wire.Request) error {
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(r.Path, r.Data, os.FileMode(r.Mode))
}

// run starts a command in a session of its own, as a login would, says its
// process ID and collects what it wrote. Output goes through files: a
// grandchild that keeps a pipe open would otherwise hold the reply back.
func (s *server) run(r wire.Request, done *wire.Reply) error {
	cmd := exec.Command(r.Argv[0], r.Argv[1:]...)
	cmd.Env = append(os.Environ(), r.Env...)
	cmd.Dir = r.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if len(r.Stdin) > 0 {
		cmd.Stdin = bytes.NewReader(r.Stdin)
	}
	stdout, err := scratch()
	if err != nil {
		return err
	}
	defer stdout.Close()
	stderr, err := scratch()
	if err != nil {
		return err
	}
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := s.reply(wire.Reply{ID: r.ID, Kind: wire.Started, PID: cmd.Process.Pid}); err != nil {
		return err
	}
	if done.Exit, err = exitOf(cmd.Wait()); err != nil {
		return err
	}
	if done.Stdout, err = whole(stdout); err != nil {
		return err
	}
	done.Stderr, err = whole(stderr)
	return err
}

// scratch is a file without a name.
func scratch() (*os.File, error) {
	fd, err := unix.MemfdCreate("output", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "output"), nil
}

// whole reads a scratch file from its start.
func whole(f *os.File) ([]byte, error) {
	var text bytes.Buffer
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	_, err := text.ReadFrom(f)
	return text.Bytes(), err
}

// exitOf turns how a process ended into a shell's exit code.
func exitOf(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 0, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// until runs a shell condition until it holds, for a time at most.
func until(args []string) error {
	if len(args) != 2 {
		return errors.New("want a duration and a shell condition")
	}
	limit, err := deadline(args[0])
	if err != nil {
		return err
	}
	for {
		out, err := exec.Command("sh", "-c", args[1]).CombinedOutput()
		if err == nil {
			return nil
		}
		if limit() {
			return fmt.Errorf("not within %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
		pause()
	}
}
