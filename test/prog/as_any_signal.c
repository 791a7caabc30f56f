/* SPDX-License-Identifier: Apache-2.0 */
/*
 * as_any_signal.c - `as_any_signal CASE [handler]`: calls that SIGUSR2
 * interrupts, and the program's next steps. With `handler` it has one of its
 * own, which does nothing and restarts what the kernel restarts (SA_RESTART).
 * What is printed must not depend on whose it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The kernel's, in linux/errqueue.h, which old headers have not. */
struct extended_error {
	uint32_t error;
	uint8_t origin, type, code, pad;
	uint32_t info, data;
};

#define LARGE (8 << 20)

static char large[LARGE];
static int ends[2]; /* of a connection: ours, the peer's */
static pthread_t caller;
static bool over;

static void
handle(int nr)
{
	(void)nr;
}

static void
sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) != 0)
		;
}

/* Returns when the first thread has waited for some ms. */
static void
await_blocked(void)
{
	char path[64], text[256];
	const char *state;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	for (int seen = 0; seen < 5; seen++) {
		FILE *file = fopen(path, "r");

		if (file == NULL || fgets(text, sizeof(text), file) == NULL)
			abort();
		fclose(file);
		state = strrchr(text, ')') + 2;
		if (*state != 'S')
			seen = -1;
		sleep_ms(2);
	}
}

/* A signal while the caller waits, then what ends its wait for good. */
static void *
signal_and(void *argument)
{
	void (*then)(void) = (void (*)(void))argument;

	await_blocked();
	pthread_kill(caller, SIGUSR2);
	sleep_ms(100);
	await_blocked();
	if (then != NULL)
		then();
	return NULL;
}

static pthread_t
begin(void (*then)(void))
{
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, signal_and, (void *)then) != 0)
		abort();
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return thread;
}

static void
say(const char *call, long r)
{
	printf("%s: %s\n", call,
	       r < 0	? strerrorname_np(errno)
	       : r == 0 ? "0"
			: "some");
}

static void
make_connection(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&address, size) != 0 ||
	    listen(listener, 1) != 0 ||
	    getsockname(listener, (void *)&address, &size) != 0 ||
	    connect(ends[0], (void *)&address, size) != 0)
		abort();
	ends[1] = accept(listener, NULL, NULL);
	close(listener);
}

static void
reset(void)
{
	const struct linger now = { 1, 0 };

	setsockopt(ends[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(ends[1]);
}

/* A connection that ends so is none that is complete. */
static void
receive_until_reset(void)
{
	pthread_t thread;

	make_connection();
	if (send(ends[1], "0123456789", 10, 0) != 10)
		abort();
	thread = begin(reset);
	say("recv", recv(ends[0], large, 100, MSG_WAITALL));
	say("recv", recv(ends[0], large, 100, MSG_WAITALL));
	pthread_join(thread, NULL);
}

/* The first part is what there was room for; SIGPIPE comes with the error. */
static void
write_until_reset(void)
{
	pthread_t thread;

	make_connection();
	thread = begin(reset);
	say("write", write(ends[0], large, LARGE));
	say("write", write(ends[0], large, LARGE));
	pthread_join(thread, NULL);
}

static void
drain(void)
{
	while (recv(ends[1], large + LARGE / 2, LARGE / 2, 0) > 0)
		;
}

static void *
drain_all(void *argument)
{
	drain();
	return argument;
}

/* The kernel numbers the sends, by which buffers are released. */
static void
count_zero_copies(void)
{
	char control[128];
	struct msghdr message = { .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct extended_error error;
	const int on = 1;
	uint32_t last = 0;
	pthread_t thread, drainer;

	make_connection();
	setsockopt(ends[0], SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on));
	thread = begin(NULL);
	say("send", send(ends[0], large, LARGE, MSG_ZEROCOPY));
	pthread_create(&drainer, NULL, drain_all, NULL);
	pthread_join(thread, NULL);
	shutdown(ends[0], SHUT_WR);
	pthread_join(drainer, NULL);
	while (recvmsg(ends[0], &message, MSG_ERRQUEUE) >= 0) {
		memcpy(&error, CMSG_DATA(CMSG_FIRSTHDR(&message)),
		       sizeof(error));
		last = error.data;
		message.msg_controllen = sizeof(control);
	}
	printf("the last send of the kernel: %u\n", last);
}

static void *
send_signals(void *argument)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		pthread_kill(caller, SIGUSR2);
		sleep_ms(1);
	}
	return argument;
}

/* Who stops at the short count never meets SIGXFSZ. */
static void
stop_at_the_limit(void)
{
	const struct rlimit limit = { LARGE / 2, LARGE / 2 };
	char path[] = "/tmp/as_any_signal-XXXXXX";
	int file = mkstemp(path), shorts = 0;
	pthread_t thread;

	unlink(path);
	setrlimit(RLIMIT_FSIZE, &limit);
	pthread_create(&thread, NULL, send_signals, NULL);
	for (int i = 0; i < 100; i++) {
		shorts += write(file, large, LARGE) == LARGE / 2;
		(void)lseek(file, 0, SEEK_SET);
		(void)!ftruncate(file, 0);
	}
	over = true;
	pthread_join(thread, NULL);
	printf("short counts: %d\n", shorts);
}

/* As clang writes a stub: what follows the number looks like another. */
static long
own_epoll_pwait(int epoll, struct epoll_event *events, int count, long ms)
{
	long r;
	register long r10 __asm__("r10") = ms;

	__asm__ volatile("mov $281, %%eax\n\t"
			 "xor %%r8d, %%r8d\n\t"
			 "syscall"
			 : "=&a"(r)
			 : "D"(epoll), "S"(events), "d"(count), "r"(r10)
			 : "rcx", "r11", "r8", "memory");
	return r;
}

static long
own_send(int fd, const void *data, size_t size_bytes)
{
	long r;
	register long r10 __asm__("r10") = 0;

	__asm__ volatile("mov $44, %%eax\n\t"
			 "xor %%r9d, %%r9d\n\t"
			 "xor %%r8d, %%r8d\n\t"
			 "syscall"
			 : "=&a"(r)
			 : "D"(fd), "S"(data), "d"(size_bytes), "r"(r10)
			 : "rcx", "r11", "r8", "r9", "memory");
	return r;
}

static void
make_own_calls(void)
{
	const struct timeval timeout = { 2, 0 };
	struct epoll_event event;
	char data[64];
	pthread_t thread = begin(NULL);

	printf("epoll_pwait: %ld\n",
	       own_epoll_pwait(epoll_create1(0), &event, 1, 2000));
	pthread_join(thread, NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		abort();
	while (send(ends[0], large, 4096, MSG_DONTWAIT) > 0)
		;
	setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (send(ends[1], "not to be stolen", 16, 0) != 16)
		abort();
	memset(data, 'm', sizeof(data));
	thread = begin(NULL);
	printf("send: %ld\n", own_send(ends[0], data, sizeof(data)));
	pthread_join(thread, NULL);
	printf("%.16s %zd\n", data, recv(ends[0], data, sizeof(data), 0));
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*body)(void);
	} cases[] = {
		{ "recv", receive_until_reset },
		{ "write", write_until_reset },
		{ "zerocopy", count_zero_copies },
		{ "limit", stop_at_the_limit },
		{ "own", make_own_calls },
	};
	struct sigaction action = { .sa_handler = handle,
				    .sa_flags = SA_RESTART };

	caller = pthread_self();
	if (argc > 2)
		sigaction(SIGUSR2, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].body();
	return 0;
}
