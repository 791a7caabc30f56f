#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs that others wrote do the same with the agent in them as without:
# at the default rate and at RATE=1, with a dump every 100 ms.
bats_require_minimum_version 1.5.0

load helpers

dumper=
server=

teardown() {
	for pid in $dumper $server; do
		kill -KILL "$pid" 2>/dev/null || true
	done
}

# True once the process catches SIGUSR2: before that it would end it.
listens() {
	local caught
	caught=$(awk '/^SigCgt/ { print $2 }' "/proc/$1/status")
	((16#${caught:-0} >> 11 & 1))
}

# Asks the process for a dump every 100 ms until it ends.
keep_dumping() {
	until listens "$1"; do
		kill -0 "$1" || return 0
		sleep 0.01
	done
	while kill -USR2 "$1"; do
		sleep 0.1
	done
} 2>/dev/null

# observed NAME COMMAND...: runs it; its output and status go to NAME.seen.
observed() {
	local name=$BATS_TEST_TMPDIR/$1 status=0
	shift
	"$@" >"$name.seen" 2>"$name.err" 3>&- || status=$?
	echo "status $status" >>"$name.seen"
	cat "$name.err" >>"$name.seen"
}

# The same under the agent, with dumps, at a rate.
observed_at() {
	local name=$BATS_TEST_TMPDIR/$1 rate=$2 status=0 pid
	shift 2
	HEAPAGENT_RATE=$rate LD_PRELOAD=$AGENT \
		"$@" >"$name.seen" 2>"$name.err" 3>&- &
	pid=$!
	keep_dumping "$pid" 3>&- &
	dumper=$!
	wait "$pid" || status=$?
	wait "$dumper" || true
	echo "status $status" >>"$name.seen"
	cat "$name.err" >>"$name.seen"
}

# Runs the command in the three ways; what is seen must be one.
same_in_all_ways() {
	observed bare "$@"
	grep -qx 'status 0' "$BATS_TEST_TMPDIR/bare.seen"
	for rate in 524288 1; do
		observed_at "$rate" "$rate" "$@"
		diff "$BATS_TEST_TMPDIR/bare.seen" \
			"$BATS_TEST_TMPDIR/$rate.seen"
		all_valid
	done
}

# There are dumps, all of them are profiles, and none is half written.
all_valid() {
	[ -e "$(newest heap)" ]
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
	run find "$HEAPAGENT_DIR" -type f ! -name '*.pb.gz'
	[ -z "$output" ]
	PPROF_TMPDIR=$BATS_TEST_TMPDIR go tool pprof -top -symbolize=none \
		"$(newest heap)" >/dev/null
	rm -f "$HEAPAGENT_DIR"/*
}

@test "sqlite3 builds and queries a table of 200,000 rows" {
	same_in_all_ways sqlite3 :memory: "
		CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INTEGER);
		WITH RECURSIVE c(i) AS
			(SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000)
		INSERT INTO t SELECT i, printf('name %d', i * 7919 % 200003),
			i % 1000 FROM c;
		CREATE INDEX by_name ON t (name);
		SELECT n, count(*), max(name) FROM t GROUP BY n
			ORDER BY n DESC LIMIT 20;
		SELECT count(*) FROM t AS a JOIN t AS b ON a.name = b.name;"
}

@test "the C++ compiler writes the same code" {
	cc1plus=$(g++ -print-prog-name=cc1plus)
	printf '#include <%s>\n' map string vector iostream \
		>"$BATS_TEST_TMPDIR/large.cc"
	echo 'int f(std::map<std::string, std::vector<int>> &m, std::string s)
		{ return std::cout << s, m[s].emplace_back(1); }' >>"$BATS_TEST_TMPDIR/large.cc"
	same_in_all_ways "$cc1plus" -quiet -O1 -imultiarch x86_64-linux-gnu \
		-D_GNU_SOURCE "$BATS_TEST_TMPDIR/large.cc" -o -
}

# Mebibytes in use, all frames, in the newest heap profile.
in_use_mib() {
	echo $(($(sum "$(newest heap)" inuse_space) >> 20))
}

@test "python3 holds 200 MiB, and the profile says so" {
	program='
import os, signal, sys, time
held = [bytes(1 << 20) for _ in range(200)]
os.kill(os.getpid(), signal.SIGUSR2)
print(len(held), sum(map(len, held)))
'
	export PYTHONMALLOC=malloc
	for rate in 524288 1; do
		HEAPAGENT_RATE=$rate run --separate-stderr preloaded \
			python3 -I -S -c "$program"
		[ "$output" = "200 209715200" ]
		[ -z "$stderr" ]
		held=$(in_use_mib)
		echo "rate $rate: $held MiB"
		# A MiB weighs 1 / (1 - exp(-2)) = 1.16 samples, so 200 of
		# them have a standard error of 2.8 %: 14 % are 5 of these.
		# The interpreter itself needs some MiB more.
		[ "$held" -ge $((rate == 1 ? 200 : 172)) ]
		[ "$held" -le $((rate == 1 ? 212 : 240)) ]
		all_valid
	done
}

# Starts redis-server with 200,000 keys; its digest goes to standard output.
redis() {
	local sock=$BATS_TEST_TMPDIR/sock
	rm -f "$sock"
	"$@" redis-server --port 0 --unixsocket "$sock" --save '' \
		--dir "$BATS_TEST_TMPDIR" --enable-debug-command yes \
		>"$BATS_TEST_TMPDIR/redis.log" 2>&1 3>&- &
	server=$!
	wait_for 20 test -S "$sock"
	redis-cli -s "$sock" debug populate 200000 key 200 >/dev/null
	redis-cli -s "$sock" debug digest
}

redis_used_mib() {
	local used
	used=$(redis-cli -s "$BATS_TEST_TMPDIR/sock" info memory |
		tr -d '\r' | sed -n 's/^used_memory://p')
	echo $((used >> 20))
}

redis_stop() {
	kill -TERM "$server"
	wait "$server"
	server=
}

@test "redis-server holds 200,000 keys, and the profile says what it says" {
	redis env >"$BATS_TEST_TMPDIR/bare"
	redis_stop
	for rate in 524288 1; do
		redis env "HEAPAGENT_RATE=$rate" "LD_PRELOAD=$AGENT" \
			>"$BATS_TEST_TMPDIR/agent"
		diff "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/agent"
		used=$(redis_used_mib)
		for ((i = 0; i < 5; i++)); do
			kill -USR2 "$server"
			redis-cli -s "$BATS_TEST_TMPDIR/sock" \
				get key:77 >/dev/null
		done
		wait_for 20 newest heap
		redis_stop
		held=$(in_use_mib)
		echo "rate $rate: $held MiB of $used MiB"
		# jemalloc rounds up to its size classes, by an eighth or
		# less on the average; redis counts what it was given.
		[ "$held" -ge $((used * 70 / 100)) ]
		[ "$held" -le $((used * 115 / 100)) ]
		all_valid
	done
}

@test "nginx serves the same pages, and keeps SIGUSR2 to itself" {
	pages=$BATS_TEST_TMPDIR/www
	mkdir "$pages"
	seq 20000 >"$pages/numbers"
	nginx_conf "listen unix:$BATS_TEST_TMPDIR/nginx.sock; root $pages;" \
		"daemon off; error_log stderr;" "gzip on; gzip_types *;" \
		>"$BATS_TEST_TMPDIR/nginx.conf"
	chmod -R a+rX "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR"
	HEAPAGENT_RATE=1 HEAPAGENT_SIGNAL=RTMIN+3 LD_PRELOAD=$AGENT nginx \
		-c "$BATS_TEST_TMPDIR/nginx.conf" \
		-e "$BATS_TEST_TMPDIR/nginx.log" \
		>"$BATS_TEST_TMPDIR/nginx.out" 2>&1 3>&- &
	server=$!
	wait_for 20 test -S "$BATS_TEST_TMPDIR/nginx.sock"
	for ((i = 0; i < 20; i++)); do
		python3 - "$BATS_TEST_TMPDIR/nginx.sock" <<-'END' |
			import gzip, socket, sys
			s = socket.socket(socket.AF_UNIX)
			s.connect(sys.argv[1])
			s.sendall(b"GET /numbers HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
			reply = b"".join(iter(lambda: s.recv(65536), b""))
			head, body = reply.split(b"\r\n\r\n", 1)
			if b"Content-Encoding: gzip" in head:
			    body = gzip.decompress(body)
			sys.stdout.buffer.write(body)
		END
			cmp - "$pages/numbers"
		"$ROOT/build/heapagent" dump "$server" >/dev/null
	done
	[ "$(find "$HEAPAGENT_DIR" -name '*.heap.pb.gz' | wc -l)" -ge 20 ]
	kill -QUIT "$server"
	wait "$server"
	server=
	all_valid
}
