# SPDX-License-Identifier: Apache-2.0
# symbolize.bash - what symbolize.bats and symbolize_elsewhere.bats share, after
# helpers.
# shellcheck disable=SC2034,SC2154 # set for and by the tests

HEAPAGENT=$ROOT/build/heapagent
MAKE=$ROOT/build/test/tools/profile_make
COMPARE=$ROOT/test/tools/compare_names
SOURCE=$ROOT/test/prog/inlined.cc

setup_file() {
	# One program, so that split and stripped forms of it can be compared.
	cd "$BATS_FILE_TMPDIR" || return
	g++ -O2 -g -o inlined "$BATS_TEST_DIRNAME/../prog/inlined.cc"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export HOME=$BATS_TEST_TMPDIR PPROF_TMPDIR=$BATS_TEST_TMPDIR
	export TMPDIR=$BATS_TEST_TMPDIR
}

build_id() {
	readelf -n "$1" | awk '/Build ID/ { print $3 }'
}

# code_of FILE: start, size and file offset of its code segment.
code_of() {
	readelf -lW "$1" | awk '$1 == "LOAD" && / R E / { print $3, $5, $2 }'
}

# address_of FILE FUNCTION: where it begins, plus four bytes.
address_of() {
	printf '0x%x\n' $((0x$(nm -C "$1" | awk -v name="$2" '
		{ address = $1; sub(/^[^ ]* . /, ""); if ($0 == name) {
			print address; exit } }') + 4))
}

# profile OUT NAME BUILDID [ADDRESS...]: of the code of ./inlined, mapped at
# its own addresses, under another name.
profile() {
	local start size offset address out=$1
	read -r start size offset < <(code_of "$BATS_FILE_TMPDIR/inlined")
	{
		echo "type space bytes"
		echo "mapping $start $((start + size)) $offset $2 $3"
		shift 3
		for address; do echo "sample 1 1 1:$address"; done
	} | "$MAKE" "$out"
}

# The frame lines of a symbolized profile.
frames() {
	"$DECODE" "$1" | sed -n 's/^ frame [^ ]* [^ ]* [^ ]* //p'
}

sell() {
	address_of "$BATS_FILE_TMPDIR/inlined" "shop::sell(unsigned long)"
}

inline_chain="shop::sell[(]unsigned long[)] .*inlined.cc:[0-9]+$"
