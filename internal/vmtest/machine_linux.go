package vmtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Machine is what a guest is made of. The zero value is a bookworm kernel on
// eight CPUs in four cores with the unified cgroup hierarchy.
type Machine struct {
	// Kernel is the start of the release: "6.1" or "6.12"; "" is "6.1".
	Kernel string
	// SMP is QEMU's -smp: "8,sockets=1,cores=4,threads=2" when empty.
	SMP string
	// Memory is in MiB; 0 is 1024.
	Memory int
	// Append is put at the end of the kernel command line.
	Append string
	// Devices are further arguments of QEMU.
	Devices []string
	// Modules are loaded before the agent starts, with what they depend on.
	Modules []string
	// Cgroup is how the hierarchies are mounted.
	Cgroup Cgroup
	// SSDT is an ACPI table in source form, compiled with iasl and given to
	// the guest.
	SSDT string
	// Files are put into the guest: path there, path here.
	Files map[string]string
	// Systemd boots a Debian system with systemd, D-Bus and irqbalance
	// (scripts/guest-image) in place of busybox alone.
	Systemd bool
	// Boot bounds one attempt at booting; 0 is two minutes.
	Boot time.Duration
	// OneThread emulates all CPUs in one thread of QEMU, in turns. The kernel
	// patches its text whenever the first cpuset comes or the last one goes,
	// and CPUs that are emulated side by side die in that now and then: too
	// often for a test that makes hundreds of cpusets in one guest.
	OneThread bool
}

// Cgroup says how a guest without systemd mounts its control groups.
type Cgroup string

// The hierarchies.
const (
	Unified  Cgroup = "unified"  // cgroup2 at /sys/fs/cgroup
	V1       Cgroup = "v1"       // cpuset, cpu and memory as v1, no cgroup2
	Hybrid   Cgroup = "hybrid"   // v1 controllers, cgroup2 at .../unified without them
	V2Mode   Cgroup = "v2mode"   // v1 cpuset mounted with cpuset_v2_mode
	ReadOnly Cgroup = "readonly" // cgroup2, mounted read-only
	None     Cgroup = "none"
)

func (m Machine) withDefaults() Machine {
	if m.Kernel == "" {
		m.Kernel = "6.1"
	}
	if m.SMP == "" {
		m.SMP = "8,sockets=1,cores=4,threads=2"
	}
	if m.Memory == 0 {
		m.Memory = 1024
	}
	if m.Cgroup == "" {
		m.Cgroup = Unified
	}
	if m.Boot == 0 {
		m.Boot = 2 * time.Minute
	}
	return m
}

// arguments is the command line of QEMU. Multi-threaded emulation needs
// -cx16: kernel 6.12 dies in the slab code with it. tsc=unstable spares the kernel
// the patching of sched_clock_cpu while all CPUs run it, in which emulated CPUs
// die now and then; an emulated TSC is found unstable in any case.
func (m Machine) arguments(k kernel, dir, image string) []string {
	threads := "multi"
	if m.OneThread {
		threads = "single"
	}
	args := []string{
		"-accel", "tcg,thread=" + threads, "-cpu", "max,vendor=GenuineIntel,-cx16",
		"-m", fmt.Sprint(m.Memory), "-smp", m.SMP,
		"-nodefaults", "-display", "none", "-no-reboot", "-nic", "none",
		"-serial", "file:" + filepath.Join(dir, "console"),
		"-chardev", "stdio,id=agent,signal=off", "-serial", "chardev:agent",
		"-kernel", k.image, "-initrd", filepath.Join(dir, "initrd"),
		"-append", "console=ttyS0 quiet panic=-1 tsc=unstable " + m.Append,
	}
	if m.SSDT != "" {
		args = append(args, "-acpitable", "file="+filepath.Join(dir, "ssdt.aml"))
	}
	if image != "" {
		// A snapshot: what the guest writes is lost, so that one image serves
		// every boot.
		args = append(args, "-drive", "if=none,id=root,format=raw,snapshot=on,file="+image, "-device", "nvme,drive=root,serial=root")
	}
	return append(args, m.Devices...)
}

// prepare writes what the boot needs into dir and returns QEMU's arguments.
func (m Machine) prepare(dir string) ([]string, error) {
	k, err := findKernel(m.Kernel)
	if err != nil {
		return nil, err
	}
	image := ""
	if m.Systemd {
		if image, err = findImage(); err != nil {
			return nil, err
		}
	}
	if m.SSDT != "" {
		if err := compileSSDT(m.SSDT, dir); err != nil {
			return nil, err
		}
	}
	a, err := m.initramfs(k)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := a.write(z); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "initrd"), packed.Bytes(), 0o600); err != nil {
		return nil, err
	}
	return m.arguments(k, dir, image), nil
}

