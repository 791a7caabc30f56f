/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_compare.c - a library to preload: compares our walk with libunwind's.
 *
 * UNWIND_COMPARE_US microseconds of processor time after the start or the last
 * burst (if that is set), and from there at each of the next
 * UNWIND_COMPARE_BURST instructions, and at every instruction of a program that
 * sets its own trap flag, both walk the interrupted stack, UNWIND_COMPARE_WALKS
 * times at most. At exit the file that UNWIND_COMPARE_OUT names gets a summary
 * line and one line for each place where the two first differ. It also gets a
 * line that says in how many places of functions with a frame pointer its
 * distance from sp was told from the code alone (unwind_fp.h), and how often
 * that was wrong.
 *
 * LINK: unwind unwind_step unwind_fp unwind_row instruction row_cache cfi
 * LINK: cfi_program cfi_expression modules modules_name loader
 * LINK: loader_snapshot symbol elf_image executable span region
 * LINK: counters sys
 * CFLAGS: -shared -fPIC -O2 -fvisibility=hidden -ftls-model=initial-exec
 * CFLAGS: -Wl,-z,now
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "arch/x86_64.h"
#include "atomics.h"
#include "frame.h"
#include "modules.h"
#include "region.h"
#include "row.h"
#include "sys.h"
#include "unwind.h"
#include "unwind_fp.h"
#include "unwind_row.h"

#define FRAMES 256
#define PLACES 512
#define STRING_OF(x) #x
#define EXPANDED_STRING_OF(x) STRING_OF(x)

static struct {
	__typeof__(unw_init_local2) *init;
	__typeof__(unw_step) *step;
	__typeof__(unw_get_reg) *get;
	__typeof__(unw_is_signal_frame) *is_signal;
} lib;

/* Where the two first differ: their common last frame and the next of each. */
struct place {
	uint64_t common;
	uint64_t ours;
	uint64_t theirs;
	bool ours_complete;
	bool theirs_complete;
	unsigned long times;
};

static struct place places[PLACES];
static unsigned place_count;
static unsigned long walks, frames_compared, equal, truncated;
static unsigned long framed, told, told_wrong;
static int32_t distances[UNWIND_FP_CODE_MAX];
static struct unwind_scratch scratch;
static uint64_t ours[FRAMES], theirs[FRAMES];
static _Thread_local struct span own;
static _Thread_local unsigned burst;
static unsigned burst_max;
static unsigned interval_us;
static unsigned long walks_max;
static int busy;
static int process;

static const unsigned char sigreturn_code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00,
						0x00, 0x00, 0x0f, 0x05 };

static uint64_t
frame_of(uintptr_t address)
{
	unsigned number = modules_find(address);

	return frame_make(number,
			  number ? address - module_at(number)->bias : address);
}

static unsigned
their_walk(ucontext_t *context, bool *complete)
{
	unw_cursor_t cursor;
	unw_word_t ip;
	unsigned n = 0;
	int more = lib.init(&cursor, (unw_context_t *)context,
			    UNW_INIT_SIGNAL_FRAME);

	while (more >= 0 && n < FRAMES) {
		/* It says so of the frame that a signal interrupted. */
		bool exact = n == 0 || lib.is_signal(&cursor) > 0;

		if (lib.get(&cursor, UNW_REG_IP, &ip) < 0 || ip == 0)
			break;
		/* The trampoline was not called, either. */
		exact = exact || !sys_readable(ip) ||
			memcmp((const void *)ip, sigreturn_code,
			       sizeof(sigreturn_code)) == 0;
		theirs[n++] = frame_of(ip - !exact);
		more = lib.step(&cursor);
		if (more == 0)
			break;
	}
	*complete = more >= 0;
	return n;
}

