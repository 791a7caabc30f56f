#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Dumps of programs that do not make it easy: what the files say, and that the
# program and the system are as they were.
# shellcheck disable=SC2030,SC2031 # each test is a process of its own
bats_require_minimum_version 1.5.0

load helpers
load hosts

teardown() {
	[ -z "${host:-}" ] || kill -KILL "$host" 2>/dev/null || true
}

# What a dump must not change, as /proc shows it.
state_of() {
	grep -E '^(Threads|Sig(Blk|Ign|Cgt)|ShdPnd|SigPnd|TracerPid|FDSize)' \
		"/proc/$1/status"
	find "/proc/$1/fd" -mindepth 1 -printf '%f %l\n' | sort
	ps -o pid=,stat=,comm= --ppid "$1" || true
}

case_passes() {
	run -0 timeout 60 env LD_PRELOAD="$AGENT" "$PROG/dump_host" "$1"
}

# --- what the threads profile says

threads_are_named() {
	local traces=$BATS_TEST_TMPDIR/traces
	traces "$(newest threads)" >"$traces"
	[[ $(stack_of "$traces" t-poll) == "poll:"*" in_poll "* ]]
	[[ $(stack_of "$traces" t-epoll) == "epoll_wait:"*" in_epoll "* ]]
	[[ $(stack_of "$traces" t-finite) == "epoll_wait:"*" in_finite_epoll "* ]]
	[[ $(stack_of "$traces" t-sem) == "futex wait:"*" in_semaphore "* ]]
	[[ $(stack_of "$traces" t-mutex) == "futex wait:"*" in_mutex "* ]]
	[[ $(stack_of "$traces" t-sleep) == "clock_nanosleep:"*" in_sleep "* ]]
	[[ $(stack_of "$traces" t-spin) == "running: spinning run "* ]]
	[[ $(stack_of "$traces" dump_threads) == "read:"*" main "* ]]
	[ "$(sum "$(newest threads)" threads)" = 9 ]
	# The thread that took the signal does not show our handler.
	! stack_of "$traces" dump_threads | grep -q heapagent
}

@test "every thread is named, with its state and its stack" {
	start dump_threads
	dump 1
	dump 2
	threads_are_named
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" t-sigwait) == \
		"rt_sigtimedwait:"*" in_sigwait "* ]]
	[ "$(counter_of threads_unanswered)" = 0 ]
	[ "$(counter_of threads_by_signal)" = 0 ]
	# Two in each: sigwait, and a time-out of epoll's. Others may be late.
	[ "$(counter_of threads_by_syscall_file)" -ge 4 ]
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
	# Exit status 0: no thread's call has returned.
	finish
}

@test "the same where ptrace is refused" {
	under=("$PROG/refuse" ptrace)
	start dump_threads
	dump 1
	threads_are_named
	[ "$(counter_of threads_unanswered)" = 0 ]
	# sigwait returns only what it waits for.
	[[ $(stack_of "$BATS_TEST_TMPDIR/traces" t-sigwait) == \
		"rt_sigtimedwait:"*" in_sigwait "* ]]
	# One that is blocked is not asked.
	[ "$(counter_of threads_by_signal)" = 1 ]
	[ "$(counter_of threads_by_syscall_file)" = 7 ]
	finish
}

@test "the same where no child can be made" {
	under=("$PROG/refuse" clone)
	start dump_threads
	dump 1
	threads_are_named
	[ "$(counter_of dumps_in_handler)" = 1 ]
	[ "$(counter_of threads_unanswered)" = 0 ]
	finish
}

@test "500 threads" {
	start dump_threads 500
	state_of "$host" >"$BATS_TEST_TMPDIR/before"
	dump 1
	[ "$(sum "$(newest threads)" threads)" = 501 ]
	[ "$(counter_of threads_unanswered)" = 0 ]
	wait_for 5 is_quiet
	state_of "$host" | diff "$BATS_TEST_TMPDIR/before" -
	finish
}

# --- what a dump leaves behind

@test "nothing is left but the files" {
	start dump_threads
	state_of "$host" >"$BATS_TEST_TMPDIR/before"
	dump 1
	wait_for 5 is_quiet
	state_of "$host" | diff "$BATS_TEST_TMPDIR/before" -
	[ "$(files)" = 3 ]
	[ "$(files -perm 0600 -name "dump_threads.$host.0001.*.pb.gz")" = 3 ]
	[ ! -s "$BATS_TEST_TMPDIR/err" ]
	finish
}

