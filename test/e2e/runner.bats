#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# scripts/run-tests, on tests that fail in every way: none may look like a
# success.
bats_require_minimum_version 1.5.0

setup() {
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree"/{scripts,test/unit,test/e2e,build/test/unit}
	cp "$BATS_TEST_DIRNAME/../../scripts/run-tests" "$tree/scripts/"
	unit good 'echo 1..1; echo ok 1 - fine'
	printf '@test "fine" {\n\ttrue\n}\n' >"$tree/test/e2e/good.bats"
	# The runner that runs this very test must not be asked.
	unset TEST_LOGS TEST_FILE_SECONDS
}

# A unit test of that name, whose binary is a script.
unit() {
	touch "$tree/test/unit/$1_test.c"
	printf '#!/bin/sh\n%s\n' "$2" >"$tree/build/test/unit/$1_test"
	chmod +x "$tree/build/test/unit/$1_test"
}

tests() {
	run "$tree/scripts/run-tests" "$@"
	echo "$output"
}

last_line() {
	tail -n 1 <<<"$output"
}

@test "all is well: counted, status 0" {
	unit skips 'echo 1..1; echo "ok 1 - x # SKIP no such kernel"'
	tests
	[ "$status" -eq 0 ]
	[ "$(last_line)" = "2 passed, 0 failed, 1 skipped" ]
	[ "$(tail -n 3 <<<"$output" | head -n 2)" = "skipped:
    build/test/unit/skips_test: 1 - x # SKIP no such kernel" ]
	[[ $output == *"Result: PASS"* ]]
}

@test "cmocka's skip, which it calls not ok, is a skip" {
	unit skips 'echo 1..1; echo "not ok 1 # SKIP test_x"'
	tests unit
	[ "$status" -eq 0 ]
	[ "$(last_line)" = "1 passed, 0 failed, 1 skipped" ]
}

@test "a failed result is one even with exit status 0" {
	unit lies 'echo 1..1; echo not ok 1 - b; echo "# the reason"'
	tests unit
	[ "$status" -ne 0 ]
	[ "$(last_line)" = "1 passed, 1 failed, 0 skipped" ]
	[[ $output == *"the reason"* ]]
}

@test "a failing test is shown and counted" {
	unit bad 'echo 1..2; echo ok 1 - a; echo not ok 2 - b
		echo "# the reason"; echo "on stderr" >&2; exit 1'
	tests
	[ "$status" -ne 0 ]
	[ "$(last_line)" = "3 passed, 1 failed, 0 skipped" ]
	[[ $output == *"the reason"* && $output == *"on stderr"* ]]
	[ "$(tail -n 3 <<<"$output" | head -n 2)" = "failed:
    build/test/unit/bad_test: 2 - b" ]
}

@test "a test that dies, and one that fails after its last result" {
	unit dies 'kill -SEGV $$'
	unit late 'echo 1..1; echo ok 1 - a; exit 3'
	tests unit
	[ "$status" -ne 0 ]
	[ "$(last_line)" = "2 passed, 2 failed, 0 skipped" ]
}

@test "a test that stops halfway" {
	unit half 'echo 1..2; echo ok 1 - a'
	tests unit
	[ "$status" -ne 0 ]
	[[ $(last_line) == *" 1 failed"* ]]
}

@test "a test without end is ended, with its children" {
	unit hangs "sleep 300 & echo \$! >$BATS_TEST_TMPDIR/child; wait"
	TEST_UNIT_SECONDS=1 tests unit
	[ "$status" -ne 0 ]
	[[ $output == *"no end after 1 s"* ]]
	# Gone, or a zombie that its new parent has not yet reaped.
	run ! grep -q '^State:.*[RSD] ' \
		"/proc/$(cat "$BATS_TEST_TMPDIR/child")/status"
}

@test "a suite without tests, and one whose tests ran nothing" {
	rm "$tree"/test/e2e/*.bats
	tests
	[ "$status" -ne 0 ]
	[[ $output == *"suite e2e has no test"* ]]
	rm "$tree"/test/unit/*
	unit none 'echo 1..0'
	tests unit
	[ "$status" -ne 0 ]
	[[ $output == *"suite unit ran nothing"* ]]
}

@test "a test that was not built" {
	rm "$tree/build/test/unit/good_test"
	tests unit
	[ "$status" -ne 0 ]
	[[ $output == *"good_test is not there"* ]]
}

@test "a skip without a reason" {
	unit skips 'echo 1..1; echo "ok 1 # skip"'
	tests unit
	[ "$status" -ne 0 ]
	[[ $output == *"skip without a reason"* ]]
}

@test "help, and a wrong argument, before anything is run" {
	tests --help
	[ "$status" -eq 0 ]
	[[ $output == *"run-tests [SUITE|FILE]..."* && $output != *"passed"* ]]
	tests unit nothing
	[ "$status" -eq 2 ]
	[ "$(wc -l <<<"$output")" -eq 1 ]
	[[ $output == *"'nothing' is no suite"* ]]
	tests --check-arguments unit e2e
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "one file, and what is none" {
	unit bad 'echo 1..1; echo not ok 1; exit 1'
	tests test/unit/good_test.c
	[ "$status" -eq 0 ]
	[ "$(last_line)" = "1 passed, 0 failed, 0 skipped" ]
	tests nonsense
	[ "$status" -eq 2 ]
}
