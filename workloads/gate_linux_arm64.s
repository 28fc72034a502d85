#include "textflag.h"

// func load32(p *uint32) uint32
TEXT ·load32(SB), NOSPLIT, $0-12
	MOVD  p+0(FP), R0
	LDARW (R0), R1
	MOVW  R1, ret+8(FP)
	RET

// func add32(p *uint32, d uint32) uint32
TEXT ·add32(SB), NOSPLIT, $0-20
	MOVD p+0(FP), R0
	MOVW d+8(FP), R1
again:
	LDAXRW (R0), R2
	ADDW   R1, R2, R2
	STLXRW R2, (R0), R3
	CBNZW  R3, again
	MOVW   R2, ret+16(FP)
	RET

// func spin32(p *uint32, old, n uint32) bool
TEXT ·spin32(SB), NOSPLIT, $0-17
	MOVD p+0(FP), R0
	MOVW old+8(FP), R1
	MOVW n+12(FP), R2
loop:
	LDARW (R0), R3
	CMPW  R1, R3
	BNE   moved
	YIELD
	SUBW  $1, R2, R2
	CBNZW R2, loop
	MOVB  ZR, ret+16(FP)
	RET
moved:
	MOVD $1, R3
	MOVB R3, ret+16(FP)
	RET
