/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_test.c - which part of which stack may be read, and what the kernel is
 * asked for that: the questions are counted.
 *
 * LINK: span
 * LIBS: -lpthread
 */
#include "span.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys.h"

#define PAGE ((uintptr_t)4096)

extern char **environ;

static unsigned asked;

/* In place of sys.c's. */
bool
sys_readable(uintptr_t address)
{
	asked++;
	return address >= 8 &&
	       syscall(SYS_faccessat, -1, address, F_OK) == -1 &&
	       errno != EFAULT;
}

static uintptr_t
stack_pointer(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

/* The end of the mapping that the kernel calls [stack]. */
static uintptr_t
end_of_main_stack(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, found = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL)
		if (strstr(line, "[stack]") != NULL &&
		    sscanf(line, "%lx-%lx", &start, &end) == 2)
			found = end;
	(void)fclose(maps);
	return found;
}

static void
test_main_thread(void **state)
{
	struct span own = { 0, 0 };
	uintptr_t tp = arch_thread_pointer();
	char *heap = malloc(1);

	(void)state;
	asked = 0;
	assert_true(span_own(&own, stack_pointer(), tp));
	assert_true(span_holds(&own, (uintptr_t)environ[0]));
	assert_int_equal(own.high, end_of_main_stack());
	assert_true(own.high - own.low >= (64 << 10));
	assert_false(span_own(&own, own.high, tp));
	assert_false(span_own(&own, own.low - 1, tp));
	assert_false(span_own(&own, (uintptr_t)heap, tp));
	assert_int_equal(asked, 0);
	free(heap);
}

/* What a thread of its own finds, and glibc says. */
struct found {
	struct span own;
	uintptr_t sp;
	uintptr_t tp;
	uintptr_t start; /* of the memory that its stack was given */
	size_t size_bytes;
	size_t guard_bytes;
	unsigned asked;
	bool is_own;
	bool below_is_own;
	bool main_is_own;
	pthread_barrier_t *wait;
};

static uintptr_t main_sp;

static void *
in_thread(void *argument)
{
	struct found *found = argument;
	pthread_attr_t attributes;
	void *start;

	found->sp = stack_pointer();
	found->tp = arch_thread_pointer();
	asked = 0;
	found->is_own = span_own(&found->own, found->sp, found->tp);
	found->below_is_own =
		span_own(&found->own, found->own.low - 1, found->tp);
	found->main_is_own = span_own(&found->own, main_sp, found->tp);
	found->asked = asked;
	if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
	    pthread_attr_getstack(&attributes, &start, &found->size_bytes) ||
	    pthread_attr_getguardsize(&attributes, &found->guard_bytes))
		abort();
	found->start = (uintptr_t)start;
	pthread_attr_destroy(&attributes);
	if (found->wait != NULL) {
		pthread_barrier_wait(found->wait);
		pthread_barrier_wait(found->wait);
	}
	return NULL;
}

static void
check_thread(const struct found *found)
{
	assert_true(found->is_own);
	assert_false(found->below_is_own);
	assert_false(found->main_is_own);
	assert_int_equal(found->asked, 0);
	assert_int_equal(found->own.high, found->tp);
	assert_in_range(found->own.low, found->start,
			found->start + found->guard_bytes);
	/* Newer glibc says where the guard starts, older where it ends. */
	assert_true(found->own.low == found->start ||
		    found->own.low == found->start + found->guard_bytes);
}

