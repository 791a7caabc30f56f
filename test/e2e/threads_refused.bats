#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Who may not be stopped: the fallback, what the profile says of it, and that
# the program notices nothing. (Yama needs a kernel that has it: `make yama`.)
bats_require_minimum_version 1.5.0

load helpers
load hosts

tracer=
open=

teardown() {
	local pid
	for pid in $tracer ${host:-}; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	[ -z "$open" ] || rm -rf "$open"
}

# says WHAT REGEX: the comment in each file, in either format.
says() {
	local file found=0
	for file in "$HEAPAGENT_DIR"/*.pb.gz; do
		[ -e "$file" ] || continue
		"$DECODE" "$file" | grep -qE "^comment $1: $2\$" || {
			"$DECODE" "$file" | grep '^comment'
			return 1
		}
		found=1
	done
	[ $found = 1 ]
}

# by_ptrace_and_proc STOPPED READ [MORE]: that many of the nine threads were. On a
# busy machine one of the stopped may get no processor in time, and is then read
# where it is blocked; the one that runs is stopped in any case.
by_ptrace_and_proc() {
	local how stopped read
	how=$("$DECODE" "$(newest threads)" | sed -n 's/^comment threads: //p')
	echo "$how"
	[[ $how =~ ^"9 listed: 1 self, "([0-9])" by ptrace, "([0-9])" by /proc (not stopped)""${3:-}"$ ]]
	stopped=${BASH_REMATCH[1]} read=${BASH_REMATCH[2]}
	[ $((stopped + read)) -eq $(($1 + $2)) ]
	[ "$read" -ge "$2" ]
}

says_nothing_of_ptrace() {
	! "$DECODE" "$(newest heap)" | grep -q '^comment ptrace'
}

# tid_of NAME: of the host's thread.
tid_of() {
	grep -lx "$1" /proc/"$host"/task/*/comm | cut -d/ -f5
}

# traced [TID]: that thread of the host has a tracer, or each.
traced() {
	local status
	for status in "/proc/$host/task"/${1:-*}/status; do
		grep -q '^TracerPid:[[:space:]]*[1-9]' "$status" || return 1
	done
}

# All but those whose calls return EINTR because a tracer stops them.
all_but_woken() {
	traces "$(newest threads)" >"$BATS_TEST_TMPDIR/traces"
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" t-poll) == *" in_poll "* ]]
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" t-sem) == *" in_semaphore "* ]]
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" t-mutex) == *" in_mutex "* ]]
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" t-sleep) == *" in_sleep "* ]]
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" t-spin) == *" spinning "* ]]
	[ "$(counter_of threads_unanswered)" = 0 ]
}

@test "nobody is refused: no word of it" {
	start dump_threads
	dump 1
	by_ptrace_and_proc 6 2
	says_nothing_of_ptrace
	finish
}

@test "a filter that was there before the start, as in a container" {
	under=("$PROG/refuse" ptrace)
	start dump_threads
	dump 1
	says threads '9 listed: 1 self, 7 by /proc \(not stopped\), 1 by signal [0-9]+'
	says ptrace 'refused for [0-9]+ \(EPERM, a seccomp filter\): .*7 by /proc .*1 by signal.*'
	finish
}

@test "the same as text" {
	under=("$PROG/refuse" ptrace)
	HEAPAGENT_FORMAT=text start dump_threads
	kill -USR2 "$host"
	wait_for 20 test -e "$HEAPAGENT_DIR/dump_threads.$host.0001.heap.txt"
	for kind in heap allocs threads; do
		file=$HEAPAGENT_DIR/dump_threads.$host.0001.$kind.txt
		grep -qE '^# threads = 9 listed: 1 self, 7 by /proc .*, 1 by signal' "$file"
		grep -qE '^# ptrace = refused for [0-9]+ \(EPERM, a seccomp filter\)' "$file"
	done
	finish
}

