/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - asks a server and checks each answer, while the server is asked
 * for dumps in every second window of time:
 *
 *	client http|redis PORT WINDOWS SECONDS SIGNAL PID...
 *
 * Each of 16 connections makes a request every 10 ms, on a schedule that the
 * answers do not shift: the time of an answer counts from when the request was
 * due. `http` asks for /echo/N, whose body has to be N; `redis` sets a key to N
 * and gets it back. In the windows with even numbers each PID gets the signal
 * once a second. Prints the requests, how many got no answer or a wrong one,
 * the signals sent, and for some percentiles in microseconds: the median of the
 * windows without and with dumps, each with its lower and upper quartile, and
 * the median of the differences of neighbouring windows with its 95 % interval.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "measure.h"

#define CONNECTIONS 16
#define INTERVAL_NS INT64_C(10000000)
#define ANSWER_TIMEOUT_S 10
#define WINDOWS_MAX 1000
/* Before the first window: a JVM compiles meanwhile. */
#define WARM_NS INT64_C(10000000000)
#define ANSWER_MAX 4096

static struct {
	bool redis;
	int port;
	int windows;
	int64_t window_ns;
	int64_t begin_ns;
} run;

static struct connection {
	int fd;
	unsigned number;
	unsigned long requests;
	unsigned long wrong;
	double *times_us; /* of all windows, window by window */
	int *counts;	  /* of each window */
	int per_window;
} connections[CONNECTIONS];

static void
die(const char *what)
{
	perror(what);
	exit(2);
}

static bool
connect_to_server(struct connection *connection)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)run.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct timeval timeout = { .tv_sec = ANSWER_TIMEOUT_S };
	int one = 1;

	connection->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connection->fd < 0)
		die("client: socket");
	setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(connection->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout,
		   sizeof(timeout));
	return connect(connection->fd, (const struct sockaddr *)&address,
		       sizeof(address)) == 0;
}

/* Reads on until the text has `needed` after its first `from` bytes. */
static char *
read_until(int fd, char *text, size_t *used, size_t from, const char *needed)
{
	for (;;) {
		char *found = strstr(text + from, needed);
		ssize_t r;

		if (found != NULL)
			return found;
		if (*used == ANSWER_MAX - 1)
			return NULL;
		r = read(fd, text + *used, ANSWER_MAX - 1 - *used);
		if (r <= 0)
			return NULL;
		*used += (size_t)r;
		text[*used] = '\0';
	}
}

static bool
send_all(int fd, const char *text)
{
	size_t length = strlen(text);

	return send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static bool
ask_http(int fd, unsigned long number)
{
	char text[ANSWER_MAX] = "", body[32];
	size_t used = 0;
	char *end;

	snprintf(text, sizeof(text),
		 "GET /echo/%lu HTTP/1.1\r\nHost: localhost\r\n\r\n", number);
	if (!send_all(fd, text))
		return false;
	text[0] = '\0';
	end = read_until(fd, text, &used, 0, "\r\n\r\n");
	if (end == NULL || strncmp(text, "HTTP/1.1 200 ", 13) != 0)
		return false;
	end += 4;
	if (read_until(fd, text, &used, (size_t)(end - text), "\n") == NULL)
		return false;
	snprintf(body, sizeof(body), "%lu\n", number);
	return strcmp(end, body) == 0;
}

static bool
ask_redis(int fd, unsigned long number)
{
	char text[ANSWER_MAX] = "", expected[64], value[24];
	size_t used = 0;

	snprintf(value, sizeof(value), "%lu", number);
	snprintf(text, sizeof(text), "SET k%lu %s\r\nGET k%lu\r\n",
		 number % 50000, value, number % 50000);
	if (!send_all(fd, text))
		return false;
	text[0] = '\0';
	snprintf(expected, sizeof(expected), "+OK\r\n$%zu\r\n%s\r\n",
		 strlen(value), value);
	while (used < strlen(expected)) {
		ssize_t r = read(fd, text + used, ANSWER_MAX - 1 - used);

		if (r <= 0)
			return false;
		used += (size_t)r;
		text[used] = '\0';
	}
	return strcmp(text, expected) == 0;
}

static void
sleep_until(int64_t time_ns)
{
	const struct timespec until = { time_ns / 1000000000,
					time_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) !=
	       0)
		;
}

static void
request(struct connection *connection, int64_t due_ns, int window)
{
	unsigned long number =
		connection->number + CONNECTIONS * connection->requests++;
	bool right = run.redis ? ask_redis(connection->fd, number)
			       : ask_http(connection->fd, number);

	if (!right) {
		fprintf(stderr, "client: no right answer to %lu\n", number);
		connection->wrong++;
		close(connection->fd);
		if (!connect_to_server(connection))
			die("client: connect");
	}
	if (due_ns < run.begin_ns)
		return;
	connection->times_us[window * connection->per_window +
			     connection->counts[window]++] =
		(double)(now_ns() - due_ns) / 1e3;
}

