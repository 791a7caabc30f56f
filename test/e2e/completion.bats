#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# completion.bats - what bash offers on a command line of heapagent.
bats_require_minimum_version 1.5.0
load helpers
load cli

setup() {
	mkdir "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return
	mkdir dumps empty
	touch a.heap.pb.gz b.txt notes.md "with space.pb.gz" dumps/c.pb.gz
	PATH=$ROOT/build:$PATH
	prelude=
	host=
}

teardown() {
	[ -z "$host" ] || kill -KILL "$host" || true
}

# offers LINE: what stands for the last word of LINE, sorted, one a line. A
# shell of its own takes LINE apart as readline does: at spaces, and around =.
offers() {
	bash --norc -u -c "$prelude"'
		. "$0" || exit
		line=$1
		words=${line//=/ = }
		read -r -a COMP_WORDS <<<"$words"
		[[ $line != *" " ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9 COMP_KEY=9
		_heapagent "${COMP_WORDS[0]}" "${COMP_WORDS[-1]}" \
			"${COMP_WORDS[-2]}"
		[[ ${#COMPREPLY[@]} -eq 0 ]] || printf "%s\n" "${COMPREPLY[@]}"
		' "$ROOT/scripts/heapagent.bash" "$1" | sort -u
}

# is LINE WORD...: exactly these words are offered.
is() {
	local line=$1 got wanted
	shift
	got=$(offers "$line")
	wanted=$([ $# -eq 0 ] || printf '%s\n' "$@" | sort)
	echo "$line: $got"
	[ "$got" = "$wanted" ]
}

@test "sourced: it completes heapagent, and says nothing" {
	run bash --norc -c '. "$0"; complete -p heapagent' \
		"$ROOT/scripts/heapagent.bash"
	[ "$output" = "complete -F _heapagent heapagent" ]
}

@test "commands: those of the help" {
	mapfile -t names < <(commands)
	[ "${#names[@]}" -ge 12 ]
	is "heapagent " "${names[@]}" help --help --version
	is "heapagent d" delta diff dump
	is "heapagent --v" --version
	is "heapagent help " "${names[@]}" help
	is "heapagent help to" top
	is "heapagent help top "
	is "heapagent frobnicate "
}

@test "options: those of each command's help" {
	for name in $(commands); do
		mapfile -t rows < <(options "$name" | sed 's/ .*//; s/^/--/')
		"$HEAPAGENT" "$name" --help | grep -q '^  -o, ' && rows+=(-o)
		is "heapagent $name -" "${rows[@]}" -h
	done
	is "heapagent top --fo" --focus
	is "heapagent top a.heap.pb.gz --fu" --full-names
	is "heapagent flame --nodec"
	# The command may be elsewhere than in PATH.
	PATH=${PATH#*:} is "$HEAPAGENT top --ju"
	PATH=${PATH#*:} is "$HEAPAGENT top --js" --json
}

@test "each kind of value that a help names is known" {
	local sorts
	sorts=$(for name in $(commands); do options "$name"; done |
		awk 'NF == 2 { print $2 }' | sort -u)
	[ "$(wc -l <<<"$sorts")" -ge 10 ]
	while read -r kind; do
		case $kind in
		# What only the user can think of.
		BYTES | N | REGEX | SECONDS) continue ;;
		esac
		for name in $(commands); do
			option=$(options "$name" |
				awk -v kind="$kind" '$2 == kind { print $1 }' |
				head -n 1)
			[ -z "$option" ] || break
		done
		echo "$name --$option $kind"
		[ -n "$(offers "heapagent $name --$option ")" ]
	done <<<"$sorts"
}

@test "values: words, directories, lists" {
	is "heapagent run --log " quiet warn info
	is "heapagent run --log=" quiet warn info
	is "heapagent run --unwinder=f" fp
	is "heapagent run -unwinder f" fp
	is "heapagent run --dir " dumps empty
	is "heapagent run --dir=d" dumps
	is "heapagent run --profiles " heap allocs threads
	is "heapagent run --profiles heap,t" heap,threads
	is "heapagent run --profiles=heap,threads," heap,threads,allocs
	is "heapagent run --rate "
	is "heapagent top --sample_index inuse_o" inuse_objects
	is "heapagent top --focus "
	is "heapagent symbolize -o e" empty
	is "heapagent symbolize --debug-dir dumps --sysroot e" empty
	# run takes each signal, each kind and each word.
	for option in signal profiles log unwinder format; do
		for value in $(offers "heapagent run --$option "); do
			echo "--$option $value"
			run "$HEAPAGENT" run "--$option" "$value"
			[[ $output == *"too few arguments"* ]]
		done
	done
}

@test "arguments: profiles and directories, else any file" {
	is "heapagent top " a.heap.pb.gz b.txt "with space.pb.gz" dumps empty
	is "heapagent top --json a" a.heap.pb.gz
	is "heapagent diff a.heap.pb.gz dumps/" dumps/c.pb.gz
	is "heapagent flame --diff a.heap.pb.gz b" b.txt
	is "heapagent inuse n" notes.md
	is "heapagent peek "
	is "heapagent peek main a" a.heap.pb.gz
	is "heapagent top -- a" a.heap.pb.gz
	is "heapagent top -- -"
}

@test "processes: those with the agent in them" {
	LD_PRELOAD=$AGENT sleep 60 3>&- &
	host=$!
	wait_for 10 grep -q libheapagent "/proc/$host/maps"
	for name in dump status; do
		offers "heapagent $name " >pids
		cat pids
		grep -qx "$host" pids
		run ! grep -vqx '[0-9]*' pids
		run ! grep -qx $$ pids
		is "heapagent $name $host" "$host"
		is "heapagent $name $host "
	done
	offers "heapagent dump --timeout 5 " | grep -qx "$host"
}

@test "run: what follows is a command line of its own" {
	for prelude in "" ". /usr/share/bash-completion/bash_completion;
		compopt() { :; };"; do
		is "heapagent run --log quiet redis-benchm" redis-benchmark
		is "heapagent run -- redis-benchm" redis-benchmark
		is "heapagent run --log quiet -- ls n" notes.md
		is "heapagent run cat --log quiet -- n" notes.md
		is "heapagent run cat --dir=d" dumps
	done
	# With the program's own completion, where the shell knows it.
	is "heapagent run -- ls --block-s" "--block-size="
	is "heapagent run ls --kib" --kibibytes
}

# in_readline FILE: types each line of "TYPED|SHOWN" on stdin and a tab into an
# interactive bash that sourced FILE; SHOWN must stand in the line then.
in_readline() {
	cat >../lines
	cat >../driver.py <<-'END'
		import os, pty, select, sys, time
		child, terminal = pty.fork()
		if child == 0:
		    os.environ.update(PS1="ready> ", TERM="dumb", INPUTRC="/dev/null")
		    os.environ["COLUMNS"] = "200"
		    os.execvp("bash", ["bash", "--norc", "-i"])
		def until(text):
		    seen, end = "", time.monotonic() + 60
		    while text not in seen:
		        left = max(0, end - time.monotonic())
		        if not select.select([terminal], [], [], left)[0]:
		            sys.exit("%r does not hold %r" % (seen, text))
		        seen += os.read(terminal, 65536).decode(errors="replace")
		def send(text):
		    os.write(terminal, text.encode())
		until("ready> ")
		send(". %s; PS1='go> '\n" % sys.argv[1])
		until("\ngo> ")
		for line in open("../lines"):
		    typed, shown = line.rstrip("\n").split("|")
		    send(typed + "\t")
		    until(shown)
		    # Away with the line.
		    send("\x15")
		    send("echo $((6 * 7))\n")
		    until("42\r\ngo> ")
		send("exit\n")
		os.waitpid(child, 0)
	END
	python3 ../driver.py "$1"
}

@test "in readline: names with spaces, quotes, =, directories" {
	in_readline "$ROOT/scripts/heapagent.bash" <<-'END'
		heapagent sym|heapagent symbolize 
		heapagent top --nodec|heapagent top --nodecount 
		heapagent top w|heapagent top with\ space.pb.gz 
		heapagent top with\ s|heapagent top with\ space.pb.gz 
		heapagent top "w|heapagent top "with space.pb.gz" 
		heapagent symbolize -o d|heapagent symbolize -o dumps/
		heapagent run --dir=d|heapagent run --dir=dumps/
		heapagent run --log=q|heapagent run --log=quiet 
		heapagent run --profiles heap,t|heapagent run --profiles heap,threads 
		heapagent run -- redis-benchm|heapagent run -- redis-benchmark 
	END
}
