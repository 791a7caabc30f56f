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
