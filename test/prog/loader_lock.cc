/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_lock.cc - allocates while it holds the loader's lock, opens and closes
 * a library, and throws exceptions, each in two threads, all at once.
 *
 *	loader_lock LIBRARY ROUNDS
 *
 * Prints what was done: it is the same in every run.
 */
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static const char *library;
static long rounds;
static std::atomic<long> walks, opens, throws_caught;

static __attribute__((noinline)) int
allocate_under_lock(dl_phdr_info *, size_t, void *)
{
	void *volatile p = malloc(55);

	free(p);
	return 1; /* one module a walk */
}

static void
walk()
{
	for (long i = 0; i < rounds; i++) {
		dl_iterate_phdr(allocate_under_lock, nullptr);
		walks++;
	}
}

static void
open_and_close()
{
	for (long i = 0; i < rounds / 10; i++) {
		void *handle = dlopen(library, RTLD_NOW);
		void *(*take)(size_t);

		if (handle == nullptr)
			abort();
		*(void **)&take = dlsym(handle, "plain_take");
		free(take(33));
		dlclose(handle);
		opens++;
	}
}

static __attribute__((noinline)) void
thrower(long depth)
{
	std::vector<char> held(100 + depth);

	if (depth == 0)
		throw std::runtime_error("a message too long to be kept inside "
					 "of the string object itself");
	thrower(depth - 1);
	held[0] = 1;
}

static void
throw_and_catch()
{
	for (long i = 0; i < rounds / 4; i++) {
		try {
			thrower(i % 10);
		} catch (const std::runtime_error &error) {
			std::string text = error.what();

			throws_caught += text.size() > 50;
		}
	}
}

int
main(int argc, char **argv)
{
	std::vector<std::thread> threads;

	if (argc != 3)
		return 2;
	library = argv[1];
	rounds = atol(argv[2]);
	for (int i = 0; i < 2; i++) {
		threads.emplace_back(walk);
		threads.emplace_back(open_and_close);
		threads.emplace_back(throw_and_catch);
	}
	for (auto &thread : threads)
		thread.join();
	printf("%ld walks, %ld opens, %ld throws\n", walks.load(), opens.load(),
	       throws_caught.load());
}
