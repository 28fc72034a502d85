//go:build linux

package vmtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGuest boots the plain guest of each kernel and holds the rig itself to
// what it promises.
func TestGuest(t *testing.T) {
	for _, version := range []string{"6.1", "6.12"} {
		t.Run(version, func(t *testing.T) {
			g := Boot(t, Machine{Kernel: version})
			if !strings.HasPrefix(g.Release, version+".") {
				t.Errorf("release %q, want %s", g.Release, version)
			}
			if got := g.Get("cat /sys/devices/system/cpu/online /sys/devices/system/cpu/cpu2/topology/thread_siblings_list"); got != "0-7\n2-3" {
				t.Errorf("CPUs: %q", got)
			}
			if r := g.Run("sh", "-c", "echo out; echo err >&2; exit 3"); r != (Result{3, "out\n", "err\n"}) {
				t.Errorf("run: %+v", r)
			}
			g.Write("/tmp/a/b", strings.Repeat("x", 1<<20))
			if got := g.Read("/tmp/a/b"); len(got) != 1<<20 {
				t.Errorf("read %d bytes back, want %d", len(got), 1<<20)
			}
			t.Run("snapshot", func(t *testing.T) { snapshotSeesChanges(t, g.On(t)) })
		})
	}
}

// snapshotSeesChanges changes one thing at a time: a snapshot that misses it
// would prove nothing.
func snapshotSeesChanges(t *testing.T, g *Guest) {
	p := g.Start("agent", "sleep")
	before := g.Snapshot()
	g.Same(before)
	for _, c := range []struct{ do, undo, in string }{
		{"echo 0-1 >/proc/irq/4/smp_affinity_list", "echo 0-7 >/proc/irq/4/smp_affinity_list", "/proc/irq/4/smp_affinity_list: 0-1"},
		{"echo 03 >/proc/irq/default_smp_affinity", "echo ff >/proc/irq/default_smp_affinity", "default_smp_affinity: 03"},
		{"mkdir /sys/fs/cgroup/x", "rmdir /sys/fs/cgroup/x", "/sys/fs/cgroup/x/"},
		{"echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control", "echo -cpuset >/sys/fs/cgroup/cgroup.subtree_control", "cgroup.subtree_control: cpuset"},
		{"agent aff " + itoa(p.PID) + " 2-3", "agent aff " + itoa(p.PID) + " 0-7", " agent: cpus 2-3"},
		{"echo 900000 >/proc/sys/kernel/sched_rt_runtime_us", "echo 950000 >/proc/sys/kernel/sched_rt_runtime_us", "900000"},
		{"echo 0f >/sys/devices/virtual/workqueue/cpumask", "echo ff >/sys/devices/virtual/workqueue/cpumask", "0f"},
		{"mkdir -p /run/goset; echo >/run/goset/journal", "rm -r /run/goset", "/run/goset/journal"},
		{"mount -t tmpfs x /mnt", "umount /mnt", " /mnt "},
		{"kill -STOP " + itoa(p.PID), "kill -CONT " + itoa(p.PID), "stopped true"},
	} {
		g.Sh(c.do)
		during := g.Snapshot()
		if len(during.Lines(c.in)) == 0 || during.text == before.text {
			t.Errorf("after %s the snapshot does not show %q", c.do, c.in)
		}
		g.Sh(c.undo)
		g.Same(before)
	}
	g.Sh("kill " + itoa(p.PID))
	p.Wait()
}

// TestKinds boots every other kind of guest and looks whether it is what it is
// meant to be.
func TestKinds(t *testing.T) {
	for name, c := range map[string]struct {
		m          Machine
		look, want string
	}{
		"two sockets": {Machine{SMP: "16,sockets=2,dies=2,cores=2,threads=2", Kernel: "6.12"},
			"cd /sys/devices/system/cpu; cat online cpu9/topology/physical_package_id cpu9/topology/thread_siblings_list; sort -u cpu*/topology/die_cpus_list | wc -l", "0-15\n1\n8-9\n4"},
		"no SMT":  {Machine{SMP: "4,sockets=1,cores=4,threads=1"}, "cd /sys/devices/system/cpu; cat smt/control cpu1/topology/thread_siblings_list", "notsupported\n1"},
		"one CPU": {Machine{SMP: "1"}, "cat /sys/devices/system/cpu/online", "0"},
		"v1":      {Machine{Cgroup: V1}, "cat /sys/fs/cgroup/cpuset/cpuset.cpus; grep -c cgroup2 /proc/mounts || true", "0-7\n0"},
		"hybrid":  {Machine{Cgroup: Hybrid}, "cat /sys/fs/cgroup/cpuset/cpuset.cpus; cat /sys/fs/cgroup/unified/cgroup.controllers | grep -c cpuset || true", "0-7\n0"},
		"cpufreq": {Machine{SSDT: PStates(8), Modules: []string{"acpi-cpufreq", "cpufreq_powersave"}},
			"cd /sys/devices/system/cpu/cpufreq; ls -d policy* | wc -l; cat policy3/scaling_available_frequencies policy3/affected_cpus", "8\n3000000 2500000 2000000 1000000 \n3"},
		"interrupts": {Machine{Modules: []string{"virtio_pci", "virtio-rng"}, Devices: []string{"-device", "virtio-rng-pci"}},
			"dd if=/dev/hwrng bs=64 count=4 2>/dev/null | wc -c; grep -c virtio.*input /proc/interrupts", "256\n1"},
		"systemd": {Machine{Systemd: true}, "systemctl is-active irqbalance dbus; stat -fc %T /sys/fs/cgroup", "active\nactive\ncgroup2fs"},
	} {
		t.Run(name, func(t *testing.T) {
			g := Boot(t, c.m)
			if got := g.Get(c.look); got != c.want {
				t.Errorf("%s\nprinted %q, want %q", c.look, got, c.want)
			}
		})
	}
}

// guestOwner is set in the process that boots a guest for TestGuestEndsWithItsTest.
const guestOwner = "VMTEST_GUEST_OWNER"

// TestGuestEndsWithItsTest kills the process that booted a guest.
func TestGuestEndsWithItsTest(t *testing.T) {
	if os.Getenv(guestOwner) != "" {
		g := Boot(t, Machine{})
		fmt.Printf("pid %d %s\n", g.cmd.Process.Pid, g.dir)
		select {}
	}
	needEmulator(t)
	owner := exec.Command(os.Args[0], "-test.run=^TestGuestEndsWithItsTest$")
	owner.Env = append(os.Environ(), guestOwner+"=1")
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var dir string
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "pid %d %s", &pid, &dir)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	err = owner.Process.Kill()
	if werr := owner.Wait(); pid == 0 || err != nil {
		t.Fatalf("no guest was booted: %v, %v", err, werr)
	}
	for begin := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the guest outlives the process that booted it")
		}
	}
}
