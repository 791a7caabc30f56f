/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler.c - exponential gaps and weights without libm; see sampler.h.
 *
 * The generator is splitmix64 (Steele, Lea and Flood, OOPSLA 2014): one word of
 * state, period 2^64. A thread's state starts at the process's seed plus a
 * multiple of an odd constant, so no two threads start at the same point.
 */
#include "sampler.h"

#include <string.h>

#include "atomics.h"
#include "compiler.h"
#include "sys.h"

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)

uint64_t sampler_rate_bytes;

/* Immutable after sampler_init(). */
static uint64_t seed;
/*
 * Atomic; how often sampler_init() ran, so that threads which were set up
 * under an earlier rate or seed notice. 0 before the first.
 */
static uint32_t epoch;
/* Atomic; how many threads have drawn a start from the seed. */
static CACHE_ALIGNED uint64_t threads_seeded;

static uint64_t
mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void
sampler_init(uint64_t rate_bytes)
{
	sys_random(&seed, sizeof(seed));
	sampler_rate_bytes = rate_bytes;
	/* Release: a thread that sees the new epoch sees rate and seed. */
	atomic_store_release(&epoch, epoch + 1);
}

void
sampler_fork_child(uint64_t rate_bytes, uint64_t pid)
{
	seed = mix(seed + pid * GOLDEN_GAMMA);
	sampler_rate_bytes = rate_bytes;
	/* Release: as above. */
	atomic_store_release(&epoch, epoch + 1);
}

/*
 * Natural logarithm of a number in (0, 1]. With x = m * 2^e and m within
 * sqrt(1/2) and sqrt(2), ln m = 2 artanh(s), s = (m - 1) / (m + 1), whose
 * series has s^2 < 0.0295; the first term left out is below 1e-14.
 */
static double
natural_log(double x)
{
	const double ln2 = 0.693147180559945309;
	const double sqrt_half = 0.707106781186547524;
	double s, s2, sum = 0;
	uint64_t bits;
	int exponent;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1022;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1022) << 52;
	memcpy(&x, &bits, sizeof(x)); /* now in [1/2, 1) */
	if (x < sqrt_half) {
		x *= 2;
		exponent--;
	}
	s = (x - 1) / (x + 1);
	s2 = s * s;
	for (int k = 15; k >= 1; k -= 2)
		sum = sum * s2 + 1.0 / k;
	return 2 * s * sum + exponent * ln2;
}

double
sampler_weight(uint64_t size_bytes, uint64_t rate_bytes)
{
	double x, term, p = 0;
	int doublings = 0;

	if (rate_bytes <= 1)
		return 1;
	x = (double)sampler_countable(size_bytes) / (double)rate_bytes;
	if (x > 40) /* 1 - exp(-40) is 1 in double precision */
		return 1;
	while (x > 0.125) {
		x /= 2;
		doublings++;
	}
	/* p = 1 - exp(-x) by its series; at 1/8 the tenth term is 2.6e-16. */
	term = x;
	for (int k = 2; k <= 11; k++) {
		p += term;
		term *= -x / k;
	}
	/* 1 - exp(-2x) = p (2 - p). */
	while (doublings-- > 0)
		p *= 2 - p;
	return 1 / p;
}

uint64_t
sampler_gap(uint64_t *random, uint64_t rate_bytes)
{
	double uniform; /* in (0, 1], so that its logarithm is finite */

	if (rate_bytes <= 1)
		return 0;
	*random += GOLDEN_GAMMA;
	uniform = (double)((mix(*random) >> 11) + 1) * 0x1p-53;
	return (uint64_t)(-natural_log(uniform) * (double)rate_bytes);
}

/* A new thread, or one from before the last sampler_init(). */
static COLD void
seed_thread(struct thread *thread, uint32_t current)
{
	uint64_t index = atomic_add_relaxed(&threads_seeded, 1);

	/* Twice mixed, so that threads' states are no multiples apart. */
	thread->random = mix(seed + mix(index * GOLDEN_GAMMA + 1));
	thread->sampling = current;
}

bool
sampler_due(struct thread *thread, size_t size_bytes)
{
	/* Acquire: pairs with sampler_init(), for rate and seed. */
	uint32_t current = atomic_load_acquire(&epoch);
	bool is_new = thread->sampling == 0;
	uint64_t rate = sampler_rate_bytes;
	uint64_t size = sampler_countable(size_bytes);
	uint64_t gap;

	if (rate == 0) {
		/* Comes by again after 2^63 bytes; or at once, before init. */
		thread->countdown_bytes = current == 0 ? 0 : INT64_MAX;
		return false;
	}
	if (thread->sampling != current)
		seed_thread(thread, current);
	if (is_new) {
		/*
		 * The countdown so far meant nothing. Draw the first gap and
		 * subtract this allocation from it like any other.
		 */
		gap = sampler_gap(&thread->random, rate);
		if (gap >= size) {
			thread->countdown_bytes = gap - size;
			return false;
		}
	}
	/* A point fell into this one; the process has no memory: start anew. */
	thread->countdown_bytes = sampler_gap(&thread->random, rate);
	return true;
}
