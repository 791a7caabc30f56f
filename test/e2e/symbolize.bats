#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# symbolize.bats - names, files, lines and inlined functions, compared with
# other tools, from every kind of file that debug information comes in.

load helpers
load symbolize

@test "names, files, lines and inlined functions equal those of eu-addr2line" {
	local n=0 flags
	for flags in "-gdwarf-5" "-gdwarf-4" "-g -gz" "-gdwarf-4 -gz=zlib-gnu" \
		"-g -no-pie" "-g -O0" "-g3 -gdwarf-3"; do
		# shellcheck disable=SC2086 # words are wanted
		g++ -O2 $flags -o p$n "$SOURCE"
		run timeout 60 "$COMPARE" p$n "$ROOT/build"
		echo "$flags: $output"
		[ "$status" -eq 0 ]
		n=$((n + 1))
	done
}

@test "without .debug_aranges, as clang and rustc write, the same" {
	cp "$BATS_FILE_TMPDIR/inlined" whole
	objcopy --remove-section .debug_aranges whole bare
	run timeout 60 "$COMPARE" --debug whole bare "$ROOT/build"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "a stripped library of Debian's equals eu-addr2line" {
	for file in /usr/bin/sqlite3 /bin/bash; do
		run timeout 60 "$COMPARE" --count 3000 "$file" "$ROOT/build"
		echo "$file: $output"
		[ "$status" -eq 0 ]
	done
}

# same_as_whole PROGRAM [OPTION...]: what is found is what is found in a build
# with all in one file (for what eu-addr2line cannot read).
same_as_whole() {
	local program=$1 file start size offset address
	shift
	for file in whole "$program"; do
		read -r start size offset < <(code_of "$file")
		{
			echo "type space bytes"
			echo "mapping $start $((start + size)) $offset" \
				"$PWD/$file $(build_id "$file")"
			for ((address = start; address < start + size; \
			address += 7)); do
				echo "sample 1 1 1:$address"
			done
		} | "$MAKE" "$file.pb.gz"
		"$HEAPAGENT" symbolize "$@" -o "$file.named.pb.gz" "$file.pb.gz"
		frames "$file.named.pb.gz" | sed 's|^[^ ]*+|+|' >"$file.txt"
	done
	[ "$(grep -c 'inlined.cc:.*inlined.cc:' whole.txt)" -gt 5 ]
	diff whole.txt "$program.txt" | head
	cmp whole.txt "$program.txt"
}

@test "split DWARF: .dwo files" {
	for version in 4 5; do
		g++ -O2 -gdwarf-$version -o whole "$SOURCE"
		g++ -O2 -gdwarf-$version -gsplit-dwarf -o split "$SOURCE"
		[ -e split-inlined.dwo ]
		same_as_whole split
	done
}

@test "split DWARF: packages, .dwp" {
	local version packer packed=0
	# A unit with one range, and so a base address, beside one with several.
	cat >one.c <<-'END'
		static inline __attribute__((always_inline)) int
		square(int x) { return x * x; }
		static inline __attribute__((always_inline)) int
		next(int x) { if (x & 1) x = square(x); return x + 1; }
		int one(int x) { return x > 7 ? next(x) * 3 : next(x + 2); }
		int two(int x) { return next(one(x)); }
	END
	for version in 4 5; do
		# binutils 2.40's dwp dies of DWARF 5; LLVM's reads some files
		# and hangs on others.
		for packer in dwp llvm-dwp-14; do
			command -v $packer >/dev/null || continue
			rm -f ./*.dwo ./*.dwp
			gcc -O2 -gdwarf-$version -c -o one.o one.c
			g++ -O2 -gdwarf-$version -o whole "$SOURCE" one.o
			gcc -O2 -gdwarf-$version -gsplit-dwarf -c -o one.o one.c
			g++ -O2 -gdwarf-$version -gsplit-dwarf -o packed \
				"$SOURCE" one.o
			timeout 10 $packer -e packed -o packed.dwp || continue
			rm ./*.dwo
			same_as_whole packed
			grep -q 'square.*next.*two' packed.txt
			packed=$((packed + 1))
		done
	done
	[ "$packed" -ge 1 ]
}

@test ".gnu_debuglink: beside the program, in .debug, under a debug directory" {
	cp "$BATS_FILE_TMPDIR/inlined" whole
	objcopy --only-keep-debug whole p.debug
	strip -o p whole
	objcopy --add-gnu-debuglink=p.debug p
	mkdir -p .debug "tree$PWD"
	run timeout 60 "$COMPARE" --debug whole p "$ROOT/build"
	[ "$status" -eq 0 ]
	mv p.debug .debug/
	run timeout 60 "$COMPARE" --debug whole p "$ROOT/build"
	[ "$status" -eq 0 ]
	mv .debug/p.debug "tree$PWD/"
	run timeout 60 "$COMPARE" --debug whole p "$ROOT/build" \
		--debug-dir tree
	echo "$output"
	[ "$status" -eq 0 ]
	# Another file of that name: its checksum differs.
	cp "tree$PWD/p.debug" p.debug
	printf x >>p.debug
	run timeout 60 "$COMPARE" --debug whole p "$ROOT/build"
	[ "$status" -eq 1 ]
}

@test ".build-id tree: with the program, and without it" {
	local id dir
	id=$(build_id "$BATS_FILE_TMPDIR/inlined")
	dir=tree/.build-id/${id:0:2}
	mkdir -p "$dir"
	objcopy --only-keep-debug "$BATS_FILE_TMPDIR/inlined" \
		"$dir/${id:2}.debug"
	profile a.pb.gz /gone/inlined "$id" "$(sell)"
	"$HEAPAGENT" symbolize --debug-dir tree a.pb.gz -o b.pb.gz
	frames b.pb.gz
	frames b.pb.gz | grep -Eq "$inline_chain"
	strip -o "$dir/${id:2}" "$BATS_FILE_TMPDIR/inlined"
	"$HEAPAGENT" symbolize --debug-dir tree a.pb.gz -o c.pb.gz
	[ "$(frames c.pb.gz)" = "$(frames b.pb.gz)" ]
}

@test "MiniDebugInfo names what only .symtab has" {
	cp "$BATS_FILE_TMPDIR/inlined" whole
	nm -D whole --format=posix --defined-only | awk '{ print $1 }' |
		sort >dynamic
	nm whole --format=posix --defined-only |
		awk '$2 ~ /^[TtW]$/ { print $1 }' | sort >all
	comm -13 dynamic all >keep
	objcopy -S --remove-section .gnu_debuglink --keep-symbols=keep whole \
		mini 2>/dev/null
	xz -k mini
	strip -o p whole
	objcopy --add-section .gnu_debugdata=mini.xz p
	profile a.pb.gz "$PWD/p" "$(build_id p)" "$(sell)"
	"$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
	frames b.pb.gz | grep -q "shop::sell(unsigned long)"
	objcopy --remove-section .gnu_debugdata p
	run "$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
	[[ $output == *"0 of 1 addresses named, 1 unresolved"* ]]
}

@test "--sysroot: the program's files elsewhere, links inside it" {
	local id
	id=$(build_id "$BATS_FILE_TMPDIR/inlined")
	mkdir -p root/opt/real root/usr
	cp "$BATS_FILE_TMPDIR/inlined" root/opt/real/prog
	# An absolute link means the sysroot's directory, not this machine's.
	ln -s /opt/real root/usr/bin
	profile a.pb.gz /usr/bin/prog "$id" "$(sell)"
	"$HEAPAGENT" symbolize --sysroot root a.pb.gz -o b.pb.gz
	frames b.pb.gz | grep -Eq "$inline_chain"
	run "$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
	[[ $output == *"1 unresolved"* ]]
}

@test "a file with another build-id is refused, and named" {
	local id
	id=$(build_id "$BATS_FILE_TMPDIR/inlined")
	g++ -O1 -g -o rebuilt "$SOURCE"
	profile a.pb.gz "$PWD/rebuilt" "$id" "$(sell)"
	run "$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == *"$PWD/rebuilt: not used"*"$id"* ]]
	[[ ${lines[1]} == *"0 of 1 addresses named, 1 unresolved"* ]]
	# The mapping's name as the kernel writes it after the replacement.
	profile a.pb.gz "$PWD/rebuilt (deleted)" "$(build_id rebuilt)" \
		"$(address_of rebuilt "shop::sell(unsigned long)")"
	run "$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
	[[ $output == *"0 unresolved"* ]]
}

@test "two libraries that were at one address keep their own names" {
	local n start size offset address
	echo 'type space bytes' >text
	for n in 1 2; do
		echo "void *f$n(void *p) { return (char *)p + 1; }" >$n.c
		gcc -O2 -g -shared -fPIC -o lib$n.so $n.c
		read -r start size offset < <(code_of lib$n.so)
		echo "mapping $((0x7f0000000000 + start))" \
			"$((0x7f0000000000 + start + size)) $offset" \
			"$PWD/lib$n.so $(build_id lib$n.so)" >>text
	done
	for n in 1 2; do
		address=$(($(address_of lib$n.so f$n) - 4 + 0x7f0000000000))
		echo "sample 1 1 $n:$address" >>text
	done
	"$MAKE" a.pb.gz <text
	"$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
	frames b.pb.gz
	[ "$(frames b.pb.gz | awk '{ print $1 }' | tr '\n' ' ')" = "f1 f2 " ]
}

# library NAME: exports twin_take(), which allocates in take_NAME().
library() {
	cat >"$1.c" <<-EOF
		#include <stdlib.h>
		static __attribute__((noinline)) void *take_$1(size_t bytes)
		{
			return memset(malloc(bytes), 1, bytes);
		}
		void *twin_take(size_t bytes) { return take_$1(bytes); }
	EOF
	gcc -O2 -g -include string.h -fno-optimize-sibling-calls -shared -fPIC \
		-o "$1.so" "$1.c"
}

@test "a dump of a program whose libraries were closed, at one address, and moved" {
	local same total
	library east
	library west
	export HEAPAGENT_DIR=$PWD
	HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 preloaded "$PROG/twins" \
		"$PWD"/{east,west}.so 100 >out
	read -r same _ total <out
	[ "$same" -gt $((total / 2)) ]
	"$HEAPAGENT" symbolize "$(newest heap)" -o here.pb.gz
	[ "$(sum here.pb.gz alloc_space " take_east .*/east.c:")" = 10000 ]
	[ "$(sum here.pb.gz alloc_space " take_west .*/west.c:")" = 20000 ]
	# Their files are elsewhere, as on another machine.
	mkdir -p "root$PWD"
	mv east.so west.so "root$PWD"
	"$HEAPAGENT" symbolize --sysroot root "$(newest heap)" -o moved.pb.gz
	[ "$(sum moved.pb.gz alloc_space " take_east .*/east.c:")" = 10000 ]
	[ "$(sum moved.pb.gz alloc_space " take_west .*/west.c:")" = 20000 ]
	# One was built anew since, and may have nothing where it was.
	cp "root$PWD/east.so" .
	sed -i 's/take_west/take_new/g; 1i int added;' west.c
	gcc -O1 -g -include string.h -shared -fPIC -o west.so west.c
	"$HEAPAGENT" symbolize "$(newest heap)" -o new.pb.gz 2>said
	grep -F "$PWD/west.so: not used" said
	[ "$(sum new.pb.gz alloc_space " take_east .*/east.c:")" = 10000 ]
	[ "$(sum new.pb.gz alloc_space 'take_(west|new)|west.c')" = 0 ]
}

