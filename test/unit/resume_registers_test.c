/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume_registers_test.c - all registers that the processor has come back when
 * a call goes on, at every alignment of the stack, and no memory of the program
 * is written.
 */
/* LINK: resume config log sys */
/* LIBS: -pthread */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "resuming.h"

#define USED __attribute__((used))

#define AREA_BYTES 16384 /* with AMX's tiles some 11 KiB */
#define STACK_BYTES 65536
#define POISON 0x5a
#define X87 (UINT64_C(1) << 0)
#define PKRU (UINT64_C(1) << 9)
#define TILE_CONFIGURATION (UINT64_C(1) << 17)
#define TILES (UINT64_C(1) << 18)

static _Alignas(64) unsigned char vectors_in[AREA_BYTES] USED;
static _Alignas(64) unsigned char vectors_out[AREA_BYTES] USED;
static uint64_t components USED, sp_of_poll USED;
static struct pollfd polled USED;
static int ends[2]; /* of a pipe that it is for */
static uint64_t general_out[15] USED, sp_before USED;
static const uint64_t general_expected[14] = {
	0x1111, 0x2222, 0x3333, 0x4444, 0x5555, 0x6666, 0x7777,
	0x8888, 0x9999, 0,	1,	0,	77,	78,
};

/*
 * Loads all registers, the stack pointer too, polls, and saves all of them. The
 * result of poll().
 */
long poll_with_all(void);
__asm__(".pushsection .text\n"
	"poll_with_all:\n\t"
	"push %rbx\n\t"
	"push %rbp\n\t"
	"push %r12\n\t"
	"push %r13\n\t"
	"push %r14\n\t"
	"push %r15\n\t"
	"mov %rsp, sp_before(%rip)\n\t"
	"mov components(%rip), %eax\n\t"
	"mov components+4(%rip), %edx\n\t"
	"xrstor64 vectors_in(%rip)\n\t"
	"mov sp_of_poll(%rip), %rsp\n\t"
	"movq $77, -16(%rsp)\n\t" /* the red zone */
	"movq $78, -128(%rsp)\n\t"
	"mov $0x1111, %ebx\n\t"
	"mov $0x2222, %ebp\n\t"
	"mov $0x3333, %r8d\n\t"
	"mov $0x4444, %r9d\n\t"
	"mov $0x5555, %r10d\n\t"
	"mov $0x6666, %r12d\n\t"
	"mov $0x7777, %r13d\n\t"
	"mov $0x8888, %r14d\n\t"
	"mov $0x9999, %r15d\n\t"
	"lea polled(%rip), %rdi\n\t"
	"mov $1, %esi\n\t"
	"mov $-1, %rdx\n\t"
	/* Overflow and sign, neither carry nor zero. */
	"mov $127, %al\n\t"
	"add $1, %al\n\t"
	"mov $7, %eax\n\t"
	"syscall\n\t"
	"mov %rax, %rcx\n\t"
	"lahf\n\t"
	"seto %al\n\t"
	"mov %rax, general_out+14*8(%rip)\n\t"
	"mov %rbx, general_out(%rip)\n\t"
	"mov %rbp, general_out+8(%rip)\n\t"
	"mov %r8, general_out+2*8(%rip)\n\t"
	"mov %r9, general_out+3*8(%rip)\n\t"
	"mov %r10, general_out+4*8(%rip)\n\t"
	"mov %r12, general_out+5*8(%rip)\n\t"
	"mov %r13, general_out+6*8(%rip)\n\t"
	"mov %r14, general_out+7*8(%rip)\n\t"
	"mov %r15, general_out+8*8(%rip)\n\t"
	"lea polled(%rip), %rax\n\t"
	"sub %rax, %rdi\n\t"
	"mov %rdi, general_out+9*8(%rip)\n\t"
	"mov %rsi, general_out+10*8(%rip)\n\t"
	"add $1, %rdx\n\t"
	"sub sp_of_poll(%rip), %rsp\n\t"
	"or %rsp, %rdx\n\t"
	"mov %rdx, general_out+11*8(%rip)\n\t"
	"mov sp_of_poll(%rip), %rsp\n\t"
	"mov -16(%rsp), %rdx\n\t"
	"mov %rdx, general_out+12*8(%rip)\n\t"
	"mov -128(%rsp), %rdx\n\t"
	"mov %rdx, general_out+13*8(%rip)\n\t"
	"mov sp_before(%rip), %rsp\n\t"
	"mov components(%rip), %eax\n\t"
	"mov components+4(%rip), %edx\n\t"
	"xsave64 vectors_out(%rip)\n\t"
	"mov %rcx, %rax\n\t"
	"pop %r15\n\t"
	"pop %r14\n\t"
	"pop %r13\n\t"
	"pop %r12\n\t"
	"pop %rbp\n\t"
	"pop %rbx\n\t"
	"ret\n\t"
	".popsection");

