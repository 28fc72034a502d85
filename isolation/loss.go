package isolation

import (
	"fmt"

	"goset/cpulist"
)

// loss refuses a cpuset that would take CPUs which are offline from every thread
// of the machine for good: it gives all of them the CPUs that are there, as kernels
// before 6.4 do to whom a cpuset or partition touches, and sched_setaffinity
// gives nobody CPUs that are offline (seen on 6.1). CPUs that this session took
// offline come back before the masks do. Siblings that can never come back while
// this boot lasts are no loss.
func (l *cgroupLayer) loss(r *applied) error {
	rel, err := kernelRelease(r.kernel)
	if err != nil || !rel.before(6, 4) {
		return err
	}
	present, err := readSet(r.kernel, cpuFolder+"/present")
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	online, err := everyone(r.kernel)
	if err != nil {
		return err
	}
	offline := present.Minus(online)
	for cpu := range offline.All() {
		if r.journal.has(KindWords, onlineFile(cpu), "0") {
			offline = offline.Minus(cpulist.Of(cpu))
		}
	}
	if offline.Empty() {
		return nil
	}
	siblings, control, err := areSiblings(r.kernel, present, online)
	if err != nil {
		return err
	}
	if siblings && control == "forceoff" {
		l.lost = offline
		return nil
	}
	u := &Unsupported{
		Reason: fmt.Sprintf("%s offline, and a cpuset would take them from all threads of the machine for good, with a kernel before 6.4", isOrAre(offline)),
		Hint:   `bring them online, or leave "cgroup" out`,
	}
	if siblings && control == "off" {
		u.Hint += ", or keep the siblings off until the next boot, when nothing can be lost: echo forceoff > " + smtControl
	}
	return u
}

const smtControl = cpuFolder + "/smt/control"

// areSiblings says whether the CPUs that are offline are the second threads of
// the cores that are online, and what smt/control reads. The kernel tells no
// topology of a CPU that is offline. But while SMT is off, no core has two threads
// online; so with twice as many CPUs as there are online, every core is.
func areSiblings(k kernel, present, online cpulist.Set) (siblings bool, control string, err error) {
	control, err = optionalFile(k, smtControl)
	if err != nil || control != "off" && control != "forceoff" {
		return false, control, err
	}
	cores, _, err := readCores(k)
	return err == nil && len(cores) == online.Len() && present.Len() == 2*online.Len(), control, err
}

// isOrAre is "CPU 5 is" or "CPUs 5-6 are".
func isOrAre(s cpulist.Set) string {
	if s.Len() == 1 {
		return named(s) + " is"
	}
	return named(s) + " are"
}
