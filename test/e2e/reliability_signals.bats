#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# SIGUSR2 is the program's: whatever it does with it works as without the
# agent, which then writes no dump (but the one at exit).

load helpers

# The only dump is the one at exit.
no_dump_by_signal() {
	local files=("$HEAPAGENT_DIR"/*.heap.pb.gz)
	[ "${#files[@]}" -eq 1 ]
	[ "$(counter "${files[0]}" dumps_started)" = 1 ]
}

# --- row 15

@test "SIGUSR2 taken after us: ignored, waited for, read, handled" {
	for way in ignore sigwait sigtimedwait signalfd sigsuspend thread \
		once info plain; do
		echo "== $way"
		rm -f "$HEAPAGENT_DIR"/*
		oracle -i 0 "$PROG/usr2" $way 20
		[ "$status" -eq 0 ]
		[ -s "$BATS_TEST_TMPDIR/out" ]
		no_dump_by_signal
	done
}

@test "a default that the program restores ends it" {
	oracle -i 0 "$PROG/usr2" default 20
	[ "$status" -eq 140 ]
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "before: 20 handled, 0 from us" ]
	[ -z "$(ls "$HEAPAGENT_DIR")" ]
}

@test "SIGUSR2 that was ignored or blocked when the program started" {
	oracle -i 0 bash -c "trap '' USR2; exec '$PROG/usr2' inherited 20"
	[ "$(head -n 1 "$BATS_TEST_TMPDIR/out")" = "ignored 1, blocked 0" ]
	no_dump_by_signal
	rm -f "$HEAPAGENT_DIR"/*
	oracle -i 0 perl -e 'use POSIX;
		sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR2));
		exec @ARGV' "$PROG/usr2" inherited 20
	[ "$(paste -sd' ' "$BATS_TEST_TMPDIR/out")" = \
		"ignored 0, blocked 1 pending 1" ]
	no_dump_by_signal
}

@test "a library that takes SIGUSR2 in its constructor, before or after us" {
	for order in -b -a; do
		rm -f "$HEAPAGENT_DIR"/*
		oracle -i 0 "$order" "$PROG/lib/usr2_early.so" \
			"$PROG/usr2" send 20
		[ "$(cat "$BATS_TEST_TMPDIR/out")" = "library: 20" ]
		no_dump_by_signal
	done
}

@test "a program that calls the handler it found has its own and the dumps" {
	oracle -i 0 "$PROG/usr2" chain 20
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "chain: 20 handled, 0 from us" ]
	heap=$(newest heap)
	[ $(($(counter "$heap" dumps_started) + \
		$(counter "$heap" dumps_merged))) -ge 20 ]
}

@test "HEAPAGENT_SIGNAL=none leaves the default, another signal SIGUSR2" {
	HEAPAGENT_SIGNAL=none oracle -i 0 "$PROG/usr2" send 1
	[ "$status" -eq 140 ]
	HEAPAGENT_SIGNAL=USR1 oracle -i 0 "$PROG/usr2" send 1
	[ "$status" -eq 140 ]
	[ -z "$(ls "$HEAPAGENT_DIR")" ]
}

@test "nginx replaces its binary when SIGUSR2 comes, and writes no dump" {
	local dir=$BATS_TEST_TMPDIR port=$((20000 + RANDOM % 20000)) old new
	mkdir -p "$dir/logs"
	nginx_conf "listen 127.0.0.1:$port; location / { return 200 hello; }" \
		"error_log $dir/logs/error.log;" >"$dir/nginx.conf"
	HEAPAGENT_RATE=1 preloaded "$(command -v nginx)" -c "$dir/nginx.conf" -p "$dir" \
		</dev/null >"$dir/out" 2>&1 3>&-
	wait_for 20 test -s "$dir/nginx.pid"
	old=$(cat "$dir/nginx.pid")
	wait_for 20 answers "$port"
	kill -USR2 "$old"
	wait_for 20 test -s "$dir/nginx.pid.oldbin"
	wait_for 20 test -s "$dir/nginx.pid"
	new=$(cat "$dir/nginx.pid")
	[ "$(cat "$dir/nginx.pid.oldbin")" = "$old" ]
	[ "$new" != "$old" ]
	kill -QUIT "$old"
	wait_for 20 gone "$old"
	answers "$port"
	kill -QUIT "$new"
	wait_for 20 gone "$new"
	[ -z "$(ls -A "$HEAPAGENT_DIR")" ]
}

teardown() {
	local file
	for file in "$BATS_TEST_TMPDIR"/nginx.pid*; do
		[ ! -s "$file" ] || kill -TERM "$(cat "$file")" || true
	done
}

answers() {
	[ "$(exec 4<>"/dev/tcp/127.0.0.1/$1" &&
		printf 'GET / HTTP/1.0\r\n\r\n' >&4 &&
		timeout 5 tail -n 1 <&4)" = hello ]
} 2>/dev/null

gone() {
	! kill -0 "$1" 2>/dev/null
}

@test "the Java virtual machine, which takes SIGUSR2, starts and ends" {
	oracle -i 0 java -version
	[ "$status" -eq 0 ]
	grep -q version "$BATS_TEST_TMPDIR/err"
	no_dump_by_signal
}