static void
run_thread(const pthread_attr_t *attributes)
{
	struct found found = { .is_own = false };
	pthread_t thread;

	main_sp = stack_pointer();
	assert_int_equal(pthread_create(&thread, attributes, in_thread, &found),
			 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	check_thread(&found);
}

static void
test_threads(void **state)
{
	const size_t guards[] = { 0, PAGE, 3 * PAGE, 100 };
	const size_t size = (size_t)256 << 10;
	pthread_attr_t attributes;
	char *block = malloc(size + 64);

	(void)state;
	run_thread(NULL);
	for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++) {
		pthread_attr_init(&attributes);
		pthread_attr_setguardsize(&attributes, guards[i]);
		pthread_attr_setstacksize(&attributes, size);
		run_thread(&attributes);
	}
	/* The program's own memory, at no page's start. */
	pthread_attr_init(&attributes);
	assert_int_equal(pthread_attr_setstack(&attributes, block + 16, size),
			 0);
	run_thread(&attributes);
	free(block);
}

/* Of another thread the control block is asked for, twice, and once only. */
static void
test_another_thread(void **state)
{
	pthread_barrier_t wait;
	struct found found = { .wait = &wait };
	struct span own = { 0, 0 };
	pthread_t thread;

	(void)state;
	pthread_barrier_init(&wait, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, in_thread, &found), 0);
	pthread_barrier_wait(&wait);
	asked = 0;
	assert_true(span_own(&own, found.sp, found.tp));
	assert_false(span_own(&own, main_sp, found.tp));
	assert_true(span_own(&own, found.sp + 8, found.tp));
	assert_int_equal(asked, 2);
	assert_memory_equal(&own, &found.own, sizeof(own));
	pthread_barrier_wait(&wait);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Memory with what may be a control block in it. */
#define FAKE_BYTES ((size_t)128 << 10)
#define FAKE_AT ((size_t)100 << 10)

static struct span
look_at(const char *memory, uintptr_t address)
{
	struct span own = { 0, 0 };
	bool is_own = span_own(&own, address, (uintptr_t)memory + FAKE_AT);

	assert_int_equal(is_own, address - own.low < own.high - own.low);
	return own;
}

static void
test_control_blocks_that_are_none(void **state)
{
	char *memory = calloc(1, FAKE_BYTES);
	uintptr_t start = (uintptr_t)memory, sp = start + (50 << 10);
	uintptr_t *words = (uintptr_t *)(void *)(memory + FAKE_AT) + 0x690 / 8;
	const uintptr_t good[] = { start, FAKE_BYTES, PAGE, PAGE };
	const struct {
		unsigned word;
		uintptr_t value;
	} bad[] = {
		{ 0, 0 },	 { 0, start + FAKE_AT }, { 1, 8192 },
		{ 1, FAKE_AT },	 { 1, FAKE_BYTES * 2 },	 { 1, UINTPTR_MAX },
		{ 2, 100 },	 { 2, FAKE_AT + PAGE },	 { 2, UINTPTR_MAX },
		{ 3, 2 * PAGE },
	};
	struct span own;

	(void)state;
	assert_non_null(memory);
	own = look_at(memory, sp);
	assert_int_equal(own.low, own.high);
	memcpy(words, good, sizeof(good));
	own = look_at(memory, sp);
	assert_int_equal(own.low, start + PAGE);
	assert_int_equal(own.high, start + FAKE_AT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(words, good, sizeof(good));
		words[bad[i].word] = bad[i].value;
		own = look_at(memory, sp);
		assert_int_equal(own.low, own.high);
	}
	/* Two that could be it. */
	memcpy(words, good, sizeof(good));
	memcpy(words + 8, good, sizeof(good));
	own = look_at(memory, sp);
	assert_int_equal(own.low, own.high);
	free(memory);
}

