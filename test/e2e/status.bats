#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `heapagent status`: what it says is what a dump says, and the process notices
# nothing.
# shellcheck disable=SC2030,SC2031 # each test is a process of its own
bats_require_minimum_version 1.5.0

load helpers
load hosts

heapagent=$ROOT/build/heapagent

teardown() {
	[ -z "${host:-}" ] || kill -KILL "$host" 2>/dev/null || true
}

start_python() {
	start_command PYTHONMALLOC=malloc /usr/bin/python3 -c '
import sys
kept = [bytearray(n % 20000 + 1) for n in range(1, 100000, 7)]
del kept[::3]
print("ready", flush=True)
sys.stdin.read()'
}

# json FILE PATH...: a value of the JSON in the file.
json() {
	/usr/bin/python3 -c '
import json, sys
value = json.load(open(sys.argv[1]))
for name in sys.argv[2:]:
    value = value[name]
print(round(value) if isinstance(value, float) else value)' "$@"
}

# says_one_line STATUS WORDS...: of the last run: an error, and nothing else.
says_one_line() {
	# shellcheck disable=SC2154 # run sets it
	echo "status $status: $stderr"
	[ "$status" -eq "$1" ]
	[ -z "$output" ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr == "heapagent: status: "* ]]
	shift
	for word; do
		[[ $stderr == *"$word"* ]]
	done
}

@test "the sums are those of a dump" {
	for rate in 1 65536; do
		export HEAPAGENT_RATE=$rate
		rm -rf "$BATS_TEST_TMPDIR/stdin" "${HEAPAGENT_DIR:?}"/*
		start_python
		said=$BATS_TEST_TMPDIR/status.json
		"$heapagent" status "$host" --json >"$said"
		"$heapagent" dump "$host"
		heap=$(newest heap)
		for pair in "inuse objects" "inuse bytes" \
			"allocated objects" "allocated bytes"; do
			read -r side what <<<"$pair"
			type=${side/allocated/alloc}_${what/bytes/space}
			got=$(json "$said" "$side" "$what")
			want=$(sum "$heap" "$type")
			echo "$type: status $got, dump $want"
			# A dump rounds each line at random: to the unit.
			unsure=0
			[ "$rate" = 1 ] || unsure=$(json "$said" buckets)
			[ $((got - want)) -le "$unsure" ]
			[ $((want - got)) -le "$unsure" ]
		done
		[ "$(json "$said" allocated samples)" = \
			"$(counter "$heap" samples)" ]
		[ "$(json "$said" buckets)" = "$(counter "$heap" stacks)" ]
		[ "$(json "$said" region_used_bytes)" = \
			"$(counter "$heap" region_used_bytes)" ]
		[ "$(json "$said" counters dumps_written)" = 0 ]
		finish
	done
}

@test "for people: rate, estimates, memory, dumps, what was dropped" {
	HEAPAGENT_DEPTH=2 start_python
	"$heapagent" dump "$host"
	"$heapagent" status "$host" | tee "$BATS_TEST_TMPDIR/status"
	grep -q "^process    $host\$" "$BATS_TEST_TMPDIR/status"
	grep -q "^agent      .*/libheapagent.so\$" "$BATS_TEST_TMPDIR/status"
	grep -q '^rate       524288: a sample each 512 KiB$' \
		"$BATS_TEST_TMPDIR/status"
	grep -q '^signal     SIGUSR2$' "$BATS_TEST_TMPDIR/status"
	grep -q "^directory  $HEAPAGENT_DIR\$" "$BATS_TEST_TMPDIR/status"
	grep -qE '^in use     [0-9.]+ MiB ±[0-9.]+ % in [0-9]+ ±[0-9.]+ % blocks' \
		"$BATS_TEST_TMPDIR/status"
	grep -qE '^memory     [0-9.]+ [KM]iB touched, of 64.0 MiB$' \
		"$BATS_TEST_TMPDIR/status"
	grep -q '^dumps      1 written, 0 failed$' "$BATS_TEST_TMPDIR/status"
	grep -qE '^counted    stacks_truncated_depth [1-9][0-9]*: ' \
		"$BATS_TEST_TMPDIR/status"
	finish
}

@test "no counter but those of dumps: nothing was dropped" {
	HEAPAGENT_RATE=0 HEAPAGENT_SIGNAL=none start_python
	"$heapagent" status "$host" | tee "$BATS_TEST_TMPDIR/status"
	grep -q '^rate       0: no heap sampling$' "$BATS_TEST_TMPDIR/status"
	grep -q '^signal     none$' "$BATS_TEST_TMPDIR/status"
	grep -q '^dropped    nothing$' "$BATS_TEST_TMPDIR/status"
	finish
}

# Switches of its own accord, its memory, its signals: /proc's own figures.
notices() {
	grep -E '^(Threads|Sig(Pnd|Blk|Ign|Cgt)|ShdPnd|TracerPid|VmRSS|VmPTE|voluntary)' \
		"/proc/$host/status"
	awk '{ print $10, $12 }' "/proc/$host/stat" # page faults
	cat "/proc/$host/syscall"
}

