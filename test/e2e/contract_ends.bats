#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How programs end, scripts and their children, and other tools that stand
# between a program and its memory: sanitizers and valgrind.

load helpers
load oracle2

# ended WAY STATUS: it ends in that way, as without us.
ended() {
	same "$PROG/ends" "$1"
	[ "$(agent_status)" = "$2" ]
}

@test "every way to end is the same, and writes nothing" {
	ended return 40
	ended exit 41
	ended _exit 42
	ended quick_exit 43
	ended abort 134
	ended signal 143
	ended exec 0
	ended thread 0
	ended fault 139
	nothing_written
}

@test "HEAPAGENT_AT_EXIT=1 dumps at normal exit, and only then" {
	export HEAPAGENT_AT_EXIT=1
	for way in return exit thread; do
		rm -f "$HEAPAGENT_DIR"/*
		same "$PROG/ends" $way
		have_dumps 1
		heap=$(newest heap)
		# The ten blocks; what atexit functions freed is gone.
		[ "$(sum "$heap" inuse_space /ends innermost)" -ge 123450 ]
		[ "$(sum "$heap" inuse_space /ends innermost)" -lt 124000 ]
		[ "$(find "$HEAPAGENT_DIR" -type f | wc -l)" = 3 ]
		all_valid
	done
	rm -f "$HEAPAGENT_DIR"/*
	for way in _exit quick_exit abort signal fault; do
		same "$PROG/ends" $way
		nothing_written
	done
}

@test "an exit goes on when the directory cannot be written" {
	HEAPAGENT_DIR=/proc/nowhere HEAPAGENT_AT_EXIT=1 \
		run_agent "$PROG/ends" exit
	run_bare "$PROG/ends" exit
	[ "$(agent_status)" = 41 ]
	cmp "$BATS_TEST_TMPDIR"/{bare,agent}/out
	refute grep -v '^heapagent: ' "$BATS_TEST_TMPDIR/agent/err"
}

@test "a shell script and its children: standard error is the same" {
	cat >"$BATS_TEST_TMPDIR/script" <<-'EOS'
		echo to stderr >&2
		no_such_command_at_all
		(exit 3) || echo "status $?" >&2
		echo a b c | tr ' ' '\n' | sort -r | head -n 2
		for i in $(seq 20); do /bin/true; done
		x=$(printf '%s\n' one two | awk '{ print NR, $1 }')
		echo "$x" | sed 's/o/0/g' >&2
		cat <<<"here string" >&2
		ls /nonexistent
		trap 'echo trapped >&2' USR1
		kill -USR1 $$
		sleep 0.1 & wait $!
		python3 -c 'import sys; sys.stderr.write("python\n")'
		perl -e 'print STDERR "perl\n"; exit 4' || echo "status $?" >&2
		env -i /bin/echo empty environment >&2
		sh -c 'kill -TERM $$'
		echo "status $?" >&2
		diff <(echo 1) <(echo 2)
		ulimit -n 20; bash -c 'echo nested >&2'
		exit 7
	EOS
	same bash "$BATS_TEST_TMPDIR/script"
	[ "$(agent_status)" = 7 ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/agent/err")" -gt 12 ]
	nothing_written
}

@test "HEAPAGENT_CHILDREN=0: children are left alone" {
	# The shell's children have neither the library nor a handler.
	# shellcheck disable=SC2016 # the other shell's variable
	HEAPAGENT_CHILDREN=0 run_agent bash -c \
		'/bin/echo "<$LD_PRELOAD>"; grep -c heapagent /proc/self/maps; env'
	[ "$(sed -n 2p "$BATS_TEST_TMPDIR/agent/out")" = 0 ]
	refute grep '^LD_PRELOAD=.*heapagent' "$BATS_TEST_TMPDIR/agent/out"
	run_agent bash -c 'grep -c heapagent /proc/self/maps; true'
	[ "$(cat "$BATS_TEST_TMPDIR/agent/out")" -gt 0 ]
}

# sanitized FLAGS...: builds fill.c, which counts its blocks, with a sanitizer.
sanitized() {
	gcc "$@" -w -D_GNU_SOURCE -g -O1 -o "$BATS_TEST_TMPDIR/sanitized" \
		"$ROOT/test/prog/fill.c" -pthread
	export ASAN_OPTIONS=detect_leaks=1:verify_asan_link_order=0
}

# It does the same with these libraries preloaded.
unharmed() {
	rm -f "$HEAPAGENT_DIR"/*
	PRELOAD=$1 same "$BATS_TEST_TMPDIR/sanitized" spread 20000
	[ "$(agent_status)" = 0 ]
	grep -qx '20001 100' "$BATS_TEST_TMPDIR/agent/out"
	wait_dumps 1
	all_valid
}

@test "AddressSanitizer as a library, before and behind the agent" {
	sanitized -fsanitize=address
	unharmed "$(gcc -print-file-name=libasan.so):$AGENT"
	unharmed "$AGENT"
	[ "$(sums "$(newest heap)" /sanitized)" = "100 3200" ]
}

@test "sanitizers linked into the program" {
	sanitized -static-libasan -fsanitize=address,undefined
	unharmed "$AGENT"
	sanitized -static-libtsan -fsanitize=thread
	unharmed "$AGENT"
	sanitized -fsanitize=leak
	unharmed "$AGENT"
}

@test "a collector that reads all that libraries may write to" {
	same "$PROG/collector"
	[ "$(cat "$BATS_TEST_TMPDIR/agent/out")" = collected ]
	run_agent "$PROG/collector" dumped
	[ "$(agent_status)" = 0 ]
	[ "$(cat "$BATS_TEST_TMPDIR/agent/out")" = collected ]
}

@test "LeakSanitizer still finds what it is there for" {
	cat >"$BATS_TEST_TMPDIR/leak.c" <<-'EOS'
		#include <stdlib.h>
		static void *volatile keep;
		int main(void)
		{
			keep = malloc(1234);
			keep = malloc(1);
			return 0;
		}
	EOS
	gcc -w -g -O0 -fsanitize=leak \
		-o "$BATS_TEST_TMPDIR/leak" "$BATS_TEST_TMPDIR/leak.c"
	run_agent "$BATS_TEST_TMPDIR/leak"
	[ "$(agent_status)" = 23 ]
	grep -q 'Direct leak of 1234 byte' "$BATS_TEST_TMPDIR/agent/err"
}

@test "AddressSanitizer still finds what it is there for" {
	cat >"$BATS_TEST_TMPDIR/bad.c" <<-'EOS'
		#include <stdlib.h>
		int main(void)
		{
			volatile char *p = malloc(10);
			free((void *)p);
			return p[3];
		}
	EOS
	gcc -w -g -static-libasan -fsanitize=address \
		-o "$BATS_TEST_TMPDIR/bad" "$BATS_TEST_TMPDIR/bad.c"
	run_agent "$BATS_TEST_TMPDIR/bad"
	[ "$(agent_status)" = 1 ]
	grep -q 'heap-use-after-free' "$BATS_TEST_TMPDIR/agent/err"
}

# checked COMMAND...: under valgrind and the agent. Valgrind says each time
# that it does not know the call by which the agent asks for a page.
checked() {
	run_agent valgrind -q --error-exitcode=9 --leak-check=full \
		--errors-for-leak-kinds=definite "$@"
	sed -i '/sigprocmask: unknown .how. field/d' \
		"$BATS_TEST_TMPDIR/agent/err"
	cat "$BATS_TEST_TMPDIR/agent/err"
}

@test "valgrind: no error of ours, and the program's own are found" {
	checked "$PROG/ends" return
	[ "$(agent_status)" = 40 ]
	[ ! -s "$BATS_TEST_TMPDIR/agent/err" ]
	checked "$PROG/thread_locals"
	[ "$(agent_status)" = 0 ]
	[ ! -s "$BATS_TEST_TMPDIR/agent/err" ]
	gcc -w -g -O0 -o "$BATS_TEST_TMPDIR/leak" -x c - <<-'EOS'
		#include <stdlib.h>
		int main(void)
		{
			volatile char *p = malloc(10);
			p[10] = 1;
			p = NULL;
			return 0;
		}
	EOS
	checked "$BATS_TEST_TMPDIR/leak"
	[ "$(agent_status)" = 9 ]
	grep -q 'Invalid write' "$BATS_TEST_TMPDIR/agent/err"
	grep -q 'definitely lost' "$BATS_TEST_TMPDIR/agent/err"
}
