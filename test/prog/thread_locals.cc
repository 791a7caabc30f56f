/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_locals.cc - threads whose thread_local objects allocate and free in
 * their destructors, and make more of them there; the main thread's own go at
 * exit, as do objects of the program that free what the threads have left.
 *
 *	thread_locals THREADS
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

static std::atomic<long> destroyed;

struct held_until_exit {
	std::vector<std::unique_ptr<char[]>> blocks;
	~held_until_exit()
	{
		auto more = std::make_unique<char[]>(blocks.size() + 1);

		printf("at exit: %zu blocks, %ld destroyed\n", blocks.size(),
		       destroyed.load());
	}
};
static held_until_exit held;

struct late {
	std::string text = std::string(200, 'l');
	~late()
	{
		destroyed += text.size() == 200;
	}
};

static void
touch_late()
{
	/* Made in the destructor of another. */
	thread_local late object;

	object.text[0] = 'm';
}

struct noisy {
	std::vector<int> numbers;
	~noisy() __attribute__((noinline))
	{
		std::vector<std::string> copies(10, std::string(150, 'c'));

		numbers.resize(5000);
		touch_late();
		destroyed += copies.size() == 10;
	}
};

static void
run()
{
	thread_local noisy object;

	object.numbers.push_back(1);
}

int
main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 8;

	for (long i = 0; i < count; i += 4) {
		std::thread threads[4];

		for (auto &thread : threads)
			thread = std::thread(run);
		for (auto &thread : threads)
			thread.join();
		held.blocks.push_back(std::make_unique<char[]>(1000));
	}
	run();
	std::atexit([] { free(malloc(10)); });
	printf("%ld destroyed\n", destroyed.load());
}
