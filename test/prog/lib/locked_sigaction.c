/* SPDX-License-Identifier: Apache-2.0 */
/* locked_sigaction.c - a sigaction() with a lock, as libjsig's. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

int
sigaction(int nr, const struct sigaction *action, struct sigaction *before)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int (*next)(int, const struct sigaction *, struct sigaction *);
	int result;

	if (next == NULL)
		next = (int (*)(int, const struct sigaction *,
				struct sigaction *))dlsym(RTLD_NEXT,
							  "sigaction");
	(void)pthread_mutex_lock(&lock);
	result = next(nr, action, before);
	(void)pthread_mutex_unlock(&lock);
	return result;
}
