#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hostile.bats - any bytes as a profile or as a program: a correct result, or
# one line and a non-zero status; no crash, no hang, bounded memory.

load helpers
load hostile

@test "profiles cut short, flipped, with tails: refused or read" {
	profile whole.pb.gz "$PWD/inlined"
	gzip -dc whole.pb.gz >whole.pb
	"$HEAPAGENT" symbolize -o named.pb.gz whole.pb.gz
	gzip -dc named.pb.gz >named.pb
	"$HEAPAGENT" text whole.pb.gz >whole.txt
	for file in whole.pb.gz named.pb whole.txt; do
		for how in truncated flipped; do
			"$HOSTILE" $how $file "$HEAPAGENT" \
				"top|symbolize|tree|flame|text|inuse" damaged
		done
	done
	"$HOSTILE" flipped named.pb "$HEAPAGENT" "diff|delta" damaged named.pb
}

@test "profiles with numbers out of bounds: refused or shown" {
	local commands="symbolize|top|tree|flame|text|inuse" i
	: >nothing
	# Each file meets each command.
	for i in 1 2 3 4 5 6; do
		"$HOSTILE" numbers nothing "$HEAPAGENT" "$commands" damaged
		commands=${commands#*|}\|${commands%%|*}
	done
	"$HOSTILE" numbers nothing "$HEAPAGENT" "diff|delta" damaged damaged
}

@test "ids that would all meet in one slot of a simple table" {
	# 400,000 ids that are equal in all but their high bits.
	python3 - >ids.pb <<-'END'
		import sys
		sys.path.insert(0, "")
		def varint(n):
		    out = b""
		    while n > 127:
		        out += bytes([n & 127 | 128]); n >>= 7
		    return out + bytes([n])
		def field(number, content):
		    if isinstance(content, int):
		        return varint(number << 3) + varint(content)
		    return (varint(number << 3 | 2) + varint(len(content)) +
		            content)
		out = [field(1, field(1, 1) + field(2, 2))]
		out += [field(6, s) for s in (b"", b"space", b"bytes")]
		out += [field(4, field(1, i << 40 | 1)) for i in range(400000)]
		sys.stdout.buffer.write(b"".join(out))
	END
	one 0 400 "$HEAPAGENT" top ids.pb
}

@test "gzip: a bomb, a bomb of many members, two profiles in one" {
	"$HOSTILE" make gzip-bomb bomb.gz
	"$HOSTILE" make members members.gz
	for file in bomb.gz members.gz; do
		one 1 700 "$HEAPAGENT" top $file |
			grep "$file: more than 512 MiB when uncompressed"
		one 1 700 "$HEAPAGENT" symbolize - <$file
		ls
	done
	# Two messages are one, by protobuf's rules: here with doubled ids.
	profile whole.pb.gz "$PWD/inlined"
	cat whole.pb.gz whole.pb.gz >twice.pb.gz
	one 1 "$SMALL" "$HEAPAGENT" top twice.pb.gz | grep 'twice.pb.gz: '
}

@test "input that is no file" {
	mkdir directory
	mkfifo pipe
	ln -s loop loop
	ln -s b a
	ln -s a b
	for file in directory pipe loop a none /dev/null; do
		one 1 "$SMALL" "$HEAPAGENT" top $file | grep " $file: "
	done
	one 1 700 "$HEAPAGENT" symbolize /dev/zero | grep ' /dev/zero: '
	# Who writes after a while is waited for.
	profile whole.pb.gz "$PWD/inlined"
	{ sleep 2 && cat whole.pb.gz >pipe; } 3>&- &
	one 0 "$SMALL" "$HEAPAGENT" top pipe
	"$HEAPAGENT" top <(sleep 1 && cat whole.pb.gz) | grep -q shop::
}

@test "loops in --sysroot and --debug-dir, and a map that is one" {
	local id
	id=$(readelf -n inlined | awk '/Build ID/ { print $3 }')
	mkdir -p "root/$PWD" "tree/.build-id/${id:0:2}" root/usr/lib
	ln -s loop "root$PWD/inlined"
	ln -s inlined "root$PWD/loop"
	ln -s ../../../../../../../../../../../../usr/lib root/usr/lib/debug
	ln -s "${id:2}.debug" "tree/.build-id/${id:0:2}/${id:2}.debug"
	ln -s map map
	strip -o stripped inlined
	profile p.pb.gz "$PWD/inlined"
	profile s.pb.gz "$PWD/stripped"
	one 0 "$SMALL" "$HEAPAGENT" symbolize --sysroot root p.pb.gz
	one 0 "$SMALL" "$HEAPAGENT" symbolize --debug-dir tree s.pb.gz
	one 2 "$SMALL" "$HEAPAGENT" symbolize --perf-map map p.pb.gz
	one 2 "$SMALL" "$HEAPAGENT" symbolize --sysroot loop p.pb.gz
}

@test "programs with damaged headers, and damaged anywhere" {
	profile p.pb.gz "$PWD/damaged"
	"$HOSTILE" headers inlined "$HEAPAGENT" "symbolize|top|text" p.pb.gz
	"$HOSTILE" bytes inlined "$HEAPAGENT" "symbolize|top|text" p.pb.gz
	g++ -O2 -gdwarf-4 -gz -o inlined "$SOURCE"
	profile p.pb.gz "$PWD/damaged"
	"$HOSTILE" bytes inlined "$HEAPAGENT" symbolize p.pb.gz
	# Both halves of a split one.
	g++ -O2 -gdwarf-5 -gsplit-dwarf -o inlined "$SOURCE"
	profile p.pb.gz "$PWD/damaged"
	"$HOSTILE" bytes inlined "$HEAPAGENT" symbolize p.pb.gz
	profile p.pb.gz "$PWD/inlined"
	"$HEAPAGENT" symbolize -o named.pb.gz p.pb.gz
	[ "$(named named.pb.gz inlined | wc -l)" -gt 9 ]
	dwo=$(dwo_of inlined)
	mv "$dwo" whole.dwo
	ln -s damaged "$dwo"
	"$HOSTILE" bytes whole.dwo "$HEAPAGENT" symbolize p.pb.gz
}

# said WHAT: of ./damaged, in one line, and the status is 1; the rest is named.
said() {
	run "$HEAPAGENT" symbolize -o damaged.pb.gz p.pb.gz
	echo "$output"
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[0]} == "heapagent: $PWD/damaged: $1" ]]
	"$CHECKVALID" damaged.pb.gz
	[ "$(named damaged.pb.gz inlined)" = "$(named plain.pb.gz inlined)" ]
}

