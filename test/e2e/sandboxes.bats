#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Sandboxes that end the program for every system call but read, write, exit
# and rt_sigreturn: sampling makes none of its own, once it has started.

load helpers

# survives ARGS...: what the program says without the agent it says twenty
# times with it, whether each allocation is sampled or few.
survives() {
	local rate
	[ "$("$PROG/strict" "$@")" = unhurt ]
	for rate in 1 5000; do
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			[ "$(HEAPAGENT_RATE=$rate preloaded \
				"$PROG/strict" "$@")" = unhurt ]
		done
	done
}

@test "seccomp's strict mode: main thread, threads" {
	survives mode main
	survives mode thread
	survives mode early
}

@test "a filter that permits no more: main thread, threads" {
	survives filter main
	survives filter thread
	survives filter early
}

@test "more than there is memory for, and on stacks of the program's own" {
	survives mode many
	survives filter many
	survives mode foreign
	survives filter foreign
}

@test "children that are forked while a dump is made" {
	survives mode dumped
	survives filter dumped
	rm -f "$HEAPAGENT_DIR"/*
}

# Where the agent sees the sandbox entered it makes no dump any more; a thread
# that enters one by itself leaves the others to dump.
@test "what is allocated in there is sampled" {
	local kind
	for kind in mode filter; do
		HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 preloaded \
			"$PROG/strict" $kind early unseen
		exit_stacks "$PROG/strict"
		[ "$(with ' allocate \| .* allocate_in_sandbox \| ' \
			alloc_objects)" -ge 8000 ]
		[ "$(with ' allocate_for \| [^|]*/libz.* allocate_in_sandbox ' \
			alloc_objects)" -ge 4000 ]
		[ "$(counter "$(newest heap)" stacks_truncated_unwind)" = 0 ]
		rm -f "$HEAPAGENT_DIR"/*
	done
}

@test "a thread in a sandbox of its own is neither stopped nor asked" {
	local how
	[ "$(env -u HEAPAGENT_DIR "$PROG/thread_sandbox" libc)" = unhurt ]
	for how in own own libc libc libc libc libc; do
		[ "$(preloaded "$PROG/thread_sandbox" $how)" = unhurt ]
		[ "$("$PROG/refuse" ptrace env LD_PRELOAD="$AGENT" \
			"$PROG/thread_sandbox" $how)" = unhurt ]
	done
	newest heap
}
