//go:build !linux

package isolation

func (p *placement) probe(bool) *Unsupported { return &Unsupported{Reason: noSession().Error()} }

func (p *placement) open(kernel, string, bool) error { return noSession() }

func (p *placement) birth(*Birth) {}
