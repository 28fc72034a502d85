#include "textflag.h"

// func forkCalls(fork, calls *call) (pid int)
//
// The child shares the parent's stack, so it never touches it: the parent's
// return address and frame are as they were when the parent goes on.
TEXT ·forkCalls(SB), NOSPLIT, $0-24
	MOVD fork+0(FP), R20
	MOVD calls+8(FP), R19
	MOVD 0(R20), R8
	MOVD 8(R20), R0
	MOVD 16(R20), R1
	MOVD 24(R20), R2
	MOVD 32(R20), R3
	MOVD 40(R20), R4
	SVC
	CBZ  R0, child
	MOVD R0, pid+16(FP)
	RET

child:
	MOVD 0(R19), R8
	MOVD 8(R19), R0
	MOVD 16(R19), R1
	MOVD 24(R19), R2
	MOVD 32(R19), R3
	MOVD 40(R19), R4
	SVC
	CMN  $4095, R0         // carry: -4095 to -1
	BCS  failed
	ADD  $56, R19
	B    child

failed:
	NEG  R0, R0
	MOVD R0, 48(R19)

exit:
	MOVD $127, R0
	MOVD $93, R8           // exit
	SVC
	B    exit
