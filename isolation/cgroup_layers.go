package isolation

func newCgroupLayer(r *applied) layer { return nil }
func newShieldLayer(r *applied) layer { return nil }
func newFenceLayer(r *applied) layer  { return nil }
