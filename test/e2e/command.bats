#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `heapagent run` and `heapagent dump`: what they do, and that each thing that
# can be wrong is said in one line.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a process of its own
bats_require_minimum_version 1.5.0

load command

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
