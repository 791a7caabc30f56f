#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What linking promises (docs/design.md): the library brings nothing into a
# program but the hooks, and needs nothing but libc.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	library=build/libheapagent.so
	[ -f "$library" ]
}

# The names between "global:" and "local:" of the version script.
listed_names() {
	sed -n '/global:/,/local:/p' agent/libheapagent.map |
		sed -n 's/^[[:space:]]*\([a-z_0-9]*\);.*$/\1/p' | sort
}

dynamic() {
	readelf -dW "$library"
}

@test "exports exactly the hooks of the version script" {
	listed_names >"$BATS_TEST_TMPDIR/listed"
	nm -D --defined-only "$library" | awk '{print $3}' | sort \
		>"$BATS_TEST_TMPDIR/exported"
	[ -s "$BATS_TEST_TMPDIR/listed" ]
	diff "$BATS_TEST_TMPDIR/listed" "$BATS_TEST_TMPDIR/exported"
}

# Not the loader's file either: musl takes the name libc.so.6 for itself, and
# a program of its would not start for want of any other.
@test "needs libc alone" {
	run -0 bash -c "readelf -dW $library | grep NEEDED"
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == *"[libc.so.6]"* ]]
}

# One version more, and no program starts on an older libc; a weak one, and
# the loader there says so in a line of the program's.
@test "needs no version of a symbol that glibc 2.17 lacks" {
	run -0 bash -c "readelf -VW $library | grep -o 'Name: [A-Z][A-Za-z_0-9.]*'"
	newest=$(printf '%s\n' "${lines[@]#Name: }" GLIBC_2.17 | sort -V | tail -n 1)
	[ "$newest" = GLIBC_2.17 ]
	[[ $output == *"Name: GLIBC_2.2.5"* ]]
}

@test "asks the loader for no thread-local memory" {
	run nm -D --undefined-only "$library"
	[ "$status" -eq 0 ]
	[[ $output != *__tls_get_addr* ]]
	run dynamic
	[[ $output == *STATIC_TLS* ]]
}

@test "static TLS is at most 64 bytes" {
	size=$(readelf -lW "$library" | awk '$1 == "TLS" {print $6}')
	[ -n "$size" ]
	[ $((size)) -le 64 ]
}

@test "binds every symbol at start, and stays loaded" {
	run dynamic
	[[ $output == *BIND_NOW* || $output == *"Flags:"*NOW* ]]
	[[ $output == *NODELETE* ]]
}

@test "needs no executable stack and no text relocation" {
	stack=$(readelf -lW "$library" | awk '$1 == "GNU_STACK" {print $7}')
	[ "$stack" = RW ]
	run dynamic
	[[ $output != *TEXTREL* ]]
}

@test "uses no libm, stdio or allocating libc function" {
	run nm -D --undefined-only "$library"
	[ "$status" -eq 0 ]
	for name in malloc printf fprintf snprintf fopen strdup exp log log2 \
		pthread_getattr_np pthread_mutex_lock backtrace \
		memcpy memmove memset memcmp strlen strcmp strchr; do
		[[ ! $output =~ " U $name"(@|$'\n'|$) ]]
	done
}
