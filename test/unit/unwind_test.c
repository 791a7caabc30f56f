/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_test.c - walks of stacks whose frames are known.
 *
 * LINK: unwind row_cache cfi cfi_program cfi_expression
 * LINK: modules loader elf_image executable span region counters sys
 * CFLAGS: -O2 -fasynchronous-unwind-tables -fomit-frame-pointer
 * CFLAGS: -Wl,-z,now -rdynamic
 */
#include "unwind.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "arch/x86_64.h"
#include "frame.h"
#include "modules.h"
#include "region.h"

#define FRAMES 128

/* A finished walk. */
struct trace {
	uint64_t frames[FRAMES];
	unsigned count;
	enum unwind_end end;
};

static struct unwind_scratch scratch;
static _Thread_local struct span own;
static struct trace trace;
static enum unwind_method method;
static unsigned max_frames = FRAMES;

/*
 * How much stack a walk takes: what is below the stack pointer is filled
 * first, and looked through afterwards for the lowest word that changed.
 */
#define PAINT UINT64_C(0xa5a5a5a5a5a5a5a5)
#define PAINT_BYTES 8192
static uintptr_t paint_top;
static size_t stack_most_bytes;

static __attribute__((always_inline)) inline void
paint_stack(void)
{
	uintptr_t sp;

	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
	paint_top = sp;
	for (uintptr_t at = sp - PAINT_BYTES; at < sp; at += 8)
		*(volatile uint64_t *)at = PAINT;
}

static __attribute__((always_inline)) inline void
measure_stack(void)
{
	uintptr_t at = paint_top - PAINT_BYTES;

	while (*(volatile uint64_t *)at == PAINT)
		at += 8;
	if (paint_top - at > stack_most_bytes)
		stack_most_bytes = paint_top - at;
}

static void
walk_from(uintptr_t ip, uintptr_t sp, uintptr_t fp, bool exact)
{
	struct unwind_request request = {
		.registers = { ip, sp, fp, exact, true },
		.method = method,
		.thread_pointer = arch_thread_pointer(),
		.own = &own,
		.scratch = &scratch,
		.frames = trace.frames,
		.max = max_frames,
	};

	paint_stack();
	trace.end = unwind_stack(&request, &trace.count);
	measure_stack();
}

/* Walks from the caller of this function on. */
static __attribute__((noinline)) void
walk_here(void)
{
	uintptr_t ip, sp, fp;

	__asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
			 : "=r"(ip), "=r"(sp), "=r"(fp));
	walk_from(ip, sp, fp, true);
}

static void *
address_of(uint64_t frame)
{
	return (void *)(module_at(frame_module(frame))->bias +
			frame_offset(frame));
}

/* The name of the frame's function; "" if it is not exported. */
static const char *
name_of(unsigned i)
{
	Dl_info info;

	if (i >= trace.count || frame_module(trace.frames[i]) == 0 ||
	    !dladdr(address_of(trace.frames[i]), &info) ||
	    info.dli_sname == NULL)
		return "";
	return info.dli_sname;
}

static unsigned
index_of(const char *name)
{
	for (unsigned i = 0; i < trace.count; i++)
		if (strcmp(name_of(i), name) == 0)
			return i;
	fail_msg("no frame of %s among %u", name, trace.count);
	return 0;
}

/* A chain of functions that no compiler makes tail calls of. */
#define CHAIN(name, callee) \
	__attribute__((noinline)) int name(volatile int *x); \
	__attribute__((noinline)) int name(volatile int *x) \
	{ \
		volatile char room[sizeof(#name) * 7]; \
\
		room[0] = (char)*x; \
		callee; \
		return room[0] + *x; \
	}

CHAIN(chain_a, walk_here())
CHAIN(chain_b, chain_a(x))
CHAIN(chain_c, chain_b(x))

static void
test_chain_of_calls(void **state)
{
	volatile int x = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		chain_c(&x);
		assert_int_equal(trace.end, UNWIND_COMPLETE);
		assert_string_equal(name_of(1), "chain_a");
		assert_string_equal(name_of(2), "chain_b");
		assert_string_equal(name_of(3), "chain_c");
		assert_true(index_of("main") > 4);
		assert_string_equal(name_of(trace.count - 1), "_start");
	}
}

static void
test_stops_at_max(void **state)
{
	volatile int x = 0;

	(void)state;
	max_frames = 3;
	chain_c(&x);
	max_frames = FRAMES;
	assert_int_equal(trace.end, UNWIND_DEPTH);
	assert_int_equal(trace.count, 3);
	assert_string_equal(name_of(2), "chain_b");
}

/* New modules, cold rows and warm ones: all that the tests before did. */
static void
test_stack_used(void **state)
{
	(void)state;
	print_message("# at most %zu bytes of stack\n", stack_most_bytes);
	assert_in_range(stack_most_bytes, 64, 512);
}

static int
setup(void **state)
{
	(void)state;
	if (region_init((size_t)16 << 20, 1) != 0 || modules_init() != 0 ||
	    unwind_init() != 0)
		return -1;
	span_init();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain_of_calls),
		cmocka_unit_test(test_stops_at_max),
		cmocka_unit_test(test_stack_used),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("unwind", tests, setup, NULL);
}
