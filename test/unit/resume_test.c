/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume_test.c - calls go on after a handler, whatever comes in between.
 *
 * The handler under test is that of SIGUSR1; SIGUSR2 is the host's.
 */
/* LINK: resume config log sys */
/* LIBS: -pthread */
#include "resume.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "interrupt.h"
#include "sys.h"

#define WAIT_MS 150
#define USED __attribute__((used))

extern const char arch_resume_begin[], arch_resume_jump[];

static atomic_int handled, inside, raise_again;
static uintptr_t lowest_sp;

static int64_t
now_ms(void)
{
	return (int64_t)(sys_clock_ns(CLOCK_MONOTONIC) / 1000000);
}

static void
spoil_vectors(void)
{
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n\t"
			 "pcmpeqd %%xmm7, %%xmm7\n\t"
			 "pcmpeqd %%xmm15, %%xmm15"
			 :
			 :
			 : "xmm0", "xmm7", "xmm15");
}

static void
on_ours(int nr, siginfo_t *info, void *argument)
{
	ucontext_t *context = argument;
	uintptr_t ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];

	(void)info;
	handled++;
	if (ip >= (uintptr_t)arch_resume_begin &&
	    ip <= (uintptr_t)arch_resume_jump)
		inside++;
	if (lowest_sp == 0 || (uintptr_t)&context < lowest_sp)
		lowest_sp = (uintptr_t)&context;
	resume_tidy(context);
	if (raise_again > 0) {
		/* It comes as soon as the signals are no longer blocked. */
		raise_again--;
		sys_call3(SYS_tgkill, getpid(), sys_gettid(), nr);
	}
	spoil_vectors();
	if (context->uc_mcontext.gregs[REG_RAX] == -EINTR)
		resume_call(context);
}

static int
prepare(void **state)
{
	(void)state;
	install_handlers(on_ours);
	handled = inside = raise_again = 0;
	lowest_sp = 0;
	return 0;
}

static void
assert_waited(int64_t start_ms)
{
	/* Whole milliseconds of two clock readings: one may be lost. */
	assert_true(now_ms() - start_ms >= WAIT_MS - 1);
}

static void
poll_ends_at_its_time(void **state)
{
	struct plan plan = { .count = 10 };
	int64_t start_ms = now_ms();

	(void)state;
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), 0);
	end(&plan);
	assert_waited(start_ms);
	assert_true(handled > 0);
}

static void
an_endless_poll_goes_on(void **state)
{
	struct plan plan = { .count = 5, .last = SIGUSR2 };

	(void)state;
	begin(&plan);
	assert_int_equal(poll(NULL, 0, -1), -1);
	assert_int_equal(errno, EINTR);
	end(&plan);
	assert_int_equal(host_handled, 1);
	assert_true(handled > 0);
}

static void
sleeps_end_at_their_time(void **state)
{
	const struct timespec ts = { 0, WAIT_MS * 1000000 };
	struct timespec rest = { 7, 7 };
	struct plan plan = { .count = 10 };
	int64_t start_ms = now_ms();

	(void)state;
	begin(&plan);
	assert_int_equal(nanosleep(&ts, NULL), 0);
	end(&plan);
	assert_waited(start_ms);
	start_ms = now_ms();
	begin(&plan);
	assert_int_equal(clock_nanosleep(CLOCK_REALTIME, 0, &ts, &rest), 0);
	end(&plan);
	assert_waited(start_ms);
	assert_true(handled > 1);
}

static void
a_futex_ends_at_its_time(void **state)
{
	const struct timespec ts = { 0, WAIT_MS * 1000000 };
	struct plan plan = { .count = 10 };
	int64_t start_ms = now_ms();
	uint32_t word = 0;

	(void)state;
	begin(&plan);
	/* 128: private; operation 0: wait */
	assert_int_equal(sys_call4(SYS_futex, &word, 128, 0, &ts), -ETIMEDOUT);
	end(&plan);
	assert_waited(start_ms);
	assert_true(handled > 0);
}

static void
the_hosts_own_signal_ends_the_call(void **state)
{
	struct plan plan = { .count = 10, .last = SIGUSR2 };
	int64_t start_ms = now_ms();

	(void)state;
	begin(&plan);
	assert_int_equal(poll(NULL, 0, 60000), -1);
	assert_int_equal(errno, EINTR);
	end(&plan);
	assert_int_equal(host_handled, 1);
	assert_true(now_ms() - start_ms < 30000);
}

/* One that waits to be unblocked is found at the end of the first's handler. */
static void
a_second_signal_in_the_end_of_the_first(void **state)
{
	struct plan plan = { .count = 1 };
	int64_t start_ms = now_ms();

	(void)state;
	raise_again = 50;
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), 0);
	end(&plan);
	assert_waited(start_ms);
	assert_int_equal(handled, 51);
	assert_int_equal(inside, 50);
}

static void
a_storm_leaves_the_stack_as_it_is(void **state)
{
	struct plan plan = { .count = 1000000, .is_storm = true };
	int64_t start_ms = now_ms();

	(void)state;
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), 0);
	assert_waited(start_ms);
	end(&plan);
	assert_true(handled > 10);
	/* A signal frame and our handler's are some 4 KiB, with AMX 12. */
	assert_true((uintptr_t)&plan - lowest_sp < 32768);
}

/* --- all registers, wherever the stack pointer is */

#define AREA_BYTES 16384 /* with AMX's tiles some 11 KiB */
#define STACK_BYTES 65536
#define POISON 0x5a
#define X87 (UINT64_C(1) << 0)
#define PKRU (UINT64_C(1) << 9)
#define TILE_CONFIGURATION (UINT64_C(1) << 17)
#define TILES (UINT64_C(1) << 18)

