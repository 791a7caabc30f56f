/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.c - a function's name as its source has it.
 *
 * libiberty knows all three forms and bounds its recursion. Older Rust names
 * are also valid C++ ones ("_ZN…17h<16 hex digits>E"): Rust's demangler is
 * asked first, and drops the hash unless told to be verbose.
 *
 * A name may refer to parts of itself, and so stand for one that is
 * exponentially longer; and of a conversion's template arguments ("cvT_I")
 * libiberty tries two readings, again in each of them. So the text, which
 * comes in pieces, and the time are bounded: the demangler is left by a jump,
 * from where it hands a piece over or from a signal's handler. The one for
 * C++ holds neither memory nor locks; the one for Rust, whose time is bounded
 * by its text, is never left from the handler.
 */
#include "demangle.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <libiberty/demangle.h>

#include "memory.h"

/* No compiler writes more. */
#define MANGLED_MAX_BYTES 16384
#define TICK_US 500000
/* Of half a second of processor time in demangling, for all names together:
 * five seconds. Then nothing is demangled any more. */
#define TICKS_MAX 10
#define STYLE (DMGL_PARAMS | DMGL_ANSI)

/* The handler and the jumps are of the one thread that the command has. */
static struct {
	char text[DEMANGLED_MAX_BYTES + 1];
	size_t count;
	sigjmp_buf out;
	volatile sig_atomic_t inside;	     /* a name is being demangled, */
	volatile sig_atomic_t interruptible; /* and may be left */
	volatile sig_atomic_t ticks;	     /* since the name was begun */
	volatile sig_atomic_t all_ticks;     /* of all names */
	pid_t pid; /* whose timer runs: no child inherits it */
} state;

static void
tick(int signal)
{
	(void)signal;
	if (!state.inside)
		return;
	state.all_ticks++;
	/* The first may come right after the name was begun. */
	if ((++state.ticks > 1 || state.all_ticks >= TICKS_MAX) &&
	    state.interruptible)
		siglongjmp(state.out, 1);
}

/* One tick each half second of processor time, all the while. */
static void
start_timer(void)
{
	const struct itimerval tick_us = { { 0, TICK_US }, { 0, TICK_US } };
	struct sigaction action = { .sa_handler = tick,
				    .sa_flags = SA_RESTART | SA_NODEFER };
	if (state.pid == getpid())
		return;
	state.pid = getpid();
	sigaction(SIGVTALRM, &action, NULL);
	setitimer(ITIMER_VIRTUAL, &tick_us, NULL);
}

static void
add_piece(const char *piece, size_t bytes, void *unused)
{
	(void)unused;
	if (bytes > DEMANGLED_MAX_BYTES - state.count)
		siglongjmp(state.out, 1);
	if (bytes)
		memcpy(state.text + state.count, piece, bytes);
	state.count += bytes;
}

/* Whether the name was one, and its text is there. */
static bool
write_text(const char *name)
{
	state.ticks = 0;
	state.count = 0;
	if (sigsetjmp(state.out, 0)) {
		state.interruptible = false;
		return false;
	}
	if (rust_demangle_callback(name, STYLE, add_piece, NULL))
		return true;
	state.count = 0;
	state.interruptible = true;
	bool done = cplus_demangle_v3_callback(name, STYLE, add_piece, NULL);
	state.interruptible = false;
	return done;
}

char *
demangle(const char *name)
{
	if (name[0] != '_' || strlen(name) > MANGLED_MAX_BYTES ||
	    state.all_ticks >= TICKS_MAX)
		return memory_string(name);
	start_timer();
	state.inside = true;
	bool done = write_text(name);
	state.inside = false;
	if (!done || !state.count)
		return memory_string(name);
	state.text[state.count] = '\0';
	return memory_string(state.text);
}
