/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patient.c - waits to be ended, after it did what its argument says:
 *
 *	take, ignore, block	the signal SIGUSR2
 *	default			reset SIGUSR2 to its default, to end it
 *	end			exit when SIGUSR2 comes
 *	end_signal		the same by signal(),
 *	end_sigset		by sigset(),
 *	end_sysv		by System V's signal()
 *	restore			take SIGUSR2, and put back what was there
 *	vfork			reset it in a child of vfork(), as libuv does
 *	overwrite		its environment, as setproctitle() does
 *
 * Prints "ready" when it waits.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
on_signal(int signal)
{
	(void)signal;
}

static void
on_signal_exit(int signal)
{
	(void)signal;
	_exit(0);
}

static void
handle(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(SIGUSR2, &action, NULL);
}

static void
restore(void)
{
	struct sigaction action = { .sa_handler = on_signal_exit }, before;

	sigaction(SIGUSR2, &action, &before);
	sigaction(SIGUSR2, &before, NULL);
}

/* Of System V: signal() as programs with _XOPEN_SOURCE call it, and one that
 * the header warns of. */
sighandler_t __sysv_signal(int number, sighandler_t handler);
sighandler_t old_sigset(int number, sighandler_t handler) __asm__("sigset");

static void
reset_in_child(void)
{
	if (vfork() == 0) {
		signal(SIGUSR2, SIG_DFL);
		_exit(0);
	}
}

static void
block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void
overwrite(void)
{
	for (char **entry = environ; *entry; entry++)
		memset(*entry, 'x', strlen(*entry));
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	void *volatile held = malloc(12345);

	if (strcmp(what, "take") == 0)
		handle(on_signal);
	if (strcmp(what, "ignore") == 0)
		handle(SIG_IGN);
	if (strcmp(what, "default") == 0)
		handle(SIG_DFL);
	if (strcmp(what, "end") == 0)
		handle(on_signal_exit);
	if (strcmp(what, "end_signal") == 0)
		signal(SIGUSR2, on_signal_exit);
	if (strcmp(what, "end_sigset") == 0)
		old_sigset(SIGUSR2, on_signal_exit);
	if (strcmp(what, "end_sysv") == 0)
		__sysv_signal(SIGUSR2, on_signal_exit);
	if (strcmp(what, "restore") == 0)
		restore();
	if (strcmp(what, "vfork") == 0)
		reset_in_child();
	if (strcmp(what, "block") == 0)
		block();
	if (strcmp(what, "overwrite") == 0)
		overwrite();
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
	free(held);
}
