// Package proof holds the tests that isolation does what it says on real
// kernels and leaves nothing behind. Each boots a guest, takes a snapshot of
// everything that a layer can touch, has goset-bench hold a run there, looks
// at the effect from outside while it holds, ends the run in one way or
// another, and holds the snapshot after against the one before.
package proof
