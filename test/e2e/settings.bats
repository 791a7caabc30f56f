#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Each setting does what the README's table says. What does not parse is in
# test/unit/config_test.c. (bash, not sh: dash leaves by _exit().)
bats_require_minimum_version 1.5.0

load helpers

# The names of the files, without program and PID.
dumped() {
	(cd "$HEAPAGENT_DIR" && find . -type f) | sed 's/^.*\.\([0-9]*\.\)/\1/' |
		sort | paste -sd' '
}

@test "a value that does not parse: one line, then the default" {
	HEAPAGENT_RATE=lots run --separate-stderr preloaded "$PROG/exact" 100
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr == "heapagent: HEAPAGENT_RATE=\"lots\" is not accepted; "*"using 524288" ]]
	"$DECODE" "$(newest heap)" | grep -qx 'period 524288 space bytes'
}

@test "RATE: the period of the profile" {
	HEAPAGENT_RATE=64K preloaded "$PROG/exact" 100
	"$DECODE" "$(newest heap)" | grep -qx 'period 65536 space bytes'
}

@test "DIR: relative to the start directory, whatever the program changes to" {
	cd "$BATS_TEST_TMPDIR"
	mkdir here
	HEAPAGENT_DIR=./here/ HEAPAGENT_AT_EXIT=1 preloaded bash -c 'cd /'
	ls here/*.heap.pb.gz
}

@test "no DIR: the start directory" {
	cd "$BATS_TEST_TMPDIR"
	env -u HEAPAGENT_DIR HEAPAGENT_AT_EXIT=1 LD_PRELOAD="$AGENT" bash -c 'cd /'
	ls ./*.heap.pb.gz
}

@test "SIGNAL: another one, and none" {
	HEAPAGENT_SIGNAL=RTMIN+3 LD_PRELOAD=$AGENT "$PROG/patient" \
		>"$BATS_TEST_TMPDIR/out" 3>&- &
	victim=$!
	wait_for 5 grep -q ready "$BATS_TEST_TMPDIR/out"
	kill -RTMIN+3 $victim
	wait_for 5 newest heap
	# USR2 is the program's, as without us.
	kill -USR2 $victim
	status=0
	wait $victim || status=$?
	[ "$status" -eq $((128 + 12)) ]

	HEAPAGENT_SIGNAL=none run preloaded "$PROG/exact" 10
	[ "$status" -eq $((128 + 12)) ]
}

@test "PROFILES: the kinds asked for and no other" {
	HEAPAGENT_PROFILES=heap preloaded "$PROG/exact" 10
	[ "$(dumped)" = "0001.heap.pb.gz" ]
	rm "$HEAPAGENT_DIR"/*
	HEAPAGENT_PROFILES=threads,allocs preloaded "$PROG/exact" 10
	[ "$(dumped)" = "0001.allocs.pb.gz 0001.threads.pb.gz" ]
}

@test "AT_EXIT: one more dump, the next in number" {
	HEAPAGENT_AT_EXIT=1 HEAPAGENT_PROFILES=heap preloaded "$PROG/exact" 10
	[ "$(dumped)" = "0001.heap.pb.gz 0002.heap.pb.gz" ]
}

@test "DEPTH: stacks are cut to it, and counted" {
	HEAPAGENT_DEPTH=2 HEAPAGENT_RATE=1 preloaded "$PROG/exact" 100
	"$DECODE" "$(newest heap)" | awk '
		$1 == "sample" { depth = 0 }
		$1 == "frame" && ++depth > 2 { bad = 1 }
		$1 == "frame" { some = 1 }
		END { exit bad || !some }'
	[ "$(counter "$(newest heap)" stacks_truncated_depth)" -gt 0 ]
}

@test "MEMORY: a small region drops samples, counts them, and stays" {
	HEAPAGENT_MEMORY=4M HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 \
		preloaded "$PROG/many_stacks" 20000 </dev/null
	heap=$(newest heap)
	dropped=$(counter "$heap" samples_dropped_region_full)
	[ "$dropped" -gt 0 ]
	[ "$(counter "$heap" region_used_bytes)" -le $((4 << 20)) ]
}

@test "CHILDREN=0: what the program executes starts without the agent" {
	HEAPAGENT_CHILDREN=0 HEAPAGENT_AT_EXIT=1 \
		LD_PRELOAD=/none/notlibheapagent.so:$AGENT \
		bash -c 'env; true' >"$BATS_TEST_TMPDIR/env" 2>/dev/null
	grep -qx 'LD_PRELOAD=/none/notlibheapagent.so:' "$BATS_TEST_TMPDIR/env"
	run dumped
	[ "$output" = "0001.allocs.pb.gz 0001.heap.pb.gz 0001.threads.pb.gz" ]
}

@test "CHILDREN=1: children dump under their own PIDs" {
	HEAPAGENT_AT_EXIT=1 HEAPAGENT_PROFILES=heap preloaded \
		bash -c 'ls / >/dev/null; true'
	[ "$(dumped)" = "0001.heap.pb.gz 0001.heap.pb.gz" ]
	ls "$HEAPAGENT_DIR"/ls.*.heap.pb.gz
}

@test "LOG=info says that the signal is taken; warn and quiet say nothing" {
	for log in info warn quiet; do
		HEAPAGENT_LOG=$log run --separate-stderr preloaded \
			env --ignore-signal=USR2 true
		echo "$log: $stderr"
		[ "$status" -eq 0 ]
		case $log in
		info) [[ $stderr == "heapagent: signal 12 is taken"* ]] ;;
		*) [ -z "$stderr" ] ;;
		esac
	done
}
