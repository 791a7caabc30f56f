#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a dump does to a call that it interrupts is what any signal does, or
# less: no call of another number, no call more, and no register changed.

load helpers
load cli

setup() {
	DUMPS=$BATS_TEST_TMPDIR/dumps
	mkdir "$DUMPS"
}

# as_any_signal CASE: it prints the same with a handler of the program's own as
# with a dump.
as_any_signal() {
	local expected
	expected=$("$PROG/as_any_signal" "$1" handler)
	HEAPAGENT_DIR=$DUMPS run timeout 60 env LD_PRELOAD="$AGENT" \
		"$PROG/as_any_signal" "$1"
	echo "$output"
	echo "expected: $expected"
	[ "$status" -eq 0 ]
	[ "$output" = "$expected" ]
	ls "$DUMPS"/as_any_signal.*.heap.pb.gz
}

@test "a connection that is reset does not end well" {
	as_any_signal recv
	[ "${lines[1]}" = "recv: ECONNRESET" ]
}

@test "the error of a socket is for the program's next call" {
	as_any_signal write
	[ "${lines[1]}" = "write: ECONNRESET" ]
}

@test "the kernel counts the zero-copy sends that the program counts" {
	as_any_signal zerocopy
}

@test "who stops at the limit of a file's size is not ended by it" {
	as_any_signal limit
}

@test "a call in the program's own code is made as no other" {
	as_any_signal own
}

@test "ThreadSanitizer's handlers end as they mean to" {
	HEAPAGENT_DIR=$DUMPS run timeout 60 env LD_PRELOAD="$AGENT" \
		"$PROG/tsan_waits"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$output" = "done" ]
	[ "$(find "$DUMPS" -name '*.heap.pb.gz' | wc -l)" -ge 10 ]
}

# The last instruction before each system call that writes to rax or a part of
# it, as objdump reads libc, whatever jumps in between.
numbers_by_objdump() {
	objdump -d --no-show-raw-insn "$1" | awk -F'\t' '
		/^[0-9a-f]+ </ { ax = "?" }
		NF < 2 { next }
		{
			sub(/ *#.*/, "", $2)
			sub(/ +$/, "", $2)
			sub(/^ +/, "", $1)
			sub(/:.*/, "", $1)
		}
		$2 ~ /^syscall/ { print $1, ax; next }
		$2 ~ /^call/ { ax = "?" }
		$2 ~ /^(cmp|test|bt|call)/ { next }
		$2 ~ /^movl? +\$0x[0-9a-f]+,%[er]ax$/ {
			ax = $2
			gsub(/^.*\$0x|,.*/, "", ax)
			next
		}
		$2 ~ /^xor +%eax,%eax$/ { ax = 0; next }
		$2 ~ /^mov +0x[0-9a-f]+\(%rsp\),%rax$/ { ax = "abc"; next }
		$2 ~ /[ ,]%([er]?ax|al|ah)$/ { ax = "?" }'
}

# call_sites puts 0xabc where the stack has the number. 2.41 has some 380.
@test "no number of a call of libc's is wrong" {
	libc=$(ldd "$PROG/call_sites" | awk '$1 == "libc.so.6" { print $3 }')
	numbers_by_objdump "$libc" >"$BATS_TEST_TMPDIR/objdump"
	"$PROG/call_sites" >"$BATS_TEST_TMPDIR/ours"
	awk 'NR == FNR { theirs[$1] = $2; next }
		theirs[$1] "" != $2 "" {
			print "at", $1, "not", $2, "but", theirs[$1]
			wrong++
		}
		{ right++ }
		END { print right; exit wrong > 0 || right < 300 }' \
		"$BATS_TEST_TMPDIR/objdump" "$BATS_TEST_TMPDIR/ours"
}

@test "RESUME=0: what is interrupted returns EINTR, and the profile says so" {
	HEAPAGENT_DIR=$DUMPS run env LD_PRELOAD="$AGENT" "$PROG/one_poll"
	[ "$output" = "0" ]
	HEAPAGENT_RESUME=0 HEAPAGENT_DIR=$DUMPS run env LD_PRELOAD="$AGENT" \
		"$PROG/one_poll"
	[ "$output" = "-1 Interrupted system call" ]
	for file in "$DUMPS"/one_poll.*.heap.pb.gz; do
		"$HEAPAGENT" text "$file"
	done >"$BATS_TEST_TMPDIR/text"
	[ "$(grep -c 'interrupted calls do not go on' \
		"$BATS_TEST_TMPDIR/text")" -eq 1 ]
}

# Its main thread is in poll(), which would return EINTR under a filter.
@test "dump asks a thread that a signal does not hurt, also under a filter" {
	HEAPAGENT_DIR=$DUMPS "$PROG/refuse" ptrace env LD_PRELOAD="$AGENT" \
		"$PROG/two_waits" >"$BATS_TEST_TMPDIR/out" 3>&- &
	pid=$!
	until grep -q ready "$BATS_TEST_TMPDIR/out" &&
		grep -q '^7 ' "/proc/$pid/syscall"; do
		sleep 0.05
	done
	"$HEAPAGENT" dump "$pid"
	wait "$pid"
	cat "$BATS_TEST_TMPDIR/out"
	grep -qx 'poll 0' "$BATS_TEST_TMPDIR/out"
}
