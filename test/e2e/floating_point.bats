#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Floating point is the program's: no flag, rounding mode or trap of it is
# touched or obeyed, since nothing of the library computes with it.

load helpers
load oracle2

@test "no flag is raised, no mode changed, no trap met" {
	for RATE in 1 4000 524288; do
		for mode in flags traps modes; do
			rm -f "$HEAPAGENT_DIR"/*
			same "$PROG/fpflags" $mode
			[ "$(agent_status)" = 0 ]
			wait_dumps 1
			all_valid
			[ $RATE != 1 ] ||
				[ "$(sums "$(newest heap)" /fpflags)" = \
					"1000 1000000" ]
		done
	done
}

# zlib's part included. Moves of whole registers raise nothing: only what
# computes, compares or converts does, and what loads the control words. (But for
# try() of resume.c: the dump child loads its own back after a trial.)
@test "the library has no instruction that computes in floating point" {
	objdump -d --no-show-raw-insn "$AGENT" |
		awk '/^[0-9a-f]+ <.*>:$/ { skip = $2 == "<try>:" } !skip' |
		cut -f2- >"$BATS_TEST_TMPDIR/code"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/code")" -gt 10000 ]
	refute grep -E '^v?(cvt|(add|sub|mul|div|sqrt|rsqrt|rcp|min|max|round|cmp|comi|ucomi|fn?m(add|sub)[0-9]*|dp|h?add|hsub|addsub)(s|p)[sd]\>|(ld|st)mxcsr)' \
		"$BATS_TEST_TMPDIR/code"
	refute grep -E '^f[a-z0-9]+' "$BATS_TEST_TMPDIR/code"
}
