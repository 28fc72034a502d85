#include "textflag.h"

// func forkCalls(fork, calls *call) (pid int)
//
// The child shares the parent's stack, so it never touches it: the parent's
// return address and frame are as they were when the parent goes on.
TEXT ·forkCalls(SB), NOSPLIT, $0-24
	MOVQ fork+0(FP), R12
	MOVQ calls+8(FP), R13
	MOVQ 0(R12), AX
	MOVQ 8(R12), DI
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	MOVQ 32(R12), R10
	MOVQ 40(R12), R8
	SYSCALL
	TESTQ AX, AX
	JZ   child
	MOVQ AX, pid+16(FP)
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
