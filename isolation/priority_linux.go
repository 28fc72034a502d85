package isolation

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The scheduling policies of uapi/linux/sched.h that are asked for or seen.
const schedFIFO = 1

// autogroupSwitch is there where the kernel has autogroups, and 1 where they are
// on.
const autogroupSwitch = "/proc/sys/kernel/sched_autogroup_enabled"

// niceLayer gives the child a nice value, and its autogroup the same one.
//
// Where autogroups are on (CONFIG_SCHED_AUTOGROUP, the default of many
// distributions) a session competes with other sessions as a whole: two busy
// sessions share a CPU evenly whatever the nice values inside (measured: 157 to
// 157 ticks at 0 against -20; 17 to 313 with the nice value written to
// /proc/PID/autogroup as well). So the child gets a session of its own, and
// both are written. The global sysctl is not: it is everybody's.
type niceLayer struct {
	want    int
	grouped bool // the autogroup was written
	readings
}

func newNiceLayer(r *applied) layer {
	if r.mode.Nice == nil {
		return nil
	}
	return &niceLayer{want: *r.mode.Nice}
}

func (*niceLayer) key() string { return "nice" }

func (l *niceLayer) probe(*applied) *Unsupported {
	err := onThrowawayThread(func() error {
		_, _, e := unix.RawSyscall(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, uintptr(l.want))
		return errnoErr(e)
	})
	if err == nil {
		return nil
	}
	return &Unsupported{
		Reason: fmt.Sprintf("this user may not set nice %d (%v)", l.want, err),
		Hint:   "run with sudo, or raise RLIMIT_NICE (ulimit -e)",
	}
}

func (*niceLayer) enforce(*applied) error { return nil }

func (l *niceLayer) birth(r *applied, b *Birth) error {
	if enabled, err := optionalFile(r.kernel, autogroupSwitch); err == nil && enabled == "1" {
		// In the autogroup of the harness it would count among the harness's
		// own alone.
		b.Session = true
	}
	b.Calls = append(b.Calls, Call{
		Layer: l.key(), What: fmt.Sprintf("set the nice value to %d", l.want),
		Nr: unix.SYS_SETPRIORITY, Args: [5]uintptr{unix.PRIO_PROCESS, 0, uintptr(l.want)},
	})
	return nil
}

func (l *niceLayer) check(r *applied, at moment) {
	if at.pid == 0 {
		return
	}
	if !l.grouped {
		l.grouped = true
		l.group(r.kernel, at.pid)
	}
	eachThreadOf(r.kernel, at.pid, func(tid int, a *unix.SchedAttr) {
		l.add(strconv.Itoa(int(a.Nice)), nil, int(a.Nice) == l.want, fmt.Sprintf("thread %d of process %d", tid, at.pid))
	})
}

// group gives the child's autogroup the nice value. There is nothing to undo:
// the autogroup ends with the session.
func (l *niceLayer) group(k kernel, pid int) {
	enabled, err := optionalFile(k, autogroupSwitch)
	if err != nil || enabled != "1" {
		return
	}
	file := fmt.Sprintf("/proc/%d/autogroup", pid)
	before, err := k.readFile(file)
	if err != nil {
		// The child has ended, or its kernel keeps no autogroup for it.
		return
	}
	if own, err := k.readFile("/proc/self/autogroup"); err == nil && groupName(own) == groupName(before) {
		l.readings.note = "the task shares the autogroup of the harness, in which the nice value counts and against others does not"
		return
	}
	if err := k.writeFile(file, strconv.Itoa(l.want)); err != nil && !isGone(err) {
		l.readings.note = fmt.Sprintf("autogroups are on (kernel.sched_autogroup_enabled) and the task's cannot be given the nice value (%v), so it does not count against other sessions", err)
		return
	}
	after, err := k.readFile(file)
	if err != nil {
		return
	}
	if got, err := parseAutogroup(after); err != nil || got != l.want {
		l.add(after, err, false, "the task's autogroup")
	}
}

// groupName is "/autogroup-91726" of "/autogroup-91726 nice 0".
func groupName(text string) string {
	name, _, _ := strings.Cut(text, " ")
	return name
}

// parseAutogroup reads the nice value of /proc/PID/autogroup.
func parseAutogroup(text string) (int, error) {
	f := strings.Fields(text)
	if len(f) != 3 || f[1] != "nice" || !strings.HasPrefix(f[0], "/autogroup-") {
		return 0, fmt.Errorf("%.60q is no autogroup", text)
	}
	v, err := strconv.Atoi(f[2])
	if err != nil || v < -20 || v > 19 {
		return 0, fmt.Errorf("%.60q has no nice value", text)
	}
	return v, nil
}

func (l *niceLayer) state() LayerState { return l.readings.state(l.key(), strconv.Itoa(l.want)) }

// fifoLayer runs the child under SCHED_FIFO.
//
// Real-time priority does not keep the kernel from taking time: up to 6.11 it
// stops all real-time tasks of a CPU for a part of every period, whoever else
// is runnable, so that a busy loop is interrupted for 50 ms of every second
// that a normal task would have had. There the layer is refused, unless the
// throttle is off, which is a setting for the whole machine and its owner's to
// make. From 6.12 on a server gives normal tasks of the CPU as much when there
// are any, whatever the throttle's setting.
type fifoLayer struct {
	want int
	readings
}

func newFIFOLayer(r *applied) layer {
	if r.mode.FIFO == 0 {
		return nil
	}
	return &fifoLayer{want: r.mode.FIFO}
}

