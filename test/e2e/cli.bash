# SPDX-License-Identifier: Apache-2.0
# The command line as its own help tells it. `load cli` after helpers.

HEAPAGENT=$ROOT/build/heapagent

# The subcommands, one a line: fails if there are not many.
commands() {
	local names
	names=$("$HEAPAGENT" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' |
		grep -vx help)
	[ "$(wc -l <<<"$names")" -ge 12 ] && echo "$names"
}

# options COMMAND: "NAME VALUE" for each long option; VALUE may be missing.
options() {
	local rows
	rows=$("$HEAPAGENT" "$1" --help |
		sed -En 's/^  (   |-.,) --([a-z_-]+)( ([^ ]+))?( .*)?$/\2 \4/p')
	grep -q '^help *$' <<<"$rows" && echo "$rows"
}

# good_value VALUE: what an option takes whose help calls its value so.
good_value() {
	case $1 in
	DIR | OUT) echo . ;;
	BYTES) echo 64M ;;
	SIGNAL) echo RTMIN+2 ;;
	KINDS) echo heap,threads ;;
	SECONDS | N) echo 20 ;;
	TYPE | REGEX) echo some ;;
	FILE) echo /dev/null ;;
	*"|"*) echo "${1%%|*}" ;;
	*) return 1 ;;
	esac
}