static uint32_t
component_at(unsigned component, uint32_t *size_bytes)
{
	uint32_t eax = 0xd, ebx, ecx = component, edx;

	__asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	*size_bytes = eax;
	return ebx;
}

/* Every component that there is, with each byte filled that may be. */
static void
fill_vectors(void)
{
	const uint64_t has_rules = X87 | PKRU | TILE_CONFIGURATION;
	const uint16_t x87_rounding_down = 0x077f;
	const uint32_t sse_rounding_down = 0x3f80;
	uint32_t low, high, size_bytes;

	/* arch_prctl(ARCH_REQ_XCOMP_PERM): AMX, if there is any. */
	(void)syscall(SYS_arch_prctl, 0x1023, 18);
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	/* Not MPX, which has been given up; half of its area is no register. */
	components = ((uint64_t)high << 32 | low) & ~UINT64_C(0x18);
	if (component_at(18, &size_bytes) == 0 ||
	    syscall(SYS_arch_prctl, 0x1023, 18) != 0)
		components &= ~(TILE_CONFIGURATION | TILES);
	memset(vectors_in, 0, sizeof(vectors_in));
	__asm__ volatile("xsave64 %0"
			 : "+m"(vectors_in)
			 : "a"((uint32_t)components),
			   "d"((uint32_t)(components >> 32)));
	memcpy(vectors_in + 512, &components, sizeof(components));
	memcpy(vectors_in, &x87_rounding_down, sizeof(x87_rounding_down));
	vectors_in[4] = 0xff; /* all eight registers of the x87 are in use */
	memcpy(vectors_in + 24, &sse_rounding_down, sizeof(sse_rounding_down));
	for (unsigned i = 0; i < 128; i++)
		vectors_in[32 + i] = i % 16 < 10 ? (unsigned char)(i + 3) : 0;
	for (unsigned i = 160; i < 416; i++)
		vectors_in[i] = (unsigned char)(i * 7 + 1);
	for (unsigned n = 2; n < 64; n++) {
		uint32_t at = component_at(n, &size_bytes);

		if ((components & ~has_rules & ~X87) >> n & 1)
			for (uint32_t i = at; i < at + size_bytes; i++)
				vectors_in[i] = (unsigned char)(i * 7 + n);
	}
	if ((components & TILES) != 0) {
		unsigned char *tiles = vectors_in + component_at(17, &low);

		memset(tiles, 0, 64);
		tiles[0] = 1; /* palette */
		for (unsigned i = 0; i < 8; i++) {
			tiles[16 + 2 * i] = 64; /* bytes a row */
			tiles[48 + i] = 16;	/* rows */
		}
	}
}

static void
assert_vectors_kept(void)
{
	uint64_t present;
	uint32_t size_bytes;

	memcpy(&present, vectors_out + 512, sizeof(present));
	assert_int_equal(present & components, components);
	/* Control and tags; of the last instruction processors tell or not. */
	assert_memory_equal(vectors_in, vectors_out, 2);
	assert_int_equal(vectors_out[4], 0xff);
	assert_memory_equal(vectors_in + 24, vectors_out + 24, 4);
	assert_memory_equal(vectors_in + 32, vectors_out + 32, 384);
	for (unsigned n = 2; n < 64; n++)
		if ((components >> n & 1) != 0) {
			uint32_t at = component_at(n, &size_bytes);

			assert_memory_equal(vectors_in + at, vectors_out + at,
					    size_bytes);
		}
}

