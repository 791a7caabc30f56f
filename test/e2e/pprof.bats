#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# pprof.bats - profiles of made-up stacks, as other readers understand them:
# google/pprof's parser, `go tool pprof`, and protobuf-c's generated code.

setup() {
	tools="${BUILD:-$BATS_TEST_DIRNAME/../../build}/test/tools"
	export HOME=$BATS_TEST_TMPDIR PPROF_TMPDIR=$BATS_TEST_TMPDIR
	file=$BATS_TEST_TMPDIR/a.pb.gz
}

encode() {
	timeout 60 "$tools/pprof_encode" "$file" "$1" "$2"
}

@test "google/pprof finds profiles of every size valid" {
	for shape in "0 1" "1 1" "1 512" "100 512" "20000 20"; do
		rm -f "$file"
		# shellcheck disable=SC2086
		encode $shape
		run timeout 60 "$tools/checkvalid" "$file"
		[ "$status" -eq 0 ]
		[ -z "$output" ]
	done
}

@test "both readers see the same samples" {
	encode 500 20
	# alloc_objects alloc_space inuse_objects inuse_space, in order
	timeout 60 go tool pprof -raw "$file" 2>/dev/null |
		sed -n 's/^ *\([0-9 ]*[0-9]\): [0-9 ]*$/\1/p' |
		awk '{ print $1, $2, $3, $4 }' >"$BATS_TEST_TMPDIR/go"
	"$tools/pprof_decode" "$file" | awk '/^sample / {
		gsub(/[a-z_]*=/, ""); print $2, $3, $4, $5
	}' >"$BATS_TEST_TMPDIR/own"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/own")" -eq 500 ]
	# pprof adds samples of equal stacks and labels together.
	# shellcheck disable=SC2016
	sum='{ a += $1; b += $2; c += $3; d += $4 }
		END { print a, b, c, d }'
	[ "$(awk "$sum" "$BATS_TEST_TMPDIR/go")" = \
		"$(awk "$sum" "$BATS_TEST_TMPDIR/own")" ]
}

@test "pprof shows types, period, labels and the main program" {
	encode 500 20
	run timeout 60 go tool pprof -raw "$file"
	[ "$status" -eq 0 ]
	[[ $output == *"PeriodType: space bytes"* ]]
	[[ $output == *"Period: 524288"* ]]
	[[ $output == *"alloc_objects/count alloc_space/bytes"* ]]
	[[ $output == *"inuse_objects/count inuse_space/bytes[dflt]"* ]]
	[[ $output == *"bytes:[1024 bytes]"* ]]
	[[ $output == *"[truncated]"* ]]
	run timeout 60 go tool pprof -top "$file"
	[ "$status" -eq 0 ]
	[[ $output == *"File: program"* ]]
	[[ $output == *"made by pprof_encode"* ]]
	[[ $output == *"Type: inuse_space"* ]]
}

@test "two libraries that stood at one address keep their own frames" {
	encode 2000 20
	run "$tools/pprof_decode" "$file"
	[ "$status" -eq 0 ]
	range='0x7ffff4001000-0x7ffff4011000 @0x1000'
	[[ $output == *"$range /usr/lib/plugins/old.so"* ]]
	[[ $output == *"$range /usr/lib/plugins/new.so"* ]]
	own() {
		"$tools/pprof_decode" "$file" | grep -c "^ frame .*plugins/$1"
	}
	run timeout 60 go tool pprof -raw "$file"
	# Distinct locations by mapping id, in both readers.
	for name in old new; do
		id=$(sed -n "s/^\([0-9]*\): .*plugins\/$name.so.*/\1/p" \
			<<<"$output")
		[ -n "$id" ]
		theirs=$(sed -n '/^Locations/,/^Mappings/p' <<<"$output" |
			grep -c "M=$id ")
		ours=$("$tools/pprof_decode" "$file" |
			grep "^ frame .*plugins/$name" | sort -u | wc -l)
		[ "$ours" -gt 10 ]
		[ "$ours" -eq "$theirs" ]
		[ "$(own $name)" -ge "$ours" ]
	done
}

@test "the decoder says what is wrong with a file, in one line" {
	encode 100 10
	decode() {
		run "$tools/pprof_decode" "$1"
		[ "$status" -eq 1 ]
		[[ ${lines[-1]} == "$1: $2" ]]
	}
	decode "$BATS_TEST_TMPDIR/none" "cannot be opened"
	head -c 3000 "$file" >"$BATS_TEST_TMPDIR/cut"
	decode "$BATS_TEST_TMPDIR/cut" "is cut off"
	gunzip -c "$file" >"$BATS_TEST_TMPDIR/plain"
	decode "$BATS_TEST_TMPDIR/plain" "is not gzip"
	printf 'not a profile' | gzip >"$BATS_TEST_TMPDIR/text"
	decode "$BATS_TEST_TMPDIR/text" "is not a profile"
	printf '' | gzip >"$BATS_TEST_TMPDIR/empty"
	decode "$BATS_TEST_TMPDIR/empty" \
		"the first string is not the empty one"
	# sample_type {}, string_table "", a sample of two values
	printf '\x0a\x00\x32\x00\x12\x04\x12\x02\x01\x01' | gzip \
		>"$BATS_TEST_TMPDIR/values"
	decode "$BATS_TEST_TMPDIR/values" "sample 0 has 2 values for 1 types"
	# ... and a location of an unknown mapping
	printf '\x0a\x00\x32\x00\x22\x06\x08\x01\x10\x07\x18\x09' | gzip \
		>"$BATS_TEST_TMPDIR/mapping"
	decode "$BATS_TEST_TMPDIR/mapping" "location 1 has no mapping"
}

@test "checkvalid names each file that is not valid" {
	encode 10 10
	printf 'x' >"$BATS_TEST_TMPDIR/bad"
	run "$tools/checkvalid" "$file" "$BATS_TEST_TMPDIR/bad" "$file"
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == "$BATS_TEST_TMPDIR/bad: "* ]]
}

@test "a name that is taken, and a full file size, leave nothing behind" {
	encode 10 10
	run encode 10 10
	[ "$status" -eq 1 ]
	[[ $output == *"File exists"* ]]
	[ "$(ls -A "$BATS_TEST_TMPDIR")" = a.pb.gz ]
	rm "$file"
	run bash -c "trap '' XFSZ; ulimit -f 8; '$tools/pprof_encode' '$file' \
		20000 20"
	[ "$status" -eq 1 ]
	[[ $output == *"File too large"* ]]
	[ -z "$(ls -A "$BATS_TEST_TMPDIR")" ]
}
