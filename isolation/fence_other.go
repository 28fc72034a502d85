//go:build !linux

package isolation

func coreScheduling() error { return noSession() }

func coreCookie(int) (uint64, error) { return 0, noSession() }

func coreCall() Call { return Call{} }
