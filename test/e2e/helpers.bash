# SPDX-License-Identifier: Apache-2.0
# What the end-to-end tests share. `load helpers` first.
# shellcheck disable=SC2034 # the tests that load it use the variables

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
AGENT=$ROOT/build/libheapagent.so
PROG=$ROOT/build/test/prog
DECODE=$ROOT/build/test/tools/pprof_decode
CHECKVALID=$ROOT/build/test/tools/checkvalid
TORMENT=$ROOT/build/test/tools/torment

# Dumps go to a directory of the test's own.
setup() {
	export HEAPAGENT_DIR=$BATS_TEST_TMPDIR/dumps
	mkdir -p "$HEAPAGENT_DIR"
}

# preloaded COMMAND...: runs it under the agent.
preloaded() {
	LD_PRELOAD=$AGENT "$@"
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -le "$deadline" ] || return 1
		sleep 0.02
	done
}

# newest KIND: the path of the last dump's file of that kind.
newest() {
	local files=("$HEAPAGENT_DIR"/*."$1".pb.gz)
	[ -e "${files[0]}" ] || return 1
	printf '%s\n' "${files[@]}" | sort -t. -k3 | tail -n 1
}

# sum FILE TYPE [REGEX [innermost]]: adds up a sample type over the samples
# that have a frame (or whose innermost frame is one) whose line matches.
sum() {
	"$DECODE" "$1" | awk -v type="$2" -v regex="${3:-.}" -v only="${4:-}" '
		function flush() { if (hit) total += value; hit = 0 }
		$1 == "sample" {
			flush()
			value = depth = 0
			for (i = 2; i <= NF; i++)
				if (index($i, type "=") == 1)
					value = substr($i, length(type) + 2)
		}
		$1 == "frame" && depth++ > 0 && only == "innermost" { next }
		$1 == "frame" && $0 ~ regex { hit = 1 }
		END { flush(); printf "%.0f\n", total }'
}

# nginx_conf SERVER [DIRECTIVES [HTTP-DIRECTIVES]]: a configuration of nginx
# with that server, which writes below the test's directory only.
nginx_conf() {
	local temporary
	echo "pid $BATS_TEST_TMPDIR/nginx.pid; ${2:-} events {}"
	echo "http { access_log off; ${3:-}"
	for temporary in client_body proxy fastcgi uwsgi scgi; do
		echo "${temporary}_temp_path $BATS_TEST_TMPDIR/$temporary;"
	done
	echo "server { $1 } }"
}

# counter FILE NAME: the value in the file's comments.
counter() {
	"$DECODE" "$1" | sed -n "s/^comment \(.* \)\{0,1\}$2=\([0-9]*\).*/\2/p"
}

# stacks FILE [BINARY [FILE...]]: each sample on a line of its own: its values and
# labels, then its frames from the innermost on, each after a `|`; those in
# BINARY with the name of their function (not of one inlined in it).
stacks() {
	local decoded=$BATS_TEST_TMPDIR/decoded names=/dev/null
	"$DECODE" "$1" "${@:3}" >"$decoded"
	if [ -n "${2:-}" ]; then
		names=$BATS_TEST_TMPDIR/names.$(basename "$2")
		name_offsets "$2" "$names" <"$decoded"
	fi
	awk -v binary="${2:-}+" '
		FILENAME != ARGV[2] { name[binary $1] = " " $2; next }
		$1 == "sample" { printf "%s%s", end, $0; end = "\n" }
		$1 == "frame" {
			printf " |"
			for (i = 4; i <= NF; i++)
				printf " %s", $i
			printf "%s", name[$4]
		}
		END { printf "%s", end }' "$names" "$decoded"
}

# name_offsets BINARY NAMES: adds to the file NAMES the offsets in BINARY that
# the decoded profile on stdin has and NAMES has not, each with its function.
name_offsets() {
	touch "$2"
	awk -v binary="$1+" '$1 == "frame" && index($4, binary) == 1 {
			print substr($4, length(binary) + 1)
		}' | sort -u | join -v 1 - <(sort "$2") >"$2.new"
	# Of functions inlined in each other the last is the one that was called.
	xargs -r addr2line -fiae "$1" <"$2.new" | awk '
		/^0x/ { if (NR > 1) print name; n = 0; next }
		n++ % 2 == 0 { name = $1 }
		END { if (NR > 0) print name }' >"$2.names"
	paste -d' ' "$2.new" "$2.names" >>"$2"
}

