#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Large programs under load and under dumps: the same results as without the
# agent, valid files, and the names that one expects on top. REDIS_KEYS says
# how many keys redis-server gets.

load helpers
load oracle2

: "${REDIS_KEYS:=300000}"
# Not SIGUSR2, which the JVM and nginx use themselves: RTMIN+5.
SIGNAL=39
dumper=
server=

teardown() {
	local pid
	# Shown if the test failed.
	grep -A40 -m1 "BUG REPORT START" "$BATS_TEST_TMPDIR/started" ||
		tail -n 20 "$BATS_TEST_TMPDIR/started" || true
	for pid in $dumper $server; do
		kill -KILL "$pid" 2>/dev/null || true
	done
}

# The process and all its descendants.
family() {
	local child
	echo "$1"
	for child in $(pgrep -P "$1"); do
		family "$child"
	done
}

# keep_dumping PID: whatever of its family catches the signal dumps, every
# 100 ms, until the process ends. Not before the second look: one that is about
# to execute another program catches the signal, too, and its successor dies
# of it.
keep_dumping() {
	local pid caught now seen=
	while kill -0 "$1"; do
		now=
		for pid in $(family "$1"); do
			caught=$(awk '/^SigCgt/ { print $2 }' \
				"/proc/$pid/status") || continue
			((16#${caught:-0} >> (SIGNAL - 1) & 1)) || continue
			pid+=":$(readlink "/proc/$pid/exe")"
			now+=" $pid "
			[[ $seen != *" $pid "* ]] || kill -$SIGNAL "${pid%%:*}"
		done
		seen=$now
		sleep 0.1
	done
} 2>/dev/null

# start RATE COMMAND...: in the background under the agent and its dumps;
# its PID is in $server, its output in $BATS_TEST_TMPDIR/started.
start() {
	HEAPAGENT_SIGNAL=$SIGNAL HEAPAGENT_RATE=$1 HEAPAGENT_MEMORY=1G \
		LD_PRELOAD=$AGENT "${@:2}" >"$BATS_TEST_TMPDIR/started" \
		2>&1 3>&- </dev/null &
	server=$!
	keep_dumping "$server" 3>&- &
	dumper=$!
}

# Until it ends; its status is this function's.
finish() {
	local status=0
	wait "$server" || status=$?
	wait "$dumper" || true
	server='' dumper=''
	return $status
}

# All dumps are profiles; the newest of each kind is one for pprof itself.
check_dumps() {
	local kind
	have_dumps 1
	find "$HEAPAGENT_DIR" -name '*.pb.gz' -print0 | xargs -0 "$CHECKVALID"
	for kind in heap allocs threads; do
		PPROF_TMPDIR=$BATS_TEST_TMPDIR go tool pprof -raw \
			-symbolize=none "$(newest $kind)" >/dev/null
	done
}

# on_top KIND REGEX...: each is among the names of the newest such file.
on_top() {
	local named=$BATS_TEST_TMPDIR/named.pb.gz regex
	"$ROOT/build/heapagent" symbolize "$(newest "$1")" -o "$named"
	PPROF_TMPDIR=$BATS_TEST_TMPDIR go tool pprof -top -cum -nodecount=60 \
		"$named" >"$BATS_TEST_TMPDIR/top"
	shift
	for regex; do
		grep -qE "$regex" "$BATS_TEST_TMPDIR/top" || {
			echo "no $regex in:"
			cat "$BATS_TEST_TMPDIR/top"
			return 1
		}
	done
}

@test "g++ writes the same object file, and so do its children" {
	printf '#include <%s>\n' map string vector >"$BATS_TEST_TMPDIR/large.cc"
	echo 'std::map<std::string, std::vector<int>> held;
		void f(std::string s, int i) { held[s].push_back(i); }' >>"$BATS_TEST_TMPDIR/large.cc"
	compile=(g++ -frandom-seed=1 -c -O0 "$BATS_TEST_TMPDIR/large.cc")
	"${compile[@]}" -o "$BATS_TEST_TMPDIR/bare.o"
	for rate in 524288 1; do
		start $rate "${compile[@]}" -o "$BATS_TEST_TMPDIR/agent.o"
		finish
		[ ! -s "$BATS_TEST_TMPDIR/started" ]
		cmp "$BATS_TEST_TMPDIR"/{bare,agent}.o
		check_dumps
		# The compiler itself is a child of g++'s.
		find "$HEAPAGENT_DIR" -name 'cc1plus.*.heap.pb.gz' | grep -q .
		rm -f "$HEAPAGENT_DIR"/* "$HEAPAGENT_DIR"/.heapagent.*
	done
}

@test "sqlite3 sorts a million rows, and its functions are on top" {
	query="CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
		WITH RECURSIVE c(i) AS
			(SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1000000)
		INSERT INTO t SELECT i, 'name ' || (i * 7919 % 1000003) FROM c;
		SELECT count(*), max(name) FROM (SELECT name FROM t ORDER BY name);"
	sqlite3 :memory: "$query" >"$BATS_TEST_TMPDIR/bare"
	start 524288 sqlite3 :memory: "$query"
	finish
	diff "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/started"
	check_dumps
	on_top allocs sqlite3_step
}

@test "python3's own functions are on top" {
	program='
import time
held = [b"%d" % i * 100 for i in range(300000)]
time.sleep(1) # until it was looked at twice
print(len(held), sum(map(len, held)))
'
	PYTHONMALLOC=malloc start 524288 /usr/bin/python3 -I -c "$program"
	finish
	grep -qx '300000 168889000' "$BATS_TEST_TMPDIR/started"
	check_dumps
	on_top allocs PyObject_Malloc 'PyEval_EvalCode|_PyEval_' Py_RunMain
}

@test "a JVM computes the same" {
	cat >"$BATS_TEST_TMPDIR/Work.java" <<-'EOS'
		import java.util.*;
		public class Work {
			public static void main(String[] arguments) throws Exception {
				List<byte[]> kept = new ArrayList<>();
				Random random = new Random(1);
				long sum = 0;
				for (int i = 0; i < 200000; i++) {
					byte[] b = new byte[random.nextInt(2000)];
					sum += b.length;
					if (i % 100 == 0) kept.add(b);
				}
				java.nio.ByteBuffer direct =
					java.nio.ByteBuffer.allocateDirect(32 << 20);
				long[] sums = new long[8];
				Thread[] threads = new Thread[8];
				for (int i = 0; i < 8; i++) {
					int k = i;
					threads[i] = new Thread(() -> {
						for (int j = 0; j < 100000; j++)
							sums[k] += ("x" + j).hashCode();
					});
					threads[i].start();
				}
				for (Thread t : threads) t.join();
				System.gc();
				System.out.println(sum + " " + kept.size() + " " +
					Arrays.toString(sums) + direct.capacity());
			}
		}
	EOS
	java "$BATS_TEST_TMPDIR/Work.java" >"$BATS_TEST_TMPDIR/bare"
	for rate in 524288 1; do
		rm -f "$HEAPAGENT_DIR"/* "$HEAPAGENT_DIR"/.heapagent.*
		start $rate java "$BATS_TEST_TMPDIR/Work.java"
		finish
		diff "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/started"
		check_dumps
		[ "$(sum "$(newest heap)" inuse_space libjvm)" -gt 1000000 ]
	done
	# One thread for each of its own, with names.
	[ "$(sum "$(newest threads)" threads)" -gt 8 ]
}

cli() {
	redis-cli -s "$BATS_TEST_TMPDIR/sock" "$@"
}

# redis_run: fills the server that was started, saves, and prints a digest.
redis_run() {
	wait_for 20 test -S "$BATS_TEST_TMPDIR/sock"
	cli debug populate "$REDIS_KEYS" key 64 >/dev/null
	[ "$(cli save)" = OK ]
	cli debug digest
	cli dbsize
}

redis_stop() {
	used=$(cli info memory | tr -d '\r' | sed -n 's/^used_memory://p')
	cli shutdown nosave || true
	finish
}

@test "redis-server: the same digest, and the sum it counts itself" {
	serve=(redis-server --port 0 --unixsocket "$BATS_TEST_TMPDIR/sock"
		--save '' --dir "$BATS_TEST_TMPDIR" --enable-debug-command yes)
	"${serve[@]}" >/dev/null 2>&1 3>&- &
	server=$!
	redis_run >"$BATS_TEST_TMPDIR/bare"
	cli shutdown nosave || true
	wait "$server"
	truth=
	for rate in 1 524288; do
		rm -f "$HEAPAGENT_DIR"/* "$HEAPAGENT_DIR"/.heapagent.* \
			"$BATS_TEST_TMPDIR"/{sock,dump.rdb}
		start $rate "${serve[@]}"
		redis_run >"$BATS_TEST_TMPDIR/agent"
		diff "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/agent"
		sleep 0.5 # one more dump, of all that is held
		pid=$server
		redis_stop
		check_dumps
		# The child that SAVE did not make, or BGSAVE did, has its own.
		held=$(sum "$(HEAPAGENT_DIR=$HEAPAGENT_DIR newest_of "$pid")" \
			inuse_space)
		echo "rate $rate: $held of $used"
		if [ $rate = 1 ]; then
			# redis counts what jemalloc rounds the sizes up to.
			[ "$held" -le "$used" ]
			[ "$held" -ge $((used * 75 / 100)) ]
			truth=$held
		else
			# sqrt(RATE / bytes) of it is a standard error.
			awk -v held="$held" -v truth="$truth" -v rate=$rate '
				BEGIN {
					error = sqrt(rate * truth)
					off = (held - truth) / error
					printf "%.2f standard errors\n", off
					exit off > 5 || off < -5
				}'
		fi
	done
	on_top heap 'dbg_?debug|debugCommand|\[redis-check-rdb\]|redis'
}

# newest_of PID: its last heap file.
newest_of() {
	find "$HEAPAGENT_DIR" -name "*.$1.*.heap.pb.gz" | sort | tail -n 1
}

@test "nginx under load answers every request" {
	port=$((20000 + RANDOM % 20000))
	pages=$BATS_TEST_TMPDIR/www
	mkdir "$pages"
	seq 3000 >"$pages/numbers"
	nginx_conf "listen 127.0.0.1:$port; root $pages;" \
		"daemon off; user root; worker_processes 2; error_log stderr;" \
		"gzip on; gzip_types *;" >"$BATS_TEST_TMPDIR/nginx.conf"
	for rate in 524288 1; do
		rm -f "$HEAPAGENT_DIR"/* "$HEAPAGENT_DIR"/.heapagent.*
		start $rate nginx -c "$BATS_TEST_TMPDIR/nginx.conf" \
			-e "$BATS_TEST_TMPDIR/nginx.log"
		wait_for 20 curl -sfo /dev/null "http://127.0.0.1:$port/numbers"
		wrk -t1 -c20 -d3s -H 'Accept-Encoding: gzip' \
			"http://127.0.0.1:$port/numbers" >"$BATS_TEST_TMPDIR/wrk"
		cat "$BATS_TEST_TMPDIR/wrk"
		refute grep -E 'Socket errors|Non-2xx' "$BATS_TEST_TMPDIR/wrk"
		curl -sf --compressed "http://127.0.0.1:$port/numbers" |
			cmp - "$pages/numbers"
		kill -QUIT "$server"
		finish
		refute grep -E 'alert|crit|emerg|signal' \
			"$BATS_TEST_TMPDIR/started"
		check_dumps
	done
	# The newest file is the master's or a worker's.
	on_top allocs 'ngx_(alloc|memalign|create_pool|palloc|init_cycle)'
}
