#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The agent adds no system call in steady state, and no thread, descriptor or
# child before, between and after dumps.

load helpers

# The system calls between the two marks of test/prog/steady.
calls_between_marks() {
	strace -f -o "$BATS_TEST_TMPDIR/trace" \
		-E LD_PRELOAD="$AGENT" "$PROG/steady"
	awk '/getppid/ { marks++; next } marks == 1' "$BATS_TEST_TMPDIR/trace"
}

@test "no system call in steady state at the default rate" {
	run calls_between_marks
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$(grep -c getppid "$BATS_TEST_TMPDIR/trace")" -eq 2 ]
}

@test "no system call in steady state when every allocation is sampled" {
	HEAPAGENT_RATE=1 run calls_between_marks
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

# What of a process can be seen from outside.
footprint() {
	echo "threads $(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)"
	echo "descriptors $(readlink "/proc/$1/fd/"* | sort | tr '\n' ' ')"
	echo "children $(cat "/proc/$1/task/"*/children)"
	grep -E '^(SigBlk|SigIgn|SigPnd|ShdPnd|TracerPid|Seccomp|NoNewPrivs)' \
		"/proc/$1/status"
	# Mappings come and go with stacks and heaps; the agent's stay as many.
	grep -cE 'libheapagent|anon:heapagent' "/proc/$1/maps"
}

unchanged() {
	[ "$(footprint "$1")" = "$before" ]
}

@test "no thread, descriptor or child before, between and after dumps" {
	LD_PRELOAD=$AGENT "$PROG/patient" >"$BATS_TEST_TMPDIR/out" 3>&- &
	victim=$!
	wait_for 5 grep -q ready "$BATS_TEST_TMPDIR/out"
	before=$(footprint $victim)
	for sequence in 0001 0002 0003; do
		kill -USR2 $victim
		wait_for 5 test -e \
			"$HEAPAGENT_DIR/patient.$victim.$sequence.heap.pb.gz"
		# The child is gone a moment after its last file is there.
		wait_for 5 unchanged $victim || {
			diff <(echo "$before") <(footprint $victim)
			kill -KILL $victim
			return 1
		}
	done
	kill -KILL $victim
}
