/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch/x86_64.h - what depends on the processor: the system call instruction,
 * the thread pointer and the registers a walk of the stack starts from.
 */
#ifndef HEAPAGENT_ARCH_X86_64_H
#define HEAPAGENT_ARCH_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(__x86_64__) || !defined(__LP64__)
#error "heapagent supports x86-64 only"
#endif

/* The kernel's calling convention; a negative errno on failure. [any] */
static inline long
arch_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* The thread pointer: the address of the thread's control block. [any] */
static inline uintptr_t
arch_thread_pointer(void)
{
	uintptr_t tp;

	/* The ABI's TCB starts with its own address (ELF TLS, variant II). */
	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

/*
 * The stack pointer of a function's caller before the call, from the address of
 * its frame record: here the record, which is the saved frame pointer and the
 * return address, is the last that was pushed. [any]
 */
static inline uintptr_t
arch_caller_sp(const uintptr_t *frame)
{
	return (uintptr_t)(frame + 2);
}

/*
 * Subtracts max(size, 1) from the countdown, in one instruction that a signal
 * cannot divide, and says whether that was more than was left (unsigned).
 * "cmp 1" borrows exactly for a size of 0, and "sbb" subtracts the borrow.
 * [any]
 */
static inline bool
arch_countdown(uint64_t *countdown, size_t size)
{
	bool borrowed;

	__asm__("cmp $1, %[size]\n\t"
		"sbb %[size], %[countdown]"
		: [countdown] "+m"(*countdown), "=@ccc"(borrowed)
		: [size] "r"(size));
	return borrowed;
}

/*
 * True if the counter of the address is not 0, in the filter that *filter
 * points to: one for each 64 bytes, by the address's bits under the mask that
 * stands in front of the counters. Relaxed loads; "and" and "cmp" from memory,
 * where the compiler makes a load and an operation of an atomic one. [any]
 */
#define ARCH_FILTER_GRANULE_BITS 6
#define ARCH_FILTER_MASK_BEFORE 8
static inline bool
arch_filter_is_set(uint8_t *const *filter, uintptr_t address)
{
	uint8_t *counters = __atomic_load_n(filter, __ATOMIC_RELAXED);
	uint32_t index = (uint32_t)address >> ARCH_FILTER_GRANULE_BITS;
	bool is_set;

	__asm__("and -%c[before](%[counters]), %[index]\n\t"
		"cmpb $0, (%[counters],%q[index])"
		: [index] "+r"(index), "=@ccnz"(is_set)
		:
		[counters] "r"(counters), [before] "i"(ARCH_FILTER_MASK_BEFORE),
		"m"(*(uint8_t(*)[])counters));
	return is_set;
}

static inline void
arch_relax(void)
{
	__builtin_ia32_pause();
}

#endif
