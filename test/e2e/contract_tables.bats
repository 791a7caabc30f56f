#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Full tables: what does not fit is dropped, counted, and hurts nobody.

load helpers
load oracle2

# All that was allocated is in the profile or in a counter.
accounted() {
	local heap=$1 allocated=$2 total
	total=$(sum "$heap" alloc_objects)
	total=$((total + $(counter "$heap" samples_dropped_live_full)))
	total=$((total + $(counter "$heap" samples_dropped_region_full)))
	# libc and the loader may have allocated a few more.
	[ "$total" -ge "$allocated" ]
	[ "$total" -le $((allocated + 20)) ]
	# And what was dropped is known by its weight, which is 1 here.
	total=$(sum "$heap" alloc_objects)
	total=$((total + $(counter "$heap" dropped_objects)))
	[ "$total" -ge "$allocated" ]
	[ "$total" -le $((allocated + 20)) ]
	[ "$(counter "$heap" dropped_bytes)" = \
		$((32 * $(counter "$heap" dropped_objects))) ]
}

@test "more stacks than the region holds: the rest is counted" {
	HEAPAGENT_MEMORY=4M same "$PROG/fill" stacks 16
	wait_dumps 1
	heap=$(newest heap)
	[ "$(counter "$heap" samples_dropped_region_full)" -gt 0 ]
	accounted "$heap" 65536
	all_valid
}

@test "more live blocks than the table holds: the rest is counted" {
	HEAPAGENT_MEMORY=4M same "$PROG/fill" blocks 200000
	wait_dumps 1
	heap=$(newest heap)
	[ "$(counter "$heap" samples_dropped_live_full)" -gt 0 ]
	[ "$(sum "$heap" inuse_objects)" -gt 10000 ]
	accounted "$heap" 200000
	all_valid
}

# A block of 32 bytes has a weight of 2.54 then: four standard errors.
@test "what is dropped counts with what it stands for" {
	RATE=64
	HEAPAGENT_MEMORY=4M same "$PROG/fill" blocks 400000
	wait_dumps 1
	heap=$(newest heap)
	[ "$(counter "$heap" samples_dropped_live_full)" -gt 10000 ]
	total=$(sum "$heap" alloc_objects)
	total=$((total + $(counter "$heap" dropped_objects)))
	[ "$total" -gt $((400000 - 3140)) ]
	[ "$total" -lt $((400000 + 3140)) ]
	total=$(sum "$heap" alloc_space)
	total=$((total + $(counter "$heap" dropped_bytes)))
	[ "$total" -gt $((32 * (400000 - 3140))) ]
	[ "$total" -lt $((32 * (400000 + 3140))) ]
}

@test "a table that was full takes blocks again once they are freed" {
	HEAPAGENT_MEMORY=4M same "$PROG/fill" spread 200000
	wait_dumps 1
	heap=$(newest heap)
	[ "$(counter "$heap" samples_dropped_live_full)" -gt 0 ]
	# What was dropped was never live: the last blocks are among them.
	[ "$(sum "$heap" inuse_objects /fill)" -le 100 ]
	accounted "$heap" 200001

	rm -f "$HEAPAGENT_DIR"/*
	HEAPAGENT_MEMORY=64M same "$PROG/fill" spread 200000
	wait_dumps 1
	[ "$(sums "$(newest heap)" /fill)" = "100 3200" ]
}

@test "three million allocations and frees wear no table out" {
	HEAPAGENT_MEMORY=4M same "$PROG/fill" churn 3000000
	wait_dumps 1
	heap=$(newest heap)
	[ "$(sums "$heap" /fill)" = "500 16000" ]
	[ "$(sum "$heap" alloc_objects /fill)" = 3000000 ]
	[ "$(counter "$heap" samples_dropped_live_full)" = 0 ]
	[ "$(counter "$heap" samples_dropped_region_full)" = 0 ]
	all_valid
}
