#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `heapagent run` and `heapagent dump`: what they do, and that each thing that
# can be wrong is said in one line.
bats_require_minimum_version 1.5.0

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

# --- the command itself

@test "help names every command" {
	run --separate-stderr "$heapagent" help
	[ "$status" -eq 0 ]
	[[ $output == *run*dump* ]]
	[ "$(wc -l <<<"$output")" -le 24 ]
	for name in run dump; do
		run --separate-stderr "$heapagent" "$name" --help
		[ "$status" -eq 0 ]
		[[ $output == "Usage: heapagent $name "* ]]
		[ "$(wc -l <<<"$output")" -le 24 ]
	done
}

@test "--version is the Makefile's" {
	run --separate-stderr "$heapagent" --version
	[ "$status" -eq 0 ]
	[ "$output" = "heapagent $(sed -n 's/^VERSION := //p' Makefile)" ]
}

@test "an unknown command is named, with those there are" {
	run --separate-stderr "$heapagent" frobnicate
	assert_error 2 frobnicate run dump
}

@test "output to a full disk fails" {
	run --separate-stderr bash -c "'$heapagent' help >/dev/full"
	assert_error 1 output
}

# --- run

@test "run sets the variables and starts the program in its place" {
	run --separate-stderr "$heapagent" run --rate 4096 --dir "$dir" \
		--signal USR1 --depth 64 --memory=32M --profiles heap \
		--format text --at-exit --unwinder fp --log quiet \
		-- "$prog/show_settings" --rate 5 x
	[ "$status" -eq 0 ]
	echo "$output"
	[ "$(sort <<<"$output")" = "$(sort <<-END
		argument --rate
		argument 5
		argument x
		HEAPAGENT_RATE=4096
		HEAPAGENT_DIR=$dir
		HEAPAGENT_SIGNAL=USR1
		HEAPAGENT_DEPTH=64
		HEAPAGENT_MEMORY=32M
		HEAPAGENT_PROFILES=heap
		HEAPAGENT_FORMAT=text
		HEAPAGENT_AT_EXIT=1
		HEAPAGENT_UNWINDER=fp
		HEAPAGENT_LOG=quiet
		LD_PRELOAD=$root/build/libheapagent.so
	END
	)" ]
}

@test "run --no-children and --no-resume set their variables" {
	run --separate-stderr "$heapagent" run --no-children --no-resume \
		"$prog/show_settings"
	[ "$status" -eq 0 ]
	[[ $output == *HEAPAGENT_CHILDREN=0* ]]
	[[ $output == *HEAPAGENT_RESUME=0* ]]
}

@test "run keeps what LD_PRELOAD has, behind the agent" {
	LD_PRELOAD=libm.so.6 run --separate-stderr \
		"$heapagent" run "$prog/show_settings"
	[ "$status" -eq 0 ]
	[ "$(grep LD_PRELOAD <<<"$output")" = \
		"LD_PRELOAD=$root/build/libheapagent.so:libm.so.6" ]
}

@test "run has the program's exit status" {
	compile "$dir/seven"
	run "$heapagent" run "$dir/seven"
	[ "$status" -eq 7 ]
}

@test "run: a wrong call" {
	run --separate-stderr "$heapagent" run
	assert_error 2 PROGRAM
	run --separate-stderr "$heapagent" run --rate
	assert_error 2 --rate
	run --separate-stderr "$heapagent" run --fast -- true
	assert_error 2 --fast
}

@test "run: a program that is not there, or cannot be run" {
	run -127 --separate-stderr "$heapagent" run no-such-program-at-all
	assert_error 127 no-such-program-at-all
	run -127 --separate-stderr "$heapagent" run "$dir/nothing"
	assert_error 127 "$dir/nothing"
	touch "$dir/plain"
	run --separate-stderr "$heapagent" run "$dir/plain"
	assert_error 126 "$dir/plain"
	run --separate-stderr "$heapagent" run "$dir"
	assert_error 126 "$dir"
}

@test "run: a static program" {
	compile "$dir/static" -static
	run --separate-stderr "$heapagent" run "$dir/static"
	assert_error 2 "$dir/static" static
	compile "$dir/static" -static-pie
	run --separate-stderr "$heapagent" run "$dir/static"
	assert_error 2 "$dir/static" static
}

