#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# HEAPAGENT_FORMAT=text: what google-pprof, jeprof and go tool pprof read in it,
# and that it says what the protobuf of the same moment says.
# shellcheck disable=SC2030,SC2031 # each test is a process of its own
bats_require_minimum_version 1.5.0

load helpers

# The text of the last dump's file of that kind.
newest_text() {
	local files=("$HEAPAGENT_DIR"/*."$1".txt)
	[ -e "${files[0]}" ] || return 1
	printf '%s\n' "${files[@]}" | sort -t. -k3 | tail -n 1
}

teardown() {
	[ -z "${host:-}" ] || kill -KILL "$host" 2>/dev/null || true
}

# converted FILE: the profile that go tool pprof sees in the text.
converted() {
	go tool pprof -proto -symbolize=none -output="$1.pb.gz" "$1" \
		>"$1.log" 2>&1
	echo "$1.pb.gz"
}

# go_sums FILE: inuse_objects inuse_space alloc_objects alloc_space.
go_sums() {
	local type profile
	profile=$(converted "$1")
	"$CHECKVALID" "$profile" >&2
	for type in inuse_objects inuse_space alloc_objects alloc_space; do
		sum "$profile" "$type"
	done | paste -sd' '
}

# perl_sums READER BINARY FILE: the same by one of the scripts.
perl_sums() {
	local type
	for type in inuse_objects inuse_space alloc_objects alloc_space; do
		"$1" --text --show_bytes "--$type" "$2" "$3" \
			2>"$BATS_TEST_TMPDIR/perl.err" |
			sed -n 's/^Total: \([0-9]*\).*/\1/p'
	done | paste -sd' '
}

# close SUMS SUMS PERMILLE: no pair differs by more.
close() {
	echo "$1 | $2"
	awk -v permille="$3" '{
		for (i = 1; i <= 4; i++) {
			d = $i - $(i + 4)
			if (d < 0) d = -d
			if (d * 1000 > permille * $i) exit 1
		}
		exit NF != 8
	}' <<<"$1 $2"
}

@test "at RATE=1 all three readers count what the program counts" {
	truth=$(HEAPAGENT_FORMAT=text HEAPAGENT_RATE=1 \
		preloaded "$PROG/exact" 20000)
	for kind in heap allocs; do
		text=$(newest_text $kind)
		[ "$(go_sums "$text")" = "$truth" ]
		[ "$(perl_sums google-pprof "$PROG/exact" "$text")" = "$truth" ]
		[ "$(perl_sums jeprof "$PROG/exact" "$text")" = "$truth" ]
	done
	ls "$HEAPAGENT_DIR"
	[ "$(find "$HEAPAGENT_DIR" -name '*.pb.gz' -not -name '*.txt.*' |
		wc -l)" = 0 ]
	[ "$(find "$HEAPAGENT_DIR" -name '*.txt' -perm 0600 | wc -l)" = 3 ]
}