@test "the vDSO has no file, and has names" {
	python3 - <<-'END'
		maps = [l.split() for l in open("/proc/self/maps")]
		low, high = [int(x, 16) for l in maps if l[-1] == "[vdso]"
			     for x in l[0].split("-")]
		memory = open("/proc/self/mem", "rb")
		memory.seek(low)
		open("vdso", "wb").write(memory.read(high - low))
	END
	printf '%s\n' "type space bytes" \
		"mapping 0x7ffc0000 0x7ffd0000 0 [vdso] $(build_id vdso)" \
		"sample 1 1 1:$((0x7ffc0000 + 1 + 0x$(nm -D vdso |
			awk '$3 ~ /__vdso_gettimeofday/ { print $1; exit }')))" |
		"$MAKE" a.pb.gz
	"$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
	frames b.pb.gz | grep -q gettimeofday
	# Another kernel's: its build-id differs.
	printf '%s\n' "type space bytes" \
		"mapping 0x7ffc0000 0x7ffd0000 0 [vdso] 0123456789" \
		"sample 1 1 1:0x7ffc0a00" | "$MAKE" a.pb.gz
	run "$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
	[[ $output == *"1 unresolved"* ]]
}

@test "everything else of the profile stays" {
	profile a.pb.gz "$BATS_FILE_TMPDIR/inlined" \
		"$(build_id "$BATS_FILE_TMPDIR/inlined")" "$(sell)"
	"$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
	"$DECODE" a.pb.gz >a.txt
	"$DECODE" b.pb.gz | sed -E "s/^( frame [^ ]+ [^ ]+ [^ ]+) .*/\1/" >b.txt
	sed -i -E "s/^( frame [^ ]+ [^ ]+ [^ ]+) .*/\1/" a.txt
	diff a.txt b.txt
	# A second run has nothing to do.
	run "$HEAPAGENT" symbolize b.pb.gz -o c.pb.gz
	[[ $output == *"0 of 0 addresses named"* ]]
	[ "$("$DECODE" b.pb.gz)" = "$("$DECODE" c.pb.gz)" ]
	"$CHECKVALID" b.pb.gz
}