@test "run: a Go program, static or with cgo, stripped or not" {
	printf 'package main\nfunc main() {}\n' >"$dir/plain.go"
	printf 'package main\nimport "C"\nfunc main() {}\n' >"$dir/cgo.go"
	export GOCACHE=$dir/cache GOPATH=$dir/go GO111MODULE=off
	for source in plain cgo; do
		for flags in "" "-s -w"; do
			(cd "$dir" && go build -ldflags "$flags" -o "$source" \
				"$source.go")
			run --separate-stderr "$heapagent" run "$dir/$source"
			assert_error 2 "$dir/$source" Go
		done
	done
}

# A program of musl's names its loader, which need not be here to be read.
@test "run: a program of musl's" {
	compile "$dir/musl" -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1
	run --separate-stderr "$heapagent" run "$dir/musl"
	assert_error 2 "$dir/musl" musl glibc
}

@test "run: a program with a malloc of its own is started, and named" {
	cat >"$dir/own.c" <<-END
		#include <stddef.h>
		static char heap[1 << 20];
		static size_t used;
		void *malloc(size_t n)
		{
			used += (n + 15) & ~(size_t)15;
			return used < sizeof(heap) ? heap + used - n : NULL;
		}
		void free(void *p) { (void)p; }
		int main(void) { return malloc(7) ? 7 : 1; }
	END
	gcc -o "$dir/own" "$dir/own.c"
	run --separate-stderr "$heapagent" run "$dir/own"
	assert_error 7 "$dir/own" "malloc of its own"
}

@test "run: a 32-bit program, and one for another machine" {
	compile "$dir/other"
	# e_machine is the 2 bytes at 18: 183 is AArch64.
	printf '\xb7\x00' |
		dd of="$dir/other" bs=1 seek=18 conv=notrunc status=none
	run --separate-stderr "$heapagent" run "$dir/other"
	assert_error 2 "$dir/other" "another machine"
	# EI_CLASS is the byte at 4: 1 is 32-bit.
	printf '\x01' | dd of="$dir/other" bs=1 seek=4 conv=notrunc status=none
	run --separate-stderr "$heapagent" run "$dir/other"
	assert_error 2 "$dir/other" 32-bit
}

@test "run: a setuid program" {
	[ "$(id -u)" -eq 0 ] || skip "only root can make another user's file"
	compile "$dir/raised"
	chown 1:1 "$dir/raised"
	chmod 4755 "$dir/raised"
	run --separate-stderr "$heapagent" run "$dir/raised"
	assert_error 2 "$dir/raised" privileges
	chmod 2755 "$dir/raised"
	run --separate-stderr "$heapagent" run "$dir/raised"
	assert_error 2 "$dir/raised" privileges
	# One's own setuid program raises nothing.
	chown 0:0 "$dir/raised"
	chmod 4755 "$dir/raised"
	run "$heapagent" run "$dir/raised"
	[ "$status" -eq 7 ]
}

@test "run: scripts are followed to their interpreter" {
	compile "$dir/static" -static
	compile "$dir/dynamic"
	printf '#!%s -x\n' "$dir/static" >"$dir/script"
	printf '#!%s\n' "$dir/script" >"$dir/outer"
	printf '#!/usr/bin/env static\n' >"$dir/by_env"
	printf '#!/usr/bin/env by_itself\n' >"$dir/by_itself"
	printf '#! %s\n' "$dir/dynamic" >"$dir/good"
	printf 'exit 9\n' >"$dir/bare"
	chmod +x "$dir"/{script,outer,by_env,by_itself,good,bare}
	for script in script outer; do
		run --separate-stderr "$heapagent" run "$dir/$script"
		assert_error 2 "$dir/static" static
	done
	PATH=$dir:$PATH run --separate-stderr "$heapagent" run by_env
	assert_error 2 "$dir/static" static
	PATH=$dir:$PATH run --separate-stderr "$heapagent" run by_itself
	assert_error 126 "script to script"
	run "$heapagent" run "$dir/good"
	[ "$status" -eq 7 ]
	run "$heapagent" run "$dir/bare"
	[ "$status" -eq 9 ]
}

@test "run: a directory that LD_PRELOAD cannot name" {
	mkdir "$dir/with space"
	cp "$heapagent" "$root/build/libheapagent.so" "$dir/with space/"
	run --separate-stderr "$dir/with space/heapagent" run true
	assert_error 1 space
}

@test "run: without the library beside it" {
	cp "$heapagent" "$dir/"
	run --separate-stderr "$dir/heapagent" run true
	assert_error 1 libheapagent.so
}

