/* SPDX-License-Identifier: Apache-2.0 */
/*
 * branches.h - as many distinct stacks as one asks for: a binary recursion
 * whose two calls are different call sites, so each leaf has a path, and a
 * stack, of its own. Together with what leads there a leaf's stack has about
 * 32 frames, a common depth.
 */
#ifndef HEAPAGENT_BENCH_BRANCHES_H
#define HEAPAGENT_BENCH_BRANCHES_H

#define BRANCH_LEVELS 17 /* 131,072 leaves */
#define TRUNK_FRAMES 12

struct branches {
	long left; /* leaves still to visit */
	void (*leaf)(void *context);
	void *context;
};

/* The empty statement after each call keeps it from becoming a jump. */
static __attribute__((noinline)) void
branch(struct branches *branches, unsigned level)
{
	if (branches->left == 0)
		return;
	if (level == BRANCH_LEVELS) {
		branches->left--;
		branches->leaf(branches->context);
		__asm__ volatile("");
		return;
	}
	branch(branches, level + 1);
	__asm__ volatile("");
	branch(branches, level + 1);
	__asm__ volatile("");
}

static __attribute__((noinline)) void
trunk(struct branches *branches, unsigned level)
{
	if (level == 0)
		branch(branches, 0);
	else
		trunk(branches, level - 1);
	__asm__ volatile("");
}

/* Calls leaf from `count` distinct stacks, at most 2^BRANCH_LEVELS. */
static inline void
branches_visit(long count, void (*leaf)(void *context), void *context)
{
	struct branches branches = { count, leaf, context };

	trunk(&branches, TRUNK_FRAMES);
}

#endif