@test "programs that are damaged: each is said, the others are named" {
	local size cut section
	size=$(stat -c %s inlined)
	profile p.pb.gz "$PWD/damaged" "$PWD/inlined"
	"$HEAPAGENT" symbolize -o plain.pb.gz p.pb.gz
	[ "$(named plain.pb.gz inlined | wc -l)" -gt 9 ]
	# Cut in its headers, its segments, its sections.
	for cut in 64 200 $((size / 2)) $((size - 10)); do
		head -c "$cut" inlined >damaged
		said "not used: it is cut short or damaged"
	done
	head -c 200 /dev/urandom >section
	for section in info line abbrev; do
		objcopy --update-section .debug_$section=section inlined damaged
		said "names or lines are missing: its debug information is damaged, or of a form unknown here"
	done
	# What the profile has no build-id of need not have been a program.
	cp section damaged
	"$HEAPAGENT" symbolize p.pb.gz
	BUILD_ID=$(readelf -n inlined | awk '/Build ID/ { print $3 }')
	profile p.pb.gz "$PWD/damaged" "$PWD/inlined"
	said "not used: it is not an ELF file"
}

@test "bombs in a program: .debug_info, .gnu_debugdata" {
	profile p.pb.gz "$PWD/damaged"
	for kind in zlib-section huge-section; do
		"$HOSTILE" make $kind section
		objcopy --update-section .debug_info=section inlined flagless
		"$HOSTILE" make compressed damaged flagless
		one 1 1200 "$HEAPAGENT" symbolize p.pb.gz
	done
	"$HOSTILE" make xz-bomb section
	strip -o bare inlined
	objcopy --add-section .gnu_debugdata=section bare damaged
	one 0 700 "$HEAPAGENT" symbolize p.pb.gz
}

