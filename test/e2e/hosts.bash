# SPDX-License-Identifier: Apache-2.0
# Hosts that run while a test asks them for dumps. `load hosts` after helpers;
# `teardown` has to end $host.
# shellcheck disable=SC2034,SC2154 # the tests that load it use the variables

# start PROG ARGS...: one of our programs as the host.
start() {
	start_command "$PROG/$1" "${@:2}"
}

# start_command COMMAND...: a host that says "ready", ends when finish closes
# its standard input, and whose PID is $host; under[] goes before it, $also is
# preloaded, too.
start_command() {
	local fifo=$BATS_TEST_TMPDIR/stdin
	mkfifo "$fifo"
	"${under[@]}" env LD_PRELOAD="$AGENT${also:+:$also}" "$@" \
		<"$fifo" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	host=$!
	exec 5>"$fifo"
	wait_for 20 grep -q ready "$BATS_TEST_TMPDIR/out"
}

# finish: lets the host end; its exit status.
finish() {
	local status=0
	exec 5>&-
	wait "$host" || status=$?
	host=
	return $status
}

files() {
	find "$HEAPAGENT_DIR" -mindepth 1 "$@" | wc -l
}

complete() {
	[ "$(files -name '*.heap.pb.gz')" -ge "$1" ]
}

# dump N: asks for the Nth dump and waits for it.
dump() {
	kill -USR2 "$host"
	wait_for 20 complete "$1"
}

# dump_child: sets $child to a dump child of this test's hosts, if there is
# one. It has its host's memory, so its host's environment.
dump_child() {
	local pid
	for pid in $(pgrep -x heapagent-dump); do
		grep -qs "HEAPAGENT_DIR=$HEAPAGENT_DIR" "/proc/$pid/environ" &&
			child=$pid && return 0
	done
	return 1
}

is_quiet() {
	! dump_child
}

traces() {
	HOME=$BATS_TEST_TMPDIR timeout 60 go tool pprof -traces "$1" 2>/dev/null
}

# stack_of TRACES NAME: the state and the functions of a thread, on one line.
stack_of() {
	awk -v name="$2" '
		/^-+\+/ { if (hit) print text; text = ""; hit = 0; next }
		$1 == "thread:" { hit = $2 == name; next }
		$1 == "tid:" || $1 == "blocked:" { next }
		$1 == "state:" { sub(/^ *state: */, ""); text = $0 ":"; next }
		{ text = text " " $NF }
		END { if (hit) print text }' "$1"
}

counter_of() {
	counter "$(newest threads)" "$1"
}
