/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_throw.cc - exceptions, thrown and caught one instruction at a time
 * under unwind_compare.
 *
 * CFLAGS: -O2 -fomit-frame-pointer -Wl,-z,lazy
 */
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#include "step.h"

static volatile long sink;

struct guard {
	long value;
	~guard()
	{
		sink = sink + value;
	}
};

__attribute__((noinline)) static long
deep(int depth)
{
	guard g{ depth };

	if (depth == 0)
		throw std::runtime_error("the bottom of it, and a long text");
	return deep(depth - 1) + g.value;
}

__attribute__((noinline)) static long
rethrow(int depth)
{
	std::map<int, std::string> names;

	names[depth] = std::string(40, 'x');
	try {
		return deep(depth);
	} catch (const std::exception &e) {
		sink = sink + static_cast<long>(names.size());
		throw;
	}
}

__attribute__((noinline)) static void
all_stepped()
{
	step_begin();
	for (int i = 0; i < 2; i++) {
		try {
			sink = sink + rethrow(3);
		} catch (const std::runtime_error &e) {
			sink = sink + e.what()[0];
		}
	}
	step_end();
}

int
main()
{
	all_stepped();
	std::printf("sink %ld\n", sink);
	return 0;
}
