#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs that allocate inside of the dynamic loader and the C++ runtime, that
# open and close libraries, or that allocate before the agent has started.

load helpers

LIB=$PROG/lib

# --- row 1

@test "allocating under the loader's lock, dlopen, dlclose and throw at once" {
	oracle -i 10 "$PROG/loader_lock" "$LIB/plain.so" 60000
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = \
		"120000 walks, 12000 opens, 30000 throws" ]
	[ "$asked" -ge 5 ]
	nothing_dropped
	exit_stacks "$PROG/loader_lock"
	[ "$(with 'bytes=55bytes \| [^|]*allocate_under_lock' \
		alloc_objects)" = 120000 ]
	[ "$(with 'bytes=33bytes \| [^|]*/plain.so[^|]*\|.*open_and_close' \
		alloc_objects)" = 12000 ]
	[ "$(with '/plain.so' inuse_objects)" = 0 ]
	# Each vector of each thrower() on the way, by its operator new.
	[ "$(with 'libstdc.*thrower.*throw_and_catch' alloc_objects)" -ge \
		195000 ]
}

# --- rows 4 and 8

@test "a program whose first act is to allocate" {
	oracle "$PROG/first_act"
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "errno kept" ]
	nothing_dropped
	exit_stacks "$PROG/first_act"
	[ "$(with ' preinit' alloc_space)" = 33300 ]
	[ "$(with ' preinit' inuse_space)" = 16650 ]
	[ "$(with ' construct' alloc_space)" = 88800 ]
}

@test "a library preloaded before or after that allocates in its constructor" {
	for order in -b -a; do
		rm -f "$HEAPAGENT_DIR"/*
		oracle "$order" "$LIB/ctor.so" "$PROG/first_act"
		nothing_dropped
		exit_stacks "$PROG/first_act"
		[ "$(with '/ctor.so' inuse_space)" = 1048576 ]
		[ "$(with '/ctor.so' inuse_objects)" = 1024 ]
		[ "$(with ' preinit' alloc_space)" = 33300 ]
	done
}

@test "another allocator before or after that allocates in its constructor" {
	for allocator in jemalloc tcmalloc mimalloc; do
		library=$(ldconfig -p | sed -n \
			"s/.*lib$allocator\(_minimal\)*\.so.* => //p" | head -n 1)
		[ -n "$library" ]
		oracle -a "$LIB/ctor.so:$library" "$PROG/first_act"
		nothing_dropped
		exit_stacks "$PROG/first_act"
		[ "$(with '/ctor.so' inuse_space)" = 1048576 ]
		rm -f "$HEAPAGENT_DIR"/*
		# Then we may see nothing, and must do no harm.
		oracle -b "$library" "$PROG/first_act"
		rm -f "$HEAPAGENT_DIR"/*
	done
}

# --- row 7

@test "two libraries in turn at one address: each sample names the right one" {
	# A row of the one, believed of the other, leads astray.
	[ "$(nm "$LIB/twin_narrow.so" | grep twin_take)" = \
		"$(nm "$LIB/twin_wide.so" | grep twin_take)" ]
	oracle "$PROG/twins" "$LIB/twin_narrow.so" "$LIB/twin_wide.so" 1000
	read -r same _ total <"$BATS_TEST_TMPDIR/out"
	[ "$same" -gt $((total / 2)) ]
	nothing_dropped
	[ "$(counter "$(newest heap)" stacks_truncated_unwind)" = 0 ]
	exit_stacks "$PROG/twins"
	# They were closed, all of them, before the dump at exit.
	[ "$(with '/twin_narrow.so' alloc_space)" = 100000 ]
	[ "$(with '/twin_wide.so' alloc_space)" = 200000 ]
	[ "$(with 'bytes=100bytes \| [^|]*/twin_narrow.so[^|]*\|[^|]* visit \|[^|]* main \|' \
		alloc_objects)" = 1000 ]
	[ "$(with 'bytes=200bytes \| [^|]*/twin_wide.so[^|]*\|[^|]* visit \|[^|]* main \|' \
		alloc_objects)" = 1000 ]
	"$DECODE" "$(newest heap)" | grep '^mapping .*/twin_narrow.so [0-9a-f]*$'
}

# --- row 9

@test "100 libraries with dynamic thread-local memory in 50 threads" {
	for i in $(seq 100); do
		cp "$LIB/tls.so" "$BATS_TEST_TMPDIR/tls$i.so"
	done
	oracle "$PROG/tls_libraries" 50 "$BATS_TEST_TMPDIR"/tls*.so
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "opened 100, touched 5000" ]
	nothing_dropped
	exit_stacks
	# The blocks that the loader makes for the threads are seen as well.
	[ "$(with 'bytes=64bytes \| [^|]*/tls[0-9]*.so' alloc_objects)" = 10000 ]
	[ "$(with '\| [^|]*/ld-linux[^|]*\|[^|]*/tls[0-9]*.so' \
		alloc_space)" -ge $((5000 * 4096)) ]
}

@test "as many libraries with static thread-local memory as without the agent" {
	for i in $(seq 100); do
		cp "$LIB/static_tls.so" "$BATS_TEST_TMPDIR/tls$i.so"
	done
	oracle "$PROG/tls_libraries" 10 "$BATS_TEST_TMPDIR"/tls*.so
	read -r _ opened _ <"$BATS_TEST_TMPDIR/out"
	# The reserve has an end, so the number says something.
	[ "${opened%,}" -ge 10 ]
	[ "${opened%,}" -lt 100 ]
}

@test "under LD_AUDIT" {
	LD_AUDIT=$LIB/audit.so oracle "$PROG/first_act"
	exit_stacks "$PROG/first_act"
	[ "$(with ' preinit' alloc_space)" = 33300 ]
}
