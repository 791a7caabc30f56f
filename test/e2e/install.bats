#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# install.bats - what make install puts where, and that it is found there.
bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	make -s -C "$ROOT" install PREFIX=/opt/agent \
		DESTDIR="$BATS_FILE_TMPDIR" >/dev/null
}

setup() {
	stage=$BATS_FILE_TMPDIR
	share=$stage/opt/agent/share
}

@test "files and modes, under DESTDIR and PREFIX" {
	(cd "$stage" && find . -type f -printf '%m %P\n') | sort -k2 \
		>"$BATS_TEST_TMPDIR/have"
	diff "$BATS_TEST_TMPDIR/have" - <<-END
		755 opt/agent/bin/heapagent
		755 opt/agent/lib/heapagent/libheapagent-cxx.so
		755 opt/agent/lib/heapagent/libheapagent.so
		644 opt/agent/share/bash-completion/completions/heapagent
		644 opt/agent/share/man/man1/heapagent.1
	END
}

@test "without DESTDIR the same, also over what is there" {
	for i in 1 2; do
		make -s -C "$ROOT" install PREFIX="$BATS_TEST_TMPDIR" >/dev/null
	done
	diff -r "$BATS_TEST_TMPDIR/share" "$share"
	cmp "$BATS_TEST_TMPDIR/bin/heapagent" "$ROOT/build/heapagent"
}

@test "bash-completion finds the completion by itself" {
	run bash --norc -c '
		. /usr/share/bash-completion/bash_completion
		export XDG_DATA_DIRS=$0
		_completion_loader heapagent
		complete -p heapagent' "$share"
	[ "$output" = "complete -F _heapagent heapagent" ]
}

@test "man finds the manual by itself" {
	MANPATH=$share/man run --separate-stderr mman -w heapagent
	[ "$output" = "$share/man/man1/heapagent.1" ]
}
