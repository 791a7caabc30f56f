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
