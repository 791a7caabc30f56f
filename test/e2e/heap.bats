#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the heap and allocs profiles say, against programs that count for
# themselves.

load helpers

# The sums of a dump's own frames: inuse_objects inuse_space alloc_*.
sums() {
	local type
	for type in inuse_objects inuse_space alloc_objects alloc_space; do
		sum "$1" "$type" "$2"
	done | paste -sd' '
}

@test "at RATE=1 the profile equals the program's own count to the byte" {
	truth=$(HEAPAGENT_RATE=1 preloaded "$PROG/exact" 100000)
	[ "$(sums "$(newest heap)" /exact)" = "$truth" ]
	[ "$(sums "$(newest allocs)" /exact)" = "$truth" ]
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
}

@test "at RATE=1 with the frame pointer and libunwind unwinders too" {
	for unwinder in fp libunwind; do
		rm -f "$HEAPAGENT_DIR"/*
		truth=$(HEAPAGENT_UNWINDER=$unwinder HEAPAGENT_RATE=1 \
			preloaded "$PROG/exact" 20000)
		[ "$(sums "$(newest heap)" /exact)" = "$truth" ]
	done
}

@test "RATE=0 samples nothing and still dumps" {
	HEAPAGENT_RATE=0 preloaded "$PROG/exact" 1000
	[ "$(sum "$(newest heap)" alloc_objects)" = 0 ]
	[ -e "$(newest threads)" ]
}

@test "two threads free each other's blocks: at rest the live set is exact" {
	truth=$(HEAPAGENT_RATE=1 preloaded "$PROG/cross_free" 5)
	heap=$(newest heap)
	# By the innermost frame: pthread_create allocates below main, too.
	got="$(sum "$heap" inuse_objects /cross_free innermost) $(sum "$heap" \
		inuse_space /cross_free innermost)"
	[ "$got" = "$truth" ]
	[ "$(counter "$heap" samples_dropped_live_full)" = 0 ]
	[ "$(counter "$heap" samples_dropped_region_full)" = 0 ]
}

# pprof_rows ARGS...: the values and the label of each sample that pprof has.
pprof_rows() {
	HOME=$BATS_TEST_TMPDIR timeout 60 go tool pprof -raw "$@" 2>/dev/null |
		awk '/^Locations/ { exit }
			$NF ~ /^bytes:/ || $1 == "bytes:" { next }
			/^ *-?[0-9]+ +-?[0-9]+ +-?[0-9]+ +-?[0-9]+:/ {
				sub(/:.*/, "")
				print $1, $2, $3, $4
			}'
}

# difference A B: of the sums of each type in what pprof_rows printed.
difference() {
	awk '{ for (i = 1; i <= 4; i++)
			sum[i] += FILENAME == ARGV[1] ? -$i : $i }
		END { print sum[1], sum[2], sum[3], sum[4] }' "$1" "$2"
}

# One bucket is one key in all dumps of a process: stores and -base, which take
# labels for a part of it, count nothing twice and nothing below zero.
@test "what a dump has more than the one before, by pprof's -base" {
	cd "$BATS_TEST_TMPDIR"
	HEAPAGENT_RATE=1 preloaded "$PROG/mixed_sizes"
	before=$(echo "$HEAPAGENT_DIR"/*.0001.heap.pb.gz)
	after=$(echo "$HEAPAGENT_DIR"/*.0002.heap.pb.gz)
	pprof_rows "$before" >rows.before
	pprof_rows "$after" >rows.after
	pprof_rows -base "$before" "$after" >rows.delta
	cat rows.delta
	[ "$(awk '$1 < 0 || $2 < 0' rows.delta | wc -l)" = 0 ]
	# 1000 blocks by one call, half of them freed again; nothing else.
	[ "$(cut -d' ' -f1,3 rows.delta)" = "1000 500" ]
	[ "$(cat rows.delta)" = "$(difference rows.before rows.after)" ]
	# The size of the first block.
	HOME=$BATS_TEST_TMPDIR go tool pprof -tags "$after" 2>/dev/null >tags
	cat tags
	"$DECODE" "$after" | grep -q 'alloc_objects=2000 .*bytes=1030'
}

@test "the same from the text format, through heapagent and without" {
	cd "$BATS_TEST_TMPDIR"
	HEAPAGENT_FORMAT=text HEAPAGENT_RATE=1 preloaded "$PROG/mixed_sizes"
	before=$(echo "$HEAPAGENT_DIR"/*.0001.heap.txt)
	after=$(echo "$HEAPAGENT_DIR"/*.0002.heap.txt)
	# Without labels of its own pprof makes one of the mean: the sums hold.
	pprof_rows "$before" >rows.before
	pprof_rows "$after" >rows.after
	pprof_rows -base "$before" "$after" >rows.delta
	[ "$(difference /dev/null rows.delta)" = "$(difference rows.before rows.after)" ]
	for file in "$before" "$after"; do
		"$ROOT/build/heapagent" symbolize "$file" \
			-o "$(basename "$file" .txt).pb.gz"
	done
	pprof_rows -base mixed_sizes.*.0001.heap.pb.gz \
		mixed_sizes.*.0002.heap.pb.gz >rows.delta
	cat rows.delta
	[ "$(cut -d' ' -f1,3 rows.delta)" = "1000 500" ]
	"$ROOT/build/heapagent" delta mixed_sizes.*.heap.pb.gz -o own.pb.gz
	[ "$(sum own.pb.gz alloc_objects)" = 1000 ]
	# google-pprof has no labels; it reads past ours.
	google-pprof --text --show_bytes --alloc_space "$PROG/mixed_sizes" \
		"$after" 2>/dev/null | grep "^Total: $(
		difference /dev/null rows.after | cut -d' ' -f2) B"
}

@test "strict readers take each file: UTF-8, no duration, comments" {
	cp "$PROG/mixed_sizes" "$BATS_TEST_TMPDIR/$(printf 'caf\351')"
	# shellcheck disable=SC2016 # the name of the process, not ours
	HEAPAGENT_RATE=1 preloaded bash -c 'exec -a executableInfo=x "$@"' - \
		"$BATS_TEST_TMPDIR/$(printf 'caf\351')" "$(printf 'na\357ve')"
	[ "$(find "$HEAPAGENT_DIR" -name '*.0002.*' | wc -l)" -ge 3 ]
	"$ROOT/test/tools/strict_profile" "$HEAPAGENT_DIR"/*.pb.gz
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
	"$DECODE" "$(newest threads)" | grep 'обработ?'
}
