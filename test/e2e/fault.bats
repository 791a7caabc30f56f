#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# System calls of the agent that fail, each in turn: the program does not notice,
# what is written is whole, and nothing else is left in the directory.
# shellcheck disable=SC2030,SC2031 # each test is a process of its own
bats_require_minimum_version 1.5.0

load helpers

# inject CALL ERRNO NUMBER COMMAND...: sets $seen to the number of such calls.
# Fails if the program was harmed.
inject() {
	local status=0 dir=$BATS_TEST_TMPDIR
	rm -rf "$HEAPAGENT_DIR"
	mkdir "$HEAPAGENT_DIR"
	HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 timeout 20 "$PROG/fault" "$1" \
		"$2" "$3" env LD_PRELOAD="$AGENT" "${@:4}" \
		</dev/null >"$dir/out" 2>"$dir/err" 9>"$dir/seen" || status=$?
	seen=$(<"$dir/seen")
	echo "$1 $3 of $seen, errno $2: exit status $status"
	cat "$dir/out" "$dir/err"
	[ "$status" -eq 0 ]
	[ "$3" -gt 0 ] || cp "$dir/out" "$dir/expected"
	cmp "$dir/expected" "$dir/out"
	! grep -v '^heapagent: ' "$dir/err"
	nothing_but_dumps
}

# each_fails STEP CALL ERRNO COMMAND...: one by one, or each STEP-th.
each_fails() {
	local step=$1 call=$2 error=$3 number=1 seen
	shift 3
	# Its own check of itself decides; the agent alone must pass it, too.
	inject "$call" "$error" 0 "$@"
	[ "$seen" -gt 0 ]
	while [ "$number" -le "$seen" ]; do
		inject "$call" "$error" "$number" "$@"
		number=$((number + step))
	done
}

ENOMEM=12 EPERM=1 EMFILE=24 ENOSPC=28 EIO=5 EACCES=13

@test "memory: mmap, mprotect, madvise" {
	each_fails 1 mmap $ENOMEM "$PROG/dump_host" unchanged
	each_fails 1 mprotect $ENOMEM "$PROG/dump_host" unchanged
	each_fails 1 madvise $ENOMEM "$PROG/dump_host" unchanged
}

@test "files that are read" {
	each_fails 1 openat $EMFILE "$PROG/dump_host" unchanged
	each_fails 1 read $EIO "$PROG/dump_host" unchanged
	each_fails 1 newfstatat $EACCES "$PROG/dump_host" unchanged
	each_fails 1 fstat $EACCES "$PROG/dump_host" unchanged
	each_fails 1 getdents64 $ENOMEM "$PROG/dump_host" unchanged
	each_fails 1 readlinkat $EACCES "$PROG/dump_host" unchanged
}

@test "files that are written" {
	each_fails 1 write $ENOSPC "$PROG/dump_host" unchanged
	each_fails 1 fchmod $EPERM "$PROG/dump_host" unchanged
	each_fails 1 renameat2 $EACCES "$PROG/dump_host" unchanged
}

# (wait4 cannot fail for a child that is there.)
@test "processes: clone, close_range, prctl, prlimit64" {
	each_fails 1 clone $ENOMEM "$PROG/dump_host" unchanged
	each_fails 1 close_range $EPERM "$PROG/dump_host" unchanged
	each_fails 1 prctl $EPERM "$PROG/dump_host" unchanged
	each_fails 1 prlimit64 $EPERM "$PROG/dump_host" unchanged
	each_fails 1 getrandom $EPERM "$PROG/dump_host" unchanged
}

@test "signals: rt_sigaction, rt_sigprocmask, sigaltstack" {
	each_fails 1 rt_sigaction $EPERM "$PROG/dump_host" unchanged
	each_fails 1 rt_sigprocmask $EPERM "$PROG/dump_host" unchanged
	each_fails 1 sigaltstack $EPERM "$PROG/dump_host" unchanged
}

# Not ptrace: calls are made to fail by a filter here, and under one no thread is
# stopped (threads_refused.bats has a tracer that is in the way).
@test "threads: the files of /proc" {
	inject ptrace $EPERM 0 "$PROG/dump_threads"
	[ "$seen" -eq 0 ]
	each_fails 5 openat $EMFILE "$PROG/dump_threads"
	each_fails 1 getdents64 $ENOMEM "$PROG/dump_threads"
}
