/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_limits.c - how much memory a program can have.
 *
 *	memory_limits have		prints how many MiB malloc gives
 *	memory_limits some		takes 25 MiB
 *	memory_limits data|as MIB	the same, after it limited itself
 *	memory_limits lock MIB [UID]	locks all its memory, within
 *					RLIMIT_MEMLOCK if it is not root;
 *					prints "ok" and the resident KiB
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void
limit(__rlimit_resource_t which, const char *mib)
{
	struct rlimit limit;

	limit.rlim_cur = strtoul(mib, NULL, 10) << 20;
	limit.rlim_max = limit.rlim_cur;
	if (setrlimit(which, &limit) != 0)
		exit(2);
}

static void
print_resident(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];

	while (file != NULL && fgets(line, sizeof(line), file))
		if (strncmp(line, "VmRSS:", 6) == 0)
			printf("ok %lu\n", strtoul(line + 6, NULL, 10));
}

static void
lock(const char *mib, const char *uid)
{
	limit(RLIMIT_MEMLOCK, mib);
	if (uid != NULL && setuid((uid_t)atoi(uid)) != 0)
		exit(2);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		printf("%s\n", strerror(errno));
	else
		print_resident();
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned mib = 0, most = strcmp(what, "some") == 0 ? 25 : 4096;
	void *p;

	if (strcmp(what, "lock") == 0) {
		lock(argv[2], argv[3]);
		return 0;
	}
	if (strcmp(what, "data") == 0)
		limit(RLIMIT_DATA, argv[2]);
	if (strcmp(what, "as") == 0)
		limit(RLIMIT_AS, argv[2]);
	while (mib < most && (p = malloc(1 << 20)) != NULL) {
		__asm__ volatile("" : : "r"(p) : "memory");
		mib++;
	}
	printf("%u\n", mib);
	return 0;
}
