#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The allocator's contract, through the agent: every entry point with every
# argument, frees the agent never sees, and other allocators beside it.
bats_require_minimum_version 1.5.0

load helpers
load oracle2

LIBRARIES=/usr/lib/x86_64-linux-gnu

@test "a realloc that fails leaves its block in the profile" {
	same "$PROG/realloc_fails"
	wait_dumps 1
	[ "$(sums "$(newest heap)" /realloc_fails)" = "200 400000" ]
	[ "$(sum "$(newest heap)" alloc_objects /realloc_fails)" = 400 ]
	[ "$(sum "$(newest heap)" alloc_space /realloc_fails)" = 600000 ]
	all_valid
}

@test "every call gives what it gave: NULL, errno, address, usable size" {
	for seed in 1 2 3 4 5 6; do
		for RATE in 1 5000 524288; do
			same setarch -R "$PROG/differ" "$seed" 20000
			[ "$(agent_status)" = 0 ]
			[ "$(wc -l <"$BATS_TEST_TMPDIR/bare/out")" -gt 15000 ]
		done
	done
	nothing_written
}

@test "the same with the other unwinders, and with small tables" {
	HEAPAGENT_UNWINDER=fp same setarch -R "$PROG/differ" 7 20000
	[ "$(agent_status)" = 0 ]
	HEAPAGENT_MEMORY=4M same setarch -R "$PROG/differ" 8 20000
	[ "$(agent_status)" = 0 ]
	# libunwind is one more library: only addresses may differ.
	HEAPAGENT_UNWINDER=libunwind same "$PROG/differ" 9 20000 portable
	[ "$(agent_status)" = 0 ]
}

@test "what any of them allocates any of them frees" {
	same "$PROG/pairs"
	wait_dumps 1
	heap=$(newest heap)
	truth=$(cat "$BATS_TEST_TMPDIR/agent/out")
	[ "$(sum "$heap" alloc_objects /pairs innermost)" = "$truth" ]
	# libc's own calls within: strdup and the others, 6 times 50 rounds.
	[ "$(sum "$heap" alloc_objects)" -ge $((truth + 7 * 6 * 50)) ]
	[ "$(sums "$heap" /pairs)" = "0 0" ]
	all_valid
}

@test "defines no function that libc lacks, and takes none over" {
	run_bare "$PROG/symbols"
	run_agent "$PROG/symbols"
	grep -qx 'free_sized nowhere' "$BATS_TEST_TMPDIR/agent/out"
	grep -q '^malloc_usable_size .*libc' "$BATS_TEST_TMPDIR/agent/out"
	compare
}

@test "blocks that are freed past the hooks are gone when reused" {
	plugin=$PROG/deepbind_plugin
	for how in "deepbind $plugin" libc "dlmopen $plugin" "dlopen $AGENT"; do
		rm -f "$HEAPAGENT_DIR"/*
		# shellcheck disable=SC2086 # words are wanted
		same "$PROG/hidden_free" $how
		wait_dumps 1
		[ "$(sum "$(newest heap)" inuse_objects /hidden_free \
			innermost)" = 1000 ]
		[ "$(sum "$(newest heap)" inuse_space /hidden_free \
			innermost)" = 480000 ]
		all_valid
	done
}

@test "in front of another allocator the profile is exact" {
	for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 \
		libmimalloc.so.2; do
		rm -f "$HEAPAGENT_DIR"/*
		PRELOAD="$AGENT:$LIBRARIES/$other" run_agent "$PROG/exact" \
			20000 plain
		[ "$(agent_status)" = 0 ]
		wait_dumps 1
		heap=$(newest heap)
		got="$(sums "$heap" /exact)"
		got+=" $(sum "$heap" alloc_objects /exact)"
		got+=" $(sum "$heap" alloc_space /exact)"
		[ "$got" = "$(cat "$BATS_TEST_TMPDIR/agent/out")" ]
		all_valid
	done
}

@test "behind another allocator it sees nothing and harms nothing" {
	for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 \
		libmimalloc.so.2; do
		rm -f "$HEAPAGENT_DIR"/*
		PRELOAD="$LIBRARIES/$other:$AGENT" run_agent "$PROG/exact" \
			20000 plain
		[ "$(agent_status)" = 0 ]
		[ ! -s "$BATS_TEST_TMPDIR/agent/err" ]
		wait_dumps 1
		[ "$(sum "$(newest heap)" alloc_objects /exact)" = 0 ]
		all_valid
	done
}

# What the allocators themselves answer to absurd arguments is theirs: it is
# compared with the same allocator without the agent.
@test "other allocators answer absurd arguments as without the agent" {
	for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 \
		libmimalloc.so.2; do
		for order in before after; do
			PRELOAD=$LIBRARIES/$other
			RATE=524288 run_agent "$PROG/differ" 1 4000 portable
			mv "$BATS_TEST_TMPDIR/agent" "$BATS_TEST_TMPDIR/bare"
			if [ $order = before ]; then
				PRELOAD="$LIBRARIES/$other:$AGENT"
			else
				PRELOAD="$AGENT:$LIBRARIES/$other"
			fi
			run_agent "$PROG/differ" 1 4000 portable
			compare
			rm -r "$BATS_TEST_TMPDIR/bare"
		done
	done
}

@test "linked with another allocator, all is the same" {
	for other in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
		rm -f "$HEAPAGENT_DIR"/*
		gcc -w -D_GNU_SOURCE -O1 -o "$BATS_TEST_TMPDIR/linked" \
			"$ROOT/test/prog/exact.c" -Wl,--no-as-needed \
			"$LIBRARIES/$other"
		run_agent "$BATS_TEST_TMPDIR/linked" 20000 plain
		[ "$(agent_status)" = 0 ]
		wait_dumps 1
		[ "$(sums "$(newest heap)" /linked)" = \
			"$(cut -d' ' -f1,2 "$BATS_TEST_TMPDIR/agent/out")" ]
		all_valid
	done
}

@test "static programs and programs in Go are as they were" {
	gcc -w -D_GNU_SOURCE -static -O1 -o "$BATS_TEST_TMPDIR/static" \
		"$ROOT/test/prog/differ.c"
	same "$BATS_TEST_TMPDIR/static" 1 2000 portable
	[ "$(agent_status)" = 0 ]
	echo nonsense >"$BATS_TEST_TMPDIR/file"
	same "$CHECKVALID" "$BATS_TEST_TMPDIR/file"
	[ "$(agent_status)" = 1 ]
	nothing_written
}