@test "four columns even if nothing was freed, or nothing sampled" {
	for rate in 1 0 1M; do
		rm -f "$HEAPAGENT_DIR"/*
		HEAPAGENT_FORMAT=text HEAPAGENT_RATE=$rate \
			HEAPAGENT_AT_EXIT=1 preloaded /bin/true
		[ "$("$DECODE" "$(converted "$(newest_text heap)")" |
			grep -c '^sample_type')" = 4 ]
	done
}

# Asks for a dump in the given format of $host, which does nothing meanwhile.
dump_as() {
	gdb -p "$host" -batch -ex "set var config.format = $1" \
		>"$BATS_TEST_TMPDIR/gdb.out" 2>&1 </dev/null
	"$ROOT/build/heapagent" dump "$host"
}

# Blocks of all sizes on few stacks, so that classes hold unlike blocks.
start_python() {
	mkfifo "$BATS_TEST_TMPDIR/stdin"
	PYTHONMALLOC=malloc LD_PRELOAD=$AGENT /usr/bin/python3 -c '
import sys
kept = [bytearray(n % 20000 + 1) for n in range(1, 200000, 7)]
del kept[::3]
print("ready", flush=True)
sys.stdin.read()' <"$BATS_TEST_TMPDIR/stdin" >"$BATS_TEST_TMPDIR/out" 3>&- &
	host=$!
	exec 5>"$BATS_TEST_TMPDIR/stdin"
	wait_for 60 grep -q ready "$BATS_TEST_TMPDIR/out"
}

@test "sampled: estimates of all readers are those of the protobuf" {
	export HEAPAGENT_RATE=64K
	start_python
	dump_as FORMAT_PROTO
	dump_as FORMAT_TEXT
	proto=$(for type in inuse_objects inuse_space alloc_objects \
		alloc_space; do sum "$(newest heap)" $type; done | paste -sd' ')
	text=$(newest_text heap)
	grep -q '^heap profile: .* @ heap_v2/65536$' "$text"
	# By the mean of a line's blocks, and not one by one: few permille.
	close "$proto" "$(go_sums "$text")" 5
	python=$(readlink -f /usr/bin/python3)
	# The scripts' own arithmetic, which does not cut fractions off.
	close "$(go_sums "$text")" \
		"$(perl_sums google-pprof "$python" "$text")" 1
	close "$(go_sums "$text")" "$(perl_sums jeprof "$python" "$text")" 1
	# Ours, too, and heapagent text of the one says that of the other.
	"$ROOT/build/heapagent" symbolize "$text" -o "$text.own.pb.gz"
	own=$(for type in inuse_objects inuse_space alloc_objects alloc_space; do
		sum "$text.own.pb.gz" $type
	done | paste -sd' ')
	[ "$own" = "$(go_sums "$text")" ]
}

@test "heapagent text of both formats of one moment is the same at RATE=1" {
	export HEAPAGENT_RATE=1
	start_python
	dump_as FORMAT_PROTO
	dump_as FORMAT_TEXT
	for kind in heap allocs; do
		"$ROOT/build/heapagent" text "$(newest $kind)" |
			sed '/^# /d; / r-xp /d' >"$BATS_TEST_TMPDIR/proto"
		"$ROOT/build/heapagent" text "$(newest_text $kind)" |
			sed '/^# /d; / r-xp /d' >"$BATS_TEST_TMPDIR/text"
		head -n 12 "$BATS_TEST_TMPDIR/text"
		diff "$BATS_TEST_TMPDIR/proto" "$BATS_TEST_TMPDIR/text"
		grep -q '^#	0x[0-9a-f]*	PyByteArray_Resize' \
			"$BATS_TEST_TMPDIR/text"
	done
	# And that text is one that others read.
	python=$(readlink -f /usr/bin/python3)
	google-pprof --text "$python" "$BATS_TEST_TMPDIR/text" |
		grep PyByteArray_Resize
}

@test "names: the readers see the functions that the program has" {
	HEAPAGENT_FORMAT=text HEAPAGENT_RATE=1 preloaded "$PROG/fill" stacks 4
	text=$(newest_text heap)
	for reader in google-pprof jeprof "go tool pprof"; do
		option=--text
		[ "$reader" != "go tool pprof" ] || option=-top
		# Not "allocate": go tool pprof hides functions of that name.
		$reader $option --inuse_objects "$PROG/fill" "$text" \
			>"$BATS_TEST_TMPDIR/top" 2>"$BATS_TEST_TMPDIR/err"
		head -n 12 "$BATS_TEST_TMPDIR/top"
		# 16 blocks, all below the first left, all but one below a right.
		grep -qE ' 16 +100(\.0)?% +left$' "$BATS_TEST_TMPDIR/top"
		grep -qE ' 15 +93.[0-9]+% +right$' "$BATS_TEST_TMPDIR/top"
		grep -qE ' 16 +100(\.0)?% +main$' "$BATS_TEST_TMPDIR/top"
	done
}

@test "what a stack was cut at is told, and counted once" {
	HEAPAGENT_FORMAT=text HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 \
		preloaded "$PROG/jit" 10
	text=$(newest_text heap)
	grep '^# stacks_truncated_unwind = [1-9]' "$text"
	grep '^800000000000-800000001000 r-xp .* \[truncated\]$' "$text"
	sums=$(go_sums "$text")
	[ "$(perl_sums google-pprof "$PROG/jit" "$text")" = "$sums" ]
	[ "$(perl_sums jeprof "$PROG/jit" "$text")" = "$sums" ]
	[ "$(sum "$(converted "$text")" alloc_objects '\[truncated\]')" -ge 10 ]
	"$ROOT/build/heapagent" tree --alloc_space "$text" |
		grep '\[truncated\]'
}

@test "two libraries that had one address are told apart when both are closed" {
	HEAPAGENT_FORMAT=text HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 \
		preloaded "$PROG/twins" "$PROG"/lib/twin_{narrow,wide}.so 100
	text=$(newest_text heap)
	grep -E '^8000[0-9a-f]{8}-8000[0-9a-f]{8} r-xp .*/twin_(narrow|wide).so$' "$text"
	profile=$(converted "$text")
	[ "$(sum "$profile" alloc_space /twin_narrow.so)" = 10000 ]
	[ "$(sum "$profile" alloc_space /twin_wide.so)" = 20000 ]
	for reader in google-pprof jeprof; do
		$reader --text --show_bytes --alloc_space "$PROG/twins" \
			"$text" 2>/dev/null | grep -E '^ +30000 .* twin_take$'
	done
}