static unsigned
our_walk(const ucontext_t *context, enum unwind_end *end)
{
	const greg_t *registers = context->uc_mcontext.gregs;
	struct unwind_request request = {
		.registers = { (uintptr_t)registers[REG_RIP],
			       (uintptr_t)registers[REG_RSP],
			       (uintptr_t)registers[REG_RBP], true, true, true,
			       (uintptr_t)registers[REG_RBX] },
		.method = UNWIND_CFI,
		.thread_pointer = arch_thread_pointer(),
		.own = &own,
		.scratch = &scratch,
		.frames = ours,
		.max = FRAMES,
	};
	unsigned count;

	*end = unwind_stack(&request, &count);
	return *end == UNWIND_TRUNCATED ? count - 1 : count;
}

static void
note(unsigned at, unsigned n, unsigned m, bool complete, bool their_complete)
{
	struct place place = { at ? ours[at - 1] : 0,	at < n ? ours[at] : 0,
			       at < m ? theirs[at] : 0, complete,
			       their_complete,		1 };

	for (unsigned i = 0; i < place_count; i++) {
		if (places[i].common == place.common &&
		    places[i].ours == place.ours &&
		    places[i].theirs == place.theirs) {
			places[i].times++;
			return;
		}
	}
	if (place_count < PLACES)
		places[place_count++] = place;
}

/* Where fp is known: is it what the code says? */
static void
check_distance(const ucontext_t *context)
{
	const greg_t *registers = context->uc_mcontext.gregs;
	uintptr_t ip = (uintptr_t)registers[REG_RIP], pc = ip;
	unsigned number = modules_find(ip);
	const struct module *module = module_at(number);
	struct unwind_fp_code code = {
		.section = unwind_section(module),
		.text_start = module->bias + module->text_start,
		.text_end = module->bias + module->text_end,
		.cfi_memory = &scratch,
		.distances = distances,
	};
	enum row_kind kind;
	int64_t distance;

	if (number == 0)
		return;
	kind = row_kind(unwind_row_of_module(module, ip, &pc, true, &scratch));
	if (kind != ROW_FP && kind != ROW_FP_LOAD)
		return;
	framed++;
	distance = unwind_fp_distance(&code, ip);
	told += distance >= 0;
	if (distance >= 0 &&
	    distance != registers[REG_RBP] - registers[REG_RSP])
		told_wrong++;
}

static void
compare(ucontext_t *context)
{
	enum unwind_end end;
	bool their_complete;
	unsigned n, m, at = 0;

	/* Acquire and release: one walk at a time uses the arrays. */
	if (walks >= walks_max || atomic_exchange_acq_rel(&busy, 1))
		return;
	check_distance(context);
	n = our_walk(context, &end);
	m = their_walk(context, &their_complete);
	walks++;
	truncated += end == UNWIND_TRUNCATED;
	while (at < n && at < m && ours[at] == theirs[at])
		at++;
	frames_compared += at;
	if (at == n && at == m && (end == UNWIND_TRUNCATED) == !their_complete)
		equal++;
	else if (at + 1 == n && at + 1 == m && ours[at] == theirs[at] + 1)
		equal++; /* A planted return address: it was not called. */
	else
		note(at, n, m, end != UNWIND_TRUNCATED, their_complete);
	atomic_store_release(&busy, 0);
}

/*
 * One tick. The next is asked for when its burst ends: a burst takes longer
 * than the interval, and with regular ticks all would be in the first
 * milliseconds.
 */
static void
ask_for_tick(unsigned us)
{
	struct itimerval timer = { .it_value.tv_usec = us };

	(void)setitimer(ITIMER_PROF, &timer, NULL);
}

/*
 * Steps on through a burst. It ends before a system call: that may block
 * SIGTRAP, and then the kernel kills the process at the next step. A burst that
 * ends between a PUSHF and its POPF, which sets the flag again, ends once more.
 */
static void
step_on(bool tick, greg_t *registers)
{
	static const unsigned char syscall_code[] = { 0x0f, 0x05 };
	const greg_t trap_flag = 0x100;
	bool in_burst = tick || burst > 0;

	if (tick)
		burst = walks < walks_max ? burst_max : 0;
	else if (burst > 0)
		burst--;
	if (memcmp((const void *)registers[REG_RIP], syscall_code,
		   sizeof(syscall_code)) == 0)
		burst = 0;
	if (burst > 0)
		registers[REG_EFL] |= trap_flag;
	else
		registers[REG_EFL] &= ~trap_flag;
	if (in_burst && burst == 0 && walks < walks_max)
		ask_for_tick(interval_us);
}

