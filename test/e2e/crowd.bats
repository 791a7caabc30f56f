#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Many more threads than processors, nearly each of them put aside within a
# sample: none of their samples is lost.

load helpers

# crowd THREADS BLOCKS: what the profile and the program say, in bytes.
crowd() {
	truth=$(preloaded "$PROG/crowd" "$1" "$2")
	wait_for 60 newest heap
	[ "$truth" = $((1000 * $1 * $2)) ]
	nothing_dropped
	[ "$(counter "$(newest heap)" dropped_objects)" = 0 ]
	got=$(sum "$(newest heap)" alloc_space "$PROG/crowd")
}

@test "300 busy threads at RATE=1: every block is in the profile" {
	export HEAPAGENT_RATE=1
	crowd 300 5000
	[ "$got" -ge "$truth" ]
	# The program's own arrays and the threads' stacks are more, a little.
	[ "$got" -le $((truth + 1000000)) ]
}

# The weight of 1,000 bytes is 66 then: four standard errors are 0.63 %.
@test "1,000 threads at RATE=64K" {
	export HEAPAGENT_RATE=64K
	crowd 1000 30000
	[ "$got" -gt $((truth * 993 / 1000)) ]
	[ "$got" -lt $((truth * 1007 / 1000)) ]
}

# It has the memory of the thread that waits for it: what says that the thread
# is inside a sample stays behind.
@test "children of vfork killed within a sample do not end sampling" {
	truth=$(HEAPAGENT_RATE=1 LD_PRELOAD=$AGENT:$PROG/lib/bump.so \
		"$PROG/vfork_killed")
	[ "$truth" = 40 ]
	wait_for 20 newest heap
	held=$(sum "$(newest heap)" inuse_objects "$PROG/vfork_killed")
	[ "$held" -ge 1000 ]
	# Each child may have been between a malloc and its free.
	[ "$held" -le 1040 ]
}