static void
write_to_pipe(void)
{
	(void)!write(ends[1], "x", 1);
}

/* The protection keys of this thread; 0 if there are none. */
static uint32_t
exchange_keys(uint32_t keys)
{
	uint32_t before = 0, high;

	if ((components & PKRU) == 0)
		return 0;
	__asm__ volatile("rdpkru" : "=a"(before), "=d"(high) : "c"(0));
	__asm__ volatile("wrpkru" : : "a"(keys), "c"(0), "d"(0) : "memory");
	return before;
}

static void
poll_at(unsigned char *sp, long expected)
{
	struct plan plan = { .count = 3, .then = write_to_pipe };
	uint32_t keys = exchange_keys(0);
	long result;

	(void)exchange_keys(keys);
	assert_int_equal(pipe(ends), 0);
	polled = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	sp_of_poll = (uintptr_t)sp;
	begin(&plan);
	memset(vectors_out, 0, sizeof(vectors_out));
	result = poll_with_all();
	__asm__ volatile("fninit");
	__builtin_ia32_ldmxcsr(0x1f80);
	(void)exchange_keys(keys);
	end(&plan);
	close(ends[0]);
	close(ends[1]);
	assert_true(handled > 0);
	assert_int_equal(result, expected);
	assert_memory_equal(general_out, general_expected,
			    sizeof(general_expected));
	/* ah: sign and overflow, al: overflow */
	assert_int_equal(general_out[14] & 0xd5ff, 0x9001);
	assert_vectors_kept();
}

/* Where in the frame its parts lie depends on the stack pointer. */
static void
all_registers_are_kept(void **state)
{
	static _Alignas(64) unsigned char stack[STACK_BYTES];

	(void)state;
	fill_vectors();
	for (unsigned i = 0; i < 64; i += 8)
		poll_at(stack + STACK_BYTES - 256 + i, 1);
}

/* What the keys of the program forbid our handler could not read. */
static void
other_protection_keys_are_left_to_the_kernel(void **state)
{
	static _Alignas(64) unsigned char stack[STACK_BYTES];
	const uint32_t all_but_the_last = UINT32_C(3) << 30;
	uint32_t size_bytes, at = component_at(9, &size_bytes);

	(void)state;
	fill_vectors();
	if ((components & PKRU) == 0)
		skip(); /* a processor without protection keys */
	memcpy(vectors_in + at, &all_but_the_last, sizeof(all_but_the_last));
	poll_at(stack + STACK_BYTES - 256, -EINTR);
}

/*
 * A coroutine's stack in the heap, and an alternate one for handlers: what lies
 * below the first belongs to somebody else.
 */
static void
nothing_is_written_below_a_stack(void **state)
{
	static _Alignas(64) unsigned char below[4096], alternate[STACK_BYTES];
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	const stack_t none = { .ss_flags = SS_DISABLE };
	struct {
		uint64_t bytes[512];
	} clean;

	(void)state;
	fill_vectors();
	memset(below, POISON, sizeof(below));
	memset(&clean, POISON, sizeof(clean));
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	poll_at(below + sizeof(below) - 8, 1);
	assert_int_equal(sigaltstack(&none, NULL), 0);
	/* But the red zone, which is the test's. */
	assert_memory_equal(below, &clean, sizeof(below) - 8 - 128);
}

static void
a_trial_says_that_it_works(void **state)
{
	(void)state;
	assert_null(resume_refusal());
}

#define TEST(name) cmocka_unit_test_setup(name, prepare)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_registers_are_kept),
		TEST(other_protection_keys_are_left_to_the_kernel),
		TEST(nothing_is_written_below_a_stack),
		TEST(a_trial_says_that_it_works),
	};

	try_it();
	return CHECK_RUN(tests);
}
