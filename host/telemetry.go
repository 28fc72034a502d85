package host

import (
	"time"

	"goset/cpulist"
)

// Telemetry is what the operating system did to a task and its CPUs while the
// task ran. What the kernel does not have, or what cannot be read without
// interrupting the task, is nil: never 0.
type Telemetry struct {
	// Polls counts the readings while the task ran; two more were made before
	// and after it. Stretched is true when readings were made more rarely than
	// asked, to keep their cost down.
	Polls     int            `json:"polls"`
	Interval  float64        `json:"interval_seconds"`
	Stretched bool           `json:"stretched,omitempty"`
	CPUs      []CPUTelemetry `json:"cpus"`
	Task      TaskTelemetry  `json:"task"`
	Rows      []RowTelemetry `json:"rows"`
	Drift     []Drift        `json:"drift"` // nil: not known
	Pressure  *float64       `json:"cpu_pressure_seconds"`
	Temp      *SpreadOf      `json:"temperature_celsius"`
	Off       []Off          `json:"sources_off,omitempty"`
	Failed    []Unread       `json:"failed,omitempty"` // sources that could not be read
	Cost      time.Duration  `json:"-"`                // time spent in reading
}

// CPUTelemetry is one CPU: one of the task's, or a sibling of one.
type CPUTelemetry struct {
	CPU     int  `json:"cpu"`
	Sibling bool `json:"sibling"`
	// Steerable and Fixed are interrupts, as the ranking splits them.
	Steerable *uint64  `json:"steerable"`
	Fixed     *uint64  `json:"fixed"`
	Busy      *float64 `json:"busy_seconds"`
	Steal     *float64 `json:"steal_seconds"`
	// Waited is the time that tasks were ready and waited for the CPU.
	Waited    *float64  `json:"waited_seconds"`
	Throttled *uint64   `json:"throttle_events"`
	Frequency *SpreadOf `json:"frequency_hz"`
}

// SpreadOf sums up repeated readings.
type SpreadOf struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
	N    int     `json:"n"`
	sum  float64
}

func (s *SpreadOf) add(v float64) {
	if s.N == 0 {
		s.Min, s.Max = v, v
	}
	s.N++
	s.sum += v
	s.Min, s.Max, s.Mean = min(s.Min, v), max(s.Max, v), s.sum/float64(s.N)
}

func (s *SpreadOf) orNil() *SpreadOf {
	if s.N == 0 {
		return nil
	}
	return s
}

// TaskTelemetry is the task: all its processes and threads.
type TaskTelemetry struct {
	// Threads and Processes are how many were seen.
	Threads   *int `json:"threads"`
	Processes *int `json:"processes"`
	// Delay is the time that its threads were ready and waited for a CPU.
	Delay *float64 `json:"run_queue_delay_seconds"`
	// Migrations are moves of its threads to other CPUs; of a thread that
	// ended between two readings, those up to the last one.
	Migrations *uint64 `json:"migrations"`
	// Voluntary and Involuntary are context switches as last read.
	Voluntary   *uint64 `json:"voluntary_switches"`
	Involuntary *uint64 `json:"involuntary_switches"`
}

// RowTelemetry is one row of /proc/interrupts that counted on the task's CPUs
// or their siblings.
type RowTelemetry struct {
	Row      string   `json:"row"`
	Device   string   `json:"device"`
	Steering Steering `json:"steering"`
	Task     uint64   `json:"task"`     // on the task's CPUs
	Siblings uint64   `json:"siblings"` // on their siblings
}

// Drift is an interrupt that came to the task's CPUs though it belonged
// elsewhere when the task started.
type Drift struct {
	IRQ    int         `json:"irq"`
	Device string      `json:"device"`
	From   cpulist.Set `json:"from"`
	To     cpulist.Set `json:"to"`
	Count  uint64      `json:"count"` // on the task's CPUs meanwhile
}
