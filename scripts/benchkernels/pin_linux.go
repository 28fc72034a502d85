package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"goset/harness"
)

const prSetTimerSlack = 29 // uapi/linux/prctl.h

// cpuMask is a kernel cpumask of up to 1024 CPUs.
type cpuMask [16]uint64

func chooseCPU(want int) (int, error) {
	var mask cpuMask
	if err := affinity(syscall.SYS_SCHED_GETAFFINITY, &mask); err != nil {
		return 0, fmt.Errorf("cannot read the allowed CPUs: %w", err)
	}
	last := -1
	for cpu := range len(mask) * 64 {
		if mask[cpu/64]>>(cpu%64)&1 == 1 {
			last = cpu
			if cpu == want {
				return cpu, nil
			}
		}
	}
	if want >= 0 || last < 0 {
		return 0, fmt.Errorf("cpu must be one of the allowed CPUs, got %d", want)
	}
	return last, nil
}

// startPinned starts the command from a thread that is held to the CPU, and
// so hands its mask on, and with the timer slack that goset-bench gives a kernel
// (harness.KernelSlack). The thread ends with the goroutine.
func startPinned(cmd *exec.Cmd, cpu int) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		var mask cpuMask
		mask[cpu/64] = 1 << (cpu % 64)
		err := affinity(syscall.SYS_SCHED_SETAFFINITY, &mask)
		if err == nil {
			_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, uintptr(harness.KernelSlack), 0)
			if errno != 0 {
				err = errno
			}
		}
		if err == nil {
			err = cmd.Start()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		return fmt.Errorf("cannot start %s on CPU %d: %w", cmd.Path, cpu, err)
	}
	return nil
}

func affinity(call uintptr, mask *cpuMask) error {
	_, _, errno := syscall.RawSyscall(call, 0, unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask)))
	if errno != 0 {
		return errno
	}
	return nil
}

func contextSwitches(s *os.ProcessState) int64 {
	usage := s.SysUsage().(*syscall.Rusage)
	return int64(usage.Nvcsw) + int64(usage.Nivcsw)
}