/* A coroutine's stack of pages, with a page that cannot be read around it. */
static uintptr_t
foreign_stack(unsigned pages)
{
	char *base = mmap(NULL, (pages + 2) * PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(base, MAP_FAILED);
	assert_return_code(mprotect(base + PAGE, pages * PAGE,
				    PROT_READ | PROT_WRITE),
			   0);
	return (uintptr_t)base + PAGE;
}

static void
test_foreign_stack(void **state)
{
	struct span own = { 0, 0 }, walk;
	uintptr_t base = foreign_stack(600), sp = base + PAGE + 64;

	(void)state;
	asked = 0;
	assert_false(span_own(&own, sp, arch_thread_pointer()));
	span_of_pages(&walk, sp - 16, sp);
	assert_int_equal(walk.low, base + PAGE);
	assert_int_equal(walk.high, base + 2 * PAGE);
	assert_true(span_reach(&walk, sp));
	assert_int_equal(asked, 0);
	/* Over the edge: one question for the next page, which joins it. */
	assert_false(span_holds(&walk, base + 2 * PAGE - 4));
	assert_true(span_reach(&walk, base + 2 * PAGE - 4));
	assert_int_equal(asked, 1);
	assert_int_equal(walk.low, base + PAGE);
	assert_int_equal(walk.high, base + 3 * PAGE);
	assert_true(span_reach(&walk, base + 8));
	assert_int_equal(walk.low, base);
	assert_int_equal(asked, 2);
	/* Far off: what lies between is not asked for, nor believed. */
	assert_true(span_reach(&walk, base + 200 * PAGE));
	assert_int_equal(asked, 3);
	assert_int_equal(walk.low, base + 200 * PAGE);
	assert_int_equal(walk.high, base + 201 * PAGE);
	assert_false(span_reach(&walk, base + 590 * PAGE));
	assert_int_equal(asked, 3);
	munmap((void *)base, 600 * PAGE);
}

static void
test_end_of_foreign_stack(void **state)
{
	uintptr_t base = foreign_stack(2);
	struct span walk;

	(void)state;
	span_of_pages(&walk, base, base + PAGE + 1);
	assert_int_equal(walk.high, base + 2 * PAGE);
	/* Its last word, but not the one that hangs over into the guard. */
	assert_true(span_reach(&walk, base + 2 * PAGE - 8));
	assert_false(span_reach(&walk, base + 2 * PAGE - 4));
	assert_false(span_reach(&walk, base + 2 * PAGE));
	assert_false(span_reach(&walk, base - 8));
	assert_false(span_reach(&walk, base - 4));
	assert_false(span_reach(&walk, 0));
	assert_false(span_reach(&walk, UINTPTR_MAX - 3));
	assert_false(span_reach(&walk, UINTPTR_MAX - 8));
	/* The page that could be read is not forgotten for those. */
	assert_true(span_holds(&walk, base));
	munmap((void *)base, 2 * PAGE);
}

static void
test_room(void **state)
{
	uintptr_t base = foreign_stack(2);

	(void)state;
	asked = 0;
	assert_true(span_has_room(base + PAGE + 1000, 1000));
	assert_int_equal(asked, 0);
	assert_true(span_has_room(base + PAGE + 1000, 1001));
	assert_int_equal(asked, 1);
	assert_true(span_has_room(base + 1000, 1000));
	assert_false(span_has_room(base + 1000, 1001));
	assert_false(span_has_room(1000, 1000));
	munmap((void *)base, 2 * PAGE);
}

static void
test_unknown_thread(void **state)
{
	struct span own = { 0, 0 };

	(void)state;
	asked = 0;
	assert_false(span_own(&own, stack_pointer(), 0));
	assert_false(span_own(&own, 0, 0));
	assert_int_equal(asked, 0);
	/* Thread pointers that are none. */
	assert_false(span_own(&own, stack_pointer(), 8));
	assert_false(span_own(&own, stack_pointer(), 4097));
	assert_false(span_own(&own, stack_pointer(), UINTPTR_MAX - 7));
	assert_false(span_own(&own, 4096, UINTPTR_MAX - 7));
}

static int
setup(void **state)
{
	(void)state;
	span_init();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_thread),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_another_thread),
		cmocka_unit_test(test_control_blocks_that_are_none),
		cmocka_unit_test(test_foreign_stack),
		cmocka_unit_test(test_end_of_foreign_stack),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_unknown_thread),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("span", tests, setup, NULL);
}
