/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - starts the agent and links its pieces together.
 *
 * Starting has two parts. The tables are made when the first hook is called,
 * which may be before any constructor, libc's own included: so they need
 * nothing but system calls and what the kernel put on the stack. What needs
 * a working libc (the signal handler, loading libunwind) waits for our
 * constructor.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "arch/x86_64_child.h"
#include "atomics.h"
#include "buffers.h"
#include "compiler.h"
#include "config.h"
#include "dump.h"
#include "fork.h"
#include "live.h"
#include "log.h"
#include "modules.h"
#include "outside.h"
#include "real.h"
#include "region.h"
#include "sampler.h"
#include "sandbox.h"
#include "signal_hooks.h"
#include "span.h"
#include "stacks.h"
#include "sys.h"
#include "threads.h"
#include "tracker.h"
#include "trigger.h"
#include "unseen.h"
#include "unwind.h"
#include "unwind_libunwind.h"

/*
 * Of glibc's dynamic loader, from before the first relocation: &argc. NULL in
 * another libc; weak, so that the library needs no file that only glibc has.
 */
extern void *__libc_stack_end __attribute__((weak));

/* Atomic; each step is taken once. */
static enum {
	STATE_NEW,
	STATE_STARTING,
	STATE_ACTIVE,
	STATE_INERT, /* raised privileges, no memory, a child left alone */
} state;

static bool
is_entry(const char *entry, size_t length, const char *own)
{
	size_t own_length = strlen(own);

	return length >= own_length &&
	       memcmp(entry + length - own_length, own, own_length) == 0 &&
	       (length == own_length || entry[length - own_length - 1] == '/');
}

static bool
is_own_entry(const char *entry, size_t length)
{
	return is_entry(entry, length, "libheapagent.so") ||
	       is_entry(entry, length, "libheapagent-cxx.so");
}

/* Closes up our own entry in a list separated by colons or spaces. */
static void
remove_own_entry(char *list)
{
	char *out = list;

	while (*list != '\0') {
		size_t length = strcspn(list, ": ");
		size_t with_end = length + (list[length] != '\0');

		if (!is_own_entry(list, length)) {
			memmove(out, list, with_end);
			out += with_end;
		}
		list += with_end;
	}
	*out = '\0';
}

/*
 * HEAPAGENT_CHILDREN=0: what this process executes starts without us. The
 * entry is removed in place, in the strings that the kernel gave us, since
 * setenv() allocates.
 */
static void
leave_children_alone(char *const *envp)
{
	static const char preload[] = "LD_PRELOAD=";

	for (; *envp != NULL; envp++)
		if (strncmp(*envp, preload, sizeof(preload) - 1) == 0)
			remove_own_entry(*envp + sizeof(preload) - 1);
}

static void
fork_child(void)
{
	if (!config.children)
		atomic_store_relaxed(&state, STATE_INERT);
	/* One of its locks may be held by a thread that is not here. */
	if (config.unwinder == UNWINDER_LIBUNWIND)
		config.unwinder = UNWINDER_CFI;
	modules_fork_child();
	tracker_fork_child();
	dump_fork_child();
	sampler_fork_child(config.children ? config.rate_bytes : 0);
	trigger_fork_child();
}

/*
 * The settings become a table of the region, for who reads it from outside.
 * Only what is used of the directory is copied.
 */
static int
publish_config(void)
{
	struct config *copy = region_table("config", sizeof(*copy), 1,
					   _Alignof(struct config));

	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, &config,
	       offsetof(struct config, directory) + strlen(config.directory));
	return 0;
}

static int
make_tables(void)
{
	int error = region_init(config.memory_bytes, config.rate_bytes);

	if (error == 0)
		error = publish_config();
	if (error == 0)
		error = unseen_init();
	if (error == 0)
		error = modules_init();
	if (error == 0)
		error = unwind_init();
	if (error == 0)
		error = buffers_init();
	if (error == 0)
		error = stacks_init();
	if (error == 0)
		error = live_init();
	if (error == 0)
		error = threads_waits_init();
	if (error == 0)
		error = outside_init();
	return error;
}

/* Written by start(), which one thread runs, before anybody reads it. */
static bool has_no_memory;

static void
answer_nothing(int signal)
{
	(void)signal;
}

/*
 * Where there was no memory for the tables there are no dumps, but who asks for
 * one does not know that, and the signal must not end the program.
 */
static void
ignore_requests(void)
{
	struct sigaction action = {
		.sa_handler = answer_nothing,
		.sa_flags = SA_RESTART | SA_ONSTACK,
	};
	struct sigaction before;

	if (config.signal != 0 &&
	    sigaction(config.signal, NULL, &before) == 0 &&
	    before.sa_handler == SIG_DFL)
		(void)sigaction(config.signal, &action, NULL);
}

static bool
start_tables(void)
{
	char **envp;
	int error;

	/*
	 * Not looked for behind envp: of a privileged process the loader has
	 * taken variables out of it, so the end of it has moved.
	 */
	if (getauxval(AT_SECURE) != 0)
		return false;
	if (&__libc_stack_end == NULL) {
		config_read(environ);
		log_info("no profiles: this program's libc is not glibc");
		return false;
	}
	envp = (char **)__libc_stack_end + *(long *)__libc_stack_end + 2;
	config_read(envp);
	if (!config.children)
		leave_children_alone(envp);
	/* (Valgrind knows what can be read, and takes the trial for an error.)
	 */
	if (!arch_under_valgrind() && !sys_readable_check())
		log_warn("this kernel does not say what memory can be read: "
			 "stacks will be short");
	span_init();
	error = make_tables();
	if (error == 0)
		error = dump_init();
	if (error != 0) {
		log_warn("no profiles: cannot make the tables: %s",
			 log_error_text(error));
		has_no_memory = true;
		return false;
	}
	fork_init(fork_child);
	return true;
}

/* The first part, on the first call of any hook. */
static void
start(void)
{
	__typeof__(state) expected = STATE_NEW;

	/* Acquire-release: one thread starts; others pass calls through. */
	if (!atomic_cas_acq_rel(&state, &expected, STATE_STARTING))
		return;
	if (!start_tables()) {
		atomic_store_release(&state, STATE_INERT);
		sampler_init(0);
		return;
	}
	/* Release: the tables before whoever finds the agent active. */
	atomic_store_release(&state, STATE_ACTIVE);
	sampler_init(config.rate_bytes);
}

/* Set at link time, so that no constructor can allocate before it is. */
void (*real_first_use)(void) = start;

static __attribute__((constructor)) void
construct(void)
{
	int saved = errno;

	real_resolve();
	signal_hooks_resolve();
	sandbox_init();
	if (atomic_load_acquire(&state) == STATE_ACTIVE) {
		if (config.unwinder == UNWINDER_LIBUNWIND &&
		    unwind_libunwind_load() != 0) {
			log_warn("HEAPAGENT_UNWINDER=libunwind: libunwind.so.8 "
				 "cannot be loaded; using cfi");
			config.unwinder = UNWINDER_CFI;
		}
		unseen_look();
		if (unseen_foreign())
			tracker_watch_nested();
		fork_watch(sampler_before_fork, sampler_in_child);
		(void)trigger_init();
		modules_meet_loaded();
		outside_has_begun();
	} else if (has_no_memory) {
		ignore_requests();
	}
	errno = saved;
}

static __attribute__((destructor)) void
destruct(void)
{
	if (atomic_load_acquire(&state) != STATE_ACTIVE)
		return;
	/* A process whose end takes its whole container with it ends after. */
	if (config.at_exit)
		trigger_dump_and_wait();
	else
		trigger_wait();
}
