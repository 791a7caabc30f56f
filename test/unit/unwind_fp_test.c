/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_fp_test.c - the distance from sp to fp, of code that is written for
 * it, and instructions cut short.
 *
 * LINK: unwind_fp instruction cfi cfi_program cfi_expression sys
 */
#include "unwind_fp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "instruction.h"

static uint64_t memory[CFI_MEMORY_BYTES / 8];
static int32_t distances[UNWIND_FP_CODE_MAX];

/* Each label ends in the distance there, n: not told. Nothing is ever run. */
__asm__(".text\n"
	".macro begin name\n"
	".p2align 4\n"
	"\\name:\n"
	".cfi_startproc\n"
	".endm\n"
	".macro frame\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	".endm\n"
	".macro finish name\n"
	".cfi_endproc\n"
	".size \\name, . - \\name\n"
	".endm\n"

	"begin plain\n"
	"plain_n: frame\n"
	"plain_0: push %r12\n"
	"plain_8: sub $0x128, %rsp\n"
	"plain_304: test %edi, %edi\n"
	"je 1f\n"
	"push $1\n"
	"pushq 16(%rbp)\n"
	"plain_320: call other\n"
	"add $16, %rsp\n"
	"plain_304b: lea -8(%rbp), %rsp\n"
	"plain_8b: pop %r12\n"
	"pop %rbp\n"
	"plain_nb: ret\n"
	"1: movq $0, -24(%rbp)\n"
	"plain_304c: leave\n"
	"ret\n"
	"finish plain\n"

	/* What follows abort() is reached from below only. */
	"begin backwards\n"
	"frame\n"
	"sub $32, %rsp\n"
	"jmp 2f\n"
	"1: cmp $3, %eax\n"
	"backwards_32: jne 3f\n"
	"push %rax\n"
	"push %rax\n"
	"call other\n" /* does not return */
	"2: call other\n"
	"backwards_32b: jmp 1b\n"
	"3: leave\n"
	"ret\n"
	"finish backwards\n"

	"begin cases\n"
	"frame\n"
	"sub $16, %rsp\n"
	"notrack jmp *%rax\n"
	"cases_16: call other\n"
	"leave\n"
	"ret\n"
	"finish cases\n"

	"begin taking\n"
	"frame\n"
	"sub $16, %rsp\n"
	"taking_n: call other\n"
	"sub %rax, %rsp\n"
	"leave\n"
	"ret\n"
	"finish taking\n"

	"begin aligned\n"
	"frame\n"
	"and $-32, %rsp\n"
	"aligned_n: call other\n"
	"leave\n"
	"ret\n"
	"finish aligned\n"

	/* Realigned before fp is set. */
	"begin argued\n"
	"lea 8(%rsp), %r10\n"
	"and $-32, %rsp\n"
	"push -8(%r10)\n"
	"frame\n"
	"push %r10\n"
	"sub $40, %rsp\n"
	"argued_48: call other\n"
	"leave\n"
	"ret\n"
	"finish argued\n"

	"begin pushing\n"
	"frame\n"
	"1: push %rax\n"
	"dec %ecx\n"
	"jne 1b\n"
	"pushing_n: call other\n"
	"leave\n"
	"ret\n"
	"finish pushing\n"

	"begin unknown\n"
	"frame\n"
	"unknown_n: call other\n"
	".byte 0x06\n"
	"leave\n"
	"ret\n"
	"finish unknown\n"

	/* A part elsewhere, where it comes back from, and one that takes. */
	"begin parted\n"
	"frame\n"
	"sub $16, %rsp\n"
	"jne parted_cold\n"
	"parted_16: call other\n"
	"leave\n"
	"ret\n"
	"finish parted\n"
	"begin parted_cold\n"
	".cfi_def_cfa %rbp, 16\n"
	".cfi_offset %rbp, -16\n"
	"call other\n"
	"jmp parted_16\n"
	"finish parted_cold\n"

	"begin thieving\n"
	"frame\n"
	"sub $16, %rsp\n"
	"jne thieving_cold\n"
	"thieving_n: call other\n"
	"leave\n"
	"ret\n"
	"finish thieving\n"
	"begin thieving_cold\n"
	".cfi_def_cfa %rbp, 16\n"
	".cfi_offset %rbp, -16\n"
	"thieving_cold_n: sub %rax, %rsp\n"
	"jmp thieving_n\n"
	"finish thieving_cold\n"

	/* The last call is a jump, made without a frame. */
	"begin tail\n"
	"frame\n"
	"tail_0: call other\n"
	"pop %rbp\n"
	"jmp other\n"
	"finish tail\n"

	"begin long_one\n"
	"frame\n"
	"long_one_n: call other\n"
	".fill 40000, 1, 0x90\n"
	"leave\n"
	"ret\n"
	"finish long_one\n"

	"begin other\n"
	"ret\n"
	"finish other\n"
	".globl text_finish\n"
	"text_finish:\n"
	".text\n");

