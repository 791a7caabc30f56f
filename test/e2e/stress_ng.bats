#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# stress-ng's stressors check themselves (--verify): under the agent, at every
# allocation and with a dump every 50 ms, they find nothing more than without.

load helpers
load oracle2

dumper=
# Words before stress-ng: it refuses some of its stressors to root.
as_user=()

# A place that any user can reach.
setup() {
	REACHABLE=$(mktemp -d)
	export HEAPAGENT_DIR=$REACHABLE/dumps
	mkdir -m 777 "$HEAPAGENT_DIR" "$REACHABLE/temp"
	chmod 755 "$REACHABLE"
	cp "$AGENT" "$REACHABLE"
	AGENT=$REACHABLE/libheapagent.so
	[ "$(id -u)" -ne 0 ] ||
		as_user=(setpriv --reuid 54321 --clear-groups)
}

teardown() {
	[ -z "$dumper" ] || kill -KILL "$dumper" 2>/dev/null || true
	rm -rf "$REACHABLE"
}

# stress-ng has a use for SIGUSR2.
SIGNAL=39 # RTMIN+5

# True once the process catches the signal: before that it would end it.
catches() {
	local caught
	caught=$(awk '/^SigCgt/ { print $2 }' "/proc/$1/status" 2>/dev/null)
	((16#${caught:-0} >> (SIGNAL - 1) & 1))
}

# A dump of each process of the group that catches the signal, every 50 ms.
keep_dumping() {
	local pid
	while kill -0 "$1"; do
		for pid in "$1" $(pgrep -P "$1"); do
			! catches "$pid" || kill -$SIGNAL "$pid"
		done
		sleep 0.05
	done
} 2>/dev/null

# "stress-ng: metrc: [PID] NAME OPS ...": the stressor got through.
got_through() {
	awk -v name="$1" '$2 == "metrc:" && $4 == name && $5 > 0 { found = 1 }
		END { exit !found }' "$BATS_TEST_TMPDIR/$1.log"
}

# stress STRESSOR OPS: ends with status 0, and did all of its OPS.
stress() {
	local log=$BATS_TEST_TMPDIR/$1.log pid status=0
	local command=("${as_user[@]}" stress-ng "--$1" 1 "--$1-ops" "$2"
		--verify --timeout 4 --no-rand-seed --metrics
		--temp-path "$REACHABLE/temp")
	# Where it does not pass without us there is nothing to compare.
	if ! { "${command[@]}" >"$log" 2>&1 3>&- && got_through "$1"; }; then
		echo "# $1 does not run here without the agent either" >&3
		return 0
	fi
	HEAPAGENT_SIGNAL=$SIGNAL HEAPAGENT_RATE=1 LD_PRELOAD=$AGENT "${command[@]}" >"$log" 2>&1 3>&- &
	pid=$!
	keep_dumping "$pid" 3>&- &
	dumper=$!
	wait "$pid" || status=$?
	wait "$dumper" || true
	dumper=
	[ "$status" -eq 0 ] || {
		echo "$1: status $status"
		cat "$log"
		return 1
	}
	got_through "$1" || {
		cat "$log"
		return 1
	}
	if grep -E 'fail:|verification' "$log"; then
		return 1
	fi
}

# There were dumps, and all of them are whole. A stressor kills its children:
# a dump that is under way goes on, one that has begun may leave its file.
valid_afterwards() {
	find "$HEAPAGENT_DIR" -name '*.heap.pb.gz' | grep -q .
	find "$HEAPAGENT_DIR" -name '*.pb.gz' -print0 |
		xargs -0 "$CHECKVALID"
}

@test "memory: malloc, dynlib, context, bad-altstack" {
	stress malloc 20000
	stress dynlib 200
	stress context 2000
	stress bad-altstack 100
	valid_afterwards
}

@test "processes: fork, vfork, spawn, exec" {
	stress fork 300
	stress vfork 300
	stress spawn 50
	stress exec 50
	valid_afterwards
}

@test "descriptors and waits: close, dup, poll, epoll, sem, nanosleep, sigq" {
	stress close 2000
	stress dup 200
	stress poll 2000
	stress epoll 500
	stress sem 5000
	stress nanosleep 200
	stress sigq 2000
	valid_afterwards
}

@test "limits and sandboxes: rlimit, seccomp" {
	stress rlimit 500
	as_user=() # only root's passes
	stress seccomp 100
	valid_afterwards
}
