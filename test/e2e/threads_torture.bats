#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Threads that come and go, have gone, do not move, or are many.
bats_require_minimum_version 1.5.0

load helpers
load hosts

teardown() {
	[ -z "${host:-}" ] || kill -KILL "$host" 2>/dev/null || true
}

comment_of() {
	"$DECODE" "$(newest "$1")" | sed -n "s/^comment $2: //p"
}

@test "a storm of short threads: no dump is hurt by them" {
	oracle -i 20 "$PROG/thread_storm" 16000
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "16000 threads" ]
	[ "$asked" -ge 1 ]
	nothing_dropped
	[ "$(counter "$(newest heap)" threads_unanswered)" = 0 ]
	# Ended ones are no refusal.
	for file in "$HEAPAGENT_DIR"/*.threads.pb.gz; do
		! "$DECODE" "$file" | grep '^comment ptrace'
	done
}

@test "a storm of short threads where ptrace is refused" {
	oracle -i 20 "$PROG/refuse" ptrace "$PROG/thread_storm" 4000
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "4000 threads" ]
	nothing_dropped
}

main_is_gone() {
	[ "$(awk '/^State/ { print $2 }' "/proc/$host/status")" = Z ]
	[ ! -s "/proc/$host/cmdline" ]
}

@test "the first thread has ended: names, mappings and arguments are right" {
	start main_gone one "two three"
	main_is_gone
	dump 1
	[ "$(files -name "main_gone.$host.0001.*.pb.gz")" = 3 ]
	for kind in heap allocs threads; do
		"$DECODE" "$(newest $kind)" |
			grep -qxF "comment $PROG/main_gone one two three"
	done
	"$DECODE" "$(newest threads)" | grep '^mapping' | grep -qF "$PROG/main_gone"
	traces "$(newest threads)" >"$BATS_TEST_TMPDIR/traces"
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" t-waiter) == \
		"futex wait:"*" in_semaphore wait_for_ever "* ]]
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" t-reader) == *" serve "* ]]
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" main_gone) == "zombie:"* ]]
	[ "$(sum "$(newest threads)" threads)" = 5 ]
	[[ $(comment_of threads threads) == "5 listed: 1 self, 3 by ptrace, 1 ended" ]]
	[ -z "$(comment_of threads ptrace)" ]
	[ "$(counter_of threads_unanswered)" = 0 ]
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
	finish
}

@test "the same as text, with the memory's size" {
	HEAPAGENT_FORMAT=text start main_gone one
	main_is_gone
	kill -USR2 "$host"
	wait_for 20 test -e "$HEAPAGENT_DIR/main_gone.$host.0001.heap.txt"
	heap=$HEAPAGENT_DIR/main_gone.$host.0001.heap.txt
	grep -qxF "# command = $PROG/main_gone one" "$heap"
	grep -qE '^# VmRSS = +[1-9][0-9]* kB' "$heap"
	grep -qE '^# Threads = 5' "$heap"
	grep -qF "$PROG/main_gone" <(sed -n '/^MAPPED_LIBRARIES/,$p' "$heap")
	finish
}

@test "the first thread has ended: the command finds the process" {
	start main_gone
	main_is_gone
	run -0 --separate-stderr "$ROOT/build/heapagent" dump "$host"
	[ "${#lines[@]}" = 3 ]
	[ "${lines[2]}" = "$HEAPAGENT_DIR/main_gone.$host.0001.heap.pb.gz" ]
	run -0 --separate-stderr "$ROOT/build/heapagent" status "$host"
	[[ ${lines[0]} == "process "*" $host" ]]
	finish
}

@test "the first thread has ended, and ptrace is refused" {
	under=("$PROG/refuse" ptrace)
	start main_gone
	main_is_gone
	dump 1
	[ "$(sum "$(newest threads)" threads)" = 5 ]
	[[ $(comment_of threads threads) == \
		"5 listed: 1 self, 3 by /proc (not stopped), 1 ended" ]]
	[ "$(counter_of threads_unanswered)" = 0 ]
	finish
}

# vfork() holds its caller until the child is done with its memory.
in_disk_sleep() {
	start vforks
	[ "$(awk '/^State/ { print $2 }' /proc/"$host"/task/*/status |
		sort | tr -d '\n')" = DS ]
	dump 1
	traces "$(newest threads)" >"$BATS_TEST_TMPDIR/traces"
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" t-vfork) == \
		"disk-sleep:"* ]]
	[ "$(sum "$(newest threads)" threads)" = 2 ]
	[[ $(comment_of threads threads) == \
		"2 listed: 1 self, 1 by /proc (not stopped)" ]]
	[ "$(counter_of threads_unanswered)" = 0 ]
	finish
}

@test "a thread that nothing interrupts" {
	in_disk_sleep
}

@test "a thread that nothing interrupts, and ptrace is refused" {
	under=("$PROG/refuse" ptrace)
	in_disk_sleep
}

@test "a process that is stopped: the dump comes when it goes on" {
	start dump_threads 20
	kill -STOP "$host"
	wait_for 5 grep -q '^State:.T' "/proc/$host/status"
	kill -USR2 "$host"
	sleep 0.3
	[ "$(files)" = 0 ]
	kill -CONT "$host"
	wait_for 20 complete 1
	[ "$(sum "$(newest threads)" threads)" = 21 ]
	[ "$(counter_of threads_unanswered)" = 0 ]
	finish
}

# peak: the most memory the host has had, in KiB.
peak() {
	awk '/^VmHWM/ { print $2 }' "/proc/$host/status"
}

# Arena, encoder and stacks are the dump's alone, and gone after it.
five_thousand() {
	ulimit -u unlimited 2>/dev/null || true
	start dump_threads 5000 || skip "cannot have 5,000 threads here"
	before=$(peak)
	kill -USR2 "$host"
	wait_for 60 complete 1
	echo "$(comment_of threads threads); $before to $(peak) KiB"
	[ "$(sum "$(newest threads)" threads)" = 5001 ]
	[ "$(counter_of threads_unanswered)" = 0 ]
	[ $(($(peak) - before)) -le $((64 << 10)) ]
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
	[ "$(awk '/^Threads/ { print $2 }' "/proc/$host/status")" = 5001 ]
	finish
}

@test "5,000 threads" {
	five_thousand
	# One that gets no processor in time is read where it is blocked.
	[[ $(comment_of threads threads) =~ \
		^"5001 listed: 1 self, "[0-9]+" by ptrace"(", "[0-9]+" by /proc (not stopped)")?$ ]]
}

@test "5,000 threads where ptrace is refused" {
	under=("$PROG/refuse" ptrace)
	five_thousand
	[[ $(comment_of threads threads) == \
		"5001 listed: 1 self, 5000 by /proc (not stopped)" ]]
}
