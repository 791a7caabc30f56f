/* SPDX-License-Identifier: Apache-2.0 */
/*
 * every_instruction.c - steps through code with the processor's trap flag and
 * allocates in the handler of each step: stacks that were interrupted at every
 * instruction of prologues and epilogues, of PLT entries and the loader's
 * resolver behind them, of the vDSO and of code without a frame pointer.
 *
 * Prints nothing that differs from run to run: "LINE ok" for each part, where
 * the count of steps goes to a file that the argument names.
 */
/* CFLAGS: -O2 -fplt -Wl,-z,lazy -fno-builtin */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRAP_FLAG "0x100"

static volatile unsigned long steps;
static volatile char local_sink;

static __attribute__((noinline)) void
on_step(int signal)
{
	void *volatile p = malloc(24);

	(void)signal;
	free(p);
	steps++;
}

/* Set and clear the trap flag; they are stepped through as well. */
void begin(void);
void end(void);
__asm__(".text\n"
	"begin:\n\t.cfi_startproc\n\t"
	"pushf\n\t.cfi_adjust_cfa_offset 8\n\t"
	"orl $" TRAP_FLAG ", (%rsp)\n\t"
	"popf\n\t.cfi_adjust_cfa_offset -8\n\t"
	"ret\n\t.cfi_endproc\n"
	"end:\n\t.cfi_startproc\n\t"
	"pushf\n\t.cfi_adjust_cfa_offset 8\n\t"
	"andl $~" TRAP_FLAG ", (%rsp)\n\t"
	"popf\n\t.cfi_adjust_cfa_offset -8\n\t"
	"ret\n\t.cfi_endproc\n");

static __attribute__((noinline)) int
with_many_registers(int a, int b, int c)
{
	int d = a * b, e = b * c, f = a ^ c;

	for (int i = 0; i < 3; i++) {
		local_sink = (char)(d + e);
		__asm__ volatile("" ::
					 : "rbx", "rbp", "r12", "r13", "r14",
					   "r15", "memory");
		d += f;
	}
	return d + e + f;
}

static __attribute__((noinline)) int
with_alloca(unsigned n)
{
	volatile char *p = __builtin_alloca(n);

	p[0] = 1;
	return p[0] + with_many_registers((int)n, 2, 3);
}

static __attribute__((noinline)) int
leaf(int a)
{
	return a * 3 + 1;
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) int
with_frame_pointer(int a)
{
	return leaf(a) + with_many_registers(a, 1, 2);
}

static __attribute__((noinline)) void
step_through_own_code(void)
{
	begin();
	local_sink = (char)(with_alloca(100) + with_frame_pointer(7) + leaf(4));
	end();
	puts("own code ok");
}

/* The first call goes through the resolver, the second jumps. */
static __attribute__((noinline)) void
step_through_plt(void)
{
	begin();
	local_sink = (char)(labs(-5) + ffsl(64));
	local_sink = (char)(labs(-6) + ffsl(65));
	end();
	puts("plt ok");
}

static __attribute__((noinline)) void
step_through_vdso(void)
{
	struct timespec now;

	/* Resolved before, so that this is the vDSO's code. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	begin();
	for (int i = 0; i < 3; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	end();
	puts("vdso ok");
}

int
main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_step };
	FILE *file;

	setvbuf(stdout, NULL, _IONBF, 0);
	sigaction(SIGTRAP, &action, NULL);
	step_through_own_code();
	step_through_plt();
	step_through_vdso();
	if (argc < 2)
		return 0;
	file = fopen(argv[1], "w");
	fprintf(file, "%lu\n", steps);
	fclose(file);
}
