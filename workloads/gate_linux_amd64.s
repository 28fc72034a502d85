#include "textflag.h"

// func load32(p *uint32) uint32
TEXT ·load32(SB), NOSPLIT, $0-12
	MOVQ p+0(FP), AX
	MOVL (AX), CX
	MOVL CX, ret+8(FP)
	RET

// func add32(p *uint32, d uint32) uint32
TEXT ·add32(SB), NOSPLIT, $0-20
	MOVQ p+0(FP), AX
	MOVL d+8(FP), CX
	MOVL CX, DX
	LOCK
	XADDL CX, (AX)
	ADDL DX, CX
	MOVL CX, ret+16(FP)
	RET

// func spin32(p *uint32, old, n uint32) bool
TEXT ·spin32(SB), NOSPLIT, $0-17
	MOVQ p+0(FP), AX
	MOVL old+8(FP), CX
	MOVL n+12(FP), DX
loop:
	CMPL (AX), CX
	JNE  moved
	PAUSE
	DECL DX
	JNZ  loop
	MOVB $0, ret+16(FP)
	RET
moved:
	MOVB $1, ret+16(FP)
	RET
