#include "textflag.h"

// func forkCalls(calls *call, nr, arg0, arg1, arg2 uintptr) (pid int)
//
// The child shares the parent's stack, so it never touches it: the parent's
// return address and frame are as they were when the parent goes on.
TEXT ·forkCalls(SB), NOSPLIT, $0-48
	MOVQ calls+0(FP), R13
	MOVQ nr+8(FP), AX
	MOVQ arg0+16(FP), DI
	MOVQ arg1+24(FP), SI   // clone: no stack, so the parent's
	MOVQ arg2+32(FP), DX
	MOVQ $0, R10
	MOVQ $0, R8
	SYSCALL
	TESTQ AX, AX
	JZ   child
	MOVQ AX, pid+40(FP)
	RET

child:
	MOVQ 0(R13), AX
	MOVQ 8(R13), DI
	MOVQ 16(R13), SI
	MOVQ 24(R13), DX
	MOVQ 32(R13), R10
	MOVQ 40(R13), R8
	SYSCALL
	CMPQ AX, $0xfffffffffffff001
	JCC  failed
	ADDQ $56, R13
	JMP  child

failed:
	NEGQ AX
	MOVQ AX, 48(R13)

exit:
	MOVQ $127, DI
	MOVQ $60, AX           // exit
	SYSCALL
	JMP  exit
