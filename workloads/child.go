package workloads

import "unsafe"

// MaxArgs is how many words a kernel can give its children.
const MaxArgs = 16

// header is how many words a region starts with: the child's status and how
// many KiB of its memory are huge pages.
const header = 2

// Body is a kernel's part of a child. Every function must be a declared one
// (not a closure), nosplit, and call only such functions or assembly: in a
// forked child there is no runtime to grow a stack, allocate or panic, and a
// write barrier may lead into a collection that never ends.
type Body struct {
	Start func(c *Child)                  // fills c.Private; untimed
	Run   func(c *Child, section int)     // the timed part
	After func(c *Child, iteration int64) // untimed, after every iteration; -1 is the untimed one
	End   func(c *Child)                  // checks what the child has done; untimed
}

// Child is what one child sees. Private is its own memory: zeroed, touched,
// aligned to a cache line, to a huge page where those were asked for.
type Child struct {
	Thread     int // 0, 1, ...
	Args       [MaxArgs]uint64
	Iterations int64
	Private    unsafe.Pointer

	body     Body
	sections int
	private  uintptr // size of Private
	huge     bool
	region   unsafe.Pointer // this child's part of the result memory
	sums     int
	gate     gate
	clock    clock
	host     hostChild
}

// Sum is the i-th word that goes back to the parent; i is below
// Measurement.Sums.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *Child) Sum(i int) *uint64 {
	return (*uint64)(unsafe.Add(c.region, 8*(header+i)))
}

// loop runs all iterations. It is the child's whole life between its set-up
// and its exit.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *Child) loop() {
	c.body.Start(c)
	at := unsafe.Add(c.region, 8*(header+c.sums))
	for i := int64(-1); i < c.Iterations; i++ {
		for s := 0; s < c.sections; s++ {
			c.gate.pass()
			start := c.clock.now()
			c.body.Run(c, s)
			took := c.clock.now() - start
			if i >= 0 {
				*(*int64)(at) = took
				at = unsafe.Add(at, 8)
			}
		}
		c.body.After(c, i)
	}
	c.body.End(c)
}

// Nothing is for a kernel that has nothing to do at one of the points.
//
//go:nosplit
//go:norace
//go:nocheckptr
func Nothing(*Child) {}
