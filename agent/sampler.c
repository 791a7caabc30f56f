/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler.c - exponential gaps and weights in integers; see sampler.h.
 *
 * Floating point would raise flags of the host's, obey its rounding mode, and
 * end it where it asked for traps: malloc and free are not known to compute.
 *
 * The generator is splitmix64 (Steele, Lea and Flood, OOPSLA 2014): one word of
 * state, period 2^64. A thread's state starts at the process's seed plus a
 * multiple of an odd constant, so no two threads start at the same point.
 */
#include "sampler.h"

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
/* Atomic; how many forks this process has begun. */
static uint64_t forks;

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
sampler_before_fork(void)
{
	/* Relaxed: the child's memory is a copy, made by the same thread. */
	atomic_add_relaxed(&forks, 1);
}

void
sampler_in_child(void)
{
	/*
	 * Another thread's fork may have counted between ours and the copy;
	 * then both children have the same number, but not the same thread.
	 */
	uint64_t number = atomic_load_relaxed(&forks);

	seed = mix(seed + mix(number * GOLDEN_GAMMA + arch_thread_pointer()));
	/* A new thread's state: its next allocation draws the first gap. */
	thread_self.countdown_bytes = 0;
	thread_self.sampling = 0;
}

void
sampler_fork_child(uint64_t rate_bytes)
{
	seed = mix(seed + GOLDEN_GAMMA);
	sampler_rate_bytes = rate_bytes;
	/* Release: as above. */
	atomic_store_release(&epoch, epoch + 1);
}

/* 1 in the fixed point that each function below computes in. */
#define ONE_Q31 (UINT64_C(1) << 31)
#define ONE_Q32 (UINT64_C(1) << 32)

/*
 * -ln(k / 2^63) for k from 1 to 2^63, in units of 2^-32, to 2^-29. With
 * k / 2^63 = m * 2^e and m between sqrt(1/2) and sqrt(2), ln m =
 * 2 artanh(s), s = (m - 1) / (m + 1), whose series has s^2 < 0.0295; the first
 * term left out is below 2^-34.
 */
static uint64_t
minus_log(uint64_t k)
{
	static const uint64_t reciprocals[] = {
		ONE_Q32 / 13, ONE_Q32 / 11, ONE_Q32 / 9, ONE_Q32 / 7,
		ONE_Q32 / 5,  ONE_Q32 / 3,  ONE_Q32,
	};
	const uint64_t ln2 = 2977044472, sqrt_two = 3037000500;
	unsigned halvings = (unsigned)__builtin_clzll(k);
	uint64_t m = k << halvings >> 32; /* 1 to 2, in units of 2^-31 */
	bool above = m < sqrt_two;
	/* One of 1 is m's own unit, the other that of m / 2. */
	uint64_t one = above ? ONE_Q31 : ONE_Q32;
	uint64_t s = ((above ? m - one : one - m) << 32) / (m + one);
	uint64_t s2 = s * s >> 32, sum = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(reciprocals); i++)
		sum = (sum * s2 >> 32) + reciprocals[i];
	sum = 2 * (s * sum >> 32);
	return above ? halvings * ln2 - sum : (halvings - 1) * ln2 + sum;
}

/*
 * 1 / (1 - exp(-x)) - 1 / x for x up to 1 in units of 2^-31, in the same: 1/2
 * and the Bernoulli numbers' series x/12 - x^3/720 + x^5/30240 - x^7/1209600;
 * the next term is below 2^-25.
 */
static uint64_t
beyond_reciprocal(uint64_t x)
{
	uint64_t x2 = x * x >> 31, sum = ONE_Q31 / 1209600;

	sum = ONE_Q31 / 30240 - (x2 * sum >> 31);
	sum = ONE_Q31 / 720 - (x2 * sum >> 31);
	sum = ONE_Q31 / 12 - (x2 * sum >> 31);
	return ONE_Q31 / 2 + (x * sum >> 31);
}

uint64_t
sampler_weight(uint64_t size_bytes, uint64_t rate_bytes)
{
	const unsigned bits = SAMPLER_WEIGHT_BITS, spare = 31 - bits;
	const uint64_t one = UINT64_C(1) << bits;
	uint64_t size = sampler_countable(size_bytes), x, weight, miss;
	unsigned halvings = 0;

	/* From 16 rates on a block is missed by less than half a unit. */
	if (rate_bytes <= 1 || size / rate_bytes >= 16)
		return one;
	x = (size / rate_bytes << bits) +
	    (size % rate_bytes << bits) / rate_bytes;
	for (; x > one; x /= 2)
		halvings++;
	weight = halvings == 0 ? ((rate_bytes << bits) + size / 2) / size
			       : (one << bits) / x;
	weight += beyond_reciprocal(x << spare) >> spare;
	if (halvings == 0)
		return weight;
	/* exp(-x), the chance to be missed; exp(-2x) is its square. */
	miss = ONE_Q31 - (one << 31) / weight;
	while (halvings-- > 0)
		miss = miss * miss >> 31;
	return (one << 31) / (ONE_Q31 - miss);
}

uint64_t
sampler_gap(uint64_t *random, uint64_t rate_bytes)
{
	unsigned __int128 product;

	if (rate_bytes <= 1)
		return 0;
	*random += GOLDEN_GAMMA;
	product = (unsigned __int128)minus_log((mix(*random) >> 1) + 1) *
		  rate_bytes;
	return (uint64_t)(product >> 32);
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
