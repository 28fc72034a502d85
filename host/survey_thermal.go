package host

import (
	"slices"
	"strconv"
	"strings"
)

// Thermal is how hot the machine is, and what it does about it.
type Thermal struct {
	Zones []Zone
	// Throttled counts how often cores and packages were throttled since boot;
	// only Intel's have the counts, and no guest.
	Throttled *uint64
	// Cooled names the devices that hold CPUs back to cool them now.
	Cooled []string
}

// Zone is a thermometer.
type Zone struct {
	Path    string // "/sys/class/thermal/thermal_zone0"
	Name    string // "x86_pkg_temp"
	Celsius float64
	// Limit is the lowest temperature at which something is done about it, in
	// °C; nil: not said.
	Limit *float64
}

// thermal reads thermometers, throttle counts and coolers. Some registers can
// only be read by the CPU that they are of, which is interrupted for it.
func (r *surveyor) thermal() {
	r.zones()
	r.monitors()
	r.coolers()
	r.throttles()
}

// zones are those of the thermal subsystem
// (Documentation/driver-api/thermal/sysfs-api.rst). Temperatures are in
// thousandths of °C; firmware that does not know one says 0 or less.
func (r *surveyor) zones() {
	ids, err := r.fs.numbered("thermal_zone", "sys/class/thermal")
	r.note("/sys/class/thermal", err)
	for id := range ids.All() {
		dir := "sys/class/thermal/thermal_zone" + strconv.Itoa(id)
		z := Zone{Path: "/" + dir, Name: r.text(dir + "/type")}
		if milli := r.number(dir + "/temp"); milli != nil && *milli > 0 {
			z.Celsius = float64(*milli) / 1000
			for trip := range 16 {
				point := dir + "/trip_point_" + strconv.Itoa(trip) + "_"
				if kind := r.text(point + "type"); kind == "passive" || kind == "hot" || kind == "critical" {
					z.lower(r.number(point + "temp"))
				}
			}
			r.survey.Thermal.Zones = append(r.survey.Thermal.Zones, z)
		}
	}
}

// lower takes the lower of two limits.
func (z *Zone) lower(milli *int64) {
	if milli == nil || *milli <= 0 {
		return
	}
	if v := float64(*milli) / 1000; z.Limit == nil || v < *z.Limit {
		z.Limit = &v
	}
}

// monitors are the thermometers of processors among the hardware monitors
// (Documentation/hwmon/coretemp.rst, k10temp.rst): the first is the package's.
func (r *surveyor) monitors() {
	ids, err := r.fs.numbered("hwmon", "sys/class/hwmon")
	r.note("/sys/class/hwmon", err)
	for id := range ids.All() {
		dir := "sys/class/hwmon/hwmon" + strconv.Itoa(id)
		name := r.text(dir + "/name")
		if !slices.Contains([]string{"coretemp", "k10temp", "zenpower", "cpu_thermal"}, name) {
			continue
		}
		if milli := r.number(dir + "/temp1_input"); milli != nil && *milli > 0 {
			z := Zone{Path: "/" + dir, Name: name, Celsius: float64(*milli) / 1000}
			z.lower(r.number(dir + "/temp1_max"))
			z.lower(r.number(dir + "/temp1_crit"))
			r.survey.Thermal.Zones = append(r.survey.Thermal.Zones, z)
		}
	}
}

// coolers looks for devices that lower the clock of CPUs or make them idle.
func (r *surveyor) coolers() {
	ids, err := r.fs.numbered("cooling_device", "sys/class/thermal")
	r.note("/sys/class/thermal", err)
	for id := range ids.All() {
		dir := "sys/class/thermal/cooling_device" + strconv.Itoa(id)
		kind := r.text(dir + "/type")
		lower := strings.ToLower(kind)
		if lower != "processor" && lower != "intel_powerclamp" && !strings.HasPrefix(lower, "cpufreq-") && !strings.HasPrefix(lower, "cpuidle-") {
			continue
		}
		// intel_powerclamp says -1 when it does nothing.
		if state := r.number(dir + "/cur_state"); state != nil && *state > 0 {
			r.survey.Thermal.Cooled = append(r.survey.Thermal.Cooled, kind)
		}
	}
}

// throttles adds up the counts of all CPUs. All CPUs of a package print the same
// count of it, so that only the cores' are added.
func (r *surveyor) throttles() {
	if r.facts.Topology == nil {
		return
	}
	for cpu := range r.facts.Topology.Online.All() {
		n := r.number(cpuDir(cpu) + "/thermal_throttle/core_throttle_count")
		if n == nil || *n < 0 {
			continue
		}
		if r.survey.Thermal.Throttled == nil {
			r.survey.Thermal.Throttled = new(uint64)
		}
		*r.survey.Thermal.Throttled += uint64(*n)
	}
}