# total TYPE: adds up a sample type over what stacks() printed.
total() {
	sed -n "s/^.* $1=\([0-9]*\).*$/\1/p" |
		awk '{ total += $1 } END { printf "%.0f\n", total }'
}

# oracle [-i MS] [-b LIBRARY] [-a LIBRARY] COMMAND...: runs the
# command without the agent, then with it at RATE=1, asked for a dump every MS
# (50) milliseconds; LIBRARY preloaded before or after it in both runs. Exit status,
# stdout and stderr must be the same ($BATS_TEST_TMPDIR/out, err), each dump
# valid, no file, zombie or process left behind. $status is the exit status,
# $asked how many signals were sent.
oracle() {
	local before="" after="" option OPTIND=1 dir=$BATS_TEST_TMPDIR
	local interval=50
	while getopts i:b:a: option; do
		case $option in
		i) interval=$OPTARG ;;
		b) before=$OPTARG: ;;
		a) after=:$OPTARG ;;
		*) return 2 ;;
		esac
	done
	shift $((OPTIND - 1))
	local without=$before${after#:} bare=0
	status=0
	"$TORMENT" -p "${without%:}" "$@" </dev/null 3>&- \
		>"$dir/bare.out" 2>"$dir/bare.err" || bare=$?
	HEAPAGENT_RATE=${HEAPAGENT_RATE:-1} \
		HEAPAGENT_AT_EXIT=${HEAPAGENT_AT_EXIT:-1} \
		"$TORMENT" -r "$dir/report" -i "$interval" \
		-p "$before$AGENT$after" "$@" </dev/null 3>&- \
		>"$dir/out" 2>"$dir/err" || status=$?
	asked=$(sed -n 's/^signals=\([0-9]*\) .*$/\1/p' "$dir/report")
	echo "exit status $bare without the agent, $status with it"
	head -n 20 "$dir/report" "$dir/bare.err" "$dir/err"
	cmp "$dir/bare.out" "$dir/out" || diff "$dir/bare.out" "$dir/out" | head
	[ "$bare" -eq "$status" ]
	cmp "$dir/bare.out" "$dir/out"
	cmp "$dir/bare.err" "$dir/err"
	grep -q 'zombies=0 leftovers=0$' "$dir/report"
	nothing_but_dumps
}

# Each file in the directory is a valid profile under its final name.
nothing_but_dumps() {
	local file
	for file in "$HEAPAGENT_DIR"/* "$HEAPAGENT_DIR"/.[!.]*; do
		[ -e "$file" ] || continue
		[[ $file =~ \.[0-9]+\.[0-9]{4,}\.(threads|allocs|heap)\.pb\.gz$ ]] ||
			{
				echo "left behind: $file"
				return 1
			}
		echo "$file"
	done | tee "$BATS_TEST_TMPDIR/dumps.list" | grep 'left behind' && return 1
	[ ! -s "$BATS_TEST_TMPDIR/dumps.list" ] ||
		xargs "$CHECKVALID" <"$BATS_TEST_TMPDIR/dumps.list"
}

# exit_stacks [BINARY]: what the dump at exit has, one stack a line.
exit_stacks() {
	stacks "$(newest heap)" "$@" >"$BATS_TEST_TMPDIR/stacks"
}

# with REGEX TYPE: the sum over the stacks that match.
with() {
	grep -E "$1" "$BATS_TEST_TMPDIR/stacks" | total "$2"
}

# No sample of the dump at exit was lost.
nothing_dropped() {
	local heap name
	heap=$(newest heap)
	for name in samples_dropped_region_full samples_dropped_live_full \
		samples_dropped_busy samples_dropped_reentrant \
		modules_dropped dumps_faulted dumps_failed; do
		[ "$(counter "$heap" "$name")" = 0 ] || {
			echo "$name=$(counter "$heap" "$name")"
			return 1
		}
	done
}
