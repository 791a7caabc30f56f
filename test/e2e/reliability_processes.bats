#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs that fork, start others, or rely on being one thread alone.

load helpers

# --- row 12

@test "forks while three threads allocate; the children allocate and dump" {
	oracle "$PROG/fork_storm" 32
	# Each eighth has a child of its own, whose status it adds.
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = $((28 * 3 + 4 * 5)) ]
	children=0 grandchildren=0
	for heap in "$HEAPAGENT_DIR"/*.0001.heap.pb.gz; do
		stacks "$heap" "$PROG/fork_storm" >"$BATS_TEST_TMPDIR/stacks"
		case $(with ' child_take ' inuse_space) in
		$((7 * 1234))) children=$((children + 1)) ;;
		$((9 * 1234))) grandchildren=$((grandchildren + 1)) ;;
		# The process that forked, when it was asked.
		0) ;;
		*) false ;;
		esac
	done
	[ "$children" -eq 32 ]
	[ "$grandchildren" -eq 4 ]
	# A child's threads profile has its only thread.
	for threads in "$HEAPAGENT_DIR"/*.0001.threads.pb.gz; do
		stacks "$threads" | total threads
	done | sort | uniq -c >"$BATS_TEST_TMPDIR/counts"
	[ "$(awk '$2 == 1 { print $1 }' "$BATS_TEST_TMPDIR/counts")" -ge 36 ]
}

# --- row 13

@test "system, popen, posix_spawn, vfork and fork with exec in a loop" {
	HEAPAGENT_AT_EXIT=0 oracle "$PROG/spawn" 12
	[ "$(paste -sd' ' "$BATS_TEST_TMPDIR/out")" = "48 60 72 84 96 108" ]
	[ "$asked" -ge 3 ]
	for heap in "$HEAPAGENT_DIR"/spawn.*.heap.pb.gz; do
		[ "$(counter "$heap" dumps_faulted)" = 0 ]
	done
}

# --- row 14

@test "a process of one thread stays one: tasks, unshare, single_threaded" {
	oracle -i 20 "$PROG/alone" 1000
	# It ended itself by SIGTERM, as by default.
	[ "$status" -eq 143 ]
	[ "$asked" -ge 20 ]
	grep -q '^after: .* 3 tasks, single 1, child -1$' \
		"$BATS_TEST_TMPDIR/out"
	written=$(find "$HEAPAGENT_DIR" -name '*.heap.pb.gz' | wc -l)
	[ "$written" -ge 15 ]
	if grep -q '^unshare: 0' "$BATS_TEST_TMPDIR/out"; then
		[ "$(counter "$(newest heap)" dumps_failed)" = 0 ]
	fi
}

@test "a thread that waits for SIGTERM gets each one" {
	oracle -i 20 "$PROG/sigterm" 200
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "200 received, child 0" ]
	[ "$asked" -ge 10 ]
}