// initramfs puts together what the guest starts from.
func (m Machine) initramfs(k kernel) (*archive, error) {
	busybox, err := staticBusybox()
	if err != nil {
		return nil, err
	}
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	a := newArchive()
	for _, dir := range []string{"/bin", "/sbin", "/dev", "/proc", "/sys", "/tmp", "/run", "/mnt", "/etc", "/root", "/vm/modules"} {
		a.dir(dir)
	}
	a.file("/bin/busybox", 0o755, busybox)
	a.link("/bin/sh", "busybox")
	a.file("/etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\nplain:x:1000:1000:plain:/tmp:/bin/sh\n"))
	a.file("/etc/group", 0o644, []byte("root:x:0:\nplain:x:1000:\n"))
	a.file("/init", 0o755, []byte(initScript))
	a.file("/vm/conf", 0o644, fmt.Appendf(nil, "cgroup=%s\nsystemd=%t\n", m.Cgroup, m.Systemd))
	a.file("/vm/unit", 0o644, []byte(agentUnit))
	modules, err := k.load(m.Modules)
	if err != nil {
		return nil, err
	}
	for i, mod := range modules {
		a.file(fmt.Sprintf("/vm/modules/%02d-%s.ko", i, mod.name), 0o644, mod.data)
	}
	for name, data := range bin {
		a.file("/vm/bin/"+name, 0o755, data)
	}
	for there, here := range m.Files {
		data, err := os.ReadFile(here)
		if err != nil {
			return nil, err
		}
		a.file(there, 0o755, data)
	}
	return a, nil
}

// initScript is the guest's first process. A shell reaps what is orphaned; the
// agent alone would not, since it waits for its own children by number.
const initScript = `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/vm/bin:/bin:/sbin HOME=/root
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/pts; mount -t devpts pts /dev/pts
mount -t debugfs debug /sys/kernel/debug
for m in /vm/modules/*.ko; do [ ! -e "$m" ] || insmod "$m" || echo "cannot load $m"; done
. /vm/conf
if [ "$systemd" = true ]; then
  mount -t ext4 /dev/nvme0n1 /mnt || exec sh
  cp -a /vm /mnt/
  ln -sf /vm/bin/* /mnt/usr/local/bin/
  cp /vm/unit /mnt/etc/systemd/system/agent.service
  mkdir -p /mnt/etc/systemd/system/multi-user.target.wants
  ln -sf ../agent.service /mnt/etc/systemd/system/multi-user.target.wants/
  umount /sys/kernel/debug /dev/pts /dev /sys /proc
  exec switch_root /mnt /lib/systemd/systemd
fi
mount -t tmpfs run /run
ip link set lo up
v1() {
  mount -t tmpfs cg /sys/fs/cgroup
  for c in cpu memory; do mkdir /sys/fs/cgroup/$c; mount -t cgroup -o $c $c /sys/fs/cgroup/$c; done
  mkdir /sys/fs/cgroup/cpuset; mount -t cgroup -o "cpuset$1" cpuset /sys/fs/cgroup/cpuset
}
case $cgroup in
unified) mount -t cgroup2 cg /sys/fs/cgroup ;;
readonly) mount -t cgroup2 -o ro cg /sys/fs/cgroup ;;
v1) v1 ;;
v2mode) v1 ,cpuset_v2_mode ;;
hybrid) v1; mkdir /sys/fs/cgroup/unified; mount -t cgroup2 cg /sys/fs/cgroup/unified ;;
esac
cd /root
setsid agent serve /dev/ttyS1 </dev/null >/dev/console 2>&1
poweroff -f
`

// agentUnit starts the agent where systemd is the first process. Its children
// outlive nothing: the guest is thrown away.
const agentUnit = `[Unit]
Description=test agent
After=dbus.service irqbalance.service

[Service]
Environment=PATH=/vm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
WorkingDirectory=/root
ExecStart=/vm/bin/agent serve /dev/ttyS1
StandardOutput=journal+console
KillMode=process

[Install]
WantedBy=multi-user.target
`

// compileSSDT turns the source of an ACPI table into dir/ssdt.aml.
func compileSSDT(source, dir string) error {
	if _, err := exec.LookPath("iasl"); err != nil {
		return &Unavailable{"iasl", "apt-get install acpica-tools, or run scripts/test"}
	}
	dsl := filepath.Join(dir, "ssdt.dsl")
	if err := os.WriteFile(dsl, []byte(source), 0o600); err != nil {
		return err
	}
	out, err := exec.Command("iasl", "-p", filepath.Join(dir, "ssdt"), dsl).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot compile the ACPI table: %w: %s", err, out)
	}
	return nil
}

// staticBusybox reads the busybox that runs without libraries.
func staticBusybox() ([]byte, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, &Unavailable{"busybox", "apt-get install busybox-static, or run scripts/test"}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(data, []byte("/ld-linux")) {
		return nil, &Unavailable{"static busybox (" + path + " needs libraries)", "apt-get install busybox-static, or run scripts/test"}
	}
	return data, nil
}

// findImage looks up the Debian system that scripts/guest-image made.
func findImage() (string, error) {
	dir, err := cacheDir("images")
	if err != nil {
		return "", err
	}
	image := filepath.Join(dir, "bookworm.ext4")
	if _, err := os.Stat(image); err != nil {
		return "", &Unavailable{"guest image " + image, "run scripts/guest-image"}
	}
	return image, nil
}

// binaries builds the project's commands and the agent without libc, once per
// test process; the build cache makes it cheap after the first time.
var binaries = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "goset-guest-bin")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot find the module: %w", err)
	}
	cmd := exec.Command("go", "build", "-o", dir+"/", "./cmd/...", "./internal/vmtest/agent")
	cmd.Dir = strings.TrimSpace(string(root))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build the guest's commands: %w: %s", err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	bin := map[string][]byte{}
	for _, e := range entries {
		if bin[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return bin, nil
})
