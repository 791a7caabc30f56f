/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate.h - how far a sampled value may be from the truth.
 *
 * Sampling is a Poisson process over bytes with mean gap R (the profile's
 * period): a block of S bytes is taken with p = 1 - exp(-S/R) and counts 1/p
 * blocks. The estimate of a number of blocks is then unbiased, and (1-p)/p² for
 * each block taken is an unbiased estimate of its variance; derived in
 * docs/sampling.md.
 */
#ifndef HEAPAGENT_ESTIMATE_H
#define HEAPAGENT_ESTIMATE_H

#include "profile.h"

/*
 * The variance of an estimate of that many blocks of that size, at that mean
 * gap; 0 at a gap of 1 byte, where every block is taken.
 */
double estimate_block_variance(double blocks, double block_bytes,
			       double rate_bytes);

/*
 * The variance of one of a sample's values, from the profile's period and the
 * sample's label "bytes" (else the quotient of its own values). 0 where
 * nothing was estimated: threads, or a profile that is not one of space.
 */
double estimate_sample_variance(const struct profile *profile,
				const struct pb_sample *sample, int type);

/* Whether values of that type are estimates at all. */
bool estimate_is_one(const struct profile *profile, int type);

#endif