static void *
ask_all_the_time(void *argument)
{
	struct connection *connection = argument;
	int64_t due_ns = run.begin_ns - WARM_NS +
			 INTERVAL_NS / CONNECTIONS * connection->number;

	for (;; due_ns += INTERVAL_NS) {
		int window = (int)((due_ns - run.begin_ns) / run.window_ns);

		if (window >= run.windows)
			return NULL;
		sleep_until(due_ns);
		request(connection, due_ns, window);
	}
}

/* Once a second in the even windows; how many signals were sent. */
static unsigned long
ask_for_dumps(int signal, char **pids)
{
	const int64_t second_ns = 1000000000;
	unsigned long sent = 0;

	for (int64_t at_ns = second_ns / 2; at_ns < run.windows * run.window_ns;
	     at_ns += second_ns) {
		sleep_until(run.begin_ns + at_ns);
		if (at_ns / run.window_ns % 2 != 0)
			continue;
		for (char **pid = pids; *pid != NULL; pid++, sent++)
			if (kill(atoi(*pid), signal) != 0)
				die("client: kill");
	}
	return sent;
}

/* That percentile of each window's answers. */
static void
percentiles(double part, double *of_window)
{
	double *all = calloc((size_t)CONNECTIONS * connections[0].per_window,
			     sizeof(*all));

	for (int window = 0; window < run.windows; window++) {
		int count = 0;

		for (int i = 0; i < CONNECTIONS; i++) {
			const struct connection *c = &connections[i];

			memcpy(all + count,
			       c->times_us + window * c->per_window,
			       (size_t)c->counts[window] * sizeof(*all));
			count += c->counts[window];
		}
		of_window[window] = quantile(all, count, part);
	}
	free(all);
}

/* The ranks of the median's 95 % interval: a binomial's, as normal. */
static void
print_percentile(double part)
{
	static double of_window[WINDOWS_MAX], with[WINDOWS_MAX],
		without[WINDOWS_MAX], differences[WINDOWS_MAX];
	int pairs = run.windows / 2;
	int low = (int)((pairs - 1) / 2.0 - 0.98 * sqrt(pairs));
	double middle;

	percentiles(part, of_window);
	for (int i = 0; i < pairs; i++) {
		with[i] = of_window[2 * i];
		without[i] = of_window[2 * i + 1];
		differences[i] = with[i] - without[i];
	}
	low = low < 0 ? 0 : low;
	printf("%g %.0f %.0f %.0f", part * 100, median(without, pairs),
	       quantile(without, pairs, 0.25), quantile(without, pairs, 0.75));
	printf(" %.0f %.0f %.0f", median(with, pairs),
	       quantile(with, pairs, 0.25), quantile(with, pairs, 0.75));
	middle = median(differences, pairs);
	printf(" %.0f %.0f %.0f\n", middle, differences[low],
	       differences[pairs - 1 - low]);
}

static void
start(pthread_t *threads)
{
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &connections[i];

		c->number = i;
		c->per_window = (int)(run.window_ns / INTERVAL_NS) + 1;
		c->times_us = calloc((size_t)run.windows * c->per_window,
				     sizeof(*c->times_us));
		c->counts = calloc((size_t)run.windows, sizeof(*c->counts));
		if (c->times_us == NULL || c->counts == NULL)
			die("client");
		if (!connect_to_server(c))
			die("client: connect");
	}
	run.begin_ns = now_ns() + WARM_NS;
	for (int i = 0; i < CONNECTIONS; i++)
		if (pthread_create(&threads[i], NULL, ask_all_the_time,
				   &connections[i]) != 0)
			die("client: pthread_create");
}

int
main(int argc, char **argv)
{
	static const double parts[] = { 0.5, 0.9, 0.99, 0.999, 1 };
	unsigned long requests = 0, wrong = 0, sent;
	pthread_t threads[CONNECTIONS];

	if (argc < 7 || atoi(argv[3]) < 2 || atoi(argv[3]) > WINDOWS_MAX) {
		fprintf(stderr, "usage: client http|redis PORT WINDOWS SECONDS "
				"SIGNAL PID...\n");
		return 2;
	}
	run.redis = strcmp(argv[1], "redis") == 0;
	run.port = atoi(argv[2]);
	run.windows = atoi(argv[3]) & ~1;
	run.window_ns = (int64_t)atoi(argv[4]) * 1000000000;
	start(threads);
	sent = ask_for_dumps(atoi(argv[5]), argv + 6);
	for (int i = 0; i < CONNECTIONS; i++) {
		pthread_join(threads[i], NULL);
		requests += connections[i].requests;
		wrong += connections[i].wrong;
	}
	printf("%lu %lu %lu\n", requests, wrong, sent);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		print_percentile(parts[i]);
	return wrong == 0 ? 0 : 1;
}