# --- dump

@test "dump: a wrong call" {
	run --separate-stderr "$heapagent" dump
	assert_error 2 "arguments" PID
	for pid in x 0 -5 12x 99999999999; do
		run --separate-stderr "$heapagent" dump -- "$pid"
		assert_error 2 "'$pid'"
	done
	run --separate-stderr "$heapagent" dump --timeout soon 1
	assert_error 2 soon
	run --separate-stderr "$heapagent" dump --wait 1
	assert_error 2 --wait
}

@test "dump: no such process" {
	sleep 0 3>&- &
	wait $!
	run --separate-stderr "$heapagent" dump $!
	assert_error 1 "no process $!"
}

@test "dump: a process without the agent" {
	start "$prog/patient"
	run --separate-stderr "$heapagent" dump "$victim"
	assert_error 1 "$victim" "not in"
	kill -0 "$victim"
}

@test "dump: not permitted" {
	[ "$(id -u)" -eq 0 ] || skip "only root can become another user"
	start "$heapagent" run "$prog/patient"
	cp "$heapagent" "$dir/"
	chmod 755 "$dir" "$dir/heapagent"
	run --separate-stderr setpriv --reuid 65534 --regid 65534 \
		--clear-groups "$heapagent" dump "$victim"
	assert_error 1 "$victim" "not permitted"
}

@test "dump prints three paths, again and again" {
	start "$heapagent" run "$prog/patient"
	for seq in 0001 0002 0003; do
		run --separate-stderr "$heapagent" dump "$victim"
		echo "$output$stderr"
		[ "$status" -eq 0 ]
		[ -z "$stderr" ]
		[ "$output" = "$dir/patient.$victim.$seq.threads.pb.gz
$dir/patient.$victim.$seq.allocs.pb.gz
$dir/patient.$victim.$seq.heap.pb.gz" ]
		for file in $output; do
			gzip -t "$file"
		done
	done
	kill -0 "$victim"
}

@test "dump uses the signal, directory and profiles of the agent" {
	mkdir "$dir/dumps"
	start "$heapagent" run --signal RTMIN+3 --dir dumps --profiles heap \
		"$prog/patient" take
	run --separate-stderr "$heapagent" dump "$victim"
	echo "$output$stderr"
	[ "$status" -eq 0 ]
	[ "$output" = "$dir/dumps/patient.$victim.0001.heap.pb.gz" ]
}

@test "dump finds the settings of a program that overwrote its environment" {
	start "$heapagent" run --signal USR1 --dir "$dir" "$prog/patient" \
		overwrite
	run grep -q HEAPAGENT "/proc/$victim/environ"
	[ "$status" -ne 0 ]
	run --separate-stderr "$heapagent" dump "$victim"
	echo "$output$stderr"
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$output")" -eq 3 ]
}

@test "dump: the agent listens to no signal" {
	start "$heapagent" run --signal none "$prog/patient"
	run --separate-stderr "$heapagent" dump "$victim"
	assert_error 1 "$victim" none
}

# old_signal ACTION: patient under the agent, which listens to SIGUSR2.
old_signal() {
	start "$heapagent" run --signal USR2 --dir "$dir" "$prog/patient" "$@"
}

@test "dump: the program ignores or blocks the signal" {
	old_signal ignore
	run --separate-stderr "$heapagent" dump "$victim"
	assert_error 1 "$victim" ignores SIGUSR2 "heapagent run"
	kill -KILL "$victim"
	old_signal block
	run --separate-stderr "$heapagent" dump "$victim"
	assert_error 1 "$victim" blocks SIGUSR2
}

@test "dump: never sends a signal that would end the program" {
	old_signal default
	run --separate-stderr "$heapagent" dump "$victim"
	assert_error 1 "$victim" "does not catch" SIGUSR2
	kill -0 "$victim"
}

@test "dump: nor one whose handler is the program's own, however it came there" {
	for way in end end_signal end_sigset end_sysv; do
		old_signal $way
		run --separate-stderr "$heapagent" dump "$victim"
		assert_error 1 "$victim" "handler of its own" SIGUSR2 \
			"heapagent run" --force
		run --separate-stderr "$heapagent" status "$victim"
		[[ $output == *"SIGUSR2: the program has put a handler"* ]]
		"$heapagent" status --json "$victim" |
			grep -q '"handler":"program"'
		kill -KILL "$victim"
	done
	# Unless one insists.
	old_signal end
	run --separate-stderr "$heapagent" dump --force "$victim"
	assert_error 1 "$victim" ended
	victim=
}