@test "strace on the whole process" {
	start dump_threads
	strace -f -qq -e trace=none -o /dev/null -p "$host" 3>&- &
	tracer=$!
	wait_for 20 traced
	dump 1
	all_but_woken
	says ptrace "refused for [0-9]+ \(EPERM, traced by $tracer\): 1 self, .*by signal.*"
}

@test "gdb on the whole process" {
	start dump_threads
	gdb -q -batch -p "$host" -ex 'handle all nostop noprint pass' \
		-ex continue </dev/null >"$BATS_TEST_TMPDIR/gdb" 2>&1 3>&- &
	tracer=$!
	wait_for 60 traced
	dump 1
	cat "$BATS_TEST_TMPDIR/gdb" # shown if this fails
	all_but_woken
	says ptrace "refused for [0-9]+ \(EPERM, traced by $tracer\): 1 self, .*by signal.*"
}

@test "strace on one thread: only that one is read otherwise" {
	start dump_threads
	tid=$(tid_of t-sem)
	strace -qq -e trace=none -o /dev/null -p "$tid" 3>&- &
	tracer=$!
	wait_for 20 traced "$tid"
	dump 1
	all_but_woken
	by_ptrace_and_proc 5 3
	says ptrace "refused for 1 \(EPERM, traced by $tracer\): 1 by /proc \(not stopped\)"
	kill "$tracer"
	wait "$tracer" || true
	tracer=
	finish
}

@test "strace on the thread that takes the signal: the others are stopped" {
	start dump_threads
	strace -qq -e trace=none -o /dev/null -p "$host" 3>&- &
	tracer=$!
	wait_for 20 traced "$host"
	dump 1
	all_but_woken
	by_ptrace_and_proc 6 2
	says ptrace "refused for 1 \(EPERM, traced by $tracer\): 1 self"
	kill "$tracer"
	wait "$tracer" || true
	tracer=
	finish
}

@test "a thread that another traces, and that runs: not answering, not waited for" {
	start dump_threads
	tid=$(tid_of t-spin)
	strace -qq -e trace=none -o /dev/null -p "$tid" 3>&- &
	tracer=$!
	wait_for 20 traced "$tid"
	dump 1
	by_ptrace_and_proc 5 2 ', 1 not answering'
	says ptrace "refused for 1 \(EPERM, traced by $tracer\): 1 not answering"
	[ "$(counter_of threads_unanswered)" = 1 ]
	kill "$tracer"
	wait "$tracer" || true
	tracer=
	finish
}

# as_nobody: under[] for a user without rights, and a place that it may use.
as_nobody() {
	open=$(mktemp -d)
	chmod 0755 "$open"
	mkdir -m 0777 "$open/dumps"
	cp "$AGENT" "$PROG/dump_threads" "$PROG/lib/undumpable.so" "$open/"
	AGENT=$open/libheapagent.so
	PROG=$open
	also=$open/undumpable.so
	HEAPAGENT_DIR=$open/dumps
	[ "$(id -u)" != 0 ] ||
		under=(setpriv --reuid=65534 --regid=65534 --clear-groups)
}

@test "PR_SET_DUMPABLE 0, as a user without rights" {
	as_nobody
	start dump_threads
	dump 1
	all_but_woken
	# Not even its own files in /proc: all are asked by signal.
	says threads '9 listed: 1 self, 8 by signal [0-9]+'
	says ptrace 'refused for [0-9]+ \(EPERM, not dumpable\): .*8 by signal.*'
	# A time-out of unknown remainder has returned EINTR (README, limits).
	status=0
	finish || status=$?
	[ "$status" = 1 ]
}

@test "the same as root, who may" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	also=$PROG/lib/undumpable.so
	start dump_threads
	dump 1
	all_but_woken
	by_ptrace_and_proc 6 2
	finish
}

@test "a sigaction() with a lock, as libjsig's, that the signalled thread may hold" {
	under=("$PROG/refuse" ptrace) also=$PROG/lib/locked_sigaction.so
	start installs
	for number in $(seq 60); do
		dump "$number"
	done
	finish
	grep -qx unhurt "$BATS_TEST_TMPDIR/out"
}