@test "requests without number: merged, the last one served" {
	HEAPAGENT_RATE=1000 start many_stacks 2000
	for _ in $(seq 1000); do
		kill -USR2 "$host"
		sleep 0.004
	done
	# Everything that came before this is older than the last dump.
	wait_for 20 is_quiet
	before=$(files -name '*.heap.pb.gz')
	last=$(date +%s%N)
	dump $((before + 1))
	wait_for 20 is_quiet
	newest=$("$DECODE" "$(newest heap)" | awk '$1 == "time_nanos" {print $2}')
	[ "$newest" -ge "$last" ]
	[ "$(files -name '*.tmp')" = 0 ]
	[ "$(files -name '*.heap.pb.gz')" = "$(counter_of dumps_started)" ]
	# Merged or not, each request was counted.
	served=$(("$(counter_of dumps_started)" + "$(counter_of dumps_merged)"))
	[ "$served" -gt 10 ]
	[ "$(counter_of dumps_failed)" = 0 ]
	[ "$(counter_of dumps_faulted)" = 0 ]
	"$CHECKVALID" "$(newest heap)" "$(newest threads)"
	finish
}

# hit_child SIGNAL: sends it to the child of a new dump, and counts it in $hit;
# on a busy machine the dump may be complete before.
hit_child() {
	local before
	before=$(files -name '*.heap.pb.gz')
	kill -USR2 "$host"
	wait_for 20 is_seen "$before"
	kill "-$1" "$child" 2>/dev/null || true
	wait_for 20 is_quiet
	complete $((before + 1)) || hit=$((hit + 1))
}

is_seen() {
	child=
	dump_child || complete $(($1 + 1))
}

@test "the dump child is killed: the host lives, the next dump is whole" {
	HEAPAGENT_RATE=1 HEAPAGENT_MEMORY=512M start many_stacks 200000
	hit=0
	for ((started = 0; hit < 3; started++)); do
		hit_child KILL
	done
	dump $((started - hit + 1))
	[ "$(counter_of dumps_started)" = $((started + 1)) ]
	[ "$(files -name '*.heap.pb.gz')" = $((started - hit + 1)) ]
	[ "$(sum "$(newest heap)" inuse_objects /many_stacks)" -ge 200000 ]
	[ "$(files -name '*.tmp')" = 0 ]
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.heap.pb.gz
	finish
}

@test "a fault in the dump child: counted, the next dump is whole" {
	HEAPAGENT_RATE=1 HEAPAGENT_MEMORY=512M start many_stacks 200000
	hit=0
	for ((started = 0; hit < 1; started++)); do
		hit_child SEGV
	done
	[ "$(files -name '*.tmp')" = 0 ]
	dump "$started"
	# One that was hit after its last file counts, too.
	[ "$(counter_of dumps_faulted)" -ge 1 ]
	finish
}

# --- hosts

@test "a host that ends at once: its status, and the files" {
	case_passes at_once
	wait_for 10 complete 1
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
}

@test "a host that blocks the signal" {
	case_passes blocked
	[ "$output" = blocked ]
	wait_for 10 complete 1
}

@test "a host with a handler of its own" {
	case_passes own
	[ "$(files)" = 0 ]
}

@test "a host that was started with the signal ignored" {
	run -0 bash -c "trap '' USR2; LD_PRELOAD=$AGENT $PROG/dump_host unchanged"
	[ "$(files)" = 0 ]
	[ -z "$output" ]
}

@test "HEAPAGENT_SIGNAL=none leaves the signal alone" {
	run bash -c "HEAPAGENT_SIGNAL=none LD_PRELOAD=$AGENT \
		$PROG/dump_host unchanged; echo \$?"
	[ "${lines[-1]}" = $((128 + $(kill -l USR2))) ]
	[ "$(files)" = 0 ]
}

@test "another signal" {
	HEAPAGENT_SIGNAL=RTMIN+3 start dump_threads
	kill -RTMIN+3 "$host"
	wait_for 20 complete 1
	finish
}

@test "parent and child of a fork dump under their own names" {
	case_passes forks
	pid=$output
	wait_for 10 complete 3
	[ "$(files -name "dump_host.$pid.0001.*")" = 3 ]
	[ "$(files -name "dump_host.*.0002.*")" = 3 ]
	[ "$(files)" = 9 ]
}

@test "a forked child does not wait for its parent's dump" {
	case_passes children_end
}

@test "HEAPAGENT_CHILDREN=0: the signal ends a forked child as without us" {
	export HEAPAGENT_CHILDREN=0
	run -1 timeout 60 env LD_PRELOAD="$AGENT" "$PROG/dump_host" forks
	[[ $output == *"WEXITSTATUS(status) == 7"* ]]
}

@test "a host that adopts orphans finds none of ours" {
	case_passes subreaper
	[ "$(files)" = 6 ]
}

