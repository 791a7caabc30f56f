/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usr2.c - uses SIGUSR2 for itself, in the way that its first argument names,
 * and sends it to itself ROUNDS times. Prints what came of it.
 *
 *	usr2 WAY ROUNDS
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static volatile sig_atomic_t handled, right_sender, nested;
static int rounds;

static void
on_signal(int signal)
{
	handled += signal == SIGUSR2;
}

static void
on_signal_info(int signal, siginfo_t *info, void *context)
{
	(void)context;
	handled += signal == SIGUSR2;
	right_sender += info->si_pid == getpid() && info->si_code == SI_USER;
}

/* Each round's allocation is one more that the agent may sample. */
static void
send_all(void)
{
	for (int i = 0; i < rounds; i++) {
		void *volatile p = malloc(100);

		kill(getpid(), SIGUSR2);
		free(p);
	}
}

static void
print_handled(const char *way)
{
	printf("%s: %d handled, %d from us\n", way, (int)handled,
	       (int)right_sender);
}

static void
block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(how, &set, NULL);
}

static int
is_pending(void)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, SIGUSR2);
}

static void
install(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(SIGUSR2, &action, NULL);
}

static void
ignore(void)
{
	signal(SIGUSR2, SIG_IGN);
	send_all();
	print_handled("ignored");
}

/* What the process was given: by its parent, or by a library. */
static void
inherited(void)
{
	struct sigaction action;

	sigaction(SIGUSR2, NULL, &action);
	printf("ignored %d, blocked %d\n", action.sa_handler == SIG_IGN,
	       sigprocmask(SIG_BLOCK, NULL, &action.sa_mask) == 0 &&
		       sigismember(&action.sa_mask, SIGUSR2));
	send_all();
	printf("pending %d\n", is_pending());
}

static void
wait_blocked(void)
{
	sigset_t set;
	int sum = 0, signal;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	block(SIG_BLOCK);
	for (int i = 0; i < rounds; i++) {
		free(malloc(10));
		kill(getpid(), SIGUSR2);
		sum += is_pending();
		signal = 0;
		sum += sigwait(&set, &signal) == 0 && signal == SIGUSR2;
		sum += is_pending();
	}
	printf("sigwait: %d\n", sum);
}

static void
wait_info(void)
{
	const struct timespec soon = { 5, 0 };
	siginfo_t info;
	sigset_t set;
	int sum = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	block(SIG_BLOCK);
	for (int i = 0; i < rounds; i++) {
		union sigval value = { .sival_int = i };

		sigqueue(getpid(), SIGUSR2, value);
		sum += sigtimedwait(&set, &info, &soon) == SIGUSR2 &&
		       info.si_value.sival_int == i;
	}
	printf("sigtimedwait: %d\n", sum);
}

static void
read_signalfd(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	int fd, sum = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	block(SIG_BLOCK);
	fd = signalfd(-1, &set, 0);
	for (int i = 0; i < rounds; i++) {
		kill(getpid(), SIGUSR2);
		sum += read(fd, &info, sizeof(info)) == sizeof(info) &&
		       info.ssi_signo == SIGUSR2 &&
		       info.ssi_pid == (unsigned)getpid();
	}
	printf("signalfd: %d\n", sum);
}

static void
suspend(void)
{
	sigset_t empty;
	int sum = 0;

	install(on_signal, 0);
	block(SIG_BLOCK);
	sigemptyset(&empty);
	for (int i = 0; i < rounds; i++) {
		kill(getpid(), SIGUSR2);
		errno = 0;
		sum += sigsuspend(&empty) == -1 && errno == EINTR;
	}
	printf("sigsuspend: %d\n", sum);
	print_handled("sigsuspend");
}

/* To one of two threads, the one that does not block it. */
static void *
receive(void *unused)
{
	(void)unused;
	block(SIG_BLOCK);
	for (int i = 0; i < rounds; i++)
		pthread_kill(pthread_self(), SIGUSR2);
	printf("thread: pending %d\n", is_pending());
	block(SIG_UNBLOCK);
	return NULL;
}

static void
direct_to_thread(void)
{
	pthread_t thread;

	install(on_signal, 0);
	pthread_create(&thread, NULL, receive, NULL);
	pthread_join(thread, NULL);
	print_handled("thread");
}

/* Its default is what it was before the agent: it ends us. */
static void
restore_default(void)
{
	install(on_signal, 0);
	send_all();
	print_handled("before");
	fflush(stdout);
	signal(SIGUSR2, SIG_DFL);
	send_all();
	puts("still there");
}

static void
once(void)
{
	for (int i = 0; i < rounds; i++) {
		struct sigaction now;

		install(on_signal, (int)SA_RESETHAND);
		kill(getpid(), SIGUSR2);
		sigaction(SIGUSR2, NULL, &now);
		nested += now.sa_handler == SIG_DFL;
	}
	print_handled("once");
	printf("reset %d\n", (int)nested);
}

static void
with_info(void)
{
	struct sigaction action = { .sa_sigaction = on_signal_info,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGUSR2, &action, NULL);
	send_all();
	print_handled("info");
}

static void
plain(void)
{
	install(on_signal, 0);
	send_all();
	print_handled("plain");
}

static struct sigaction old;

/* As polite hosts do: it calls the handler that was there before. */
static void
on_signal_chain(int signal, siginfo_t *info, void *context)
{
	handled += signal == SIGUSR2;
	if (old.sa_flags & SA_SIGINFO)
		old.sa_sigaction(signal, info, context);
	else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)
		old.sa_handler(signal);
}

static void
chain(void)
{
	struct sigaction action = { .sa_sigaction = on_signal_chain,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGUSR2, &action, &old);
	send_all();
	print_handled("chain");
}

static const struct {
	const char *name;
	void (*use)(void);
} ways[] = {
	{ "ignore", ignore },
	{ "inherited", inherited },
	{ "sigwait", wait_blocked },
	{ "sigtimedwait", wait_info },
	{ "signalfd", read_signalfd },
	{ "sigsuspend", suspend },
	{ "thread", direct_to_thread },
	{ "default", restore_default },
	{ "once", once },
	{ "info", with_info },
	{ "plain", plain },
	{ "chain", chain },
	/* Leaves it to a library, or to the agent. */
	{ "send", send_all },
};

int
main(int argc, char **argv)
{
	rounds = argc == 3 ? atoi(argv[2]) : 0;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (argc == 3 && strcmp(argv[1], ways[i].name) == 0) {
			ways[i].use();
			return 0;
		}
	}
	return 2;
}
