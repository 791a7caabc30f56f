#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Dumps of a program of nine threads, not root's, under each setting of Yama's
# (kernel.yama.ptrace_scope). In a virtual machine only: the last setting cannot
# be taken back.

bats_require_minimum_version 1.5.0
load ../e2e/helpers
load ../e2e/hosts

scope=/proc/sys/kernel/yama/ptrace_scope

setup() {
	[ -e $scope ] || skip "this kernel has no Yama"
	# Where another user may write.
	HEAPAGENT_DIR=$(mktemp -d /tmp/yama.XXXXXX)
	export HEAPAGENT_DIR
	chmod 0777 "$HEAPAGENT_DIR"
	under=(setpriv --reuid 65534 --regid 65534 --clear-groups)
}

teardown() {
	[ -z "${host:-}" ] || kill -KILL "$host" 2>/dev/null || true
}

# All threads are read, and the program notices nothing.
dump_under() {
	echo "$1" >$scope
	[ "$(<$scope)" = "$1" ]
	start dump_threads
	dump 1
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
	"$DECODE" "$(newest threads)" | grep '^comment'
	[ "$(sum "$(newest threads)" threads)" = 9 ]
	[ "$(counter_of threads_unanswered)" = 0 ]
	finish
	[ ! -s "$BATS_TEST_TMPDIR/err" ]
}

said() {
	"$DECODE" "$(newest threads)" | grep -E "^comment .*$1"
}

@test "scope 0: by ptrace" {
	dump_under 0
	said 'by ptrace'
	run ! said 'refused for'
}

# Because the signalled thread permits it.
@test "scope 1: by ptrace, if nothing else is wanted" {
	dump_under 1
	said 'by (ptrace|signal)'
}

@test "scope 2: ptrace is refused" {
	dump_under 2
	said 'refused for [0-9]+ \(EPERM, Yama ptrace_scope 2\)'
	run ! said 'by ptrace'
}

@test "scope 3: ptrace is refused" {
	dump_under 3
	said 'refused for [0-9]+ \(EPERM, Yama ptrace_scope 3\)'
	run ! said 'by ptrace'
}
