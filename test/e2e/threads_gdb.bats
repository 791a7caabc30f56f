#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The threads profile and gdb's `thread apply all bt` of the same process, all
# of whose threads stay where they are, frame by frame (test/tools/compare_gdb).
#
# What gdb has and we have not is the rest of stacks that end in [uncertain]:
# those of threads that wait in a call which a stop would end, so that they are
# not stopped, below a function whose frame pointer cannot be told from its
# code. Each test says how many there may be. Nothing else may differ, but:
# - in a JVM both are compared up to the first frame of the interpreter or of
#   compiled code: for that gdb has no unwind tables and guesses;
# - how the address of a frame is written (see compare_gdb).
# shellcheck disable=SC2030,SC2031 # each test is a process of its own
bats_require_minimum_version 1.5.0

load helpers

# Not SIGUSR2, which the JVM and nginx use themselves: RTMIN+5.
SIGNAL=39
host=
others=()

teardown() {
	local pid
	exec 5>&-
	for pid in $host "${others[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	# Shown if the test failed.
	tail -n 20 "$BATS_TEST_TMPDIR"/{out,err,compared} 2>/dev/null || true
}

# start COMMAND...: under the agent, with a standard input that stays open
# until the test ends; its PID is in $host, its output in .../out and err.
start() {
	local fifo=$BATS_TEST_TMPDIR/stdin
	mkfifo "$fifo"
	HEAPAGENT_SIGNAL=$SIGNAL LD_PRELOAD=$AGENT "$@" <"$fifo" \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	host=$!
	exec 5>"$fifo"
}

is_ready() {
	wait_for 60 grep -q "${1:-ready}" "$BATS_TEST_TMPDIR/out"
}

# dump PID: the new threads profile of that process, decoded.
dump() {
	local file
	kill -$SIGNAL "$1"
	wait_for 30 find_file "$1" heap
	file=$(find_file "$1" threads)
	"$CHECKVALID" "$file"
	"$ROOT/build/heapagent" symbolize "$file" \
		-o "$BATS_TEST_TMPDIR/named.pb.gz" >/dev/null 2>&1
	"$DECODE" "$BATS_TEST_TMPDIR/named.pb.gz" >"$BATS_TEST_TMPDIR/named"
}

find_file() {
	find "$HEAPAGENT_DIR" -name "*.$1.*.$2.pb.gz" | grep .
}

# compare PID UNCERTAIN [OPTION]: its stacks are gdb's, with at most so many
# that end uncertain.
compare() {
	local result=0 total
	"$ROOT/test/tools/compare_gdb" "$1" "$BATS_TEST_TMPDIR/named" \
		"${@:3}" >"$BATS_TEST_TMPDIR/compared" || result=$?
	total=$(tail -n 1 "$BATS_TEST_TMPDIR/compared")
	echo "$total"
	[ "$result" -eq 0 ]
	read -r _ threads _ equal _ uncertain _ frames _ names <<<"$total"
	[ "$uncertain" -le "$2" ]
	[ $((equal + uncertain)) -eq "$threads" ]
}

# stack NAME: the first sample of that thread, its functions on one line.
stack() {
	awk -v name="thread=\"$1\"" '
		$1 == "sample" { hit = !seen && index($0, name); seen += hit }
		hit && $1 == "frame" {
			for (i = 5; i <= NF; i += 2)
				printf " %s", $i
		}
		END { print "" }
	' "$BATS_TEST_TMPDIR/named"
}

@test "200 threads in known places, and some on other stacks" {
	start "$PROG/known_places"
	is_ready
	dump "$host"
	# 20 wait in epoll_wait with a time-out below a frame of variable size,
	# 20 in read, 2 in the same way on a coroutine's and an alternate stack;
	# some may get no processor to stop in time, and are read so, too.
	compare "$host" 46
	[ "$threads" -eq 209 ]
	[ "$frames" -ge 7000 ]
	stack coroutine | grep -q ' coroutine_body __start_context$'
	stack fiber | grep -q ' fiber_body$'
	stack alternate |
		grep -q ' on_signal __restore_rt .* raise_on_alternate '
	stack vdso | grep -q ' on_step __restore_rt .*clock_gettime.* vdso run '
	stack coroutine-u | grep -q '^ epoll_wait .*\[uncertain\]$'
}

@test "the signalled thread on other stacks" {
	for kind in coroutine coroutine-u fiber handler alternate alternate-u \
		vdso; do
		start "$PROG/known_places" $kind
		is_ready
		dump "$host"
		compare "$host" 46
		[ "$threads" -eq 209 ]
		[ "$(counter "$(find_file "$host" threads)" dumps_faulted)" = 0 ]
			case $kind in
		coroutine*) end=' coroutine_body __start_context$' ;;
		fiber) end=' fiber_body$' ;;
		vdso) end=' on_step __restore_rt .* vdso main .*_start$' ;;
		*) end=' on_signal __restore_rt .* main .*_start$' ;;
		esac
		echo "$kind: $(stack known_places)"
		stack known_places | grep -q "$end"
		stop
	done
}

