#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The library beside another libc than the one it was built with; `make
# machines` has the older and newer glibcs.

bats_require_minimum_version 1.5.0
load helpers

# The same program, from the same source, with and without the agent.
@test "a musl program runs as without the agent, and nothing is said" {
	program=$BATS_TEST_TMPDIR/pairs
	musl-gcc -O1 -o "$program" "$ROOT/test/prog/allocate.c"
	bare=$("$program" 2>&1)
	[[ $bare == "allocated "* ]]
	run -0 env LD_PRELOAD="$AGENT" HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 \
		"$program"
	[ "$output" = "$bare" ]
	[ -z "$(ls -A "$HEAPAGENT_DIR")" ]
	run -0 env LD_PRELOAD="$AGENT" HEAPAGENT_LOG=info "$program"
	[ "${lines[0]}" = \
		"heapagent: no profiles: this program's libc is not glibc" ]
	[ "${lines[1]}" = "$bare" ]
}
