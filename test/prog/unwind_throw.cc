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

static volatile long sink;

extern "C" {
void step_begin();
void step_end();
}

/* Set and clear the trap flag. In assembly, so that the CFI is right. */
__asm__(".text\n"
	".macro change_flags name, instruction, operand\n"
	".type \\name, @function\n"
	"\\name:\n"
	".cfi_startproc\n"
	"pushfq\n"
	".cfi_adjust_cfa_offset 8\n"
	"\\instruction $\\operand, (%rsp)\n"
	"popfq\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n"
	".size \\name, . - \\name\n"
	".endm\n"
	"change_flags step_begin, orq, 0x100\n"
	"change_flags step_end, andq, ~0x100\n");

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
