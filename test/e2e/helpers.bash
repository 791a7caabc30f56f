# SPDX-License-Identifier: Apache-2.0
# What the end-to-end tests share. `load helpers` first.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
AGENT=$ROOT/build/libheapagent.so
PROG=$ROOT/build/test/prog
DECODE=$ROOT/build/test/tools/pprof_decode
CHECKVALID=$ROOT/build/test/tools/checkvalid

# Dumps go to a directory of the test's own.
setup() {
	export HEAPAGENT_DIR=$BATS_TEST_TMPDIR/dumps
	mkdir -p "$HEAPAGENT_DIR"
}

# preloaded COMMAND...: runs it under the agent.
preloaded() {
	LD_PRELOAD=$AGENT "$@"
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -le "$deadline" ] || return 1
		sleep 0.02
	done
}

# newest KIND: the path of the last dump's file of that kind.
newest() {
	local files=("$HEAPAGENT_DIR"/*."$1".pb.gz)
	[ -e "${files[0]}" ] || return 1
	printf '%s\n' "${files[@]}" | sort -t. -k3 | tail -n 1
}

# sum FILE TYPE [REGEX [innermost]]: adds up a sample type over the samples
# that have a frame (or whose innermost frame is one) whose line matches.
sum() {
	"$DECODE" "$1" | awk -v type="$2" -v regex="${3:-.}" -v only="${4:-}" '
		function flush() { if (hit) total += value; hit = 0 }
		$1 == "sample" {
			flush()
			value = depth = 0
			for (i = 2; i <= NF; i++)
				if (index($i, type "=") == 1)
					value = substr($i, length(type) + 2)
		}
		$1 == "frame" && depth++ > 0 && only == "innermost" { next }
		$1 == "frame" && $0 ~ regex { hit = 1 }
		END { flush(); printf "%d\n", total }'
}

# counter FILE NAME: the value in the file's comments.
counter() {
	"$DECODE" "$1" | sed -n "s/^comment $2=//p"
}
