#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs that fork, start others, or rely on being one thread alone.

load helpers

# --- row 12

@test "forks while three threads allocate; the children allocate and dump" {
	oracle "$PROG/fork_storm" 64
	# Each eighth has a child of its own, whose status it adds.
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = $((56 * 3 + 8 * 5)) ]
	# The first dump of each; the forking process itself may have one, too.
	heaps=("$HEAPAGENT_DIR"/*.0001.heap.pb.gz)
	stacks "${heaps[0]}" "$PROG/fork_storm" "${heaps[@]:1}" \
		>"$BATS_TEST_TMPDIR/stacks"
	[ "$(with ' child_take ' inuse_space)" -eq \
		$(((64 * 7 + 8 * 9) * 1234)) ]
	[ "$(grep -c ' inuse_objects=7 .* child_take ' \
		"$BATS_TEST_TMPDIR/stacks")" -ge 64 ]
	# A child's threads profile has its only thread.
	for threads in "$HEAPAGENT_DIR"/*.0001.threads.pb.gz; do
		stacks "$threads" | total threads
	done | sort | uniq -c >"$BATS_TEST_TMPDIR/counts"
	[ "$(awk '$2 == 1 { print $1 }' "$BATS_TEST_TMPDIR/counts")" -ge 72 ]
}

@test "forked children do not wait for locks of libunwind" {
	HEAPAGENT_UNWINDER=libunwind oracle -i 2 "$PROG/fork_storm" 64
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = $((56 * 3 + 8 * 5)) ]
}

@test "a fork after each locked instruction of another thread's sample" {
	HEAPAGENT_RATE=1 "$PROG/fork_step" "$AGENT" "$PROG/lib/plain.so" \
		fork 100
	nothing_but_dumps
	heaps=("$HEAPAGENT_DIR"/*.0001.heap.pb.gz)
	[ "${#heaps[@]}" -eq 100 ]
	stacks "${heaps[0]}" "$PROG/fork_step" "${heaps[@]:1}" \
		>"$BATS_TEST_TMPDIR/stacks"
	[ "$(with ' child_take ' inuse_space)" -eq $((100 * 5 * 777)) ]
	[ "$(with ' child \| ' alloc_objects)" -eq $((100 * 605)) ]
}

@test "a dump after each locked instruction of another thread's sample" {
	HEAPAGENT_RATE=1 "$PROG/fork_step" "$AGENT" "$PROG/lib/plain.so" \
		dump 60
	nothing_but_dumps
	profiles=("$HEAPAGENT_DIR"/*.threads.pb.gz)
	# Requests are merged, more or less as the machine is fast; for those no
	# thread waits. Each dump has both threads: the one which we hold by ptrace
	# is read where it stands, if it stands still for long enough.
	[ "${#profiles[@]}" -ge 3 ]
	stacks "${profiles[0]}" "" "${profiles[@]:1}" \
		>"$BATS_TEST_TMPDIR/stacks"
	[ "$(with . threads)" -eq $((2 * ${#profiles[@]})) ]
	[ "$(with 'not answering' threads)" -lt "${#profiles[@]}" ]
	for profile in "${profiles[@]}"; do
		"$DECODE" "$profile" | grep -qxE \
			'comment threads: 2 listed: .*(by /proc \(not stopped\)|not answering)'
	done
}

# --- row 13

@test "system, popen, posix_spawn, vfork and fork with exec in a loop" {
	HEAPAGENT_AT_EXIT=0 oracle -i 5 "$PROG/spawn" 12
	[ "$(paste -sd' ' "$BATS_TEST_TMPDIR/out")" = "48 60 72 84 96 108" ]
	[ "$asked" -ge 1 ]
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
