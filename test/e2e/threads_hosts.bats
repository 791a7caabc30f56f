#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs that are about something else while their threads are read: that
# become another program, cancel threads, wait for signals, have a sandbox.
# shellcheck disable=SC2030,SC2031 # each test is a process of its own
bats_require_minimum_version 1.5.0

load helpers
load hosts

teardown() {
	[ -z "${host:-}" ] || kill -KILL "$host" 2>/dev/null || true
}

# passes CASE ARGS...: of threads_host.c; 137 is one that had to be killed.
passes() {
	run -0 timeout -s KILL 60 "${under[@]}" env LD_PRELOAD="$AGENT" \
		"$PROG/threads_host" "$@"
}

says_of_threads() {
	"$DECODE" "$(newest threads)" | sed -n 's/^comment threads: //p'
}

@test "exec() beside dumps, with busy threads: each ends" {
	passes execs 60
	wait_for 10 is_quiet
	[ "$(files -name '*.tmp')" = 0 ]
}

@test "the thread that makes the dump is cancelled: its cleanup runs" {
	passes cancels 40
	wait_for 10 complete 1
}

@test "queued real-time signals arrive, where threads are asked by one" {
	under=("$PROG/refuse" ptrace)
	passes queues
	wait_for 10 complete 1
	[[ $(says_of_threads) == *"1 by signal "* ]]
}

@test "a request while a dump runs is not sent to the next program" {
	under=("$PROG/refuse" ptrace)
	passes merged sleep 1
	wait_for 10 is_quiet
}

@test "a host that adopts orphans does not wait for the dump's end" {
	HEAPAGENT_RATE=1 passes adopts
}

@test "a filter that kills, there before the start: dumps, and no harm" {
	under=("$PROG/refuse" kill)
	start dump_threads
	dump 1
	[[ $(says_of_threads) == \
		"9 listed: 1 self, 7 by /proc (not stopped), 1 by signal "* ]]
	dump 2
	finish
}

@test "a sandbox of its own, in a container's: no dump, and no harm" {
	for how in prctl syscall; do
		under=("$PROG/refuse" ptrace)
		[ $how = prctl ] || under+=(env BY_SYSCALL=1)
		for action in kill errno trap; do
			run -0 "${under[@]}" env LD_PRELOAD="$AGENT" \
				"$PROG/sandbox" $action signal
			[ "$output" = unhurt ]
		done
	done
}

@test "without a /proc of its PID namespace: no other program is touched" {
	unshare --pid --fork true || skip "no PID namespace can be made here"
	run -0 unshare --pid --fork env LD_PRELOAD="$AGENT" \
		"$PROG/dump_host" unchanged
	[ "$(says_of_threads)" = "1 listed: 1 self" ]
	[ "$(files)" = 3 ]
}

# slow_host COMMAND...: under it a host whose dump takes a while; $child is the
# child that makes it.
slow_host() {
	under=("$@")
	HEAPAGENT_RATE=1 HEAPAGENT_MEMORY=512M start many_stacks 100000
	kill -USR2 "$host"
	wait_for 20 dump_child
}

yields() {
	! chrt -p "$child" 2>/dev/null | grep -q SCHED_FIFO &&
		! taskset -p "$child" 2>/dev/null | grep -q 'mask: 1$'
}

@test "a real-time thread on one processor: the dump is neither" {
	chrt -f 1 true 2>/dev/null || skip "no real-time scheduling here"
	[ "$(nproc)" -gt 1 ] || skip "there is one processor"
	slow_host taskset 1 chrt -f 1
	# Nothing is shown of one that has ended.
	wait_for 20 yields
	chrt -p "$child" | grep -q SCHED_OTHER
	wait_for 20 complete 1
	finish
}

holds_none() {
	local fd
	for fd in /proc/"$child"/fd/*; do
		[ "${fd##*/}" -lt 4096 ] 2>/dev/null || return 1
	done
}

@test "without close_range: none of the host's descriptors is held" {
	ulimit -n 8000
	exec 7999>"$BATS_TEST_TMPDIR/held"
	slow_host "$PROG/refuse" close_range
	wait_for 20 holds_none
	kill -0 "$child"
	exec 7999>&-
	wait_for 20 complete 1
	finish
}

@test "a link that leads nowhere takes a name, too" {
	# shellcheck disable=SC2016 # the other shell's variables
	run -0 bash -c 'ln -s /nonexistent/file \
			"$HEAPAGENT_DIR/dump_host.$$.0001.heap.pb.gz"
		LD_PRELOAD=$1 exec "$2" unchanged' - "$AGENT" "$PROG/dump_host"
	wait_for 10 complete 2
	[ "$(files -name '*.0001.*')" = 1 ]
	[ "$(files -name '*.0002.*')" = 3 ]
}

@test "a line of ours for a file that may not grow: no SIGXFSZ" {
	head -c 1024 /dev/zero >"$BATS_TEST_TMPDIR/err"
	for setting in HEAPAGENT_DIR=/nonexistent HEAPAGENT_RATE=lots; do
		run -0 bash -c "ulimit -f 1; exec env $setting LD_PRELOAD=$AGENT \
			$PROG/dump_host unchanged 2>>$BATS_TEST_TMPDIR/err"
	done
	[ "$(stat -c %s "$BATS_TEST_TMPDIR/err")" = 1024 ]
}
