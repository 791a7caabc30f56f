#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# errors.bats - wrong calls and failures of every command: one line on standard
# error that names the thing, its value and what is taken; nothing on standard
# output, no file; status 2 for a wrong call, 1 for a failure.
bats_require_minimum_version 1.5.0
load helpers
load cli

setup() {
	# bats keeps files of its own beside it.
	mkdir "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return
	cat >good.txt <<-END
		type inuse_objects count
		type inuse_space bytes
		period 524288 space bytes
		time 1700000000000000000
		mapping 0x1000 0x2000 0x1000 /opt/app -
		function alpha a.c 10
		sample 64 500,32000 f1:11
	END
	"$ROOT/build/test/tools/profile_make" good.pb.gz <good.txt
	sed -e '/^type inuse_/s/inuse_/alloc_/' good.txt |
		"$ROOT/build/test/tools/profile_make" allocs.pb.gz
	mkdir directory
	: >empty
	head -c 40 good.pb.gz >short
	ln -s loop loop
	printf 'plain text\n' >words
	tried=0
}

# refuses STATUS WORD[,WORD]... ARGUMENT...: the call ends so, and says so.
refuses() {
	local wanted=$1 words=$2 before word
	shift 2
	tried=$((tried + 1))
	before=$(ls -AR)
	run --separate-stderr timeout 20 "${as[@]}" "$HEAPAGENT" "$@"
	echo "heapagent $*: $status: $output: $stderr"
	[ "$status" -eq "$wanted" ]
	[ -z "$output" ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr == "heapagent: "* ]]
	while read -r word; do
		[[ $stderr == *"$word"* ]]
	done < <(tr , '\n' <<<"$words")
	[ "$(ls -AR)" = "$before" ]
}

# The commands whose arguments are files, with as many good ones as they take.
file_commands() {
	local name usage
	for name in $(commands); do
		usage=$("$HEAPAGENT" "$name" --help | head -n 1)
		case ${usage##*\[OPTION\]... } in
		FILE*) echo "$name" ;;
		"REGEX FILE") echo "$name ." ;;
		"BEFORE AFTER") echo "$name good.pb.gz" ;;
		PID | "[--] PROGRAM"*) ;;
		*) echo "unknown arguments: $usage" ;;
		esac
	done
	echo "flame --diff good.pb.gz"
}

@test "an unknown option, too few arguments, too many: every command" {
	for name in $(commands); do
		refuses 2 "$name: ,'--bogus',--help" "$name" --bogus
		refuses 2 "$name: ,'-_',--help" "$name" -_
		refuses 2 "too few,heapagent $name [OPTION]" "$name"
		case $name in
		run | peek | d*) ;;
		*) refuses 2 "$name: ,''" "$name" '' ;;
		esac
		case $name in
		run | symbolize) ;; # take as many as there are
		*) refuses 2 "too many,'x',heapagent $name [OPTION]" \
			"$name" x x x ;;
		esac
	done
	refuses 2 "too many,'c'" help top c
	refuses 2 "'frobnicate',run,status,help" frobnicate
	refuses 2 "'tpo',did you mean 'top'?,status,help" tpo
	refuses 2 "'flmae',did you mean 'flame'?" help flmae
	refuses 2 "top: ,ambiguous,'-f',--focus,--full-names,--flat" top -f x
	refuses 2 "top: ,unknown,'--foucs=x',did you mean --focus?" \
		top --foucs=x good.pb.gz
	refuses 2 "'frobnicate',run,status,help" help frobnicate
	refuses 2 "'--frobnicate'" --frobnicate
	refuses 2 "too many,'x'" --version x
	# A value with control characters is one line still.
	refuses 2 "a?b" $'a\nb'
	[ "$tried" -ge 48 ]
}

@test "no command: the help, on standard error" {
	run --separate-stderr "$HEAPAGENT"
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[ "$stderr" = "$("$HEAPAGENT" --help)" ]
}

@test "files that are not there, not readable, not profiles: every command" {
	file_commands >calls
	run ! grep unknown calls
	[ "$(wc -l <calls)" -ge 10 ]
	while read -r -a call; do
		refuses 1 "none: ,No such file" "${call[@]}" none
		refuses 1 "none/good.pb.gz: ,No such file" "${call[@]}" \
			none/good.pb.gz
		refuses 1 "directory: ,directory" "${call[@]}" directory
		refuses 1 "loop: ,symbolic links" "${call[@]}" loop
		refuses 1 "empty: " "${call[@]}" empty
		refuses 1 "short: ,cut short" "${call[@]}" short
		refuses 1 "words: " "${call[@]}" words
	done <calls
	[ "$tried" -ge 70 ]
}

