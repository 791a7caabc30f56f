#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Stacks that are hard to walk: deep, small, foreign, interrupted anywhere,
# with code that no unwind table describes or that a wrong one does.

load helpers

# Every sample of the dump at exit but the C library's own start-up leads to
# the outermost frame.
all_complete() {
	[ "$(counter "$(newest heap)" stacks_truncated_unwind)" = 0 ]
	[ "$(counter "$(newest heap)" stacks_truncated_depth)" = 0 ]
}

# --- row 3

@test "a storm of dumps while three threads walk deep stacks" {
	export HEAPAGENT_DEPTH=512
	oracle -i 1 "$PROG/deep_stacks" 60000 150
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "60000 60000 60000" ]
	[ "$asked" -ge 20 ]
	nothing_dropped
	all_complete
	heap=$(newest heap)
	# None was lost: each was a dump of its own or merged into one.
	written=$(counter "$heap" dumps_written)
	merged=$(counter "$heap" dumps_merged)
	[ "$written" -ge 5 ]
	[ $((written + merged)) -ge $((asked / 2)) ]
	exit_stacks "$PROG/deep_stacks"
	[ "$(with ' leaf \| .* run \|' alloc_objects)" = 180000 ]
	# Eight bits of the path make 256 stacks, each of 2 * 150 frames.
	[ "$(grep -c ' leaf |' "$BATS_TEST_TMPDIR/stacks")" -ge 256 ]
	awk -F'|' '/ leaf / && NF < 300 { short = 1 } END { exit short }' \
		"$BATS_TEST_TMPDIR/stacks"
}

# --- row 5

@test "coroutines on mapped stacks between guard pages, and on heap blocks" {
	oracle "$PROG/foreign_stacks" 20000
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = 640000 ]
	nothing_dropped
	exit_stacks "$PROG/foreign_stacks"
	[ "$(with ' take_in_coroutine \| [^|]* body' alloc_objects)" = 640000 ]
	[ "$(with ' take_in_coroutine' inuse_objects)" = 8 ]
}

@test "interrupted at every instruction of own code, PLT, loader and vDSO" {
	oracle "$PROG/every_instruction" "$BATS_TEST_TMPDIR/steps"
	steps=$(cat "$BATS_TEST_TMPDIR/steps")
	[ "$steps" -ge 1000 ]
	nothing_dropped
	all_complete
	exit_stacks "$PROG/every_instruction"
	[ "$(with ' on_step \| .* main \| .* _start$' alloc_objects)" = \
		"$steps" ]
	[ "$(with ' on_step .* leaf \| .* with_frame_pointer \| ' \
		alloc_objects)" -ge 2 ]
	[ "$(with ' on_step .*/ld-linux.* step_through_plt ' \
		alloc_objects)" -ge 500 ]
	[ "$(with ' on_step .*vdso.* step_through_vdso ' \
		alloc_objects)" -ge 50 ]
}

@test "malloc from machine code made at run time" {
	oracle "$PROG/jit" 30000
	nothing_dropped
	exit_stacks "$PROG/jit"
	[ "$(with 'bytes=40bytes.* call_with \| .* main \|' \
		alloc_objects)" = 30000 ]
	[ "$(with 'bytes=50bytes' alloc_objects)" = 30000 ]
	[ "$(with 'bytes=60bytes.* call_and_unmap \| .* main \|' \
		alloc_objects)" = 30000 ]
}

