#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# stress-ng's stressors, which check themselves (--verify), under the agent:
# each process of theirs that catches the signal is asked for dumps.

load helpers

# stress STRESSOR OPERATIONS...: SIGUSR2 is stress-ng's own.
stress() {
	local files
	export HEAPAGENT_SIGNAL=39 HEAPAGENT_AT_EXIT=0 HEAPAGENT_LOG=quiet
	while [ $# -gt 0 ]; do
		echo "== $1"
		rm -f "$HEAPAGENT_DIR"/*
		oracle -i 20 -s 39 -d stress-ng \
			"--$1" 1 "--$1-ops" "$2" --timeout 10 --verify \
			--quiet --temp-path "$BATS_TEST_TMPDIR"
		[ "$status" -eq 0 ]
		files=("$HEAPAGENT_DIR"/*.heap.pb.gz)
		# The last signals may come to a process that ends.
		[ "$asked" -lt 3 ] || [ -e "${files[0]}" ]
		shift 2
	done
}

@test "memory and stacks: malloc, context, stack" {
	stress malloc 40000 context 1000 stack 1
}

@test "processes: fork, vfork, clone, dynlib" {
	stress fork 300 vfork 300 clone 20 dynlib 1000
}

@test "descriptors and limits: close, dup, rlimit, seccomp" {
	stress close 2000 dup 500 rlimit 300 seccomp 50
}

@test "waiting: nanosleep, poll, sigq, sigsuspend" {
	stress nanosleep 200 poll 2000 sigq 50000 sigsuspend 20000
}
