#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# symbolize_elsewhere.bats - names from servers, other directories and perf
# maps; what is not found there is said.

load helpers
load symbolize

@test "debuginfod: asked only when told to" {
	local id port
	ldconfig -p | grep -q libdebuginfod.so.1 ||
		skip "libdebuginfod is not installed"
	id=$(build_id "$BATS_FILE_TMPDIR/inlined")
	mkdir -p "www/buildid/$id"
	objcopy --only-keep-debug "$BATS_FILE_TMPDIR/inlined" \
		"www/buildid/$id/debuginfo"
	: >port.txt
	python3 -u -m http.server --bind 127.0.0.1 --directory www 0 \
		>>port.txt 2>server.log 3>&- &
	server=$!
	wait_for 10 grep -q 'port [0-9]' port.txt
	port=$(sed -n 's/.* port \([0-9]*\).*/\1/p' port.txt)
	export DEBUGINFOD_URLS=http://127.0.0.1:$port
	export DEBUGINFOD_CACHE_PATH=$PWD/cache
	profile a.pb.gz /gone/inlined "$id" "$(sell)"
	run "$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
	[[ $output == *"1 unresolved"* ]]
	[ ! -s server.log ]
	run "$HEAPAGENT" symbolize --debuginfod a.pb.gz -o b.pb.gz
	kill "$server"
	echo "$output"
	[[ $output == *"0 unresolved"* ]]
	frames b.pb.gz | grep -Eq "$inline_chain"
	grep -q "GET /buildid/$id/debuginfo" server.log
}

# server HOW: answers every request on $port that way; its process is $server.
server() {
	: >port.txt
	python3 -u - "$1" >port.txt 2>server.log 3>&- <<-'END' &
		import http.server, sys, time
		class Handler(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        if sys.argv[1] == "hangs":
		            time.sleep(60)
		        self.send_response(200 if sys.argv[1] == "lies" else
		                           int(sys.argv[1]))
		        self.send_header("Content-Length", "4")
		        self.end_headers()
		        self.wfile.write(b"lies")
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
		server.daemon_threads = True
		print(server.server_port)
		server.serve_forever()
	END
	server=$!
	wait_for 10 grep -q '[0-9]' port.txt
	port=$(cat port.txt)
}

@test "debuginfod: what a server does not do is said, once for each cause" {
	ldconfig -p | grep -q libdebuginfod.so.1 ||
		skip "libdebuginfod is not installed"
	local id how words
	id=$(build_id "$BATS_FILE_TMPDIR/inlined")
	{
		echo "type space bytes"
		for i in 1 2 3; do
			echo "mapping 0x${i}000 0x${i}800 0 /gone/$i ${id/?/$i}"
			echo "sample 1 1 $i:0x${i}010"
		done
	} | "$MAKE" a.pb.gz
	export DEBUGINFOD_TIMEOUT=5 DEBUGINFOD_RETRY_LIMIT=1
	while IFS='|' read -r how words; do
		export DEBUGINFOD_CACHE_PATH=$PWD/cache-$how
		server=
		port=1
		[ "$how" = refuses ] || server "$how"
		DEBUGINFOD_URLS=http://127.0.0.1:$port \
			run timeout 50 "$HEAPAGENT" symbolize --debuginfod a.pb.gz
		[ -z "$server" ] || kill "$server"
		echo "$how: $output"
		[ "$status" -eq 0 ]
		[[ ${lines[-2]} == "heapagent: --debuginfod: /gone/1 and 2 more files: $words"* ]]
		if [ "$how" = hangs ]; then
			[[ ${lines[0]} == "heapagent: /gone/1: waiting for a server"* ]]
			[ "${#lines[@]}" -eq 3 ]
		else
			[ "${#lines[@]}" -eq 2 ]
		fi
	done <<-END
		404|no server of DEBUGINFOD_URLS has it
		lies|what the server sent is not that file
		refuses|Connection refused
		hangs|the server does not answer
	END
	DEBUGINFOD_URLS='' run "$HEAPAGENT" symbolize --debuginfod a.pb.gz
	[[ ${lines[0]} == *"DEBUGINFOD_URLS is not set" ]]
	[ "${#lines[@]}" -eq 2 ]
}

@test "a sysroot without the files is said" {
	mkdir empty
	profile a.pb.gz /gone/inlined - "$(sell)"
	run "$HEAPAGENT" symbolize --sysroot empty a.pb.gz
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ]
	[ "${lines[0]}" = "heapagent: --sysroot: /gone/inlined: not found in empty" ]
	mkdir -p root/gone
	cp "$BATS_FILE_TMPDIR/inlined" root/gone/
	run "$HEAPAGENT" symbolize --sysroot root a.pb.gz
	[ "${#lines[@]}" -eq 1 ]
}

@test "JIT code gets its names from the perf map" {
	printf '7f1234560000 100 js:compute\n' >map
	printf '%s\n' "type space bytes" \
		"mapping 0x7f1234560000 0x7f1234561000 0 [anon] -" \
		"sample 1 1 1:0x7f1234560010" "sample 1 1 1:0x7f1234560200" |
		"$MAKE" a.pb.gz
	run "$HEAPAGENT" symbolize --perf-map map a.pb.gz -o b.pb.gz
	[[ $output == *"1 of 2 addresses named, 1 unresolved"* ]]
	frames b.pb.gz | grep -q js:compute
	# Without the option: the process of the file's name.
	cp a.pb.gz node.12.v1.99999999.0001.heap.pb.gz
	cp map /tmp/perf-99999999.map
	run "$HEAPAGENT" top node.12.v1.99999999.0001.heap.pb.gz
	rm /tmp/perf-99999999.map
	[[ $output == *js:compute* ]]
}

@test "a perf map that is named is used, or why not is said; whose the usual one is" {
	local other=/tmp/perf-99999998.map
	printf '7f1234560000 100 js:compute\n' >map
	printf '%s\n' "type space bytes" \
		"mapping 0x7f1234560000 0x7f1234561000 0 [anon] -" \
		"sample 1 1 1:0x7f1234560010" | "$MAKE" a.pb.gz
	ln -s map link
	"$HEAPAGENT" top a.pb.gz --perf-map link | grep js:compute
	"$HEAPAGENT" top a.pb.gz --perf-map <(cat map) | grep js:compute
	echo "no map" >none
	mkdir directory
	for map in none directory; do
		run "$HEAPAGENT" symbolize a.pb.gz --perf-map $map
		[ "$status" -eq 1 ]
		[[ ${lines[0]} == "heapagent: $map: not used: "* ]]
		[ "${#lines[@]}" -eq 2 ]
	done
	[ "$(id -u)" -eq 0 ] || skip "only root has files of others"
	cp map $other
	chown 65534 map $other
	cp a.pb.gz java.99999998.0001.heap.pb.gz
	run "$HEAPAGENT" top java.99999998.0001.heap.pb.gz
	chown 65534 java*.gz
	"$HEAPAGENT" top java.99999998.0001.heap.pb.gz >theirs
	rm $other
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "heapagent: $other: not used: it belongs to user 65534,"* ]]
	grep js:compute theirs
	"$HEAPAGENT" top a.pb.gz --perf-map map | grep js:compute
}