@test "--no-inlines: the function alone, at the line of the call" {
	profile a.pb.gz "$BATS_FILE_TMPDIR/inlined" \
		"$(build_id "$BATS_FILE_TMPDIR/inlined")" "$(sell)"
	"$HEAPAGENT" symbolize --no-inlines a.pb.gz -o b.pb.gz
	[ "$(frames b.pb.gz | grep -o 'inlined.cc:' | wc -l)" -eq 1 ]
}

# refuses STATUS COMMAND...: it ends so, and says why in one line.
refuses() {
	local wanted=$1
	shift
	run timeout 20 "$HEAPAGENT" "$@"
	echo "$*: $status: $output"
	[ "$status" -eq "$wanted" ]
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == heapagent:* ]]
}

@test "bad input: one line that names the file, and no output file" {
	local before after
	profile good.pb.gz /x - 0x1000
	: >empty.pb.gz
	head -c 40 good.pb.gz >short.pb.gz
	head -c 5000 /dev/urandom >random.pb.gz
	gzip -c /bin/true >elf.pb.gz
	ln -s loop loop
	mkdir -p directory
	before=$(ls)
	for file in none.pb.gz empty.pb.gz short.pb.gz random.pb.gz elf.pb.gz \
		loop directory; do
		for command in symbolize top tree flame inuse; do
			refuses 1 $command $file
			[[ $output == *"$file: "* ]]
		done
		refuses 1 peek x $file
		refuses 1 diff $file good.pb.gz
		refuses 1 delta good.pb.gz $file
		refuses 1 flame --diff $file good.pb.gz
	done
	refuses 1 symbolize good.pb.gz -o none/out.pb.gz
	refuses 1 symbolize good.pb.gz -o /dev/full
	refuses 1 top --sample_index=apples good.pb.gz
	[[ $output == *apples*space* ]]
	after=$(ls)
	[ "$before" = "$after" ]
}

