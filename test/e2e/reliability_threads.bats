#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs whose threads allocate while they end, and that close what they do
# not know.

load helpers

# --- row 2

@test "every descriptor closed and reused: each byte arrives" {
	oracle "$PROG/own_descriptors" 300000
	[[ $(cat "$BATS_TEST_TMPDIR/out") == \
		"300000 rounds, 0 wrong, first 3, 43 descriptors" ]]
	[ "$asked" -ge 1 ]
	nothing_dropped
	exit_stacks
	[ "$(with 'bytes=300bytes' alloc_objects)" -ge 1000 ]
}

# --- row 10

@test "key destructors that allocate and free in all four rounds" {
	oracle "$PROG/key_destructors" 16000
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "320000 ran, 16000 left" ]
	nothing_dropped
	exit_stacks "$PROG/key_destructors"
	[ "$(with ' take_in_destructor \| ' alloc_objects)" = 320000 ]
	[ "$(with ' take_in_destructor \| ' inuse_objects)" = 16000 ]
	[ "$(with ' run \|' inuse_objects)" = 0 ]
}

@test "thread_local destructors that allocate, free and make more of them" {
	oracle "$PROG/thread_locals" 12000
	# The main thread's own go after main(), before the program's.
	[ "$(paste -sd' ' "$BATS_TEST_TMPDIR/out")" = \
		"24000 destroyed at exit: 3000 blocks, 24002 destroyed" ]
	nothing_dropped
	exit_stacks "$PROG/thread_locals"
	# Ten copies of a string of 150 in each.
	[ "$(with 'bytes=151bytes .* _ZN5noisyD2Ev ' alloc_objects)" -eq 132011 ]
	[ "$(with 'noisyD' inuse_objects)" = 0 ]
}

@test "many short threads: memory stays flat" {
	oracle -i 200 "$PROG/short_threads" 40000
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "40000 threads" ]
	nothing_dropped
	exit_stacks "$PROG/short_threads"
	[ "$(with ' take_in_thread \| ' alloc_objects)" = 40000 ]
	[ "$(with ' take_in_thread \| ' inuse_objects)" = 1 ]
	# Nor does the agent's own memory grow with the dumps.
	first=$(printf '%s\n' "$HEAPAGENT_DIR"/*.heap.pb.gz | sort | head -n 1)
	[ $(($(counter "$(newest heap)" region_used_bytes) - \
		$(counter "$first" region_used_bytes))) -le 65536 ]
}
