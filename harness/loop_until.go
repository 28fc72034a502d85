package harness

// Stopper decides when a plan with until has run enough. It sees every record
// of the folder once, in order, also those of earlier sessions; the record is
// valid during the call only.
type Stopper interface {
	Observe(*Record)
	// Enough is asked after whole blocks. The reason says what is narrow
	// enough, and by how much.
	Enough(block int) (reason string, ok bool)
}

// StoppedEarly is the event of a plan that ends before its last block.
type StoppedEarly struct{ Stopped }

func (StoppedEarly) event() {}

// enough ends the plan before run i when that is the first of a block and what
// the plan asks for is reached. The answer depends on the records alone, so a
// resumed plan ends where an uninterrupted one does.
func (l *loop) enough(i int) (bool, error) {
	until := l.Experiment.Plan.Until
	if until == nil || l.Stopper == nil || i == 0 {
		return false, nil
	}
	block := int(l.Plan.Runs[i-1].Block)
	// Even blocks only: with an odd number the spread test is conservative, and
	// to look half as often is to find less by chance.
	if int(l.Plan.Runs[i].Block) == block || block < l.Experiment.Plan.Runs || block%2 == 1 {
		return false, nil
	}
	reason, ok := l.Stopper.Enough(block)
	if !ok {
		return false, nil
	}
	s := Stopped{Block: block, Blocks: l.Experiment.Plan.Blocks(), Reason: reason, At: l.clock.Now().UTC()}
	if err := l.store.stop(s); err != nil {
		return false, err
	}
	l.stopped = &s
	l.emit(StoppedEarly{s})
	return true, nil
}

// stop writes into the manifest that the plan ended early. It runs between
// runs and once, so the file can be read anew.
func (s *store) stop(stopped Stopped) error {
	m, err := ReadManifest(s.dir)
	if err != nil {
		return err
	}
	m.Stopped = &stopped
	return s.writeManifest(m)
}