@test "dump: a handler that came and went, and one of a child of vfork()" {
	for way in restore vfork; do
		old_signal $way
		run --separate-stderr "$heapagent" dump "$victim"
		echo "$output$stderr"
		[ "$status" -eq 0 ]
		"$heapagent" status --json "$victim" |
			grep -q '"handler":"agent"'
		kill -KILL "$victim"
	done
}

@test "dump: the program had the signal before the agent" {
	# An ignored one is inherited.
	start env HEAPAGENT_DIR="$dir" LD_PRELOAD="$root/build/libheapagent.so" \
		env --ignore-signal=USR2 "$prog/patient" take
	run --separate-stderr "$heapagent" dump "$victim"
	assert_error 1 "$victim" "does not listen" SIGUSR2
	run --separate-stderr "$heapagent" status "$victim"
	[[ $output == *"SIGUSR2: the program had it before the agent"* ]]
}

# Yama's first level (Ubuntu) lets nobody but root read another's memory.
@test "dump: where the agent's memory may not be read" {
	blind=(strace -o /dev/null -e "inject=process_vm_readv:error=EPERM")
	old_signal
	run --separate-stderr "${blind[@]}" "$heapagent" dump "$victim"
	assert_error 1 "$victim" "not known" "as root" --force
	run --separate-stderr "${blind[@]}" "$heapagent" dump --force "$victim"
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$output")" -eq 3 ]
	kill -KILL "$victim"
	start "$heapagent" run --dir "$dir" "$prog/patient"
	run --separate-stderr "${blind[@]}" "$heapagent" dump "$victim"
	[ "$status" -eq 0 ]
}

@test "run: the signal is one that the program neither ignores nor blocks" {
	start "$heapagent" run --dir "$dir" "$prog/patient"
	"$heapagent" status "$victim" | grep -q '^signal     SIGRTMIN+23$'
	kill -KILL "$victim"
	start env --ignore-signal=RTMIN+23 --block-signal=RTMIN+24 \
		"$heapagent" run --dir "$dir" "$prog/patient"
	"$heapagent" status "$victim" | grep -q '^signal     SIGRTMIN+25$'
	"$heapagent" dump "$victim"
	kill -KILL "$victim"
	start env HEAPAGENT_SIGNAL=USR1 "$heapagent" run "$prog/patient"
	"$heapagent" status "$victim" | grep -q '^signal     SIGUSR1$'
}

@test "a JVM: by run it dumps, by the default signal it is left in peace" {
	cat >"$dir/Hello.java" <<-END
		public class Hello {
			public static void main(String[] a) throws Exception {
				System.out.println("ready");
				Thread.sleep(600000);
			}
		}
	END
	javac -d "$dir" "$dir/Hello.java"
	start "$heapagent" run --dir "$dir" --rate 64K -- java -Xint Hello
	"$heapagent" dump "$victim" >"$dir/paths"
	[ "$(wc -l <"$dir/paths")" -eq 3 ]
	kill -KILL "$victim"
	HEAPAGENT_DIR=$dir start env LD_PRELOAD="$root/build/libheapagent.so" \
		java -Xint Hello
	run --separate-stderr "$heapagent" dump "$victim"
	assert_error 1 "$victim" "handler of its own" SIGUSR2
	kill -0 "$victim"
	[ ! -s "$dir/victim.err" ]
}

@test "nginx: by run it dumps, by the default signal it starts no successor" {
	echo "daemon off; worker_processes 1; pid $dir/nginx.pid; events {}
		http { access_log off; client_body_temp_path $dir/b;
		proxy_temp_path $dir/p; fastcgi_temp_path $dir/f;
		uwsgi_temp_path $dir/u; scgi_temp_path $dir/s;
		server { listen unix:$dir/socket; } }" >"$dir/conf"
	mkdir "$dir/dumps"
	chmod 777 "$dir/dumps"
	chmod 755 "$dir"
	for option in "" "--signal=USR2"; do
		"$heapagent" run $option --dir "$dir/dumps" \
			/usr/sbin/nginx -e "$dir/error.log" -c "$dir/conf" \
			-g "error_log $dir/error.log notice;" 3>&- &
		victim=$!
		for ((i = 0; i < 500; i++)); do
			! grep -q "start worker process " "$dir/error.log" ||
				break
			sleep 0.02
		done
		run --separate-stderr "$heapagent" dump "$victim"
		echo "$output$stderr"
		if [ -z "$option" ]; then
			[ "$status" -eq 0 ]
		else
			assert_error 1 "$victim" "handler of its own" SIGUSR2
		fi
		kill -0 "$victim"
		kill -TERM "$victim"
		wait "$victim" || true
		victim=
		[ "$(grep -c "start new binary" "$dir/error.log")" = 0 ]
		rm -f "$dir/socket" "$dir/error.log"
	done
}

