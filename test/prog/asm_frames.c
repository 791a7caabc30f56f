/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asm_frames.c - allocates below frames of hand-written code that says 'S' in
 * its call frame information ("signal frame") though the kernel has not made
 * them.
 *
 *	asm_frames plain|switch ROUNDS
 *
 * plain: an ordinary frame. switch: as the runtime of OCaml 5 does it, code
 * that runs on a block of the heap, from where C is called on the stack that
 * there was before, which calls back: each goes from one stack to another, up
 * or down, and its CFA is *(rsp + number) + number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES ((size_t)64 << 10)

void via_s(void (*function)(void));
void start_on(void *top, void (*function)(void));
void call_c(void (*function)(void));

/* What C was left with: the place for the other stack's pointer, and before. */
struct link {
	void *unused;
	void *other_sp;
	struct link *before;
};
extern struct link *last_link;
struct link *last_link;

/* clang-format off */
__asm__(
	".text\n"
	".globl via_s\n"
	".type via_s, @function\n"
	"via_s:\n"
	".cfi_startproc\n"
	".cfi_signal_frame\n"
	"	sub $24, %rsp\n"
	".cfi_adjust_cfa_offset 24\n"
	"	call *%rdi\n"
	"	add $24, %rsp\n"
	".cfi_adjust_cfa_offset -24\n"
	"	ret\n"
	".cfi_endproc\n"
	".size via_s, . - via_s\n"

	/* A struct link lies at sp, and 16 above the other stack's sp a pointer to it. */
	".globl start_on\n"
	".type start_on, @function\n"
	"start_on:\n"
	".cfi_startproc\n"
	".cfi_signal_frame\n"
	"	push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_offset rbx, -16\n"
	"	push %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_offset rbp, -24\n"
	"	sub $32, %rsp\n"
	".cfi_adjust_cfa_offset 32\n"
	"	sub $24, %rsp\n"
	".cfi_adjust_cfa_offset 24\n"
	"	mov last_link(%rip), %r10\n"
	"	mov %r10, 16(%rsp)\n"
	"	mov %rsp, last_link(%rip)\n"
	"	sub $16, %rdi\n"
	"	mov %rsp, (%rdi)\n"
	"	sub $16, %rdi\n"
	"	mov %rdi, %rsp\n"
	".cfi_remember_state\n"
	/* DW_CFA_def_cfa_expression: breg7 16, deref, plus_uconst 24 + 32 + 24 */
	".cfi_escape 0x0f, 5, 0x77, 16, 0x06, 0x23, 80\n"
	"	xor %ebp, %ebp\n"
	"	call *%rsi\n"
	"	mov 16(%rsp), %rsp\n"
	".cfi_restore_state\n"
	"	mov 16(%rsp), %r10\n"
	"	mov %r10, last_link(%rip)\n"
	"	add $56, %rsp\n"
	".cfi_adjust_cfa_offset -56\n"
	"	pop %rbp\n"
	".cfi_adjust_cfa_offset -8\n"
	".cfi_same_value rbp\n"
	"	pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	".cfi_same_value rbx\n"
	"	ret\n"
	".cfi_endproc\n"
	".size start_on, . - start_on\n"

	".globl call_c\n"
	".type call_c, @function\n"
	"call_c:\n"
	".cfi_startproc\n"
	".cfi_signal_frame\n"
	"	mov last_link(%rip), %r11\n"
	"	mov %rsp, 8(%r11)\n"
	"	mov %r11, %rsp\n"
	".cfi_remember_state\n"
	/* DW_CFA_def_cfa_expression: breg7 8, deref, plus_uconst 8 */
	".cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 8\n"
	"	call *%rdi\n"
	"	mov 8(%rsp), %rsp\n"
	".cfi_restore_state\n"
	"	ret\n"
	".cfi_endproc\n"
	".size call_c, . - call_c\n");
/* clang-format on */

static long rounds, taken;

static __attribute__((noinline)) void
leaf(void)
{
	for (long i = 0; i < rounds; i++) {
		void *volatile p = malloc(77);

		taken += p != NULL;
		free(p);
	}
}

static __attribute__((noinline)) void
inner_program(void)
{
	call_c(leaf);
	__asm__ volatile("" : : : "memory");
}

static __attribute__((noinline)) void
call_back(void)
{
	char *stack = malloc(STACK_BYTES);

	start_on(stack + STACK_BYTES, inner_program);
	free(stack);
}

static __attribute__((noinline)) void
outer_program(void)
{
	call_c(call_back);
	__asm__ volatile("" : : : "memory");
}

int
main(int argc, char **argv)
{
	char *stack = malloc(STACK_BYTES);

	if (argc != 3)
		return 2;
	rounds = atol(argv[2]);
	if (strcmp(argv[1], "plain") == 0)
		via_s(leaf);
	else
		start_on(stack + STACK_BYTES, outer_program);
	free(stack);
	printf("%ld\n", taken);
}
