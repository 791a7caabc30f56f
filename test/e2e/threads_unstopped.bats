#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Threads whose stacks are read without stopping them: while they move, and
# where what leads on is not known. (What they have in common with gdb's:
# threads_gdb.bats.)

load helpers

host=

teardown() {
	exec 5>&-
	[ -z "$host" ] || kill -KILL "$host" 2>/dev/null || true
}

# function_stacks NAME FILE...: how many threads of that name the files have,
# and each of their stacks, by function.
function_stacks() {
	local named=$BATS_TEST_TMPDIR/named file
	mkdir "$named"
	"$ROOT/build/heapagent" symbolize "${@:2}" -o "$named" >/dev/null
	for file in "$named"/*; do
		"$DECODE" "$file"
	done | awk -v name="thread=\"$1\"" '
		function flush() { if (hit) print line; hit = 0 }
		$1 == "sample" {
			flush()
			hit = index($0, name)
			line = substr($2, length("threads=") + 1)
		}
		$1 == "frame" {
			for (i = 5; i <= NF; i += 2)
				line = line " " $i
		}
		END { flush() }'
}

# start PROGRAM: a host that says "ready"; its PID is $host.
start() {
	mkfifo "$BATS_TEST_TMPDIR/stdin"
	LD_PRELOAD=$AGENT "$PROG/$1" <"$BATS_TEST_TMPDIR/stdin" \
		>"$BATS_TEST_TMPDIR/out" 3>&- &
	host=$!
	exec 5>"$BATS_TEST_TMPDIR/stdin"
	wait_for 20 grep -q ready "$BATS_TEST_TMPDIR/out"
}

@test "what is uncertain is called so, and counted" {
	start blocked_frames
	kill -USR2 "$host"
	wait_for 20 newest heap
	uncertain=$(counter "$(newest threads)" threads_uncertain)
	[ "$uncertain" -ge 10 ]
	# But for those whose frame is not of a fixed size.
	[ "$uncertain" -le 24 ]
	[ "$(sum "$(newest threads)" threads '[[]uncertain[]]')" = "$uncertain" ]
	[ "$(sum "$(newest threads)" threads '[[]truncated[]]')" = 0 ]
}

@test "so it is in the text format" {
	export HEAPAGENT_FORMAT=text
	start blocked_frames
	kill -USR2 "$host"
	wait_for 20 find_text heap
	grep -q '^#.*\[uncertain\]$' "$(find_text threads)"
	grep -q '^800000001000-800000002000 r-xp .* \[uncertain\]$' \
		"$(find_text threads)"
	"$ROOT/build/heapagent" tree "$(find_text threads)" |
		grep -F '[uncertain]'
}

find_text() {
	find "$HEAPAGENT_DIR" -name "*.$1.txt" | grep .
}

@test "a stack of a thread that moves is of one moment" {
	start moving
	for ((i = 1; i <= 60; i++)); do
		kill -USR2 "$host"
		wait_for 20 test -e \
			"$HEAPAGENT_DIR/moving.$host.$(printf %04d $i).heap.pb.gz"
	done
	function_stacks mover "$HEAPAGENT_DIR"/*.threads.pb.gz |
		tee "$BATS_TEST_TMPDIR/stacks"
	# Enough were read so, and most of them to their outermost frame.
	[ "$(counter "$(newest heap)" threads_by_syscall_file)" -ge 100 ]
	[ "$(grep -E 'wait [ab]6 .* run start_thread' \
		"$BATS_TEST_TMPDIR/stacks" |
		awk '{ n += $1 } END { print n + 0 }')" -ge 100 ]
	# Each is a chain of one kind, without a gap, or says that it is none.
	a='(a6 )?(a5 )?(a4 )?(a3 )?(a2 )?(a1 )?'
	b=${a//a/b}
	if grep -vE "^[0-9]+ ([^ab][^ ]* )*($a|$b)run start_thread [_a-z]*clone3?\$" \
		"$BATS_TEST_TMPDIR/stacks" | grep -v '\[uncertain\]$'; then
		return 1
	fi
}
