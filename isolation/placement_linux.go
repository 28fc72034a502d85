package isolation

import (
	"errors"
	"fmt"
	"os"
	"path"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seesInside: /proc tells of every process what it may use.
const seesInside = true

// elsewhere refuses nothing: this is where the layers are.
func elsewhere(layer) *Unsupported { return nil }

// probe finds out whether a child can be born in a cgroup: clone3 with no
// arguments fails in one way where it is there, and in others where it is not
// or is forbidden (seccomp).
func (p *placement) probe(unified bool) *Unsupported {
	_, _, e := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0)
	p.born = unified && e == unix.EINVAL
	return nil
}

// open opens what the child needs of the cgroup.
func (p *placement) open(k kernel, dir string, unified bool) error {
	var err error
	if p.born {
		p.dir, err = k.open(dir, unix.O_DIRECTORY)
	} else {
		p.procs, err = k.open(path.Join(dir, "cgroup.procs"), os.O_WRONLY)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot open the cgroup of the task: %w", err), p.close())
	}
	return nil
}

func (p *placement) birth(b *Birth) {
	b.placed = true
	if p.born {
		b.Cgroup = int(p.dir.Fd())
		return
	}
	p.zero = []byte("0")
	b.place = append(b.place, Call{
		Layer: "cgroup", What: "enter the cgroup of the task", Nr: unix.SYS_WRITE,
		Args: [5]uintptr{p.procs.Fd(), uintptr(unsafe.Pointer(&p.zero[0])), 1}, Hold: p.zero,
	})
}
