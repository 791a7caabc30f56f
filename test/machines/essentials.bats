#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What has to hold on every machine of `make machines`: a few programs of each
# kind, with what a bare Debian and our own tools can look at.

bats_require_minimum_version 1.5.0
load ../e2e/helpers
load ../e2e/hosts

teardown() {
	[ -z "${host:-}" ] || kill -KILL "$host" 2>/dev/null || true
}

# same COMMAND...: output and status as without the agent, and valid dumps.
same() {
	local bare=0 status=0
	"$@" </dev/null >"$BATS_TEST_TMPDIR/bare" 2>&1 || bare=$?
	HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 preloaded "$@" </dev/null \
		>"$BATS_TEST_TMPDIR/agent" 2>&1 || status=$?
	diff "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/agent"
	[ "$bare" -eq "$status" ]
	nothing_but_dumps
	[ "$(files -name '*.heap.pb.gz')" -gt 0 ]
}

case_passes() {
	run -0 timeout 120 env LD_PRELOAD="$AGENT" "$PROG/dump_host" "$1"
	nothing_but_dumps
}

# thread NAME: what the profile has of it, names for the program's functions.
thread() {
	grep "thread=$1 " "$BATS_TEST_TMPDIR/threads"
}

threads_are_named() {
	local name
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
	stacks "$(newest threads)" "$PROG/dump_threads" >"$BATS_TEST_TMPDIR/threads"
	cat "$BATS_TEST_TMPDIR/threads"
	[ "$(sum "$(newest threads)" threads)" = 9 ]
	[ "$(counter_of threads_unanswered)" = 0 ]
	for name in poll epoll finite_epoll semaphore mutex sleep sigwait; do
		grep -qE " in_$name( |\$)" \
			"$BATS_TEST_TMPDIR/threads"
	done
	grep -qE ' spinning \|' "$BATS_TEST_TMPDIR/threads"
	grep -qE ' main( |$)' "$BATS_TEST_TMPDIR/threads"
}

@test "small programs run as without the agent" {
	same /bin/echo hello
	same ls /
	same perl -e 'print join(" ", 1 .. 10000), "\n"; exit 3'
	same "$PROG/allocate"
}

@test "at RATE=1 the profile equals the program's own count to the byte" {
	truth=$(HEAPAGENT_RATE=1 preloaded "$PROG/exact" 20000)
	for kind in heap allocs; do
		file=$(newest $kind)
		for type in inuse_objects inuse_space alloc_objects \
			alloc_space; do
			sum "$file" $type /exact
		done | paste -sd' ' >"$BATS_TEST_TMPDIR/$kind"
		[ "$(<"$BATS_TEST_TMPDIR/$kind")" = "$truth" ]
	done
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
	[ "$(files -type f)" = 3 ]
	nothing_dropped
}

@test "stacks lead to main through the program, libc and an opened library" {
	HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 preloaded "$PROG/call_library" \
		"$PROG/lib/plain.so" 500
	exit_stacks "$PROG/call_library"
	# From the library's constructor there is one more, beneath dlopen().
	grep -E 'plain\.so.* \|.* main \|.*libc' "$BATS_TEST_TMPDIR/stacks"
	[ "$(with 'plain\.so.* \|.* main \|' alloc_objects)" -ge 500 ]
}

@test "two libraries in turn at one address keep their own names" {
	HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 preloaded "$PROG/twins" \
		"$PROG/lib/twin_narrow.so" "$PROG/lib/twin_wide.so" 200
	exit_stacks "$PROG/twins"
	[ "$(with 'twin_narrow\.so.* \|.* main \|' alloc_objects)" = 200 ]
	[ "$(with 'twin_narrow\.so.* \|.* main \|' alloc_space)" = 20000 ]
	[ "$(with 'twin_wide\.so.* \|.* main \|' alloc_objects)" = 200 ]
	[ "$(with 'twin_wide\.so.* \|.* main \|' alloc_space)" = 40000 ]
}

@test "coroutines" {
	same "$PROG/foreign_stacks" 500
}

@test "every thread is named, with its stack, and none notices" {
	start dump_threads
	dump 1
	dump 2
	threads_are_named
	finish
}

@test "the same where ptrace is refused" {
	under=("$PROG/refuse" ptrace)
	start dump_threads
	dump 1
	threads_are_named
	finish
}

@test "the same where no child can be made" {
	under=("$PROG/refuse" clone)
	start dump_threads
	dump 1
	threads_are_named
	[ "$(counter_of dumps_in_handler)" = 1 ]
	finish
}

@test "forks beside threads that allocate" {
	same "$PROG/fork_storm" 16
}

@test "hosts that make a dump difficult" {
	for name in at_once blocked own forks children_end subreaper \
		reaps_all sandbox small_stack spawns unchanged; do
		echo "$name"
		case_passes $name
	done
}

@test "a fault in the dump child: the host lives, the next dump is whole" {
	HEAPAGENT_RATE=1 start dump_threads
	for number in 1 2 3 4 5; do
		kill -USR2 "$host"
		# Not there yet, or gone: then this dump is whole.
		for _ in $(seq 100); do
			! dump_child || {
				kill -SEGV "$child" 2>/dev/null || true
				break
			}
		done
		wait_for 20 is_quiet
		kill -0 "$host"
	done
	rm -f "$HEAPAGENT_DIR"/*
	dump 1
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
	finish
}
