#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Our walks and libunwind's, compared frame by frame at each instruction of
# code of many shapes, and at many thousands of points of real programs.
#
# Where they differ, one of these must be why, or the test fails:
# - libunwind leads to where no code is, or ends, and ours goes on: it takes
#   a row of the wrong function where a call is a function's last instruction;
# - ours ends after a frame of libc or libgcc: in longjmp and at the end of
#   _Unwind_Resume the CFA is in a register that is not saved anywhere.
#
# At each of these points where fp is a frame's, its distance from sp is worked
# out from the code alone, too, as for a thread that is not stopped: it may not
# be known, but not be wrong.

load helpers

COMPARE=$PROG/unwind_compare

# compare COMMAND...: runs it under the comparison; the lines are in $out.
compare() {
	out=$BATS_TEST_TMPDIR/out
	UNWIND_COMPARE_OUT=$out LD_PRELOAD=$COMPARE "$@" \
		>"$BATS_TEST_TMPDIR/stdout"
	cat "$out"
}

# Points all over the time that a program runs, each the start of a burst.
compare_points() {
	UNWIND_COMPARE_US=1000 UNWIND_COMPARE_BURST=500 \
		UNWIND_COMPARE_WALKS=${WALKS:-20000} compare "$@"
}

# check WALKS: at least so many in all, only differences of the kinds above, and
# no frame pointer told wrongly.
check() {
	awk -v least="$1" '
		$1 == "walks" { walks += $2; equal += $6 }
		$1 == "differ" {
			common = ours = theirs = ""
			for (i = 1; i < NF; i++) {
				if ($i == "after") common = $(i + 1)
				if ($i == "ours") ours = $(i + 1)
				if ($i == "theirs") theirs = $(i + 1)
			}
			if (theirs ~ /^0/) next
			if (ours == "0" && common ~ /^(libc|libgcc_s)\.so/) next
			print "unexplained: " $0
			bad = 1
		}
		$1 == "framed" { framed += $2; told += $4; wrong += $6 }
		END {
			print walks, "walks,", equal, "equal"
			print framed, "frame pointers,", told, "told,",
				wrong, "wrongly"
			if (walks < least || equal < walks * 0.99) bad = 1
			if (wrong > 0) bad = 1
			exit bad
		}' "$out"
}

@test "code without frame pointers, not optimised: every instruction" {
	compare "$PROG/unwind_step"
	grep -q "handled 3" "$BATS_TEST_TMPDIR/stdout"
	check 20000
}

@test "code without frame pointers, optimised: every instruction" {
	compare "$PROG/unwind_step_o2"
	grep -q "handled 3" "$BATS_TEST_TMPDIR/stdout"
	check 10000
}

@test "code with frame pointers, optimised: every instruction" {
	compare "$PROG/unwind_step_fp"
	grep -q "handled 3" "$BATS_TEST_TMPDIR/stdout"
	# In longjmp() fp may be that of the frame to go to already, so walks
	# are not compared. Those not told are in the loader, mostly.
	told 3000 0.2
}

@test "a JVM, whose library has frame pointers" {
	cat >"$BATS_TEST_TMPDIR/Fill.java" <<-'END'
		class Fill {
			public static void main(String[] a) {
				java.util.Map<Integer, String> map =
					new java.util.HashMap<>();
				for (int i = 0; i < 1000000; i++)
					map.put(i % 50000, "x" + i);
				System.out.println(map.size());
				System.gc();
			}
		}
	END
	WALKS=60000 compare_points java "$BATS_TEST_TMPDIR/Fill.java"
	grep -qx 50000 "$BATS_TEST_TMPDIR/stdout"
	# libunwind and we see the interpreter's frames each in another way.
	# Those not told are in the loader.
	told 5000 0.9
}

# told LEAST SHARE: at least so many frame pointers, that share of them told,
# and none wrongly.
told() {
	awk -v least="$1" -v share="$2" '
		$1 == "framed" { framed += $2; told += $4; wrong += $6 }
		END {
			print framed, told, wrong
			exit !(framed >= least && told >= framed * share &&
				wrong == 0)
		}' "$out"
}

@test "the instructions of libraries and programs, as objdump has them" {
	for file in "$PROG/unwind_step_o2" \
		/lib/x86_64-linux-gnu/libc.so.6 /lib/x86_64-linux-gnu/libm.so.6 \
		/usr/lib/x86_64-linux-gnu/libstdc++.so.6 \
		"$(command -v redis-server)"; do
		objdump -dw "$file" | "$PROG/instructions" |
			tee "$BATS_TEST_TMPDIR/read"
		grep -qE '^read [0-9]{3,} refused 0 wrong 0$' \
			"$BATS_TEST_TMPDIR/read"
	done
}

@test "C++ exceptions: every instruction" {
	UNWIND_COMPARE_WALKS=60000 compare "$PROG/unwind_throw"
	check 20000
}

@test "python3" {
	cat >"$BATS_TEST_TMPDIR/t.py" <<-'END'
		import json, re, time, zlib
		end = time.process_time() + 1
		while time.process_time() < end:
		    text = json.dumps(list(range(3000)))
		    json.loads(text)
		    re.sub('([0-9]+), ', lambda m: m.group(1), text)
		    zlib.decompress(zlib.compress(text.encode()))
		    sorted(text, key=ord)
	END
	compare_points /usr/bin/python3 "$BATS_TEST_TMPDIR/t.py"
	check 5000
}

@test "sqlite3" {
	cat >"$BATS_TEST_TMPDIR/t.sql" <<-'END'
		create table t(a, b);
		with recursive c(x) as (select 1 union all
			select x + 1 from c where x < 500000)
			insert into t select x, x * 7 % 1000 from c;
		create index i on t(b);
		select sum(a), count(distinct b) from t;
		select avg(a) from t group by b order by 1 limit 3;
	END
	compare_points sqlite3 :memory: ".read $BATS_TEST_TMPDIR/t.sql"
	check 5000
}

@test "the C compiler" {
	gcc -E -D_GNU_SOURCE -I"$ROOT/agent" \
		"$ROOT/agent/unwind.c" -o "$BATS_TEST_TMPDIR/t.i"
	for _ in 1 2 3; do
		compare_points "$(gcc -print-prog-name=cc1)" -quiet -O2 \
			"$BATS_TEST_TMPDIR/t.i" -o /dev/null
	done
	check 5000
}
