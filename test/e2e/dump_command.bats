#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `heapagent dump`: what it does, that it never sends a signal to a handler that
# is not the agent's, and that each thing that can be wrong is said in one line.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a process of its own
bats_require_minimum_version 1.5.0

load command

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

@test "dump: of a process that executed another program, and of a number that was used" {
	: >"$dir/go"
	# shellcheck disable=SC2016 # the shell under test expands it
	start "$heapagent" run bash -c 'echo ready
		while [ -e go ]; do sleep 0.05; done; exec sleep 60' \
		3>&-
	for _ in 1 2; do
		"$heapagent" dump "$victim"
	done
	: >"$dir/older.$victim.0007.heap.pb.gz"
	rm "$dir/go"
	for ((i = 0; i < 500; i++)); do
		[[ $(readlink "/proc/$victim/exe") != */sleep ]] || break
		sleep 0.02
	done
	run --separate-stderr "$heapagent" dump --timeout 10 "$victim"
	echo "$output$stderr"
	[ "$status" -eq 0 ]
	[ "${lines[2]}" = "$dir/sleep.$victim.0001.heap.pb.gz" ]
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
		# shellcheck disable=SC2016 # the fence of a block
		sed -n '/^```$/,/^```$/p' "$root/README.md" |
			awk '/^```$/ { if (n++) exit; next } { print }'
		echo "kill -KILL \$!"
	} >lines
	grep -q 'heapagent dump' lines
	PATH=$root/build:$PATH bash -e lines >out 2>&1 3>&-
	cat out
	[ "$(grep -c '\.0001\.' out)" -ge 3 ]
	grep -q '^Type: inuse_space' out
	[ -s "$(echo app.*.heap.html)" ]
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

