# SPDX-License-Identifier: Apache-2.0
# What the tests of `heapagent run` and `heapagent dump` share: `load command`.
# shellcheck disable=SC2034,SC2154 # set for and by the tests

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	root=$PWD
	heapagent=$root/build/heapagent
	prog=$root/build/test/prog
	dir=$BATS_TEST_TMPDIR
	[ -x "$heapagent" ]
	victim=
}

teardown() {
	[ -z "$victim" ] || kill -KILL "$victim" || true
}

# The command said exactly one line on standard error, with these words.
assert_error() {
	local status_wanted=$1 word
	shift
	echo "status $status: $stderr"
	[ "$status" -eq "$status_wanted" ]
	[ -z "$output" ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr == "heapagent: "* ]]
	for word; do
		[[ $stderr == *"$word"* ]]
	done
}

# Starts a command in $dir; $victim is its PID, once it has said "ready".
start() {
	: >"$dir/victim.out"
	(cd "$dir" && exec "$@" >"$dir/victim.out" 2>"$dir/victim.err" 3>&-) &
	victim=$!
	disown
	for ((i = 0; i < 500; i++)); do
		! grep -q ready "$dir/victim.out" || return 0
		sleep 0.02
	done
	cat "$dir/victim.err"
	return 1
}

compile() {
	local out=$1
	shift
	echo 'int main(void) { return 7; }' >"$dir/main.c"
	gcc "$@" -o "$out" "$dir/main.c"
}
