#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The estimates are unbiased, and their error is the one of docs/sampling.md.

load helpers

@test "200 runs of mixed sizes on one stack: no bias, the error of the theory" {
	for _ in $(seq 200); do
		rm -f "$HEAPAGENT_DIR"/*
		preloaded "$PROG/bias" >"$BATS_TEST_TMPDIR/truth"
		heap=$(newest heap)
		"$DECODE" "$heap" | awk '
			$1 == "sample" {
				for (i = 2; i <= 5; i++) {
					split($i, pair, "=")
					total[pair[1]] += pair[2]
				}
			}
			END {
				print total["inuse_objects"] + 0,
					total["inuse_space"] + 0,
					total["alloc_objects"] + 0,
					total["alloc_space"] + 0
			}'
	done >"$BATS_TEST_TMPDIR/runs"

	awk -v rate=524288 '
		FNR == NR { # SIZE LIVE ALLOCATED
			w = 1 / (1 - exp(-$1 / rate))
			truth[1] += $2; truth[2] += $1 * $2
			truth[3] += $3; truth[4] += $1 * $3
			variance[1] += $2 * (w - 1)
			variance[2] += $1 * $1 * $2 * (w - 1)
			variance[3] += $3 * (w - 1)
			variance[4] += $1 * $1 * $3 * (w - 1)
			next
		}
		{
			n++
			for (i = 1; i <= 4; i++) {
				sum[i] += $i - truth[i]
				squares[i] += ($i - truth[i]) ^ 2
			}
		}
		END {
			for (i = 1; i <= 4; i++) {
				mean = sum[i] / n
				deviation = sqrt(squares[i] / n)
				theory = sqrt(variance[i])
				z = mean / (theory / sqrt(n))
				printf "# column %d: truth %d, mean off by %.3f standard errors, deviation %.3f of the theory\n", \
					i, truth[i], z, deviation / theory
				# 3 would fail in 1 of 100 runs without a fault.
				if (z > 4 || z < -4) bad = 1
				# 200 runs know a deviation to 5 %: four of those.
				if (deviation / theory > 1.2) bad = 1
				if (deviation / theory < 0.8) bad = 1
			}
			exit bad || n != 200
		}' "$BATS_TEST_TMPDIR/truth" "$BATS_TEST_TMPDIR/runs" >&3
}

# held_to_truth ARGUMENTS [LIBRARY]: the blocks that a million good calls of
# fails.c get are those of the one function that allocates 100 bytes. Each has
# a weight of 10.75: one standard error is 100 * sqrt(1e6 * 9.75) bytes, four
# are 1.25 %.
held_to_truth() {
	local truth got
	rm -f "$HEAPAGENT_DIR"/*
	# shellcheck disable=SC2086 # words are wanted
	truth=$(HEAPAGENT_RATE=1024 LD_PRELOAD=$AGENT${2:+:$2} \
		"$PROG/fails" $1)
	wait_for 20 newest heap
	got=$("$DECODE" "$(newest heap)" | awk '
		# Of 100 bytes, whatever stands for their size class.
		$1 == "sample" && $NF ~ /^bytes=(9[0-9]|1[01][0-9])bytes$/ {
			sub("alloc_space=", "", $3)
			total += $3
		}
		END { printf "%.0f\n", total }')
	echo "# $1: truth $truth, profile $got" >&3
	[ "$truth" = 100000000 ]
	[ "$got" -gt $((truth - 1249000)) ]
	[ "$got" -lt $((truth + 1249000)) ]
}

@test "calls that fail beside those that do not: no bias" {
	held_to_truth "plain 1000000 0"
	held_to_truth "plain 1000000 1"
	held_to_truth "plain 1000000 3"
}

@test "allocations inside a failing one, and jumps out of it: no bias" {
	held_to_truth "nest 1000000" "$PROG/lib/fails_nest.so"
	held_to_truth "jump 1000000" "$PROG/lib/fails_nest.so"
	held_to_truth "handler 1000000" \
		/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4
}

# lib/bump.c makes calloc of malloc, which is our hook.
@test "an allocator that serves one call by another: each block counts once" {
	held_to_truth "calloc 1000000" "$PROG/lib/bump.so"
}

# In each child a block of S bytes is sampled with p = 1 - exp(-S / 524288), of
# 112 KiB 1 time in 5, and 1.0 of the eight together. With gaps of their own 50
# children have 50 samples or so, never more than 32 of a size (8 standard errors);
# with their parent's gap all 50 have the same, or none has any.
@test "forked children sample at points of their own" {
	export HEAPAGENT_PROFILES=heap
	[ "$(preloaded "$PROG/forks" 50)" = 50 ]
	for file in "$HEAPAGENT_DIR"/*.heap.pb.gz; do
		"$DECODE" "$file"
	done | awk '$1 == "sample" && $NF ~ /^bytes=[0-9][0-9][0-9][0-9][0-9]+bytes$/ {
			print $NF
		}' | sort | uniq -c | tee "$BATS_TEST_TMPDIR/sizes"
	awk '{ total += $1; if ($1 > 32) same = 1 }
		END { exit same || total < 20 || total > 90 }' \
		"$BATS_TEST_TMPDIR/sizes"
}
