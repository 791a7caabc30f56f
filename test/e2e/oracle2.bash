# SPDX-License-Identifier: Apache-2.0
# Runs a program with and without the agent and compares what it did. `load
# helpers` first. RATE is the sampling rate of the second run.

RATE=1

# wait_dumps COUNT: until so many dumps are complete.
have_dumps() {
	local files=("$HEAPAGENT_DIR"/*.heap.pb.gz)
	[ -e "${files[0]}" ] && [ "${#files[@]}" -ge "$1" ]
}
wait_dumps() {
	wait_for 20 have_dumps "$1"
}

# run_bare COMMAND..., run_agent COMMAND...: standard output, error and status
# go to the files out, err and status in a directory of each. SIGUSR2 does
# nothing to the bare program.
run_bare() {
	local to=$BATS_TEST_TMPDIR/bare status=0
	mkdir -p "$to"
	(
		trap '' USR2
		exec "$@"
	) >"$to/out" 2>"$to/err" </dev/null 3>&- || status=$?
	echo "$status" >"$to/status"
}
run_agent() {
	local to=$BATS_TEST_TMPDIR/agent status=0
	mkdir -p "$to"
	HEAPAGENT_RATE=$RATE LD_PRELOAD=${PRELOAD-$AGENT} "$@" \
		>"$to/out" 2>"$to/err" </dev/null 3>&- || status=$?
	echo "$status" >"$to/status"
}

# compare: what the last two runs did is the same, to the byte.
compare() {
	diff -r "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/agent" >&2
}

# same COMMAND...: it does the same with the agent as without.
same() {
	run_bare "$@"
	run_agent "$@"
	compare
}

# The status that the last run under the agent ended with.
agent_status() {
	cat "$BATS_TEST_TMPDIR/agent/status"
}

# all_valid: each file in the directory is a whole profile, and no other file
# is there, hidden ones included.
all_valid() {
	local strange
	strange=$(find "$HEAPAGENT_DIR" -mindepth 1 ! -name '*.[0-9]*.pb.gz')
	[ -z "$strange" ] || {
		echo "left behind: $strange" >&2
		return 1
	}
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
}

# nothing_written: not one file.
nothing_written() {
	[ -z "$(ls -A "$HEAPAGENT_DIR")" ]
}

# sums FILE REGEX: inuse_objects inuse_space, of samples with such a frame.
sums() {
	echo "$(sum "$1" inuse_objects "$2") $(sum "$1" inuse_space "$2")"
}

# refute COMMAND...: it fails. (bats overlooks the failure of `! COMMAND`.)
refute() {
	if "$@"; then
		echo "unexpected success: $*" >&2
		return 1
	fi
}
