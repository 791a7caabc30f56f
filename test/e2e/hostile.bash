# SPDX-License-Identifier: Apache-2.0
# hostile.bash - what hostile.bats and hostile_text.bats share, after helpers.
# shellcheck disable=SC2034,SC2154 # set for and by the tests

HEAPAGENT=$ROOT/build/heapagent
MAKE=$ROOT/build/test/tools/profile_make
HOSTILE=$ROOT/test/tools/hostile
BAD_LIBRARY=$ROOT/build/test/prog/lib/bad_reader.so
SOURCE=$ROOT/test/prog/inlined.cc

# What the commands need for small files, and in MiB.
SMALL=100

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	g++ -O2 -g -o inlined "$BATS_TEST_DIRNAME/../prog/inlined.cc"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	ulimit -c 0
	cp "$BATS_FILE_TMPDIR/inlined" inlined
}

# profile OUT PROGRAM...: addresses all over the code of ./inlined, mapped once
# for each program, with the build-id $BUILD_ID if that is set.
profile() {
	local start size offset out=$1 number=0 program address
	shift
	read -r start size offset < <(readelf -lW inlined |
		awk '$1 == "LOAD" && / R E / { print $3, $5, $2 }')
	{
		echo "type space bytes"
		for program; do
			echo "mapping $((start + (number << 32)))" \
				"$((start + size + (number << 32)))" \
				"$offset $program ${BUILD_ID:--}"
			number=$((number + 1))
			for ((address = start; address < start + size; \
			address += 40)); do
				echo "sample 1 1 $number:$((address + \
					((number - 1) << 32)))"
			done
		done
	} | "$MAKE" "$out"
}

# one STATUS MIB COMMAND...: see test/tools/hostile.
one() {
	local status=$1 mib=$2
	shift 2
	"$HOSTILE" one "$status" "$mib" 60 "$@"
}

# named FILE PROGRAM: the frames in that program that have a line.
named() {
	"$DECODE" "$1" | grep "^ frame .*/$2+.*inlined.cc:" || true
}

# dwo_of PROGRAM: the split file that it refers to.
dwo_of() {
	readelf --debug-dump=info "$1" | awk '/dwo_name/ { print $NF; exit }'
}
