/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_descriptors.c - closes every descriptor from 3 on, makes sockets under
 * these numbers, and sends bytes through them while other threads allocate,
 * from machine code of their own too. Each byte must arrive, in its order.
 *
 *	own_descriptors ROUNDS
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS 20

static int pairs[PAIRS][2];
static atomic_bool done;

/* sub rsp, 0x78; movabs rax, TARGET; call rax; add rsp, 0x78; ret */
static unsigned char code[] = { 0x48, 0x83, 0xec, 0x78, 0x48, 0xb8, 0,
				0,    0,    0,	  0,	0,    0,    0,
				0xff, 0xd0, 0x48, 0x83, 0xc4, 0x78, 0xc3 };
#define TARGET_AT 6

static void *
churn(void *unused)
{
	void *(*target)(size_t) = malloc;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *(*function)(size_t);

	(void)unused;
	if (page == MAP_FAILED)
		abort();
	memcpy(code + TARGET_AT, &target, sizeof(target));
	memcpy(page, code, sizeof(code));
	memcpy(&function, &page, sizeof(page));
	while (!done)
		free(function(300));
	return NULL;
}

static int
count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = -3; /* . and .. and its own */

	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

int
main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1000, wrong = 0;
	pthread_t threads[2];

	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < PAIRS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, churn, NULL) != 0)
			return 1;
	for (int i = 0; i < rounds; i++) {
		int *pair = pairs[i % PAIRS];
		unsigned char out = (unsigned char)i, in = 0;

		wrong += write(pair[0], &out, 1) != 1;
		free(malloc(200));
		wrong += read(pair[1], &in, 1) != 1 || in != out;
	}
	done = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < PAIRS; i++) {
		char byte;

		wrong += recv(pairs[i][1], &byte, 1, MSG_DONTWAIT) != -1;
	}
	printf("%d rounds, %d wrong, first %d, %d descriptors\n", rounds, wrong,
	       pairs[0][0], count_descriptors());
}