@test "wrong calls: one line, status 2" {
	refuses 2 symbolize
	refuses 2 symbolize --bogus x
	refuses 2 symbolize a b -o c
	refuses 2 symbolize x -o
	refuses 2 top
	refuses 2 top a b
	refuses 2 top --focus '(' a
	refuses 2 top --nodecount many a
	refuses 2 top --diff a b
	refuses 2 peek a
	refuses 2 peek '(' a
	refuses 2 diff a
	refuses 2 flame a b
	refuses 2 delta a
	refuses 2 inuse
}

@test "a mapping whose file is no program: not read, not waited for" {
	mkfifo pipe
	ln -s loop loop
	head -c 100 "$BATS_TEST_FILENAME" >text
	mkdir -p directory
	for file in pipe loop text directory none; do
		profile a.pb.gz "$PWD/$file" - 0x1100
		run timeout 20 "$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
		[ "$status" -eq 0 ]
		[[ $output == *"1 unresolved"* ]]
	done
}

@test "damaged programs: refused or read, never a crash" {
	local i size said=0
	size=$(stat -c %s "$BATS_FILE_TMPDIR/inlined")
	RANDOM=1
	for ((i = 0; i < 60; i++)); do
		cp "$BATS_FILE_TMPDIR/inlined" damaged
		for ((j = 0; j < 30; j++)); do
			printf '\%o' $((RANDOM % 256)) >byte
			# shellcheck disable=SC2059
			printf "$(cat byte)" | dd of=damaged bs=1 conv=notrunc \
				seek=$((RANDOM * 32768 % size + RANDOM % 512)) \
				status=none
		done
		[ $((i % 3)) -gt 0 ] || truncate -s $((RANDOM * size / 32768)) \
			damaged
		profile a.pb.gz "$PWD/damaged" - "$(sell)"
		run timeout 20 "$HEAPAGENT" symbolize a.pb.gz -o b.pb.gz
		"$CHECKVALID" b.pb.gz
		[ "$status" -eq 0 ] || { # not all damage can be seen
			[ "$status" -eq 1 ]
			[ "${#lines[@]}" -eq 2 ]
			[[ ${lines[0]} == "heapagent: $PWD/damaged: "* ]]
			said=$((said + 1))
		}
	done
	# Those cut short, at least.
	[ "$said" -ge 20 ]
}
