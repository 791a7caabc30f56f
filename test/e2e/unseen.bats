#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What never reaches our malloc is found out at start, and said in one line.

load helpers
load oracle2

teardown() {
	[ -z "${host:-}" ] || kill -KILL "$host" 2>/dev/null || true
}

LIBRARIES=/usr/lib/x86_64-linux-gnu

# said: the line of the newest dump's heap profile.
said() {
	wait_dumps 1
	all_valid
	"$DECODE" "$(newest heap)" | sed -n 's/^comment # not seen: //p'
}

# build COMPILER SOURCE LIBRARY...: the program $BATS_TEST_TMPDIR/built.
build() {
	local compiler=$1 source=$2
	shift 2
	"$compiler" -w -D_GNU_SOURCE -O1 -o "$BATS_TEST_TMPDIR/built" \
		"$ROOT/test/prog/$source" -Wl,--no-as-needed "$@"
}

@test "nothing is said where nothing is missed" {
	same "$PROG/exact" 1000
	[ -z "$(said)" ]
	[ "$("$DECODE" "$(newest heap)" | grep -c '^comment heapagent')" = 1 ]
	rm -f "$HEAPAGENT_DIR"/*
	same "$PROG/holds_new"
	[ -z "$(said)" ]
	for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 \
		libmimalloc.so.2; do
		rm -f "$HEAPAGENT_DIR"/*
		build gcc exact.c "$LIBRARIES/$other"
		same "$BATS_TEST_TMPDIR/built" 1000 plain
		# Debian's have operator new, which no C program calls.
		[[ -z $(said) || $(said) == "operator new of "* ]]
	done
}

@test "an operator new that goes past malloc is named" {
	for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 \
		libmimalloc.so.2; do
		rm -f "$HEAPAGENT_DIR"/*
		build g++ holds_new.cc "$LIBRARIES/$other"
		run_agent "$BATS_TEST_TMPDIR/built"
		[ "$(agent_status)" = 0 ]
		[[ $(said) == "operator new of "*"/$other, which "* ]]
		rm -f "$HEAPAGENT_DIR"/*
		PRELOAD="$AGENT:$LIBRARIES/$other" run_agent "$PROG/holds_new"
		[ "$(agent_status)" = 0 ]
		[[ $(said) == "operator new of "*"/$other, which "* ]]
	done
}

@test "a malloc before ours is named: the program's own, or a library's" {
	build gcc exact.c "$LIBRARIES/libjemalloc.a" -lm -lpthread -lstdc++
	run_agent "$BATS_TEST_TMPDIR/built" 1000 plain
	[ "$(agent_status)" = 0 ]
	[ "$(said)" = "malloc of the program's own" ]
	rm -f "$HEAPAGENT_DIR"/*
	PRELOAD="$LIBRARIES/libjemalloc.so.2:$AGENT" run_agent \
		"$PROG/exact" 1000 plain
	[ "$(said)" = "malloc of $LIBRARIES/libjemalloc.so.2" ]
}

# The library with operator new and delete.

# holds: what the newest profile has of holds_new, as the program prints it.
holds() {
	wait_dumps 1
	all_valid
	local heap
	heap=$(newest heap)
	echo "$(sums "$heap" "/$1") $(sum "$heap" alloc_objects "/$1")" \
		"$(sum "$heap" alloc_space "/$1")"
}

@test "operator new and delete past malloc: every form is in the profile" {
	AGENT=$ROOT/build/libheapagent-cxx.so
	for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 \
		libmimalloc.so.2; do
		rm -f "$HEAPAGENT_DIR"/*
		PRELOAD="$AGENT:$LIBRARIES/$other" run_agent "$PROG/holds_new"
		[ "$(agent_status)" = 0 ]
		[ "$(holds holds_new)" = "2000 200000 4000 400000" ]
		[ -z "$(said)" ]
		rm -f "$HEAPAGENT_DIR"/*
		build g++ holds_new.cc "$LIBRARIES/$other"
		PRELOAD=$AGENT run_agent "$BATS_TEST_TMPDIR/built"
		[ "$(agent_status)" = 0 ]
		[ "$(holds built)" = "2000 200000 4000 400000" ]
	done
}

@test "operator new of the C++ runtime counts once, in the hook of malloc" {
	AGENT=$ROOT/build/libheapagent-cxx.so
	PRELOAD=$AGENT same "$PROG/holds_new"
	# libstdc++ rounds what is aligned up to its alignment: 128 bytes.
	[ "$(holds holds_new)" = "2000 228000 4000 456000" ]
	rm -f "$HEAPAGENT_DIR"/*
	# It throws through its frames, and a C program does not notice it.
	PRELOAD=$AGENT same "$PROG/unwind_throw"
	PRELOAD=$AGENT same "$PROG/exact" 20000
}

@test "run takes that library where it is needed, and only there; dump and status know it" {
	local heapagent=$ROOT/build/heapagent script=$BATS_TEST_TMPDIR/script
	export HEAPAGENT_RATE=1 HEAPAGENT_SIGNAL=USR2
	chosen() {
		"$heapagent" run "$@" | sed -n 's/^LD_PRELOAD=//p'
	}
	[ "$(chosen env)" = "$AGENT" ]
	for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 \
		libmimalloc.so.2; do
		build g++ holds_new.cc "$LIBRARIES/$other"
		printf '#!%s\n' "$BATS_TEST_TMPDIR/built" >"$script"
		chmod +x "$script"
		for program in "$BATS_TEST_TMPDIR/built" "$script"; do
			rm -f "$HEAPAGENT_DIR"/*
			"$heapagent" run "$program"
			wait_dumps 1
			[ "$(holds built)" = "2000 200000 4000 400000" ]
		done
		[ "$(LD_PRELOAD=$LIBRARIES/$other chosen env)" = \
			"${AGENT%.so}-cxx.so:$LIBRARIES/$other" ]
	done
	# Another agent is in the list already: one is enough.
	[ "$(LD_PRELOAD=$LIBRARIES/libjemalloc.so.2 chosen "$heapagent" run \
		env LD_PRELOAD= "$heapagent" run env)" = "$AGENT" ]
	[ "$(LD_PRELOAD=$AGENT:$LIBRARIES/libmimalloc.so.2 chosen env)" = \
		"${AGENT%.so}-cxx.so:$LIBRARIES/libmimalloc.so.2" ]
	rm -f "$HEAPAGENT_DIR"/*
	LD_PRELOAD=$LIBRARIES/libjemalloc.so.2 \
		"$heapagent" run sleep 60 3>&- &
	host=$!
	[ "$("$heapagent" dump "$host" | wc -l)" = 3 ]
	"$heapagent" status "$host" | grep '^in use '
	# shellcheck source=/dev/null
	. "$ROOT/scripts/heapagent.bash"
	COMPREPLY=()
	_heapagent_pids "$host"
	[ "${COMPREPLY[*]}" = "$host" ]
}

@test "operator new of a plugin that goes, or of nobody: a C program lives" {
	AGENT=$ROOT/build/libheapagent-cxx.so
	for HEAPAGENT_RATE in 1 524288; do
		export HEAPAGENT_RATE
		PRELOAD=$AGENT same "$PROG/c_runtimes" \
			"$PROG/lib/own_runtime.so"
		PRELOAD=$AGENT same "$PROG/c_runtimes" \
			"$PROG/lib/own_runtime.so" "$PROG/lib/other_runtime.so"
	done
}
