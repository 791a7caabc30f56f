/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_test.c - walks of stacks whose frames are known.
 *
 * LINK: unwind unwind_step unwind_fp unwind_row instruction row_cache cfi
 * LINK: cfi_program cfi_expression modules modules_name loader
 * LINK: loader_snapshot symbol elf_image executable span region
 * LINK: counters sys
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
#include "unwind_fp.h"

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
static bool hide_fp;
static void *recovery;

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
		.registers = { ip, sp, hide_fp ? 0 : fp, exact, !hide_fp },
		.method = method,
		.recovery = recovery,
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

/* Has no CFI and keeps a frame pointer, as JIT-compiled code does. */
static const unsigned char jit_code[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0xff, 0xd7,	  /* call *%rdi */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};

static void (*jit)(void (*)(void));

static void
make_jit(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page, jit_code, sizeof(jit_code));
	memcpy(&jit, &page, sizeof(page));
}

__attribute__((noinline, optimize("no-omit-frame-pointer"))) void
calls_jit(void);
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void
calls_jit(void)
{
	jit(walk_here);
	__asm__ volatile("" ::: "memory");
}

static void
test_code_of_no_module(void **state)
{
	uintptr_t page;

	(void)state;
	make_jit();
	memcpy(&page, &jit, sizeof(page));
	calls_jit();
	assert_int_equal(trace.end, UNWIND_COMPLETE);
	/* The call's last byte, by its plain address. */
	assert_int_equal(trace.frames[1], page + 5);
	assert_string_equal(name_of(2), "calls_jit");
	assert_true(index_of("main") > 2);
	munmap((void *)page, 4096);
}

static void
handler(int signal)
{
	(void)signal;
	walk_here();
}

__attribute__((noinline)) void raises(int signal);
__attribute__((noinline)) void
raises(int signal)
{
	raise(signal);
	__asm__ volatile("" ::: "memory");
}

static void
test_through_a_signal(void **state)
{
	static char room[1 << 16];
	stack_t other = { .ss_sp = room, .ss_size = sizeof(room) };
	struct sigaction action = { .sa_handler = handler };

	(void)state;
	for (int i = 0; i < 2; i++) {
		action.sa_flags = i ? SA_ONSTACK : 0;
		assert_int_equal(sigaltstack(&other, NULL), 0);
		assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
		raises(SIGUSR1);
		assert_int_equal(trace.end, UNWIND_COMPLETE);
		assert_true(index_of("raises") > 2);
		assert_true(index_of("main") > index_of("raises"));
	}
}

static ucontext_t here, there;

static void
coroutine(void)
{
	volatile int x = 0;

	chain_c(&x);
	swapcontext(&there, &here);
}

/* Ends at a page that cannot be touched: a read past it would fault. */
static void
test_coroutine_below_a_guard(void **state)
{
	const size_t size = 64 << 10;
	char *stack = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(stack, MAP_FAILED);
	assert_return_code(mprotect(stack + size, 4096, PROT_NONE), 0);
	assert_int_equal(getcontext(&there), 0);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = size;
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	assert_int_equal(swapcontext(&here, &there), 0);
	munmap(stack, size + 4096);
	assert_int_equal(trace.end, UNWIND_COMPLETE);
	assert_string_equal(name_of(3), "chain_c");
	/* coroutine() itself and where makecontext() lets it return to. */
	assert_int_equal(trace.count, 6);
}

static void
test_registers_that_lead_nowhere(void **state)
{
	uintptr_t code = (uintptr_t)&chain_a;
	char *stack = mmap(NULL, 3 * 4096, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t top = (uintptr_t)stack + 2 * 4096;
	const uintptr_t sps[] = { 0,	   1,		8,
				  4096,	   UINTPTR_MAX, (uintptr_t)stack,
				  top - 8, top - 4,	top };

	(void)state;
	assert_ptr_not_equal(stack, MAP_FAILED);
	assert_return_code(mprotect(stack + 4096, 4096, PROT_READ | PROT_WRITE),
			   0);
	for (size_t i = 0; i < sizeof(sps) / sizeof(sps[0]); i++) {
		for (size_t j = 0; j < sizeof(sps) / sizeof(sps[0]); j++) {
			walk_from(code, sps[i], sps[j], true);
			assert_true(trace.count >= 1);
			assert_true(frame_module(trace.frames[0]) != 0);
			/* The page of zeros says return address 0: the end. */
			if (trace.end == UNWIND_COMPLETE)
				continue;
			assert_int_equal(trace.end, UNWIND_TRUNCATED);
			assert_int_equal(trace.frames[trace.count - 1],
					 FRAME_TRUNCATED);
		}
	}
	walk_from(0, top - 64, 0, true);
	assert_int_equal(trace.end, UNWIND_TRUNCATED);
	assert_int_equal(trace.count, 1);
	assert_int_equal(trace.frames[0], FRAME_TRUNCATED);
	munmap(stack, 3 * 4096);
}

/* A stack of random words: anything but a fault or a walk without end. */
static void
test_random_stacks(void **state)
{
	static uint64_t words[1024];
	uint64_t random = 88172645463325252U;
	uintptr_t libc = (uintptr_t)dlsym(RTLD_DEFAULT, "qsort") & ~0xfffffUL;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < 1024; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			words[i] = random % 4 == 0 ? random
				   : random % 4 == 1
					   ? (uintptr_t)&words[random >> 54]
					   : libc + (random >> 43);
		}
		walk_from(libc + (random >> 43), (uintptr_t)&words[8],
			  (uintptr_t)&words[16], round % 2);
		assert_in_range(trace.count, 1, FRAMES);
	}
}

