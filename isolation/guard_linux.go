package isolation

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The guard replays the journal when the process that made the changes is gone
// without having undone them. It is this program again, in a session of its
// own, so that no terminal ends it, and in cgroups of its own, since a service
// manager ends the whole cgroup of a service whose main process is gone.
//
// It holds the read end of a pipe, whose end means that the writer is gone or
// is done, and then takes the lock of the journal from it and replays what is
// left: in the good case only its own shelter. There is one way out, so that no
// moment of leaving is unguarded.
type guard struct {
	cmd   *exec.Cmd
	leave *os.File // the write end of its stdin
	ready *os.File // its stdout; its end means that it is gone
}

// guardReady is the word of a guard that watches.
const guardReady = "ready\n"

// guardPatience bounds how long a guard may take to start: a machine that is
// busy takes a while to load a program.
const guardPatience = 10 * time.Second

// startGuard starts the guard of a journal and waits until it watches.
func startGuard(argv []string, folder, name string) (*guard, error) {
	leaveIn, leave, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start the guard: %w", err)
	}
	ready, readyOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start the guard: %w", err), leaveIn.Close(), leave.Close())
	}
	cmd := exec.Command(argv[0], append(argv[1:len(argv):len(argv)], folder, name)...)
	// What it is called is for people who list processes.
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = leaveIn, readyOut, os.Stderr
	cmd.Dir = "/"
	// GOMAXPROCS keeps the number of its threads down; they sleep.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	closed := errors.Join(leaveIn.Close(), readyOut.Close())
	g := &guard{cmd, leave, ready}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start the guard: %w", err), closed, leave.Close(), ready.Close())
	}
	if err := g.await(); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), g.dismiss())
	}
	return g, closed
}

// await reads the word that the guard watches.
func (g *guard) await() error {
	if err := g.ready.SetReadDeadline(time.Now().Add(guardPatience)); err != nil {
		return err
	}
	line, err := bufio.NewReaderSize(g.ready, 16).ReadString('\n')
	if err != nil {
		return fmt.Errorf("cannot start the guard: it ended or hangs: %w", err)
	}
	if line != guardReady {
		return fmt.Errorf("cannot start the guard: it said %q", line)
	}
	return nil
}

// alive looks, without waiting, whether the guard is still there.
func (g *guard) alive() bool {
	fds := []unix.PollFd{{Fd: int32(g.ready.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 0
}

// dismiss lets the guard do what is left and waits for its end. The caller has
// let go of the journal. A guard that was killed is a guard that has ended: who
// calls looks whether the journal is gone.
func (g *guard) dismiss() error {
	err := g.leave.Close()
	werr := g.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(werr, &exit) {
		werr = nil
	}
	return errors.Join(err, werr, g.ready.Close())
}

// shelters makes the cgroups that the guard moves to: one below each root that
// service managers end services by. A hierarchy that cannot be changed is
// passed over: in a container there is no service manager either.
func shelters(j *Journal, id string) ([]string, error) {
	mounts, err := cgroupMounts(j.kernel)
	if err != nil {
		return nil, err
	}
	made := []string{}
	for _, m := range mounts {
		if !m.unified && m.name != "systemd" {
			continue
		}
		dir := path.Join(m.path, id)
		err := j.SetAs(KindShelter, dir, valuePresent, "of the guard")
		var refused *SetError
		switch {
		case err == nil:
			made = append(made, dir)
		case !errors.As(err, &refused):
			return made, err
		}
	}
	return made, nil
}

// moveTo moves the guard into its cgroups.
func (g *guard) moveTo(k kernel, dirs []string) error {
	for _, dir := range dirs {
		if err := k.writeFile(path.Join(dir, "cgroup.procs"), strconv.Itoa(g.cmd.Process.Pid)); err != nil {
			return fmt.Errorf("cannot move the guard to %s: %w", dir, err)
		}
	}
	return nil
}

// Guard is the whole life of a guard: it waits for the end of the process that
// holds the other end of in, and undoes what the journal says when that
// process did not. say is for people.
func Guard(dir, name string, in io.Reader, out io.Writer, say func(string)) error {
	// What ends the process that it watches must not end the guard: it ends
	// when its work does.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGTSTP)
	f, err := openFolder(dir, false)
	if err != nil {
		return err
	}
	defer f.close()
	if _, err := io.WriteString(out, guardReady); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return fmt.Errorf("cannot watch: %w", err)
	}
	file, err := f.open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // killed before it had changed anything
	}
	if err != nil {
		return err
	}
	pid, _ := writerOf(name)
	return heal(f, file, fmt.Sprintf("process %d", pid), say)
}

// heal replays a journal whose writer is gone, and removes it when everything
// is undone.
func heal(f *folder, file *os.File, writer string, say func(string)) error {
	// Its writer's end frees the lock; whoever else has it is undoing the
	// same.
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return errors.Join(fmt.Errorf("cannot lock journal %s: %w", file.Name(), err), file.Close())
		}
	}
	done, err := removed(file)
	if done || err != nil {
		return errors.Join(err, file.Close())
	}
	k := machine{}
	u, faults := replay(k, file)
	for _, fault := range faults {
		say(fmt.Sprintf("journal %s: %v; passed over", file.Name(), fault))
	}
	for _, left := range u.Left {
		say(left)
	}
	if u.Err != nil {
		return errors.Join(fmt.Errorf("cannot undo everything that %s did; journal %s is kept:\n%w", writer, file.Name(), u.Err), file.Close())
	}
	if u.Restored > 0 {
		say(fmt.Sprintf("undid %s that %s left behind", counted(u.Restored, "change"), writer))
	}
	return f.remove(file)
}
