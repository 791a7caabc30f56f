#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a profile lacks is said by everything that shows it.
# shellcheck disable=SC2030,SC2031 # each test is a process of its own

bats_require_minimum_version 1.5.0

load helpers

heapagent=$ROOT/build/heapagent

teardown() {
	[ -z "${host:-}" ] || kill -KILL "$host" 2>/dev/null || true
}

# 200,000 blocks of 100 bytes and their like, of which 4M hold no tenth.
fill() {
	# shellcheck disable=SC2097,SC2098
	HEAPAGENT_MEMORY=4M HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 \
		PYTHONMALLOC=malloc preloaded /usr/bin/python3 -c '
kept = [bytearray(100) for n in range(200000)]'
}

@test "every view says what share of the allocations is not there" {
	fill
	heap=$(newest heap)
	dropped=$(counter "$heap" dropped_bytes)
	there=$(sum "$heap" alloc_space)
	[ "$dropped" -gt 1000000 ]
	share=$(awk -v a="$dropped" -v b="$there" \
		'BEGIN { printf "%.2g %%", 100 * a / (a + b) }')
	echo "$share of $dropped and $there"
	says="$share of the allocated bytes"
	cd "$BATS_TEST_TMPDIR"
	for view in "top X" "tree X" "peek . X" "diff X X" "text X"; do
		# shellcheck disable=SC2086
		"$heapagent" ${view//X/$heap} >said 2>&1
		[ "$(grep -cE "(Missing: )$says" said)" = 1 ]
	done
	"$heapagent" flame "$heap" -o page.html
	grep -qF "Missing: $says" page.html
	"$heapagent" inuse "$heap" -o inuse.pb.gz 2>said
	grep -q "Missing: $says" said
	# What is left of it cannot say the share, but that there is one.
	"$heapagent" top inuse.pb.gz | grep -q 'Missing: some of the allocated'
	"$heapagent" top --json "$heap" | grep -q "\"dropped_bytes\":$dropped"
	# The reason that dropped most is named.
	"$heapagent" top "$heap" | grep -E '^Missing: .*(live table|region)'
}

@test "arguments of the program are no counters" {
	for HEAPAGENT_FORMAT in proto text; do
		export HEAPAGENT_FORMAT
		HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 preloaded python3 -c pass \
			samples_dropped_busy=7 'dropped_bytes = 999999'
	done
	for file in "$HEAPAGENT_DIR"/*.heap.*; do
		"$heapagent" top "$file" >"$BATS_TEST_TMPDIR/said"
		run ! grep Missing "$BATS_TEST_TMPDIR/said"
	done
}

@test "so do status, and the text format" {
	# shellcheck disable=SC2034 # for start_command
	HEAPAGENT_MEMORY=4M HEAPAGENT_RATE=1 HEAPAGENT_FORMAT=text \
		PYTHONMALLOC=malloc LD_PRELOAD=$AGENT /usr/bin/python3 -c '
import time
kept = [bytearray(100) for n in range(200000)]
print("ready", flush=True)
time.sleep(60)' >"$BATS_TEST_TMPDIR/out" 3>&- &
	host=$!
	wait_for 20 grep -q ready "$BATS_TEST_TMPDIR/out"
	"$heapagent" status "$host" | tee "$BATS_TEST_TMPDIR/status"
	share=$(sed -n 's/^missing    \(.*\) of the allocated bytes .*/\1/p' \
		"$BATS_TEST_TMPDIR/status")
	[ -n "$share" ]
	"$heapagent" dump "$host" >"$BATS_TEST_TMPDIR/paths"
	"$heapagent" top "$(grep heap "$BATS_TEST_TMPDIR/paths")" |
		grep "^Missing: $share of the allocated bytes"
}

@test "an older agent's counters: of the samples" {
	fill
	"$heapagent" text "$(newest heap)" >"$BATS_TEST_TMPDIR/text"
	cat >"$BATS_TEST_TMPDIR/old.txt" <<-END
		heap profile: 3: 300 [3: 301] @ heapprofile
		3: 300 [3: 300] @ 0x1000

		# heapagent 0.1.0
		# samples = 300
		# samples_dropped_busy = 100
	END
	"$heapagent" top "$BATS_TEST_TMPDIR/old.txt" |
		grep '^Missing: 25 % of the samples, .*: all sample buffers'
}

@test "nothing is said of a profile that has all, or of one of threads" {
	HEAPAGENT_RATE=1 preloaded "$PROG/exact" 1000
	for file in "$(newest heap)" "$(newest threads)"; do
		"$heapagent" top "$file" >"$BATS_TEST_TMPDIR/said"
		[ "$(grep -ciE 'missing|sampled|not seen' \
			"$BATS_TEST_TMPDIR/said")" = 0 ]
	done
	# Nor are counters printed that are 0.
	for kind in heap threads; do
		"$heapagent" text "$(newest $kind)" >"$BATS_TEST_TMPDIR/said"
		[ "$(grep -cE '(samples_dropped|dumps_failed)' \
			"$BATS_TEST_TMPDIR/said")" = 0 ]
		grep -q 'dumps_started=1' "$BATS_TEST_TMPDIR/said"
	done
}

@test "a program too small for its rate: what to do" {
	HEAPAGENT_RATE=1G HEAPAGENT_AT_EXIT=1 preloaded /bin/true
	"$heapagent" top "$(newest heap)" | tee "$BATS_TEST_TMPDIR/said"
	grep -q '^Nothing was sampled: .*--rate 4K' "$BATS_TEST_TMPDIR/said"
}

@test "who serves malloc past the agent: status and the views" {
	LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2:$AGENT \
		HEAPAGENT_AT_EXIT=1 /bin/sleep 0
	"$heapagent" top "$(newest heap)" | grep '^Not seen: malloc of .*jemalloc'
	LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2:$AGENT \
		/bin/sleep 60 3>&- &
	host=$!
	wait_for 20 "$heapagent" status "$host"
	"$heapagent" status "$host" | grep '^not seen   malloc of .*jemalloc'
}
