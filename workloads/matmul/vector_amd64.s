#include "textflag.h"

// Both products hold a block of results in registers while k runs over the 32
// terms: per k a few loads of a row of b, one broadcast of a per row, and the
// multiply-adds. A row of a matrix is 256 bytes.

// AVX-512: blocks of 4 rows and all 32 columns, 16 accumulators of 8 numbers.
// Two multiply-adds per cycle of 4 cycles' latency need 8.

#define ROW512(offset, z0, z1, z2, z3) \
	VBROADCASTSD offset(SI), Z20; \
	VFMADD231PD  Z16, Z20, z0; \
	VFMADD231PD  Z17, Z20, z1; \
	VFMADD231PD  Z18, Z20, z2; \
	VFMADD231PD  Z19, Z20, z3

#define ZERO512(z0, z1, z2, z3) \
	VPXORQ z0, z0, z0; \
	VPXORQ z1, z1, z1; \
	VPXORQ z2, z2, z2; \
	VPXORQ z3, z3, z3

#define STORE512(offset, z0, z1, z2, z3) \
	VMOVUPD z0, (offset+0)(DI); \
	VMOVUPD z1, (offset+64)(DI); \
	VMOVUPD z2, (offset+128)(DI); \
	VMOVUPD z3, (offset+192)(DI)