@test "dump in the next line of a script waits for the agent" {
	for _ in 1 2 3 4 5; do
		"$heapagent" run --dir "$dir" sleep 60 3>&- &
		victim=$!
		run --separate-stderr "$heapagent" dump "$victim"
		echo "$output$stderr"
		[ "$status" -eq 0 ]
		kill -KILL "$victim"
		wait "$victim" || true
	done
	LD_PRELOAD=$root/build/libheapagent.so HEAPAGENT_DIR=$dir \
		sleep 60 3>&- &
	victim=$!
	run --separate-stderr "$heapagent" dump "$victim"
	echo "$output$stderr"
	[ "$status" -eq 0 ]
}

@test "the README's first lines do what it says when they are pasted" {
	cp "$prog/patient" "$dir/app"
	cd "$dir"
	{
		sed -n '/^```$/,/^```$/p' "$root/README.md" |
			awk '/^```$/ { if (n++) exit; next } { print }'
		echo 'kill -KILL $!'
	} >lines
	grep -q 'heapagent dump' lines
	PATH=$root/build:$PATH bash -e lines >out 2>&1 3>&-
	cat out
	[ "$(grep -c '\.0001\.' out)" -ge 3 ]
	grep -q '^Type: inuse_space' out
	[ -s app.*.heap.html ]
}

@test "dump: the agent says at once why it cannot write" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become another user"
	mkdir "$dir/full"
	chmod 755 "$dir"
	start setpriv --reuid 65534 --regid 65534 --clear-groups \
		env HEAPAGENT_DIR="$dir/full" HEAPAGENT_LOG=quiet \
		LD_PRELOAD="$root/build/libheapagent.so" "$prog/patient"
	run --separate-stderr timeout 10 "$heapagent" dump "$victim"
	assert_error 1 "$victim" "$dir/full: Permission denied"
	kill -0 "$victim"
}

@test "dump: a child that the agent leaves alone" {
	start "$heapagent" run --no-children \
		bash -c "'$prog/patient' & wait"
	child=$(pgrep -P "$victim")
	run --separate-stderr "$heapagent" dump --timeout 5 "$child"
	kill -0 "$child"
	kill -KILL "$child"
	assert_error 1 "$child" "not in"
}

@test "dump: the process ends before it dumped" {
	old_signal end
	run --separate-stderr "$heapagent" dump --force "$victim"
	assert_error 1 "$victim" ended
	victim=
}

# --- install

@test "installed, run finds the library and dump works" {
	make -s install PREFIX=/opt/agent DESTDIR="$dir/stage" >/dev/null
	installed=$dir/stage/opt/agent
	run --separate-stderr "$installed/bin/heapagent" run \
		"$prog/show_settings"
	[ "$status" -eq 0 ]
	library=$(realpath "$installed/lib/heapagent/libheapagent.so")
	[ "$(grep LD_PRELOAD <<<"$output")" = "LD_PRELOAD=$library" ]
	# As a distribution's packages are: nothing hangs on our own symbols.
	strip "$library"
	start "$installed/bin/heapagent" run --signal USR1 --dir "$dir" \
		"$prog/patient" overwrite
	run --separate-stderr "$installed/bin/heapagent" dump "$victim"
	echo "$output$stderr"
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$output")" -eq 3 ]
}

@test "dump signals a thread that it does not disturb" {
	mkfifo "$dir/input"
	HEAPAGENT_DIR=$dir start env LD_PRELOAD="$root/build/libheapagent.so" \
		"$prog/event_loop" "$dir/input"
	for _ in 1 2 3; do
		"$heapagent" dump "$victim"
	done
	echo >"$dir/input"
	for ((i = 0; i < 500; i++)); do
		[ -d "/proc/$victim" ] || break
		sleep 0.02
	done
	victim=
	[ "$(tail -n 1 "$dir/victim.out")" = "1 " ]
}
