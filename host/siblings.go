package host

import "goset/cpulist"

// Siblings returns the CPUs and every CPU that shares a core with one of them
// (/sys/devices/system/cpu/cpu*/topology). It reads one file per CPU, where
// Topology reads them all.
func (f FS) Siblings(cpus cpulist.Set) (cpulist.Set, error) {
	all := cpus
	for cpu := range cpus.All() {
		siblings, err := f.siblings(cpuDir(cpu)+"/topology", cpu)
		if err != nil {
			return cpulist.Set{}, err
		}
		all = all.Union(siblings)
	}
	return all, nil
}