@test "a library whose unwind tables are damaged" {
	for section in .eh_frame .eh_frame_hdr; do
		objcopy --dump-section "$section=$BATS_TEST_TMPDIR/good" \
			"$PROG/lib/plain.so" "$BATS_TEST_TMPDIR/copy.so"
		size=$(stat -c %s "$BATS_TEST_TMPDIR/good")
		for seed in 1 2 3 4 5 6; do
			# Some bytes of it, or all; and all ones.
			damage $seed "$size" <"$BATS_TEST_TMPDIR/good" \
				>"$BATS_TEST_TMPDIR/bad"
			objcopy --update-section \
				"$section=$BATS_TEST_TMPDIR/bad" \
				"$PROG/lib/plain.so" "$BATS_TEST_TMPDIR/bad.so"
			oracle -i 5 "$PROG/call_library" \
				"$BATS_TEST_TMPDIR/bad.so" 1000
			nothing_dropped
			exit_stacks
			[ "$(with 'bytes=90bytes \| [^|]*/bad.so' \
				alloc_objects)" = 1000 ]
			rm -f "$HEAPAGENT_DIR"/*
		done
	done
}

# damage SEED SIZE: the input with more and more of its bytes random.
damage() {
	perl -e '
		my ($seed, $size) = @ARGV;
		srand($seed);
		binmode STDIN; binmode STDOUT;
		read(STDIN, my $data, $size);
		my $n = $seed == 6 ? $size : 2 ** (2 * $seed - 1);
		for my $i (1 .. $n) {
			my $at = $seed == 6 ? $i - 1 : int(rand($size));
			substr($data, $at, 1) = $seed == 6 ? "\xff"
				: chr(int(rand(256)));
		}
		print $data' "$1" "$2"
}

# --- row 6

@test "threads with the smallest stack, used up but for 1.5 KiB" {
	# Without signals: while the main thread is in the handler, the next one
	# may go to such a thread, where no handler's frame has room.
	oracle -i 0 "$PROG/small_stacks" threads 1536
	[ "$status" -eq 0 ]
	nothing_dropped
	exit_stacks "$PROG/small_stacks"
	# 20 threads, 200 rounds of a malloc, a calloc and a realloc.
	[ "$(with ' take_all_sizes ' alloc_objects)" = 12000 ]
	rm -f "$HEAPAGENT_DIR"/*
	oracle -i 2 "$PROG/small_stacks" threads 6144
	[ "$status" -eq 0 ]
}

# On each kind of stack: with hardly enough room for malloc itself nothing is
# sampled and nothing hurt, with a little more everything is.
@test "hardly any room on threads' and coroutines' and alternate stacks" {
	local kind left
	for kind in threads coroutines handler; do
		for left in 500 700 900 1100; do
			oracle -i 0 "$PROG/small_stacks" $kind $left
			[ "$status" -eq 0 ]
			nothing_dropped
			dropped=$(counter "$(newest heap)" \
				samples_dropped_small_stack)
			exit_stacks "$PROG/small_stacks"
			taken=$(with ' take_all_sizes ' alloc_objects)
			# Of 200 rounds, in each of the 20 threads, three.
			rounds=$([ $kind = threads ] && echo 4000 || echo 200)
			[ $((taken + dropped)) -ge $((3 * rounds)) ]
			[ $left -gt 700 ] || [ "${taken:-0}" -eq 0 ]
			rm -f "$HEAPAGENT_DIR"/*
		done
		oracle -i 0 "$PROG/small_stacks" $kind 1600
		[ "$(counter "$(newest heap)" samples_dropped_small_stack)" = 0 ]
		exit_stacks "$PROG/small_stacks"
		[ "$(with ' take_all_sizes .* descend ' alloc_objects)" = \
			$((3 * rounds)) ]
		rm -f "$HEAPAGENT_DIR"/*
	done
}

@test "malloc in a handler on a small alternate stack: the stack it came from" {
	HEAPAGENT_DEPTH=512 oracle -i 0 "$PROG/small_stacks" handler 2048
	grep -qx "small alternate stack ok: 1" "$BATS_TEST_TMPDIR/out"
	exit_stacks "$PROG/small_stacks"
	[ "$(with ' on_signal \| .* main \|' alloc_objects)" = 600 ]
}

# questions COMMAND...: how often a command asks the kernel for what a walk may
# read, by the system calls that do it.
questions() {
	timeout 60 strace -f -qq -o "$BATS_TEST_TMPDIR/calls" \
		-e trace=rt_sigprocmask,sigaltstack -e signal=none "$@" \
		>"$BATS_TEST_TMPDIR/out" || return
	grep -c '(' "$BATS_TEST_TMPDIR/calls" || true
}

@test "a sample on a coroutine's stack makes two system calls at most" {
	local kind where bare asked
	for kind in heap slab mapped guarded within; do
		for where in thread main; do
			bare=$(questions "$PROG/fibers" $kind $where 25)
			grep -qx 2000 "$BATS_TEST_TMPDIR/out"
			asked=$(questions env LD_PRELOAD="$AGENT" \
				HEAPAGENT_RATE=1 HEAPAGENT_AT_EXIT=1 \
				"$PROG/fibers" $kind $where 25)
			grep -qx 2000 "$BATS_TEST_TMPDIR/out"
			exit_stacks "$PROG/fibers"
			[ "$(with ' take_in_fiber \| [^|]* body' \
				alloc_objects)" = 2000 ]
			all_complete
			echo "$kind $where: $bare without the agent, $asked"
			# 200: the agent's start and the dump at the end.
			[ "$((asked - bare))" -le "$((2 * 2000 + 200))" ]
			rm -f "$HEAPAGENT_DIR"/*
		done
	done
}

@test "code without unwind tables: any number in rbp, holes, hidden code" {
	local what
	for what in numbers hole hidden; do
		oracle "$PROG/odd_registers" $what
		[ "$status" -eq 0 ]
		nothing_dropped
		exit_stacks "$PROG/odd_registers"
		[ "$(with '^[^|]*\| [^|]* take \|' alloc_objects)" -ge 2 ]
		rm -f "$HEAPAGENT_DIR"/*
	done
}

@test "frames that call themselves a signal's, and OCaml's way from stack to stack" {
	oracle "$PROG/asm_frames" plain 1000
	nothing_dropped
	exit_stacks "$PROG/asm_frames"
	[ "$(with ' leaf \| [^|]* via_s \| [^|]* main \| .* _start$' \
		alloc_objects)" = 1000 ]
	rm -f "$HEAPAGENT_DIR"/*
	oracle "$PROG/asm_frames" switch 1000
	all_complete
	exit_stacks "$PROG/asm_frames"
	local through=' leaf \| [^|]* call_c \| [^|]* inner_program \| '
	through+='[^|]* start_on \| [^|]* call_back \| [^|]* call_c \| '
	through+='[^|]* outer_program \| [^|]* start_on \| [^|]* main \| '
	[ "$(with "$through.* _start\$" alloc_objects)" = 1000 ]
}