@test "programs that refer to themselves" {
	profile p.pb.gz "$PWD/p"
	strip -o p inlined
	objcopy --add-gnu-debuglink=p p
	one 0 "$SMALL" "$HEAPAGENT" symbolize p.pb.gz
	# The supplementary file by its name and its own build-id.
	{
		printf 'p\0'
		readelf -n inlined | awk '/Build ID/ { print $3 }' |
			python3 -c 'import sys; sys.stdout.buffer.write(
				bytes.fromhex(sys.stdin.read()))'
	} >"link"
	objcopy --add-section .gnu_debugaltlink=link inlined p
	one 0 "$SMALL" "$HEAPAGENT" symbolize -o self.pb.gz p.pb.gz
	cp inlined p
	"$HEAPAGENT" symbolize -o plain.pb.gz p.pb.gz
	[ "$("$DECODE" self.pb.gz)" = "$("$DECODE" plain.pb.gz)" ]
	# A package and a split file that are the program.
	g++ -O2 -g -gsplit-dwarf -o p "$SOURCE"
	rm ./*.dwo
	cp p p.dwp
	ln -s p "$(dwo_of p)"
	profile p.pb.gz "$PWD/p"
	one 0 "$SMALL" "$HEAPAGENT" symbolize p.pb.gz
}

@test "a library that crashes, gives up or lies: that file has no names" {
	local how
	cp inlined first
	cp inlined second
	profile p.pb.gz "$PWD/first" "$PWD/second"
	"$HEAPAGENT" symbolize -o good.pb.gz p.pb.gz
	for how in crash abort exit lie; do
		BAD_READER=$how BAD_READER_AT=2 LD_PRELOAD=$BAD_LIBRARY run "$HEAPAGENT" \
			symbolize -o $how.pb.gz p.pb.gz
		echo "$how: $output"
		[ "$status" -eq 1 ]
		[ "${#lines[@]}" -eq 2 ]
		[[ ${lines[0]} == "heapagent: $PWD/second: left without names: "* ]]
		[[ ${lines[1]} == "$how.pb.gz: "*" named, "*" unresolved" ]]
		"$CHECKVALID" $how.pb.gz
		# What the other file has is what it always has.
		[ "$(named $how.pb.gz first)" = "$(named good.pb.gz first)" ]
		[ "$(named good.pb.gz second | wc -l)" -gt 9 ]
		[ -z "$(named $how.pb.gz second)" ]
	done
	BAD_READER=crash BAD_READER_AT=2 LD_PRELOAD=$BAD_LIBRARY \
		run "$HEAPAGENT" top p.pb.gz
	[ "$status" -eq 1 ]
	[[ ${lines[0]} == "heapagent: $PWD/second: left without names: "* ]]
	[[ $output == *shop::* ]]
}

@test "a library that takes all time or memory: in bounds" {
	cp inlined first
	cp inlined second
	profile p.pb.gz "$PWD/first" "$PWD/second"
	one 1 1300 env BAD_READER_AT=2 BAD_READER=eat LD_PRELOAD="$BAD_LIBRARY" \
		"$HEAPAGENT" symbolize p.pb.gz |
		grep 'second: left without names: .* memory'
	one 1 "$SMALL" env BAD_READER_AT=2 BAD_READER=spin LD_PRELOAD="$BAD_LIBRARY" \
		"$HEAPAGENT" symbolize p.pb.gz |
		grep 'second: left without names: .* too long'
	# A split file that is a pipe: libdw opens it, and waits.
	g++ -O2 -g -gsplit-dwarf -o second "$SOURCE"
	rm ./*.dwo
	mkfifo "$(dwo_of second)"
	one 1 "$SMALL" "$HEAPAGENT" symbolize p.pb.gz |
		grep 'second: left without names: .* too long'
}

@test "many damaged files: not each of them is waited for" {
	local i programs=()
	for ((i = 0; i < 30; i++)); do
		cp inlined "p$i"
		programs+=("$PWD/p$i")
	done
	profile p.pb.gz "${programs[@]}"
	BAD_READER=crash BAD_READER_AT=0 LD_PRELOAD=$BAD_LIBRARY \
		run "$HEAPAGENT" symbolize p.pb.gz
	[ "$status" -eq 1 ]
	[ "$(grep -c 'left without names' <<<"$output")" -eq 9 ]
	[[ $output == *"and all files after it"* ]]
}

ended() {
	! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status"
}

@test "who ends the command ends its reader, too" {
	local pid child
	profile p.pb.gz "$PWD/inlined"
	BAD_READER=wait BAD_READER_AT=1 LD_PRELOAD=$BAD_LIBRARY \
		"$HEAPAGENT" symbolize p.pb.gz 3>&- &
	pid=$!
	wait_for 10 pgrep -P "$pid"
	child=$(pgrep -P "$pid")
	kill "$pid"
	wait_for 10 ended "$child"
	[ ! -e p.symbolized.pb.gz ]
}

@test "what the fuzzers kept: under sanitizers, and by the command" {
	local corpus=$ROOT/test/fuzz/corpus name file
	for name in "$corpus"/*; do
		name=$(basename "$name")
		timeout 300 "$ROOT/build/test/fuzz/${name}_replay" \
			"$corpus/$name"/* >/dev/null 2>replayed ||
			{
				tail -n 40 replayed
				false
			}
		tail -n 1 replayed | grep "^replayed $(find "$corpus/$name" -type f | wc -l)$"
	done
	for file in "$corpus"/profile/*; do
		status=0
		timeout 20 "$HEAPAGENT" text "$file" >out 2>err || status=$?
		[ "$status" -le 1 ] && [ "$(wc -l <err)" -le 1 ] || {
			echo "$file: $status"
			cat err
			false
		}
	done
}