static void
handle(int signal, siginfo_t *info, void *data)
{
	ucontext_t *context = data;

	(void)info;
	compare(context);
	if (interval_us > 0)
		step_on(signal == SIGPROF, context->uc_mcontext.gregs);
}

static void
print_frame(FILE *out, uint64_t frame)
{
	const struct module *module = module_at(frame_module(frame));
	const char *path = "-", *name;
	Dl_info info = { 0 };
	void *address;

	if (frame_module(frame) == 0) {
		fprintf(out, " %#lx", (unsigned long)frame);
		return;
	}
	path = region_at(module->path);
	name = strrchr(path, '/');
	address = (void *)(module->bias + frame_offset(frame));
	(void)dladdr(address, &info);
	fprintf(out, " %s(%s+%#lx)", name ? name + 1 : path,
		info.dli_sname ? info.dli_sname : "",
		(unsigned long)frame_offset(frame));
}

static void
report(void)
{
	const char *path = getenv("UNWIND_COMPARE_OUT");
	FILE *out;

	ask_for_tick(0);
	if (path == NULL || process != getpid() || walks == 0)
		return;
	out = fopen(path, "a");
	if (out == NULL)
		return;
	fprintf(out, "walks %lu frames %lu equal %lu truncated %lu places %u\n",
		walks, frames_compared, equal, truncated, place_count);
	fprintf(out, "framed %lu told %lu wrong %lu\n", framed, told,
		told_wrong);
	for (unsigned i = 0; i < place_count; i++) {
		fprintf(out, "differ %lu %s %s after", places[i].times,
			places[i].ours_complete ? "complete" : "truncated",
			places[i].theirs_complete ? "complete" : "failed");
		print_frame(out, places[i].common);
		fprintf(out, " ours");
		print_frame(out, places[i].ours);
		fprintf(out, " theirs");
		print_frame(out, places[i].theirs);
		fputc('\n', out);
	}
	fclose(out);
}

static bool
look_up(void *handle, const char *name, void *function)
{
	void *symbol = dlsym(handle, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

#define LOOK_UP(handle, name, function) \
	look_up((handle), EXPANDED_STRING_OF(name), (function))

static bool
load(void)
{
	void *handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	return handle != NULL && LOOK_UP(handle, unw_init_local2, &lib.init) &&
	       LOOK_UP(handle, unw_step, &lib.step) &&
	       LOOK_UP(handle, unw_get_reg, &lib.get) &&
	       LOOK_UP(handle, unw_is_signal_frame, &lib.is_signal);
}

static unsigned
number_of(const char *name, unsigned otherwise)
{
	const char *value = getenv(name);

	return value ? (unsigned)atoi(value) : otherwise;
}

__attribute__((constructor)) static void
init(void)
{
	struct sigaction action = { .sa_sigaction = handle,
				    .sa_flags = SA_SIGINFO | SA_RESTART };

	if (region_init((size_t)16 << 20, 1) != 0 || modules_init() != 0 ||
	    unwind_init() != 0 || !load())
		abort();
	span_init();
	/* A step inside the handler, where SIGTRAP is blocked, would kill. */
	sigfillset(&action.sa_mask);
	process = getpid();
	burst_max = number_of("UNWIND_COMPARE_BURST", 0);
	walks_max = number_of("UNWIND_COMPARE_WALKS", 100000);
	(void)atexit(report);
	(void)sigaction(SIGTRAP, &action, NULL);
	interval_us = number_of("UNWIND_COMPARE_US", 0);
	if (interval_us == 0)
		return;
	(void)sigaction(SIGPROF, &action, NULL);
	ask_for_tick(interval_us);
}
