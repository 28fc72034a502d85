#include "textflag.h"

// func forkCalls(calls *call, nr, arg0, arg1, arg2 uintptr) (pid int)
//
// The child shares the parent's stack, so it never touches it: the parent's
// return address and frame are as they were when the parent goes on.
TEXT ·forkCalls(SB), NOSPLIT, $0-48
	MOVD calls+0(FP), R19
	MOVD nr+8(FP), R8
	MOVD arg0+16(FP), R0
	MOVD arg1+24(FP), R1   // clone: no stack, so the parent's
	MOVD arg2+32(FP), R2
	MOVD $0, R3
	MOVD $0, R4
	SVC
	CBZ  R0, child
	MOVD R0, pid+40(FP)
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