func (*fifoLayer) key() string { return "fifo" }

func (l *fifoLayer) probe(r *applied) *Unsupported {
	param := schedParam{int32(l.want)}
	err := onThrowawayThread(func() error { return setFIFO(&param) })
	if err != nil {
		return fifoRefusal(r.kernel, l.want, err)
	}
	server, err := hasFairServer(r.kernel)
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `leave "fifo" out`}
	}
	if server {
		return nil
	}
	runtime, period, err := throttle(r.kernel)
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `leave "fifo" out`}
	}
	if taken := period - runtime; runtime >= 0 && taken > 0 {
		return &Unsupported{
			Reason: fmt.Sprintf("this kernel would stop the task for %d ms of every %d ms, which it does not do to normal tasks (kernel.sched_rt_runtime_us is %d)", taken/1000, period/1000, runtime),
			Hint:   "sysctl kernel.sched_rt_runtime_us=-1 takes the limit away from the whole machine; or ask for nice = -20",
		}
	}
	return nil
}

// schedParam is struct sched_param.
type schedParam struct{ priority int32 }

// setFIFO changes the policy of the calling thread.
func setFIFO(param *schedParam) error {
	_, _, e := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, schedFIFO, uintptr(unsafe.Pointer(param)))
	return errnoErr(e)
}

// fifoRefusal explains why SCHED_FIFO was refused.
func fifoRefusal(k kernel, want int, err error) *Unsupported {
	u := &Unsupported{
		Reason: fmt.Sprintf("this user may not run with real-time priority %d (%v)", want, err),
		Hint:   "run with sudo, or raise RLIMIT_RTPRIO (ulimit -r)",
	}
	if unix.Geteuid() == 0 && errors.Is(err, unix.EPERM) && exists(k, "/proc/sys/kernel/sched_rt_runtime_us") {
		u.Reason = fmt.Sprintf("the kernel refuses real-time priority %d to root (%v): its cgroup has no real-time budget, or the container lacks CAP_SYS_NICE", want, err)
		u.Hint = "run from the root cgroup, or give cpu.rt_runtime_us of the cgroup a value"
	}
	return u
}

// hasFairServer tells whether the kernel is 6.12 or later, from which on the
// throttle is gone.
func hasFairServer(k kernel) (bool, error) {
	r, err := kernelRelease(k)
	return err == nil && !r.before(6, 12), err
}

// throttle reads how much of every period real-time tasks may have, in µs; a
// runtime of -1 is all of it.
func throttle(k kernel) (runtime, period int64, err error) {
	if runtime, err = readSysctl(k, "sched_rt_runtime_us"); err != nil {
		return 0, 0, err
	}
	period, err = readSysctl(k, "sched_rt_period_us")
	return runtime, period, err
}

func readSysctl(k kernel, name string) (int64, error) {
	text, err := k.readFile("/proc/sys/kernel/" + name)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read kernel.%s: %.40q is no number", name, text)
	}
	return v, nil
}

func (*fifoLayer) enforce(*applied) error { return nil }

func (l *fifoLayer) birth(r *applied, b *Birth) error {
	param := &schedParam{int32(l.want)}
	b.Calls = append(b.Calls, Call{
		Layer: l.key(), What: fmt.Sprintf("set the real-time priority to %d", l.want),
		Nr: unix.SYS_SCHED_SETSCHEDULER, Args: [5]uintptr{0, schedFIFO, uintptr(unsafe.Pointer(param))}, Hold: param,
	})
	if server, err := hasFairServer(r.kernel); err == nil && server {
		l.readings.note = "this kernel still gives normal tasks that are runnable on the task's CPUs 50 ms of every second (fair server, whatever kernel.sched_rt_runtime_us says)"
	}
	return nil
}

func (l *fifoLayer) check(r *applied, at moment) {
	if at.pid == 0 {
		return
	}
	eachThreadOf(r.kernel, at.pid, func(tid int, a *unix.SchedAttr) {
		got := strconv.Itoa(int(a.Priority))
		if a.Policy != schedFIFO {
			got = "policy " + strconv.Itoa(int(a.Policy))
		}
		l.add(got, nil, a.Policy == schedFIFO && int(a.Priority) == l.want, fmt.Sprintf("thread %d of process %d", tid, at.pid))
	})
}

func (l *fifoLayer) state() LayerState { return l.readings.state(l.key(), strconv.Itoa(l.want)) }

// eachThreadOf reads how every thread of a process is scheduled. Threads that
// have ended are passed over.
func eachThreadOf(k kernel, pid int, do func(tid int, a *unix.SchedAttr)) {
	names, err := k.entries(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(names) == 0 {
		// Gone, or hidden by hidepid: its main thread may still answer.
		names = []string{strconv.Itoa(pid)}
	}
	for _, name := range names {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if a, err := unix.SchedGetAttr(tid, 0); err == nil {
			do(tid, a)
		}
	}
}

// onThrowawayThread runs do on a thread that ends afterwards, so that what it
// changes about its thread stays in it. The error is do's.
func onThrowawayThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			// Never unlocked: the runtime ends the thread with the goroutine.
			done <- do()
			return
		}
		// The main thread would not end but stay as it is, and everything that
		// is asked of the process would be answered for it. While this
		// goroutine keeps it, no other one gets it.
		err := onThrowawayThread(do)
		runtime.UnlockOSThread()
		done <- err
	}()
	return <-done
}

func errnoErr(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}
