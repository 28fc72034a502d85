#include "textflag.h"

// func forkCalls(calls *call, flags uintptr, pidfd *int32) (pid int)
//
// The child shares the parent's stack, so it never touches it: the parent's
// return address and frame are as they were when the parent goes on.
TEXT ·forkCalls(SB), NOSPLIT, $0-32
	MOVQ calls+0(FP), R13
	MOVQ flags+8(FP), DI
	MOVQ $0, SI            // stack: the parent's
	MOVQ pidfd+16(FP), DX
	MOVQ $0, R10
	MOVQ $0, R8
	MOVQ $56, AX           // clone
	SYSCALL
	TESTQ AX, AX
	JZ   child
	MOVQ AX, pid+24(FP)
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
