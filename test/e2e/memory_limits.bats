#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a program may have of memory, it has with us, but for what we use.

load helpers
load oracle2

# What the agent and its first part of the region take, in MiB.
OURS=7

# have COMMAND...: MiB without the agent, and with it not much less.
have() {
	local bare with
	bare=$("$@")
	with=$(LD_PRELOAD=$AGENT "$@")
	echo "$*: $bare MiB, with the agent $with"
	[ "$bare" -gt 20 ]
	[ "$with" -ge $((bare - OURS)) ]
}

@test "limits of data and address space, set before and after the start" {
	have prlimit --data=100000000 "$PROG/memory_limits" have
	have prlimit --data=48000000 "$PROG/memory_limits" have
	have prlimit --as=100000000 "$PROG/memory_limits" have
	have "$PROG/memory_limits" data 100
	have "$PROG/memory_limits" data 66
	have "$PROG/memory_limits" as 100
	have "$PROG/memory_limits" as 60
}

@test "locked memory is what is used, and not more" {
	[ "$(id -u)" = 0 ] || skip "only root may lock without limit"
	bare=$("$PROG/memory_limits" lock 1)
	with=$(LD_PRELOAD=$AGENT "$PROG/memory_limits" lock 1)
	echo "$bare, with the agent $with"
	[[ $bare == "ok "* && $with == "ok "* ]]
	[ "${with#ok }" -le $((${bare#ok } + OURS * 1024)) ]
	# A user has a limit, which counts address space: 8 MiB are common.
	run "$PROG/memory_limits" lock 8 65534
	[[ $output == "ok "* ]] || skip "8 MiB are too little without us: $output"
	LD_PRELOAD=$AGENT run "$PROG/memory_limits" lock 8 65534
	echo "$output"
	[[ $output == "ok "* ]]
}

@test "profiles are there within small limits, too" {
	for how in --data=48000000 --as=100000000; do
		HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 LD_PRELOAD=$AGENT \
			prlimit $how "$PROG/memory_limits" some
		[ "$(sum "$(newest heap)" alloc_objects /memory_limits)" -gt 20 ]
		rm -f "$HEAPAGENT_DIR"/*
	done
}

# user_ms MEMORY: what a program of 20,000 samples takes, the least of three.
user_ms() {
	local TIMEFORMAT=%U least=999999 now
	for _ in 1 2 3; do
		now=$({ time HEAPAGENT_MEMORY=$1 HEAPAGENT_RATE=1 \
			LD_PRELOAD=$AGENT \
			"$PROG/exact" 20000 >/dev/null; } 2>&1)
		now=$((10#${now/./}))
		[ "$now" -ge "$least" ] || least=$now
	done
	echo "$least"
}

@test "a sample costs the same however large the region may become" {
	small=$(user_ms 64M)
	large=$(user_ms 31G)
	echo "64M: $small ms, 31G: $large ms"
	[ "$large" -le $((5 * small + 20)) ]
}