extern char plain_n[], plain_0[], plain_8[], plain_304[], plain_320[],
	plain_304b[], plain_8b[], plain_nb[], plain_304c[], backwards_32[],
	backwards_32b[], cases_16[], taking_n[], aligned_n[], argued_48[],
	pushing_n[], unknown_n[], parted_16[], thieving_n[], thieving_cold_n[],
	tail_0[], long_one_n[];
extern char __GNU_EH_FRAME_HDR[], __executable_start[], etext[], _end[];

static int64_t
distance_at(const char *label)
{
	struct unwind_fp_code code = {
		.section = { (uintptr_t)__GNU_EH_FRAME_HDR,
			     (uintptr_t)__GNU_EH_FRAME_HDR,
			     (uintptr_t)__GNU_EH_FRAME_HDR + 65536 },
		.text_start = (uintptr_t)__executable_start,
		.text_end = (uintptr_t)etext,
		.cfi_memory = memory,
		.distances = distances,
	};

	/* What an earlier function left behind does not matter. */
	memset(distances, 0x55, sizeof(distances));
	return unwind_fp_distance(&code, (uintptr_t)label);
}

static void
test_distances(void **state)
{
	const struct {
		const char *name;
		const char *label;
		int64_t distance;
	} places[] = {
#define PLACE(label, distance) { #label, label, distance }
		PLACE(plain_n, -1),	  PLACE(plain_0, 0),
		PLACE(plain_8, 8),	  PLACE(plain_304, 304),
		PLACE(plain_320, 320),	  PLACE(plain_304b, 304),
		PLACE(plain_8b, 8),	  PLACE(plain_nb, -1),
		PLACE(plain_304c, 304),	  PLACE(backwards_32, 32),
		PLACE(backwards_32b, 32), PLACE(cases_16, 16),
		PLACE(taking_n, -1),	  PLACE(aligned_n, -1),
		PLACE(argued_48, 48),	  PLACE(pushing_n, -1),
		PLACE(unknown_n, -1),	  PLACE(parted_16, 16),
		PLACE(thieving_n, -1),	  PLACE(thieving_cold_n, -1),
		PLACE(tail_0, 0),	  PLACE(long_one_n, -1),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (distance_at(places[i].label) != places[i].distance)
			fail_msg("%s: %ld", places[i].name,
				 (long)distance_at(places[i].label));
}

/* In the call itself, where a return address minus one is. */
static void
test_inside_an_instruction(void **state)
{
	(void)state;
	assert_int_equal(distance_at(plain_320 + 4), 320);
	assert_int_equal(distance_at(parted_16 + 4), 16);
}

static void
test_calls(void **state)
{
	static const struct {
		unsigned char code[8];
		unsigned length;
		bool is_call;
	} ends[] = {
		{ { 0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4 }, 8, true },
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 }, 8, true },
		{ { 0x41, 0xff, 0xd3 }, 3, true },
		{ { 0xff, 0x15, 1, 2, 3, 4 }, 6, true },
		{ { 0xff, 0x54, 0x24, 0x08 }, 4, true },
		{ { 0x41, 0xff, 0x94, 0xc4, 1, 2, 3, 4 }, 8, true },
		{ { 0xff, 0xd0 }, 2, true },
		{ { 0xd0 }, 1, false },
		{ { 0x90, 0x90, 0x90, 0xe9, 1, 2, 3, 4 }, 8, false },
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0 }, 7, false },
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x05 },
		  8,
		  false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		assert_int_equal(
			instruction_call_before(ends[i].code,
						ends[i].code + ends[i].length),
			ends[i].is_call);
}

/* Any bytes, right before a page that cannot be read. */
static void
test_no_read_past_the_end(void **state)
{
	unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *end = pages + 4096;
	struct instruction in;
	unsigned long known = 0;

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(end, 4096, PROT_NONE), 0);
	srandom(1);
	for (int i = 0; i < 500000; i++) {
		unsigned length = (unsigned)random() % 18;

		for (unsigned k = 1; k <= length; k++)
			end[-(int)k] = (unsigned char)random();
		if (!instruction_read(end - length, end, &in))
			continue;
		known++;
		assert_in_range(in.length, 1, length < 15 ? length : 15);
	}
	assert_true(known > 100000);
	munmap(pages, 8192);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_inside_an_instruction),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_no_read_past_the_end),
	};

	return CHECK_RUN(tests);
}