/* A close forgets the rows, and while one runs none is believed or kept. */
static void
test_while_closing(void **state)
{
	volatile int x = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		modules_close_begin();
		chain_c(&x);
		assert_int_equal(trace.end, UNWIND_COMPLETE);
		assert_string_equal(name_of(2), "chain_b");
		modules_close_end();
		chain_c(&x);
		assert_string_equal(name_of(2), "chain_b");
		assert_string_equal(name_of(trace.count - 1), "_start");
	}
}

__attribute__((noinline, optimize("no-omit-frame-pointer"))) int
with_fp(int depth);
__attribute__((noinline, optimize("no-omit-frame-pointer"))) int
with_fp(int depth)
{
	int r = 0;

	if (depth > 0)
		r = with_fp(depth - 1);
	else
		walk_from((uintptr_t) && label,
			  (uintptr_t)__builtin_frame_address(0) - 8,
			  (uintptr_t)__builtin_frame_address(0), true);
label:
	__asm__ volatile("" : "+r"(r));
	return r + depth;
}

static void
test_frame_pointers_only(void **state)
{
	(void)state;
	method = UNWIND_FP;
	with_fp(5);
	method = UNWIND_CFI;
	assert_true(trace.count >= 6);
	for (unsigned i = 0; i < 6; i++)
		assert_string_equal(name_of(i), "with_fp");
}

/* New modules, cold rows and warm ones: all that the tests before did. */
static void
test_stack_used(void **state)
{
	(void)state;
	print_message("# at most %zu bytes of stack\n", stack_most_bytes);
	assert_in_range(stack_most_bytes, 64, 512);
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) void
framed(volatile int *x)
{
	walk_here();
	*x += 1;
}

/* The row of the second frame needs it. */
static void
test_unknown_frame_pointer(void **state)
{
	static uint64_t known[FRAMES];
	static int32_t distances[UNWIND_FP_CODE_MAX];
	volatile int x = 0;
	unsigned counts[2];

	for (int i = 0; i < 2; i++) {
		hide_fp = i > 0;
		recovery = distances;
		framed(&x);
		counts[i] = trace.count;
		assert_int_equal(trace.end, UNWIND_COMPLETE);
		assert_int_equal(counts[i], counts[0]);
		assert_true(i == 0 || memcmp(trace.frames, known,
					     counts[0] * sizeof(*known)) == 0);
		memcpy(known, trace.frames, sizeof(known));
	}
	test_random_stacks(state);
	recovery = NULL;
	framed(&x);
	assert_int_equal(trace.end, UNWIND_UNCERTAIN);
	assert_int_equal(trace.count, 3);
	assert_memory_equal(trace.frames, known, 2 * sizeof(known[0]));
	assert_int_equal(trace.frames[2], FRAME_UNCERTAIN);
	method = UNWIND_FP;
	framed(&x);
	assert_int_equal(trace.end, UNWIND_UNCERTAIN);
	assert_int_equal(trace.count, 2);
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
		cmocka_unit_test(test_code_of_no_module),
		cmocka_unit_test(test_through_a_signal),
		cmocka_unit_test(test_coroutine_below_a_guard),
		cmocka_unit_test(test_registers_that_lead_nowhere),
		cmocka_unit_test(test_random_stacks),
		cmocka_unit_test(test_while_closing),
		cmocka_unit_test(test_frame_pointers_only),
		cmocka_unit_test(test_stack_used),
		/* Takes more stack: that of a dump. */
		cmocka_unit_test(test_unknown_frame_pointer),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("unwind", tests, setup, NULL);
}
