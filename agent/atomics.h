/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomics.h - atomic operations with their memory order in their name.
 *
 * The only way the agent touches memory that two threads share. There is no
 * operation without a named order, so that no sequentially consistent one
 * slips in by default. Every use says in a comment which operation it pairs
 * with, or that it needs no pair.
 */
#ifndef HEAPAGENT_ATOMICS_H
#define HEAPAGENT_ATOMICS_H

#define atomic_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define atomic_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define atomic_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define atomic_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define atomic_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define atomic_sub_relaxed(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define atomic_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define atomic_exchange_acq_rel(p, v) \
	__atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)

/* Compare and swap: *expected is updated on failure; true on success. */
#define atomic_cas_relaxed(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_RELAXED, \
				    __ATOMIC_RELAXED)
#define atomic_cas_acquire(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQUIRE, \
				    __ATOMIC_RELAXED)
#define atomic_cas_release(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_RELEASE, \
				    __ATOMIC_RELAXED)
#define atomic_cas_acq_rel(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, \
				    __ATOMIC_ACQUIRE)

#define atomic_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define atomic_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#define atomic_fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/* Order against a signal handler of the same thread only; no instruction. */
#define signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