# As somebody who may neither read unreadable nor write here.
nobody() {
	[ "$(id -u)" -eq 0 ] || skip "only root can become another user"
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	chmod 0755 . ..
	cp good.pb.gz unreadable
	chmod 0600 unreadable
	chmod 0644 good.pb.gz allocs.pb.gz
}

@test "a file that may not be read, a directory that may not be written" {
	nobody
	file_commands >calls
	while read -r -a call; do
		refuses 1 "unreadable: ,Permission denied" "${call[@]}" \
			unreadable
	done <calls
	for name in symbolize inuse flame; do
		refuses 1 "good.,Permission denied" $name good.pb.gz
		refuses 1 "directory/,Permission denied" $name good.pb.gz \
			-o directory
	done
	refuses 1 "here,Permission denied" delta allocs.pb.gz allocs.pb.gz \
		-o here
	[ "$tried" -ge 17 ]
}

@test "output that cannot be written: no file, or no output" {
	for call in "symbolize good.pb.gz" "inuse good.pb.gz" \
		"flame good.pb.gz" "delta allocs.pb.gz allocs.pb.gz" \
		"flame --diff good.pb.gz good.pb.gz"; do
		# shellcheck disable=SC2086 # words are wanted
		for out in none/out none/; do
			refuses 1 "$out: ,No such file" $call -o $out
		done
		# shellcheck disable=SC2086
		refuses 1 "/dev/full: ,No space" $call -o /dev/full
		# shellcheck disable=SC2086
		refuses 1 "words/out: ,Not a directory" $call -o words/out
	done
	for call in "top good.pb.gz" "top --json good.pb.gz" \
		"tree good.pb.gz" "tree --json good.pb.gz" \
		"peek . good.pb.gz" "diff good.pb.gz allocs.pb.gz" \
		"text good.pb.gz" "symbolize good.pb.gz -o -" "--help" \
		"--version" "top --help" "help"; do
		echo "$call"
		[[ $call != diff* ]] || call="diff good.pb.gz good.pb.gz"
		# shellcheck disable=SC2086
		stderr=$("$HEAPAGENT" $call 2>&1 >/dev/full) && false
		status=$?
		echo "$status: $stderr"
		[ "$status" -eq 1 ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		[[ $stderr == "heapagent: "*"No space"* ]]
	done
}

@test "output that is cut off by a limit: no part of it stays" {
	# Names that gzip cannot make small.
	{
		grep -v sample good.txt
		printf 'type alloc_objects count\ntype alloc_space bytes\n'
		for ((i = 0; i < 400; i++)); do
			printf 'function %s a.c 1\n' \
				"f$RANDOM$RANDOM$RANDOM$RANDOM"
		done
		for ((i = 2; i < 400; i++)); do
			echo "sample 64 5,320,9,$((RANDOM + 64)) f$i:1"
		done
	} | "$ROOT/build/test/tools/profile_make" big.pb.gz
	[ "$(stat -c %s big.pb.gz)" -gt 4096 ]
	# A block is 1024 bytes; the signal would end the command.
	as=(bash -c 'trap "" XFSZ; ulimit -f 1; exec "$@"' _)
	for call in symbolize inuse flame "delta big.pb.gz" \
		"flame --diff big.pb.gz"; do
		# shellcheck disable=SC2086 # words are wanted
		refuses 1 "big.,too large" $call big.pb.gz
		# shellcheck disable=SC2086
		refuses 1 "out: ,too large" $call big.pb.gz -o out
	done
}

@test "the profile is not of the kind that is wanted" {
	refuses 1 "allocs.pb.gz: ,inuse_" inuse allocs.pb.gz
	refuses 1 "good.pb.gz: ,'apples',inuse_objects,inuse_space" \
		top --sample_index apples good.pb.gz
	refuses 1 "good.pb.gz: ,'alloc_space',inuse_space" \
		flame --alloc_space good.pb.gz
	refuses 1 "good.pb.gz: ,alloc_space,allocs.pb.gz" \
		diff good.pb.gz allocs.pb.gz
	refuses 1 "good.pb.gz: ,alloc_" delta good.pb.gz good.pb.gz
}

@test "values that an option does not take" {
	while IFS='|' read -r words call; do
		[ -n "$words" ] || continue
		read -r -a call <<<"$call"
		refuses 2 "${call[0]}: ,$words" "${call[@]}"
	done <<-END
		--nodecount,'-1',a number,0|top --nodecount -1 good.pb.gz
		--nodecount,'many',a number|tree --nodecount=many good.pb.gz
		--nodecount,'9z',a number|peek --nodecount=9z . good.pb.gz
		--nodecount,'99999999999999999999'|diff --nodecount 99999999999999999999 a b
		--focus,'(',regular expression|top --focus ( good.pb.gz
		--ignore,'[a',regular expression|flame --ignore [a good.pb.gz
		--focus,'b',one regular|top --focus a --focus b good.pb.gz
		REGEX,'*(',regular expression|peek *( good.pb.gz
		--sysroot,'none',a directory|symbolize --sysroot none good.pb.gz
		--sysroot,'words',a directory|text --sysroot words good.pb.gz
		--debug-dir,'none',a directory|top --debug-dir none good.pb.gz
		--perf-map,'none',a file that can be read|symbolize --perf-map none good.pb.gz
		--output,'none',a directory|symbolize -o none good.pb.gz good.pb.gz
		--output,'words',a directory|symbolize good.pb.gz good.pb.gz --output=words
		'--sample_index',needs,TYPE|top good.pb.gz --sample_index
		'-o',needs,OUT|inuse good.pb.gz -o
		--output,'',a file|flame good.pb.gz --output=
		--output,'',a file|symbolize good.pb.gz --output=
		--output,'',a file|inuse good.pb.gz --output=
		'--json=1',no value|top --json=1 good.pb.gz
		'--in'|top --in good.pb.gz
		--rate,'fast',bytes|run --rate fast true
		--rate,'-1',bytes|run --rate -1 true
		--rate,'',bytes|run --rate= true
		--rate,'2T',1T|run --rate 2T true
		--dir,'none',a directory|run --dir none true
		--dir,'words',a directory|run --dir words true
		--signal,'KILL',name|run --signal KILL true
		--signal,'USR3',name|run --signal USR3 true
		--signal,'RTMIN+99',RTMIN+n|run --signal RTMIN+99 true
		--profiles,'heap;cpu',heap|run --profiles heap;cpu true
		--format,'json',proto|run --format json true
		--depth,'0',512|run --depth 0 true
		--depth,'513',512|run --depth 513 true
		--memory,'1M',4M|run --memory 1M true
		--unwinder,'dwarf',libunwind|run --unwinder dwarf true
		--log,'loud',quiet|run --log loud true
		'--rate',needs,BYTES|run --rate
		'--at-exit=2',no value|run --at-exit=2 true
		PID,'x',process number|dump x
		PID,'12x',process number|status 12x
		PID,'0',process number|dump 0
		PID,'-5',process number|status -- -5
		PID,'99999999999',process number|dump 99999999999
		--timeout,'soon',seconds|dump --timeout soon 1
		--timeout,'-1',seconds|dump --timeout -1 1
		--timeout,'0',seconds|dump --timeout 0 1
		--timeout,'nan',seconds|dump --timeout nan 1
		'--json=no',no value|status --json=no 1
	END
	[ "$tried" -eq 49 ]
}

@test "processes that are not there, or without the agent" {
	sleep 60 3>&- &
	local sleeper=$!
	for name in dump status; do
		refuses 1 "no process 2147483646" $name 2147483646
		refuses 1 "process $sleeper,heapagent run" $name $sleeper
	done
	kill $sleeper
}

@test "one of several files fails: the others are made, status 1" {
	run --separate-stderr "$HEAPAGENT" symbolize good.pb.gz none allocs.pb.gz
	echo "$output: $stderr"
	[ "$status" -eq 1 ]
	[[ $stderr == "heapagent: none: No such file"* ]]
	[ -s good.symbolized.pb.gz ]
	[ -s allocs.symbolized.pb.gz ]
	[ "${#lines[@]}" -eq 2 ]
}