// func productAVX512(p, a, b *matrix)
TEXT ·productAVX512(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ $8, R8

rows:
	ZERO512(Z0, Z1, Z2, Z3)
	ZERO512(Z4, Z5, Z6, Z7)
	ZERO512(Z8, Z9, Z10, Z11)
	ZERO512(Z12, Z13, Z14, Z15)
	MOVQ DX, BX
	MOVQ $32, CX

terms:
	VMOVUPD 0(BX), Z16
	VMOVUPD 64(BX), Z17
	VMOVUPD 128(BX), Z18
	VMOVUPD 192(BX), Z19
	ROW512(0, Z0, Z1, Z2, Z3)
	ROW512(256, Z4, Z5, Z6, Z7)
	ROW512(512, Z8, Z9, Z10, Z11)
	ROW512(768, Z12, Z13, Z14, Z15)
	ADDQ $256, BX
	ADDQ $8, SI
	DECQ CX
	JNZ  terms

	STORE512(0, Z0, Z1, Z2, Z3)
	STORE512(256, Z4, Z5, Z6, Z7)
	STORE512(512, Z8, Z9, Z10, Z11)
	STORE512(768, Z12, Z13, Z14, Z15)
	ADDQ $1024, DI
	ADDQ $768, SI
	DECQ R8
	JNZ  rows
	VZEROUPPER
	RET

// AVX2: 16 registers hold 4 rows of 12 columns; 32 columns are 12 + 12 + 8.

#define ROW256(offset, y0, y1, y2) \
	VBROADCASTSD offset(R9), Y15; \
	VFMADD231PD  Y12, Y15, y0; \
	VFMADD231PD  Y13, Y15, y1; \
	VFMADD231PD  Y14, Y15, y2

#define ZERO256(y0, y1, y2) \
	VXORPD y0, y0, y0; \
	VXORPD y1, y1, y1; \
	VXORPD y2, y2, y2

#define STORE256(offset, y0, y1, y2) \
	VMOVUPD y0, (offset+0)(R10); \
	VMOVUPD y1, (offset+32)(R10); \
	VMOVUPD y2, (offset+64)(R10)

// func productAVX2(p, a, b *matrix)
TEXT ·productAVX2(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ $8, R8

rows:
	MOVQ DI, R10
	MOVQ DX, R11
	MOVQ $2, R12

columns:
	ZERO256(Y0, Y1, Y2)
	ZERO256(Y3, Y4, Y5)
	ZERO256(Y6, Y7, Y8)
	ZERO256(Y9, Y10, Y11)
	MOVQ SI, R9
	MOVQ R11, BX
	MOVQ $32, CX

terms:
	VMOVUPD 0(BX), Y12
	VMOVUPD 32(BX), Y13
	VMOVUPD 64(BX), Y14
	ROW256(0, Y0, Y1, Y2)
	ROW256(256, Y3, Y4, Y5)
	ROW256(512, Y6, Y7, Y8)
	ROW256(768, Y9, Y10, Y11)
	ADDQ $256, BX
	ADDQ $8, R9
	DECQ CX
	JNZ  terms

	STORE256(0, Y0, Y1, Y2)
	STORE256(256, Y3, Y4, Y5)
	STORE256(512, Y6, Y7, Y8)
	STORE256(768, Y9, Y10, Y11)
	ADDQ $96, R10
	ADDQ $96, R11
	DECQ R12
	JNZ  columns

	ZERO256(Y0, Y1, Y2)
	ZERO256(Y3, Y4, Y5)
	ZERO256(Y6, Y7, Y8)
	MOVQ SI, R9
	MOVQ R11, BX
	MOVQ $32, CX

last:
	VMOVUPD      0(BX), Y12
	VMOVUPD      32(BX), Y13
	VBROADCASTSD 0(R9), Y14
	VBROADCASTSD 256(R9), Y15
	VFMADD231PD  Y12, Y14, Y0
	VFMADD231PD  Y13, Y14, Y1
	VFMADD231PD  Y12, Y15, Y2
	VFMADD231PD  Y13, Y15, Y3
	VBROADCASTSD 512(R9), Y14
	VBROADCASTSD 768(R9), Y15
	VFMADD231PD  Y12, Y14, Y4
	VFMADD231PD  Y13, Y14, Y5
	VFMADD231PD  Y12, Y15, Y6
	VFMADD231PD  Y13, Y15, Y7
	ADDQ         $256, BX
	ADDQ         $8, R9
	DECQ         CX
	JNZ          last

	VMOVUPD Y0, 0(R10)
	VMOVUPD Y1, 32(R10)
	VMOVUPD Y2, 256(R10)
	VMOVUPD Y3, 288(R10)
	VMOVUPD Y4, 512(R10)
	VMOVUPD Y5, 544(R10)
	VMOVUPD Y6, 768(R10)
	VMOVUPD Y7, 800(R10)
	ADDQ    $1024, DI
	ADDQ    $1024, SI
	DECQ    R8
	JNZ     rows
	VZEROUPPER
	RET

// The peak loops multiply and add in registers alone: x = x*m + a with m under
// 1, which stays finite and normal. 12 chains hide the latency of two units.

#define CHAIN(op, x0, x1, x2, m, a) \
	op a, m, x0; \
	op a, m, x1; \
	op a, m, x2

// func peakAVX512(n uint64)
TEXT ·peakAVX512(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
	MOVQ $0x3fefffffffffffff, AX
	VPBROADCASTQ AX, Z12
	VMOVAPD Z12, Z13
	VMOVAPD Z12, Z0
	VMOVAPD Z12, Z1
	VMOVAPD Z12, Z2
	VMOVAPD Z12, Z3
	VMOVAPD Z12, Z4
	VMOVAPD Z12, Z5
	VMOVAPD Z12, Z6
	VMOVAPD Z12, Z7
	VMOVAPD Z12, Z8
	VMOVAPD Z12, Z9
	VMOVAPD Z12, Z10
	VMOVAPD Z12, Z11

loop:
	CHAIN(VFMADD213PD, Z0, Z1, Z2, Z12, Z13)
	CHAIN(VFMADD213PD, Z3, Z4, Z5, Z12, Z13)
	CHAIN(VFMADD213PD, Z6, Z7, Z8, Z12, Z13)
	CHAIN(VFMADD213PD, Z9, Z10, Z11, Z12, Z13)
	DECQ CX
	JNZ  loop
	VZEROUPPER
	RET

// func peakAVX2(n uint64)
TEXT ·peakAVX2(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
	MOVQ $0x3fefffffffffffff, AX
	MOVQ AX, X12
	VPBROADCASTQ X12, Y12
	VMOVAPD Y12, Y13
	VMOVAPD Y12, Y0
	VMOVAPD Y12, Y1
	VMOVAPD Y12, Y2
	VMOVAPD Y12, Y3
	VMOVAPD Y12, Y4
	VMOVAPD Y12, Y5
	VMOVAPD Y12, Y6
	VMOVAPD Y12, Y7
	VMOVAPD Y12, Y8
	VMOVAPD Y12, Y9
	VMOVAPD Y12, Y10
	VMOVAPD Y12, Y11

loop:
	CHAIN(VFMADD213PD, Y0, Y1, Y2, Y12, Y13)
	CHAIN(VFMADD213PD, Y3, Y4, Y5, Y12, Y13)
	CHAIN(VFMADD213PD, Y6, Y7, Y8, Y12, Y13)
	CHAIN(VFMADD213PD, Y9, Y10, Y11, Y12, Y13)
	DECQ CX
	JNZ  loop
	VZEROUPPER
	RET
