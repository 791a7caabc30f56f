/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twin.h - the one function of twin_narrow.c and twin_wide.c: byte for byte at
 * the same place in both, but for the size of its stack frame, so that what is
 * true of the one at an address is wrong of the other.
 */
#include <stddef.h>

/* Calls malloc(size). */
void *twin_take(size_t size);

#define TWIN(frame) \
	__asm__(".text\n" \
		".globl twin_take\n" \
		".type twin_take, @function\n" \
		"twin_take:\n\t" \
		".cfi_startproc\n\t" \
		"subq $" frame ", %rsp\n\t" \
		".cfi_adjust_cfa_offset " frame "\n\t" \
		"call malloc@plt\n\t" \
		"addq $" frame ", %rsp\n\t" \
		".cfi_adjust_cfa_offset -" frame "\n\t" \
		"ret\n\t" \
		".cfi_endproc\n" \
		".size twin_take, .-twin_take\n")
