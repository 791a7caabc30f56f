#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# names.bats - what symbolize finds is what other tools find, address by
# address: for real programs, for what two compilers make of one source, and
# for files that are laid out in unusual ways.
#
# The measure is eu-addr2line. Where it is wrong (elfutils 0.188), another tool
# decides: it gives the code between two units the last line before it, loses
# functions where the ranges of inlined ones overlap, and reads no inlined
# functions of other units (-flto), nor clang's indexed range lists (DWARF 5)
# and units without .debug_aranges. LLVM's reads all of these.

bats_require_minimum_version 1.5.0
load helpers
HEAPAGENT=$ROOT/build/heapagent
COMPARE=$ROOT/test/tools/compare_names
MAKE=$ROOT/build/test/tools/profile_make
SOURCE=$ROOT/test/prog/names.cc

server=

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export HOME=$BATS_TEST_TMPDIR PPROF_TMPDIR=$BATS_TEST_TMPDIR
	export TMPDIR=$BATS_TEST_TMPDIR HEAPAGENT_DIR=$BATS_TEST_TMPDIR/dumps
	export HEAPAGENT_AT_EXIT=1 HEAPAGENT_RATE=1
	mkdir -p "$HEAPAGENT_DIR"
}

teardown() {
	[ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
}

build_id() {
	readelf -n "$1" | awk '/Build ID/ { print $3 }'
}

# compared OPTION...: compare_names finds no difference.
compared() {
	run nice timeout 200 "$COMPARE" "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

# build OUT COMPILER FLAG...: both units of names.cc, linked with $LINK.
build() {
	local out=$1
	shift
	"$@" -std=c++17 -DFIRST_UNIT -c -o one.o "$SOURCE"
	"$@" -std=c++17 -DSECOND_UNIT -c -o two.o "$SOURCE"
	# shellcheck disable=SC2086 # words are wanted
	"$@" ${LINK:-} -o "$out" one.o two.o
}

# The 20 functions with names that hold most, of lines "FLAT CUM NAME".
top_20() {
	grep -v -e '^[0-9]* [0-9]* \[' -e '+0x[0-9a-f]*$' |
		sort -k1,1nr -k2,2nr -k3 | head -n 20
}

# same_top FILE FILE PATTERN PPROF [OPTION...]: of ours for the first and that
# pprof for the second, of functions that match the pattern.
same_top() {
	$4 -top -nodefraction=0 -nodecount=100000 -unit=B \
		-sample_index=alloc_space "$2" 2>/dev/null >pprof.all
	sed -nE 's/^ *([0-9]+)B? +[^ ]+ +[^ ]+ +([0-9]+)B? +[^ ]+ +(.*)/\1 \2 \3/p' \
		pprof.all | sed 's/ (inline)$//; s/ (partial-inline)$//' |
		grep -E "$3" | top_20 >pprof.top
	"$HEAPAGENT" top --json --nodecount 0 --alloc_space "${@:5}" "$1" |
		python3 -c 'import json, sys
for f in json.load(sys.stdin)["functions"]:
    print("%d %d %s" % (f["flat"], f["cum"], f["name"]))' |
		grep -E "$3" | top_20 >our.top
	wc -l our.top
	diff our.top pprof.top
}

# real_program NAME COUNT: its newest dump is named as by eu-addr2line, at
# COUNT addresses or more, and its top is that of go tool pprof.
real_program() {
	local dump
	dump=$(newest heap)
	compared --second addr2line --dump "$dump" "$ROOT/build"
	[ "$(awk '{ n += $5 } END { print n }' <<<"$output")" -ge "$2" ]
	grep -q " named (.*$1" <<<"$output"
	# By itself go tool pprof finds no names in a stripped program.
	"$HEAPAGENT" symbolize "$dump" -o named.pb.gz
	same_top "$dump" named.pb.gz . "go tool pprof" --full-names
	[ "$(wc -l <our.top)" -eq 20 ]
}

@test "sqlite3: every address as eu-addr2line, the top 20 as go tool pprof" {
	preloaded sqlite3 :memory: "
		CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INTEGER);
		WITH RECURSIVE c(i) AS
			(SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2000)
		INSERT INTO t SELECT i, printf('name %d', i * 7919), i % 100
			FROM c;
		CREATE INDEX by_name ON t (name);
		SELECT n, count(*), max(name) FROM t GROUP BY n LIMIT 2;
		SELECT count(*) FROM t AS a JOIN t AS b ON a.name = b.name;"
	real_program sqlite3 200
}

@test "python3: every address as eu-addr2line, the top 20 as go tool pprof" {
	PYTHONMALLOC=malloc HEAPAGENT_RATE=64 preloaded /usr/bin/python3 -I -c '
import json, re, decimal, sqlite3
x = [str(i) * 9 for i in range(1000)]
json.dumps(x); re.compile("(a|b)*c").match("ab"); decimal.Decimal(1) / 3'
	real_program python3 200
}

@test "cc1plus: every address as eu-addr2line, the top 20 as go tool pprof" {
	printf '#include <string>\nint f(std::string s) { return s.size(); }\n' \
		>string.cc
	HEAPAGENT_RATE=4096 preloaded "$(g++ -print-prog-name=cc1plus)" -quiet \
		-O1 -imultiarch x86_64-linux-gnu -D_GNU_SOURCE string.cc \
		-o /dev/null
	real_program cc1plus 500
}

@test "redis-server: every address as eu-addr2line, the top 20 as go tool pprof" {
	LD_PRELOAD=$AGENT redis-server --port 0 --unixsocket "$PWD/sock" \
		--save '' --dir "$PWD" --enable-debug-command yes \
		>redis.log 2>&1 3>&- &
	server=$!
	wait_for 20 test -S sock
	redis-cli -s sock debug populate 2000 key 200
	redis-cli -s sock eval 'return redis.call("get", "key:1")' 0
	redis-cli -s sock zadd z 1 one 2 two
	redis-cli -s sock xadd stream '*' a b
	redis-cli -s sock hset h a b
	kill -USR2 "$server"
	wait_for 20 newest heap
	kill -TERM "$server"
	wait "$server"
	server=
	real_program redis-server 800
}

@test "C++ by g++: every instruction as eu-addr2line and llvm-addr2line" {
	local flags
	for flags in "-O2 -gdwarf-5" "-O2 -gdwarf-4" "-O3 -g -gz" \
		"-O2 -g -ffunction-sections -no-pie"; do
		# shellcheck disable=SC2086 # words are wanted
		build p g++ $flags
		compared --count 0 --second llvm-addr2line-14 p "$ROOT/build"
		compared --count 0 --raw --tool llvm-addr2line-14 p "$ROOT/build"
	done
}

@test "C++ with -flto: every instruction as llvm-addr2line" {
	local flags
	for flags in "g++ -gdwarf-5" "g++ -gdwarf-4" "clang++-14 -gdwarf-5" \
		"clang++-14 -gdwarf-4"; do
		# shellcheck disable=SC2086 # words are wanted
		LINK=$([ "${flags:0:5}" = clang ] && echo -fuse-ld=lld-14) \
			build p $flags -O2 -flto
		compared --count 0 --raw --tool llvm-addr2line-14 p "$ROOT/build"
	done
}

@test "C++ by clang: every instruction as llvm-addr2line" {
	local flags
	for flags in "-O2 -gdwarf-5" "-O2 -gdwarf-4" "-O1 -g -gz" \
		"-O2 -gdwarf-4 -gdwarf-aranges"; do
		# shellcheck disable=SC2086 # words are wanted
		build p clang++-14 $flags
		compared --count 0 --raw --tool llvm-addr2line-14 p "$ROOT/build"
	done
	# This one eu-addr2line reads, too.
	compared --count 0 --second addr2line p "$ROOT/build"
}

@test "split DWARF by g++ and clang, in files and packed: as in one file" {
	local compiler version packed=0
	for compiler in g++ clang++-14; do
		for version in 4 5; do
			rm -f ./*.dwo ./*.dwp
			build whole $compiler -O2 -gdwarf-$version
			build split $compiler -O2 -gdwarf-$version -gsplit-dwarf
			echo "$compiler -gdwarf-$version"
			same_names whole split
			[ -e one.dwo ]
			# binutils 2.40's dwp dies of DWARF 5; LLVM's hangs on
			# some files of gcc's.
			timeout 20 llvm-dwp-14 -e split -o split.dwp || continue
			rm ./*.dwo
			same_names whole split
			packed=$((packed + 1))
		done
	done
	echo "$packed packed"
	[ "$packed" -ge 3 ]
}

# same_names PROGRAM PROGRAM: of the same code, at every instruction.
same_names() {
	local program
	for program; do
		"$COMPARE" --print --raw --count 0 "$program" "$ROOT/build" \
			>"$program.names"
	done
	[ "$(grep -c ' .*:[0-9].* .*:[0-9]' "$1.names")" -gt 200 ]
	diff "$1.names" "$2.names" >difference || head -n 4 difference
	cmp "$1.names" "$2.names"
}

@test "our C++ program under the agent: names, and the top 20 of go tool pprof" {
	build p g++ -O2 -g
	preloaded ./p 1 2 3 4 5 6 7 8 9 >/dev/null
	dump=$(newest heap)
	compared --second llvm-addr2line-14 --dump "$dump" "$ROOT/build"
	# What pprof itself finds in the program. The one in Go's distribution
	# reads no inlined functions; built from its source, it asks
	# llvm-symbolizer, if there is one of this name, else addr2line, which
	# gives libraries' aliases: it is to be the same everywhere.
	mkdir bin
	ln -s "$(command -v llvm-symbolizer-14)" bin/llvm-symbolizer
	GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS='' \
		GOCACHE=$ROOT/build/go-cache nice go build -o pprof \
		github.com/google/pprof
	PATH=$PWD/bin:$PATH same_top "$dump" "$dump" \
		' (main|depot::|std::|__invoke|operator\(\)|make_|_start$)' ./pprof
	[ "$(wc -l <our.top)" -eq 20 ]
}

@test "Rust's names, of both manglings" {
	local dump name
	gcc -O2 -g -o rust "$ROOT/test/prog/rust_names.c"
	preloaded ./rust
	dump=$(newest heap)
	compared --raw --dump "$dump" "$ROOT/build"
	compared --raw --count 0 rust "$ROOT/build"
	"$HEAPAGENT" top --json --nodecount 0 "$dump" >top.json
	grep '^// ' "$ROOT/test/prog/rust_names.c" | cut -c 4- >wanted
	[ "$(wc -l <wanted)" -eq 7 ]
	while read -r name; do
		grep -F "\"name\":\"${name//</\\u003c}\"" top.json
	done <wanted
	# A stripped program: the same from .dynsym.
	gcc -O2 -s -rdynamic -o rust "$ROOT/test/prog/rust_names.c"
	rm "$HEAPAGENT_DIR"/*
	preloaded ./rust
	"$HEAPAGENT" top --json --nodecount 0 "$(newest heap)" >top.json
	while read -r name; do
		grep -F "\"name\":\"${name//</\\u003c}\"" top.json
	done <wanted
}

@test "a library whose addresses do not begin at 0, as prelink made them" {
	local start id
	id=$(printf '12%.0s' {1..20})
	printf 'static inline int two(int x) { return x * 2; }\n%s\n' \
		'int one(int x) { for (int i = 0; i < x; i++) x += two(i) % 7;
		return x; }' >lib.c
	for start in 0x3f00000000 0x401000; do
		gcc -O2 -g -shared -fPIC -Wl,-Ttext-segment=$start \
			-o moved.so lib.c
		readelf -lW moved.so | grep -q " LOAD .*${start#0x} "
		compared --count 0 moved.so "$ROOT/build"
		grep -q ' [1-9][0-9]* named' <<<"$output"
	done
	# Debug information made before the move, as prelink leaves it.
	gcc -O2 -g -shared -fPIC "-Wl,--build-id=0x$id" -o before.so lib.c
	gcc -O2 -g -shared -fPIC "-Wl,--build-id=0x$id" \
		-Wl,-Ttext-segment=0x3f00000000 -o moved.so lib.c
	compared --print --count 0 before.so "$ROOT/build"
	cut -d' ' -f2- <<<"$output" >wanted
	grep -q '^two .*:1 one .*:2$' wanted
	mkdir -p tree/.build-id/12
	objcopy --only-keep-debug before.so "tree/.build-id/12/${id:2}.debug"
	strip moved.so
	compared --print --count 0 moved.so "$ROOT/build" --debug-dir tree
	cut -d' ' -f2- <<<"$output" | diff wanted -
}

@test "code whose offset in the file is unlike its address" {
	cat >script.py <<-'END'
		# The last code segment's bytes go to the end of the file.
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		start, = struct.unpack_from("<Q", data, 32)
		count, = struct.unpack_from("<H", data, 56)
		for at in range(start, start + 56 * count, 56):
		    kind, flags, offset, address = struct.unpack_from("<IIQQ",
		                                                      data, at)
		    size, = struct.unpack_from("<Q", data, at + 32)
		    if kind == 1 and flags & 1:
		        place = at, offset, address, size
		at, offset, address, size = place
		end = (len(data) + 0x5000 & ~0xfff) + (offset & 0xfff)
		data += bytes(end - len(data)) + data[offset:offset + size]
		struct.pack_into("<Q", data, at + 8, end)
		open(sys.argv[2], "wb").write(data)
	END
	build p g++ -O2 -g -no-pie -Wl,-Ttext-segment=0x7000000
	python3 script.py p moved
	chmod +x moved
	./moved 1 >/dev/null
	compared --count 0 --second llvm-addr2line-14 --debug p moved \
		"$ROOT/build"
	preloaded ./moved 1 2 3 >/dev/null
	run "$COMPARE" --second llvm-addr2line-14 --debug p --dump "$(newest heap)" "$ROOT/build"
	grep -E '^[1-9][0-9]* compared, 0 different.*/moved' <<<"$output"
}
