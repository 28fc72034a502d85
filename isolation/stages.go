package isolation

// stage is one place in the order in which layers are put in force. Undo is
// strictly reversed by the journal, so the order here is all the order there
// is: who moves interrupts is stopped before CPUs go offline, CPUs go offline
// before frequencies are set and cpusets made (their hotplug shrinks cpusets
// for good and makes drivers spread their interrupts anew), and interrupts are
// steered after it.
type stage struct {
	key string // of the mode
	// layer makes the layer when the mode asks for it; nil: it does not.
	layer func(r *applied) layer
}

// stages is the order. A key may have several stages; a layer of which this
// version has no stage is refused.
func stages() []stage {
	return []stage{
		{"steer", newMoversLayer},
		{"smt", newSMTLayer},
		// Turbo first: without it, the hardware's highest is another.
		{"turbo", newTurboLayer},
		{"governor", newGovernorLayer},
		{"frequency", newFrequencyLayer},
		{"cgroup", newCgroupLayer},
		{"shield", newShieldLayer},
		{"fence", newFenceLayer},
		{"steer", newSteerLayer},
		{"memory", newMemoryLayer},
		{"cpu_quota", newCPUQuotaLayer},
		// What acts on the child alone. The user comes after what needs root,
		// and before the environment, which takes the home from it.
		{"nice", newNiceLayer},
		{"fifo", newFIFOLayer},
		{"aslr", newASLRLayer},
		{"thp", newTHPLayer},
		{"user", newUserLayer},
		{"stable_env", newStableEnvLayer},
		{"env_size", newEnvSizeLayer},
		{"wrap", newWrapLayer},
	}
}