static _Alignas(64) unsigned char vectors_in[AREA_BYTES] USED;
static _Alignas(64) unsigned char vectors_out[AREA_BYTES] USED;
static uint64_t components USED, sp_of_poll USED, ms_of_poll USED;
static uint64_t general_out[15] USED, sp_before USED;
static const uint64_t general_expected[14] = {
	0x1111, 0x2222, 0x3333, 0x4444, 0x5555, 0x6666, 0x7777,
	0x8888, 0x9999, 0,	0,	0,	77,	78,
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
	"mov $0, %edi\n\t"
	"mov $0, %esi\n\t"
	"mov ms_of_poll(%rip), %rdx\n\t"
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
	"mov %rdi, general_out+9*8(%rip)\n\t"
	"mov %rsi, general_out+10*8(%rip)\n\t"
	"sub ms_of_poll(%rip), %rdx\n\t"
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
	components = (uint64_t)high << 32 | low;
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
poll_at(unsigned char *sp, long expected)
{
	struct plan plan = { .count = 3 };
	long result;

	sp_of_poll = (uintptr_t)sp;
	ms_of_poll = 60;
	begin(&plan);
	memset(vectors_out, POISON, sizeof(vectors_out));
	memset(vectors_out + 512, 0, 64);
	result = poll_with_all();
	__asm__ volatile("fninit");
	__builtin_ia32_ldmxcsr(0x1f80);
	end(&plan);
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
		poll_at(stack + STACK_BYTES - 256 + i, 0);
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
	poll_at(below + sizeof(below) - 8, 0);
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

static void
the_mask_is_the_hosts_again(void **state)
{
	struct plan plan = { .count = 3 };
	sigset_t mask, now;

	(void)state;
	sigemptyset(&mask);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), 0);
	end(&plan);
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, &mask, &now);
	sigaddset(&mask, SIGHUP);
	assert_memory_equal(&mask, &now, 8);
	assert_true(handled > 0);
}

/* The handlers run on it, and it is free while the thread waits. */
static void
an_alternate_stack_is_left(void **state)
{
	struct plan plan = { .count = 10 };
	stack_t stack = { .ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			  .ss_size = 65536 };
	const stack_t none = { .ss_flags = SS_DISABLE };
	int64_t start_ms = now_ms();
	stack_t now;

	(void)state;
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), 0);
	end(&plan);
	assert_waited(start_ms);
	assert_int_equal(sigaltstack(NULL, &now), 0);
	assert_int_equal(now.ss_flags & SS_ONSTACK, 0);
	assert_true(lowest_sp >= (uintptr_t)stack.ss_sp &&
		    lowest_sp < (uintptr_t)stack.ss_sp + stack.ss_size);
	assert_int_equal(sigaltstack(&none, NULL), 0);
	munmap(stack.ss_sp, stack.ss_size);
}

/* The kernel would not know it again without rt_sigreturn. */
static void
one_that_disarms_itself_is_not(void **state)
{
	static char memory[65536];
	struct plan plan = { .count = 1 };
	stack_t stack = { .ss_sp = memory,
			  .ss_size = sizeof(memory),
			  .ss_flags = (int)(1U << 31) };
	const stack_t none = { .ss_flags = SS_DISABLE };

	(void)state;
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	begin(&plan);
	assert_int_equal(poll(NULL, 0, WAIT_MS), -1);
	assert_int_equal(errno, EINTR);
	end(&plan);
	assert_int_equal(sigaltstack(&none, NULL), 0);
}

/* --- a signal before each instruction of the handler's end */

static int
traced_poll(void)
{
	int64_t start_ms = now_ms();

	return poll(NULL, 0, WAIT_MS) == 0 && now_ms() - start_ms >= WAIT_MS - 1
		       ? 0
		       : 1;
}

static void
a_signal_before_each_instruction(void **state)
{
	const struct range range = { (uintptr_t)arch_resume_begin,
				     (uintptr_t)arch_resume_jump };
	bool was_jump = false;
	int at;

	(void)state;
	for (at = 0; !was_jump; at++)
		assert_int_equal(interrupted_at(traced_poll, range, at,
						&was_jump),
				 0);
	assert_int_equal(at, 10);
}

/* As in a dump child: nothing was interrupted here before. */
static void
try_it(void)
{
	struct sigaction action = { .sa_sigaction = resume_try_handler,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGURG, &action, NULL);
	resume_try(SIGURG, 4096);
	signal(SIGURG, SIG_DFL);
	if (resume_refusal() != NULL)
		print_message("# refused: %s\n", resume_refusal());
}

#define TEST(name) cmocka_unit_test_setup(name, prepare)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(poll_ends_at_its_time),
		TEST(an_endless_poll_goes_on),
		TEST(sleeps_end_at_their_time),
		TEST(a_futex_ends_at_its_time),
		TEST(the_hosts_own_signal_ends_the_call),
		TEST(a_second_signal_in_the_end_of_the_first),
		TEST(a_storm_leaves_the_stack_as_it_is),
		TEST(all_registers_are_kept),
		TEST(other_protection_keys_are_left_to_the_kernel),
		TEST(nothing_is_written_below_a_stack),
		TEST(a_trial_says_that_it_works),
		TEST(the_mask_is_the_hosts_again),
		TEST(an_alternate_stack_is_left),
		TEST(one_that_disarms_itself_is_not),
		TEST(a_signal_before_each_instruction),
	};

	try_it();
	return CHECK_RUN(tests);
}