@test "the process is not stopped, interrupted or touched" {
	start_python
	# It has come to rest in its read when nothing changes any more.
	wait_for 20 grep -q '^0 0x0 ' "/proc/$host/syscall"
	sleep 0.2
	notices >"$BATS_TEST_TMPDIR/before"
	strace -f -o "$BATS_TEST_TMPDIR/trace" "$heapagent" status "$host"
	"$heapagent" status "$host" --json >/dev/null
	notices | diff "$BATS_TEST_TMPDIR/before" -
	# No call that could reach it but kill(PID, 0), which sends nothing.
	grep -q process_vm_readv "$BATS_TEST_TMPDIR/trace"
	[ "$(grep -cE '(ptrace|tgkill|process_vm_writev|O_RDWR|O_WRONLY)' \
		"$BATS_TEST_TMPDIR/trace")" = 0 ]
	[ "$(grep 'kill(' "$BATS_TEST_TMPDIR/trace" |
		grep -vc "kill($host, 0)")" = 0 ]
	[ -z "$(ls "$HEAPAGENT_DIR")" ]
	# Nor are pages of the region mapped by being read.
	"$heapagent" status "$host" --json >"$BATS_TEST_TMPDIR/one.json"
	"$heapagent" status "$host" --json >"$BATS_TEST_TMPDIR/two.json"
	[ "$(json "$BATS_TEST_TMPDIR/one.json" region_resident_bytes)" = \
		"$(json "$BATS_TEST_TMPDIR/two.json" region_resident_bytes)" ]
	[ "$(json "$BATS_TEST_TMPDIR/one.json" region_resident_bytes)" -lt \
		1000000 ]
	finish
}

has_no_name() {
	! grep -q 'anon:heapagent' "/proc/$host/maps"
}

@test "where the kernel keeps no names of mappings" {
	also=$PROG/lib/unname.so
	start_python
	"$heapagent" status "$host" --json >"$BATS_TEST_TMPDIR/one.json"
	kill -HUP "$host"
	wait_for 10 has_no_name
	[ "$(grep -c 'anon:heapagent' "/proc/$host/maps")" = 0 ]
	"$heapagent" status "$host" --json >"$BATS_TEST_TMPDIR/two.json"
	for side in inuse allocated; do
		[ "$(json "$BATS_TEST_TMPDIR/one.json" $side bytes)" = \
			"$(json "$BATS_TEST_TMPDIR/two.json" $side bytes)" ]
	done
	finish
}

@test "while the program allocates in many threads and forks" {
	LD_PRELOAD=$AGENT HEAPAGENT_RATE=1 "$PROG/cross_free" 5 \
		>"$BATS_TEST_TMPDIR/out" 3>&- &
	host=$!
	wait_for 20 grep -q libheapagent.so "/proc/$host/maps"
	samples=0
	for _ in $(seq 20); do
		"$heapagent" status "$host" --json >"$BATS_TEST_TMPDIR/now" ||
			break
		now=$(json "$BATS_TEST_TMPDIR/now" allocated samples)
		# The sums only grow.
		[ "$now" -ge "$samples" ]
		samples=$now
	done
	echo "$samples samples"
	[ "$samples" -gt 1000 ]
	wait "$host"
	host=
}

@test "a forked child has a region of its own" {
	start_command HEAPAGENT_RATE=1 /usr/bin/python3 -c '
import os, sys
child = os.fork()
if child == 0:
    kept = [bytearray(1000) for n in range(5000)]
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)
print("child", child, flush=True)
os.waitpid(child, 0)'
	wait_for 20 grep -q child "$BATS_TEST_TMPDIR/out"
	child=$(sed -n 's/^child //p' "$BATS_TEST_TMPDIR/out")
	"$heapagent" status "$host" --json >"$BATS_TEST_TMPDIR/parent.json"
	"$heapagent" status "$child" --json >"$BATS_TEST_TMPDIR/child.json"
	[ "$(json "$BATS_TEST_TMPDIR/child.json" inuse bytes)" -gt \
		$(($(json "$BATS_TEST_TMPDIR/parent.json" inuse bytes) +
			5000000)) ]
	finish
}

@test "errors are one line" {
	run --separate-stderr "$heapagent" status
	says_one_line 2 "arguments" PID
	run --separate-stderr "$heapagent" status x
	says_one_line 2 "'x'"
	run --separate-stderr "$heapagent" status --yaml 1
	says_one_line 2 --yaml --json
	run --separate-stderr "$heapagent" status 2147483646
	says_one_line 1 "no process 2147483646"
	sleep 60 3>&- &
	host=$!
	run --separate-stderr "$heapagent" status "$host"
	says_one_line 1 "not in process $host" "heapagent run"
	kill -STOP "$host" && kill -KILL "$host"
	wait "$host" || true
	host=
}

@test "not permitted: one line" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become another user"
	start_python
	chmod 0755 "$BATS_TEST_TMPDIR"
	run --separate-stderr setpriv --reuid=65534 --regid=65534 \
		--clear-groups "$heapagent" status "$host"
	says_one_line 1 "process $host" "ermi"
	finish
}
