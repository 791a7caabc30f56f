/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfers.c - `transfers other|self|any SECONDS`: threads that write, read
 * and copy large blocks all the time, and one that connects to a listener that
 * does not answer, while dumps are asked for as fast as they come: by signals
 * to another thread, or to each of these in turn. "ok BLOCKS" if every call has
 * returned the whole of what it was asked for, in order, and every connect()
 * that it goes on; otherwise what differs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 300000
#define LARGE 4000000
#define DUMP_EVERY_US 2000

static atomic_bool over;
static atomic_long blocks;
static atomic_int differs;

/* One way to transfer a block, and the two ends of a stream. */
struct way {
	const char *name;
	long (*write)(int fd, const char *block);
	long (*read)(int fd, char *block);
	bool is_pipe;
	bool is_same; /* each block is: the file's pages are sent themselves */
	int ends[2];
	pthread_t writer, reader;
};

static void
say(const char *name, long r)
{
	if (differs++ < 10)
		printf("%s: %ld %s\n", name, r, r < 0 ? strerror(errno) : "");
}

static long
by_write(int fd, const char *block)
{
	return write(fd, block, BLOCK);
}

static long
by_send(int fd, const char *block)
{
	return send(fd, block, BLOCK, 0);
}

static long
by_sendfile(int fd, const char *block)
{
	static int file;
	off_t at = 0;

	if (file == 0) {
		file = memfd_create("transfers", 0);
		if (write(file, block, BLOCK) != BLOCK)
			abort();
	}
	return sendfile(fd, file, &at, BLOCK);
}

static long
in_parts(int fd, char *block)
{
	long at = 0, r = 1;

	while (at < BLOCK && r > 0) {
		r = read(fd, block + at, (size_t)(BLOCK - at));
		at += r > 0 ? r : 0;
	}
	return at;
}

static long
at_once(int fd, char *block)
{
	return recv(fd, block, BLOCK, MSG_WAITALL);
}

static struct way ways[] = {
	{ "write to a pipe", by_write, in_parts, .is_pipe = true },
	{ "send and recv", by_send, at_once, .is_pipe = false },
	{ "sendfile", by_sendfile, in_parts, .is_same = true },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* Block number n, which differs from its neighbours at each place. */
static void
fill(char *block, unsigned n)
{
	for (unsigned i = 0; i < BLOCK; i++)
		block[i] = (char)(n * 7 + i * 31 + i / 251);
}

static void *
write_blocks(void *argument)
{
	struct way *way = argument;
	char *block = malloc(BLOCK);

	for (unsigned n = 0; !over; n++) {
		long r;

		fill(block, way->is_same ? 0 : n);
		errno = 0;
		r = way->write(way->ends[1], block);
		if (r != BLOCK)
			say(way->name, r);
		else
			blocks++;
	}
	close(way->ends[1]);
	free(block);
	return NULL;
}

static void *
read_blocks(void *argument)
{
	struct way *way = argument;
	char *block = malloc(BLOCK), *expected = malloc(BLOCK);
	long r;

	for (unsigned n = 0; (r = way->read(way->ends[0], block)) != 0; n++) {
		fill(expected, way->is_same ? 0 : n);
		if (r != BLOCK || memcmp(block, expected, BLOCK) != 0) {
			say(way->name, r);
			exit(1);
		}
	}
	free(block);
	free(expected);
	return NULL;
}

static void
connect_once(const struct sockaddr_in *address)
{
	struct timeval timeout = { 0, 20000 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (const void *)address, sizeof(*address)) != -1 ||
	    errno != EINPROGRESS)
		say("connect", -1);
	close(fd);
}

static void *
connect_often(void *argument)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int first = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (void *)&address, size) != 0 ||
	    listen(listener, 0) != 0 ||
	    getsockname(listener, (void *)&address, &size) != 0 ||
	    connect(first, (void *)&address, size) != 0)
		abort();
	while (!over)
		connect_once(&address);
	return argument;
}

/* What does not block, but takes long. */
static void *
copy_often(void *argument)
{
	char *block = malloc(LARGE);
	int zero = open("/dev/zero", O_RDONLY);
	int from = memfd_create("from", 0), to = memfd_create("to", 0);
	long r;

	if (write(from, block, LARGE) != LARGE)
		abort();
	while (!over) {
		off_t at = 0;

		if ((r = read(zero, block, LARGE)) != LARGE)
			say("read of /dev/zero", r);
		if ((r = getrandom(block, BLOCK, 0)) != BLOCK)
			say("getrandom", r);
		lseek(to, 0, SEEK_SET);
		if ((r = sendfile(to, from, &at, LARGE)) != LARGE || at != r)
			say("sendfile to a file", r);
		at = 0;
		lseek(to, 0, SEEK_SET);
		if ((r = copy_file_range(from, &at, to, NULL, LARGE, 0)) !=
			    LARGE ||
		    at != r)
			say("copy_file_range", r);
	}
	free(block);
	return argument;
}

static void *
idle(void *argument)
{
	while (!over)
		usleep(1000);
	return argument;
}

/* A thread that takes no signal but the dump's. */
static pthread_t
start(void *(*body)(void *), void *argument, bool signalled)
{
	sigset_t set, before;
	pthread_t thread;

	sigfillset(&set);
	if (signalled)
		sigdelset(&set, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &set, &before);
	if (pthread_create(&thread, NULL, body, argument) != 0)
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return thread;
}

int
main(int argc, char **argv)
{
	bool any = argc > 1 && strcmp(argv[1], "any") == 0;
	bool self = any || (argc > 1 && strcmp(argv[1], "self") == 0);
	long turns = (argc > 2 ? atol(argv[2]) : 1) * 1000000 / DUMP_EVERY_US;
	pthread_t targets[2 * WAYS + 3];
	size_t count = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < WAYS; i++) {
		struct way *way = &ways[i];

		if ((way->is_pipe ? pipe(way->ends)
				  : socketpair(AF_UNIX, SOCK_STREAM, 0,
					       way->ends)) != 0)
			abort();
		way->writer = targets[count++] = start(write_blocks, way, self);
		way->reader = targets[count++] = start(read_blocks, way, self);
	}
	targets[count++] = start(connect_often, NULL, self);
	targets[count++] = start(copy_often, NULL, self);
	targets[count++] = start(idle, NULL, true);
	for (long i = 0; i < turns; i++) {
		usleep(DUMP_EVERY_US);
		if (any)
			kill(getpid(), SIGUSR2);
		else
			pthread_kill(
				targets[self ? (size_t)i % count : count - 1],
				SIGUSR2);
	}
	over = true;
	for (size_t i = 0; i < count; i++)
		pthread_join(targets[i], NULL);
	if (differs == 0)
		printf("ok %ld\n", blocks);
	return differs != 0;
}
