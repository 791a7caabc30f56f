#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the threads profile says that each thread does, and for how long.
# test/prog/thread_states says how long it really was.

# shellcheck disable=SC2030,SC2031 # each test is a process of its own
bats_require_minimum_version 1.5.0

load helpers

teardown() {
	exec 5>&- || true
	[ -z "${host:-}" ] || kill -KILL "$host" 2>/dev/null || true
}

# start: the program, $host, which reads what is written to descriptor 5.
start() {
	said=$BATS_TEST_TMPDIR/said
	mkfifo "$BATS_TEST_TMPDIR/stdin"
	# Not preloaded(), whose process would be the shell's.
	"${under[@]}" env LD_PRELOAD="$AGENT" "$PROG/thread_states" \
		<"$BATS_TEST_TMPDIR/stdin" >"$said" 3>&- &
	host=$!
	exec 5>"$BATS_TEST_TMPDIR/stdin"
	wait_for 20 grep -q '^ready$' "$said"
}

# dump N: the Nth dump, decoded, and after that how long it really was.
dump() {
	wait_for 20 at_rest
	kill -USR2 "$host"
	wait_for 20 written "$1"
	"$DECODE" "$(newest threads)" | grep -a '^sample ' \
		>"$BATS_TEST_TMPDIR/dump.$1"
	cat "$BATS_TEST_TMPDIR/dump.$1"
	printf 't' >&5
	wait_for 20 told "$1"
	# What was told since the dump before.
	awk '/^told$/ { told++ } told == n - 1' n="$1" "$said" \
		>"$BATS_TEST_TMPDIR/truth.$1"
}

# All but the one that spins are blocked: on a busy machine a thread may take
# long to be so again.
at_rest() {
	! cat "/proc/$host"/task/*/stat 2>/dev/null | grep -v '(w-spin)' |
		grep -qE '\) R [0-9]'
}

written() {
	[ "$(find "$HEAPAGENT_DIR" -name "*.000$1.heap.pb.gz" | wc -l)" = 1 ]
}

told() {
	[ "$(grep -c '^told$' "$said")" = "$1" ]
}

# line N NAME: a thread's sample in the Nth dump.
line() {
	grep -aF " thread=\"$2\" state=" "$BATS_TEST_TMPDIR/dump.$1"
}

# state N NAME
state() {
	line "$1" "$2" | sed 's/.* state="\([^"]*\)" tid=.*/\1/'
}

# blocked N NAME: nanoseconds, 0 if it does not say.
blocked() {
	local text
	text=$(line "$1" "$2" | sed -n 's/.* blocked=\([0-9]*\)nanoseconds$/\1/p')
	echo "${text:-0}"
}

# truth N NAME: for how long it had been blocked when the dump was over.
truth() {
	awk -v name="$2" '$1 == name { print $2 }' "$BATS_TEST_TMPDIR/truth.$1"
}

waiting="w-cycle w-futex w-poll w-epoll w-sleep w-relative w-read w-accept
	w-wait w-vfork"

# Nothing that a dump says is more than the truth.
nothing_overstated() {
	local name
	for name in $waiting; do
		[ "$(blocked "$1" "$name")" -le "$(truth "$1" "$name")" ]
	done
	[ "$(blocked "$1" w-spin)" = 0 ]
	[ "$(blocked "$1" thread_states)" = 0 ]
}