@test "a host that is PID 1" {
	unshare --pid --fork --mount-proc true ||
		skip "no PID namespace with a /proc of its own can be made here"
	run -0 unshare --pid --fork --mount-proc env LD_PRELOAD="$AGENT" \
		"$PROG/dump_host" unchanged
	[ "$(files -name 'dump_host.1.0001.*')" = 3 ]
}

@test "a host whose next child opens a PID namespace" {
	[ "$(id -u)" = 0 ] || skip "needs root for a PID namespace"
	case_passes new_pid_namespace
	[ "$(counter_of dumps_in_handler)" = 1 ]
	[ "$(files)" = 3 ]
}

@test "a host that reaps every process there is" {
	case_passes reaps_all
	wait_for 10 is_quiet
	[ "$(files -name '*.tmp')" = 0 ]
	complete 1
}

@test "a host that has put itself in a sandbox" {
	case_passes sandbox
	[ "$(files)" = 0 ]
}

@test "a signal stack that hardly holds the kernel's frame" {
	case_passes small_stack
	wait_for 10 complete 1
}

@test "a host that starts programs meanwhile" {
	case_passes spawns
	wait_for 10 is_quiet
}

@test "errno, mask, descriptors and children are as before" {
	case_passes unchanged
	wait_for 10 complete 1
}

@test "a name that is taken is left alone" {
	case_passes name_taken
	wait_for 10 complete 2
	[ "$(cat "$HEAPAGENT_DIR"/*.0001.heap.pb.gz)" = mine ]
	[ "$(files -name '*.0002.*')" = 3 ]
}

@test "a host under valgrind, which knows no such children" {
	command -v valgrind >/dev/null || skip "valgrind is not installed"
	run -0 timeout 100 env LD_PRELOAD="$AGENT" valgrind -q --tool=none \
		"$PROG/dump_host" unchanged
	[ "$(files)" = 3 ]
	[ "$(counter_of dumps_in_handler)" = 1 ]
}

# --- when the files cannot be written

@test "no such directory: one line that says so" {
	HEAPAGENT_DIR=/nonexistent case_passes unchanged
	[[ $output == "heapagent: "*/nonexistent* ]]
	[ "${#lines[@]}" = 1 ]
}

@test "a standard error that nobody reads any more: no SIGPIPE" {
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	true <"$BATS_TEST_TMPDIR/pipe" &
	exec 4>"$BATS_TEST_TMPDIR/pipe"
	wait $!
	# Once at start, and once for the dump.
	for setting in HEAPAGENT_RATE=lots HEAPAGENT_DIR=/nonexistent; do
		run -0 bash -c "env LD_PRELOAD=$AGENT $setting $PROG/exact 10 \
			2>&4"
	done
	exec 4>&-
}

@test "HEAPAGENT_LOG=quiet: not even that" {
	HEAPAGENT_LOG=quiet HEAPAGENT_DIR=/nonexistent case_passes unchanged
	[ -z "$output" ]
}

@test "no file may be larger than nothing: no file, no harm" {
	for how in "" "$PROG/refuse clone"; do
		# shellcheck disable=SC2086
		run -0 bash -c "ulimit -f 0; exec env LD_PRELOAD=$AGENT $how \
			$PROG/dump_host unchanged"
		wait_for 10 is_quiet
		[ "$(files)" = 0 ]
	done
}

# --- at exit

@test "HEAPAGENT_AT_EXIT=1 dumps at normal exit, and waits for the files" {
	HEAPAGENT_AT_EXIT=1 run -0 env LD_PRELOAD="$AGENT" \
		"$PROG/dump_host" unchanged
	# One by signal, one at the end.
	[ "$(files)" = 6 ]
}

# --- a host that is stopped

stopped_and_continued() {
	local status=0
	for _ in 1 2 3 4 5; do
		kill -USR2 "$host"
		kill -STOP "$host"
		sleep 0.3
		kill -CONT "$host"
	done
	wait_for 20 complete 1
	wait_for 20 is_quiet
	kill -USR2 "$host"
	sleep 0.1
	wait_for 20 is_quiet
	# A stop ends epoll_wait and sigwait with EINTR without us, too
	# (signal(7)), and with it three of the nine threads.
	[ "$(sum "$(newest threads)" threads)" -ge 6 ]
	[ "$(files -name '*.tmp')" = 0 ]
	finish || status=$?
	[ "$status" -le 1 ]
}

@test "a host that is stopped and continued meanwhile" {
	start dump_threads
	stopped_and_continued
}

@test "the same where its threads are asked by signal" {
	under=("$PROG/refuse" ptrace)
	start dump_threads
	stopped_and_continued
}