@test "threads as text: names, states, stacks; read by go tool pprof" {
	mkfifo "$BATS_TEST_TMPDIR/stdin"
	# Not preloaded(), whose process would be the shell's.
	HEAPAGENT_FORMAT=text LD_PRELOAD=$AGENT "$PROG/dump_threads" \
		<"$BATS_TEST_TMPDIR/stdin" >"$BATS_TEST_TMPDIR/out" 3>&- &
	host=$!
	exec 5>"$BATS_TEST_TMPDIR/stdin"
	wait_for 20 grep -q ready "$BATS_TEST_TMPDIR/out"
	run --separate-stderr "$ROOT/build/heapagent" dump "$host"
	[ "$status" -eq 0 ]
	[ "$(grep -cE '\.0001\.(threads|allocs|heap)\.txt$' <<<"$output")" = 3 ]
	text=$(newest_text threads)
	cat "$text"
	[ "$(head -n 1 "$text")" = "threads profile: total 9" ]
	[ "$(grep -cE '^# thread [0-9]+ ".*" \[[a-z_ ]+\]:$' "$text")" = 9 ]
	grep -qE '^# thread [0-9]+ "t-sigwait" \[rt_sigtimedwait\]:$' "$text"
	grep -qE '^# thread [0-9]+ "t-spin" \[running\]:$' "$text"
	grep -q '^# Threads = 9$' "$text"
	[ "$(sum "$(converted "$text")" threads)" = 9 ]
	go tool pprof -top "$PROG/dump_threads" "$text" 2>/dev/null |
		grep -E '1 11.11% +in_sigwait$'
	"$ROOT/build/heapagent" text "$text" >"$BATS_TEST_TMPDIR/named"
	# The block of a thread: its name, its addresses, its functions.
	for name in poll epoll sem sleep sigwait; do
		sed -n "/^thread [0-9]* \"t-$name\" /,/^\$/p" \
			"$BATS_TEST_TMPDIR/named" | grep -A 1 '^in_[a-z]*$' |
			grep -qE '^	.*dump_threads.c:[0-9]+ \+0x[0-9a-f]+$'
	done
	# How far into the function: as the symbol table has it.
	offset=$(grep -A 1 '^in_sigwait$' "$BATS_TEST_TMPDIR/named" |
		sed -n 's/^	.* +\(0x[0-9a-f]*\)$/\1/p')
	start=0x$(nm "$PROG/dump_threads" | sed -n 's/ t in_sigwait$//p')
	grep "dump_threads+$(printf '0x%x' $((start + offset)))\$" "$text"
	exec 5>&-
	wait "$host"
	host=
}

@test "dumps while the program allocates and frees: each one is read" {
	PYTHONMALLOC=malloc HEAPAGENT_FORMAT=text HEAPAGENT_RATE=1 \
		"$TORMENT" -r "$BATS_TEST_TMPDIR/report" -i 50 -p "$AGENT" \
		/usr/bin/python3 -c '
import random, time
end = time.monotonic() + 4
kept = [None] * 1000
while time.monotonic() < end:
    kept[random.randrange(1000)] = bytearray(random.randrange(9000))'
	cat "$BATS_TEST_TMPDIR/report"
	grep -q 'zombies=0 leftovers=0$' "$BATS_TEST_TMPDIR/report"
	count=0
	for text in "$HEAPAGENT_DIR"/*.txt; do
		"$ROOT/build/heapagent" top "$text" >/dev/null
		# Go's reader is the strictest; the last digit chooses some.
		[[ $text != *5.heap.txt ]] || go_sums "$text"
		count=$((count + 1))
	done
	[ "$count" -ge 30 ]
	# Temporary files have names that begin with a dot.
	[ "$(find "$HEAPAGENT_DIR" -name '.?*' | wc -l)" = 0 ]
}

@test "comments: memory of the process, every counter, the command" {
	HEAPAGENT_FORMAT=text preloaded "$PROG/exact" 100
	text=$(newest_text heap)
	for name in rate samples stacks region_used_bytes time_nanos \
		profiled_ms dumps_started samples_dropped_busy \
		samples_dropped_small_stack Threads; do
		grep -qE "^# $name = [0-9]+\$" "$text"
	done
	grep -qE '^# VmRSS = [0-9]+ kB$' "$text"
	grep -qE '^# VmHWM = [0-9]+ kB$' "$text"
	grep -qE '^# command = .*/exact 100$' "$text"
	grep -qE '^# kind = allocs$' "$(newest_text allocs)"
}

@test "a full disk leaves no text behind" {
	# Files of at most 1 KiB; the signal it brings is ignored as well.
	(
		trap '' XFSZ
		ulimit -f 1
		HEAPAGENT_FORMAT=text HEAPAGENT_RATE=1 \
			preloaded "$PROG/exact" 20000
	)
	ls -la "$HEAPAGENT_DIR"
	[ "$(find "$HEAPAGENT_DIR" -mindepth 1 | grep -vc threads)" = 0 ]
}