states_are_right() {
	[ "$(state "$1" thread_states)" = read ]
	[ "$(state "$1" w-cycle)" = read ]
	[ "$(state "$1" w-futex)" = "futex wait" ]
	[ "$(state "$1" w-poll)" = poll ]
	[ "$(state "$1" w-epoll)" = epoll_wait ]
	[ "$(state "$1" w-sleep)" = clock_nanosleep ]
	[ "$(state "$1" w-relative)" = clock_nanosleep ]
	[ "$(state "$1" w-read)" = read ]
	[ "$(state "$1" w-accept)" = accept ]
	[ "$(state "$1" w-wait)" = wait4 ]
	[ "$(state "$1" w-vfork)" = disk-sleep ]
	[ "$(state "$1" w-spin)" = running ]
	[ "$(state "$1" $'q"\\ \x01(x) S 1')" = pause ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/dump.$1")" = 13 ]
}

# Each thread's number is there, and is that of the thread of that name.
numbers_are_right() {
	local name tid
	for name in $waiting w-spin; do
		tid=$(line "$1" "$name" | sed 's/.* tid=\([0-9]*\).*/\1/')
		[ "$(cat "/proc/$host/task/$tid/comm")" = "$name" ]
	done
}

@test "what each thread does; what it is called does not matter" {
	start
	dump 1
	states_are_right 1
	numbers_are_right 1
	# The thread that was asked comes first.
	head -n 1 "$BATS_TEST_TMPDIR/dump.1" | grep -q 'thread="thread_states"'
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
	# Our reading it has not changed what it is called.
	dump 2
	states_are_right 2
	exec 5>&-
	wait "$host"
	host=
}

@test "how long each has been blocked, across dumps, until it runs" {
	start
	sleep 3
	dump 1
	nothing_overstated 1
	# The kernel forgets it of a thread that it moves while it waits, as it
	# does on a busy machine, of how many nobody can say; what it tells is
	# not less.
	for name in $waiting; do
		[ "$(blocked 1 "$name")" = 0 ] ||
			[ "$(blocked 1 "$name")" -ge 1000000000 ]
	done
	sleep 2
	dump 2
	nothing_overstated 2
	# We have stopped it since, but it waits for the same as before.
	for name in $waiting; do
		[ "$(blocked 2 "$name")" -ge \
			$(($(blocked 1 "$name") + 1000000000)) ]
	done
	printf 'k' >&5
	wait_for 20 grep -q '^kicked$' "$said"
	dump 3
	nothing_overstated 3
	[ "$(blocked 3 w-cycle)" -lt "$(blocked 2 w-cycle)" ]
	for name in ${waiting#w-cycle}; do
		[ "$(blocked 3 "$name")" -gt "$(blocked 2 "$name")" ]
	done
	sleep 2
	dump 4
	nothing_overstated 4
	[ "$(blocked 4 w-cycle)" -ge 1000000000 ]
	[ "$(counter "$(newest threads)" waits_dropped)" = 0 ]
	exec 5>&-
	wait "$host"
	host=
}

@test "the same where no thread is stopped" {
	under=("$PROG/refuse" ptrace)
	start
	sleep 2
	dump 1
	nothing_overstated 1
	sleep 2
	dump 2
	nothing_overstated 2
	for name in $waiting; do
		[ "$(blocked 2 "$name")" -ge \
			$(($(blocked 1 "$name") + 1000000000)) ]
	done
	# The one that runs was asked.
	[ "$(counter "$(newest threads)" threads_by_signal)" = 2 ]
}

@test "the same in the program itself, where no child can be made" {
	under=("$PROG/refuse" clone)
	start
	sleep 2
	dump 1
	nothing_overstated 1
	[ "$(state 1 w-futex)" = "futex wait" ]
	[ "$(counter "$(newest threads)" dumps_in_handler)" = 1 ]
	sleep 2
	dump 2
	nothing_overstated 2
	[ "$(blocked 2 w-futex)" -ge 1000000000 ]
}

# Without numbers, where it spins, and what is told at the end.
comparable() {
	sed '/^# /d; /^spinning$/,+1d; s/^thread [0-9]*/thread N/'
}

@test "as text: a block for each, in Go's form; both formats tell the same" {
	start
	dump 1
	heapagent=$ROOT/build/heapagent
	"$heapagent" text "$(newest threads)" | tee "$BATS_TEST_TMPDIR/text"
	[ "$(head -n 1 "$BATS_TEST_TMPDIR/text")" = \
		"thread $host \"thread_states\" [read]:" ]
	[ "$(grep -cE '^thread [0-9]+ ".*" \[.*\]:$' \
		"$BATS_TEST_TMPDIR/text")" = 13 ]
	grep -E '^thread [0-9]+ "q\\"\\\\ \\x01\(x\) S 1" \[pause\]:$' \
		"$BATS_TEST_TMPDIR/text"
	# By number, but for the first.
	sed -n '2,$s/^thread \([0-9]*\) .*/\1/p' "$BATS_TEST_TMPDIR/text" |
		sort -nc
	awk '/"w-epoll"/ { hit = 1 } hit && /^$/ { exit } hit' \
		"$BATS_TEST_TMPDIR/text" >"$BATS_TEST_TMPDIR/block"
	grep -A 1 '^in_epoll$' "$BATS_TEST_TMPDIR/block" |
		grep -E '^	.*thread_states.c:[0-9]+ \+0x[0-9a-f]+$'
	exec 5>&-
	wait "$host"
	host=
	rm "$HEAPAGENT_DIR"/* "$BATS_TEST_TMPDIR/stdin"
	HEAPAGENT_FORMAT=text start
	wait_for 20 at_rest
	# Not by the command, which may ask another thread.
	kill -USR2 "$host"
	wait_for 20 compgen -G "$HEAPAGENT_DIR/*.0001.heap.txt"
	"$heapagent" text "$HEAPAGENT_DIR"/*.0001.threads.txt |
		comparable >"$BATS_TEST_TMPDIR/from_text"
	comparable <"$BATS_TEST_TMPDIR/text" |
		diff - "$BATS_TEST_TMPDIR/from_text"
}

@test "the other views take such a profile" {
	start
	dump 1
	heapagent=$ROOT/build/heapagent
	file=$(newest threads)
	"$heapagent" top --json "$file" | grep -q '"total":13'
	"$heapagent" tree --focus 'in_epoll' "$file" | grep -E ' in_epoll$'
	"$heapagent" flame "$file" -o "$BATS_TEST_TMPDIR/page.html"
	grep -q 'in_accept' "$BATS_TEST_TMPDIR/page.html"
	export HOME=$BATS_TEST_TMPDIR
	go tool pprof -top -tagfocus 'state=futex wait' "$file" 2>/dev/null \
		>"$BATS_TEST_TMPDIR/top"
	grep -E ' 1 .* in_semaphore$' "$BATS_TEST_TMPDIR/top"
	run -1 grep in_accept "$BATS_TEST_TMPDIR/top"
	go tool pprof -traces "$file" 2>/dev/null |
		grep -E "^ +tid: +$host\$"
}