# stop: ends the program by its standard input.
stop() {
	exec 5>&-
	wait "$host"
	host=
	rm "$BATS_TEST_TMPDIR/stdin" "$HEAPAGENT_DIR"/*
}

# blocked PROGRAM: threads that are read without a stop.
blocked() {
	start "$PROG/$1"
	is_ready
	dump "$host"
	[ "$(counter "$(find_file "$host" threads)" \
		threads_by_syscall_file)" -ge 48 ]
	# No call has returned because of the dump. (gdb's stop does that.)
	[ ! -s "$BATS_TEST_TMPDIR/err" ]
	compare "$host" "$2"
	[ "$threads" -eq 49 ]
	# Only where the size of the frame is not in the code.
	! grep '^uncertain' "$BATS_TEST_TMPDIR/compared" |
		grep -vE '^uncertain ([a-z_]*-v|realigned):'
}

@test "unstopped threads below functions with a frame pointer, -O2" {
	blocked blocked_frames 24
}

@test "unstopped threads below functions with a frame pointer, -O0" {
	blocked blocked_frames_o0 24
}

@test "nginx's workers" {
	nginx_conf "listen unix:$BATS_TEST_TMPDIR/socket;" \
		"daemon off; user root; worker_processes 2; error_log stderr;" \
		>"$BATS_TEST_TMPDIR/nginx.conf"
	start nginx -e stderr -p "$BATS_TEST_TMPDIR" \
		-c "$BATS_TEST_TMPDIR/nginx.conf"
	two_workers() { mapfile -t others < <(pgrep -P "$host") &&
		[ "${#others[@]}" -eq 2 ]; }
	wait_for 20 two_workers
	for pid in "${others[@]}"; do
		wait_for 20 waits_in_epoll "$pid"
		dump "$pid"
		compare "$pid" 0
		[ "$frames" -ge 8 ]
	done
	dump "$host"
	compare "$host" 0
}

# 232: epoll_wait.
waits_in_epoll() {
	grep -q '^232 ' "/proc/$1/syscall"
}

@test "redis-server and its threads" {
	start redis-server --port 0 --unixsocket "$BATS_TEST_TMPDIR/socket" \
		--save '' --hz 1 --dir "$BATS_TEST_TMPDIR"
	is_ready 'ready to accept'
	dump "$host"
	compare "$host" 0
	# The main thread, three for work in the background, jemalloc's.
	[ "$threads" -ge 4 ]
}

@test "python3 with threads" {
	start /usr/bin/python3 -I -c '
import queue, select, socket, threading, time
def deep(n, f):
    return deep(n - 1, f) if n else f()
a, b = socket.socketpair()
epoll = select.epoll()
epoll.register(a, select.EPOLLIN)
for i, wait in enumerate([queue.Queue().get, threading.Event().wait,
        lambda: a.recv(1),
        lambda: time.sleep(600), lambda: epoll.poll(600),
        lambda: select.select([a], [], [], 600),
        lambda: sorted([2, 1], key=lambda x: epoll.poll(600))]):
    lock = threading.Lock()
    threading.Thread(target=deep, args=(i * 3, wait), daemon=True).start()
held = threading.Lock()
held.acquire()
threading.Thread(target=held.acquire, daemon=True).start()
time.sleep(0.5)
print("ready", flush=True)
held.acquire()
'
	is_ready
	dump "$host"
	compare "$host" 0
	[ "$threads" -eq 9 ]
	[ "$frames" -ge 120 ]
}

@test "a JVM's native frames" {
	cat >"$BATS_TEST_TMPDIR/Wait.java" <<-'END'
		class Wait {
			static synchronized void hold() throws Exception {
				System.out.println("ready");
				Thread.sleep(600000);
			}
			public static void main(String[] a) throws Exception {
				for (int i = 0; i < 4; i++) {
					Thread t = new Thread(() -> {
						java.util.concurrent.locks
							.LockSupport.park();
					}, "parked-" + i);
					t.setDaemon(true);
					t.start();
				}
				Thread.sleep(1000);
				hold();
			}
		}
	END
	javac -d "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/Wait.java"
	# Nothing is compiled or collected in the background.
	start java -Xint -XX:+UseSerialGC -cp "$BATS_TEST_TMPDIR" Wait
	is_ready
	dump "$host"
	compare "$host" 0 --native
	[ "$threads" -ge 12 ]
	[ "$frames" -ge 100 ]
}
