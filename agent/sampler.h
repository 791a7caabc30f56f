/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler.h - which allocations are sampled, and what a sample weighs.
 *
 * Sample points form a Poisson process over the allocated bytes with a mean
 * distance of RATE: the gaps between them are exponential. An allocation is
 * sampled if a point falls into it, which for S bytes has the probability
 * p = 1 - exp(-S / RATE), and then stands for 1/p allocations like it.
 * docs/sampling.md derives this and the variance.
 */
#ifndef HEAPAGENT_SAMPLER_H
#define HEAPAGENT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"
#include "thread.h"

/* The rate in force; 0 means no sampling. Written in [init] and after fork. */
extern HIDDEN uint64_t sampler_rate_bytes;

/*
 * Sets the rate and draws a new seed from the kernel. Threads notice, and
 * draw their next gap anew. [init]
 */
void sampler_init(uint64_t rate_bytes);

/*
 * Around fork(), in the thread that calls it: before it in the parent, and in
 * the child first of all, which then samples at points of its own, others than
 * any other child's. No system call: a sandbox may end the process for it.
 * [any]
 */
void sampler_before_fork(void);
void sampler_in_child(void);

/*
 * Sets the rate in a child that was noticed, however it was forked. Threads
 * notice, as at sampler_init(). [any]
 */
void sampler_fork_child(uint64_t rate_bytes);

/*
 * 1 / (1 - exp(-size / rate)) in units of 2^-SAMPLER_WEIGHT_BITS: 1 if the rate
 * is 0 or 1. A size of 0 counts as 1. Correct to two units, or to
 * 2^-50 of itself. [any]
 */
#define SAMPLER_WEIGHT_BITS 22
uint64_t sampler_weight(uint64_t size_bytes, uint64_t rate_bytes);

/*
 * A gap in whole bytes: floor of an exponential variable of mean rate_bytes
 * (to 2^-29 of that; 0 for a rate of 1), from the generator whose state is
 * *random. [any]
 */
uint64_t sampler_gap(uint64_t *random, uint64_t rate_bytes);

/*
 * The slow half of the countdown: called when size_bytes was more than what
 * was left, before the allocation is made. True if this allocation is sampled;
 * false if the thread was new (and its first gap turned out longer) or there is
 * no sampling. [hook]
 */
bool sampler_due(struct thread *thread, size_t size_bytes);

/* The bytes that an allocation counts for. */
static inline uint64_t
sampler_countable(size_t size_bytes)
{
	return size_bytes + (size_bytes == 0);
}

#endif
