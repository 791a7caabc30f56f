#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Descriptors that vanish, sandboxes, limits, full disks, raised and dropped
# privileges: the program is unhurt, nothing half written stays behind, nothing
# is written elsewhere, and what failed is counted in the next dump.

load helpers
load oracle2

# A user that owns nothing and runs nothing.
NOBODY=54321

mounted=

teardown() {
	[ -z "$mounted" ] || umount "$mounted"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
}

# limits HOW...: the program is as without us, and its error output too, but
# for our own line about a dump that failed. Without us it must also succeed.
limits() {
	run_bare "$PROG/limits" "$@"
	rm -rf "${HEAPAGENT_DIR:?}"/*
	run_agent "$PROG/limits" "$@"
	sed -i '/^heapagent: /d' "$BATS_TEST_TMPDIR/agent/err"
	compare
	[ "$(agent_status)" = 0 ]
}

# dumps_are WRITTEN FAILED: in the last dump, the second of two.
dumps_are() {
	wait_dumps "$1"
	all_valid
	local heap
	heap=$(newest heap)
	[ "$(find "$HEAPAGENT_DIR" -name '*.heap.pb.gz' | wc -l)" = "$1" ]
	[ "$(counter "$heap" dumps_started)" = 2 ]
	[ "$(counter "$heap" dumps_failed)" = "$2" ]
	[ "$(counter "$heap" dumps_faulted)" = 0 ]
	# The ten blocks, in the dump's own terms.
	[ "$(sums "$heap" /limits innermost)" != "" ]
	[ "$(sum "$heap" inuse_space /limits innermost)" -ge 123450 ]
	# Both threads are there.
	[ "$(sum "$(newest threads)" threads)" = 2 ]
}

@test "nothing wrong: two dumps" {
	limits none
	dumps_are 2 0
}

@test "all descriptors closed before each dump, and their numbers reused" {
	same "$PROG/close_all" 3 10
	wait_dumps 9
	same "$PROG/close_all" 0 10
	wait_dumps 18
	all_valid
	[ "$(counter "$(newest heap)" dumps_failed)" = 0 ]
}

@test "a descriptor limit of 3 does not keep a dump from its file" {
	limits nofile
	dumps_are 2 0
}

@test "umask 0 or 0777: files are the owner's alone" {
	for mask in 0 777; do
		limits umask $mask
		dumps_are 2 0
		[ "$(stat -c %a "$HEAPAGENT_DIR"/* | sort -u)" = 600 ]
	done
}

@test "RLIMIT_FSIZE: no SIGXFSZ, no partial file, one failed dump" {
	limits fsize 100
	dumps_are 1 1
	limits fsize 0
	dumps_are 1 1
}

@test "RLIMIT_AS: the dump is made or counted" {
	limits as
	wait_dumps 1
	all_valid
	failed=$(counter "$(newest heap)" dumps_failed)
	written=$(find "$HEAPAGENT_DIR" -name '*.heap.pb.gz' | wc -l)
	[ $((failed + written)) = 2 ]
}

@test "RLIMIT_AS before the start: it runs with small tables, or without" {
	for kib in 15000 20000 30000 60000 100000; do
		run_bare bash -c "ulimit -v $kib; exec $PROG/limits none"
		rm -f "$HEAPAGENT_DIR"/*
		run_agent bash -c \
			"ulimit -v $kib; exec $PROG/limits none"
		[ "$(cat "$BATS_TEST_TMPDIR/bare/status")" = 0 ] || continue
		sed -i '/^heapagent: /d' "$BATS_TEST_TMPDIR/agent/err"
		# Without us SIGUSR2 does nothing here; inert, it ends it.
		[ "$(agent_status)" = 0 ] || [ "$(agent_status)" = 140 ]
		[ ! -s "$BATS_TEST_TMPDIR/agent/err" ]
	done
}

@test "RLIMIT_STACK and RLIMIT_CORE, and a process that is not dumpable" {
	limits stack
	dumps_are 2 0
	limits core
	wait_dumps 2
	all_valid
}

@test "RLIMIT_NPROC: the dump is made in the handler" {
	need_root
	reachable=$(mktemp -d)
	HEAPAGENT_DIR=$reachable
	chmod 777 "$reachable"
	limits nproc $NOBODY
	wait_dumps 2
	all_valid
	[ "$(counter "$(newest heap)" dumps_in_handler)" -ge 1 ]
	[ "$(sum "$(newest heap)" inuse_space /limits innermost)" -ge 123450 ]
	rm -r "$reachable"
}

@test "privileges given up: dumps go where the new user may write" {
	need_root
	reachable=$(mktemp -d)
	HEAPAGENT_DIR=$reachable/dumps
	mkdir "$HEAPAGENT_DIR"
	chmod 755 "$reachable" "$HEAPAGENT_DIR"
	limits setuid $NOBODY
	nothing_written
	chmod 777 "$HEAPAGENT_DIR"
	limits setuid $NOBODY
	wait_dumps 2
	all_valid
	[ "$(stat -c %u "$HEAPAGENT_DIR"/* | sort -u)" = $NOBODY ]
	# A process that changed its user cannot be traced by itself.
	[ "$(sum "$(newest threads)" threads)" = 2 ]
	rm -r "$reachable"
}

@test "chroot: nothing is written where the path does not exist" {
	need_root
	mkdir "$BATS_TEST_TMPDIR/root"
	limits chroot "$BATS_TEST_TMPDIR/root"
	nothing_written
	[ -z "$(ls -A "$BATS_TEST_TMPDIR/root")" ]

	mkdir -p "$BATS_TEST_TMPDIR/root$HEAPAGENT_DIR"
	limits chroot "$BATS_TEST_TMPDIR/root"
	nothing_written
	HEAPAGENT_DIR=$BATS_TEST_TMPDIR/root$HEAPAGENT_DIR
	wait_dumps 1
	"$CHECKVALID" "$HEAPAGENT_DIR"/*.pb.gz
}

@test "a full disk: no partial file, and the failure is counted" {
	need_root
	mount -t tmpfs -o size=4k tmpfs "$HEAPAGENT_DIR" ||
		skip "mounting is not permitted here"
	mounted=$HEAPAGENT_DIR
	echo >"$HEAPAGENT_DIR/filler"
	mkfifo "$BATS_TEST_TMPDIR/lines"
	HEAPAGENT_RATE=1 LD_PRELOAD=$AGENT "$PROG/limits" wait \
		<"$BATS_TEST_TMPDIR/lines" 3>&- \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" &
	pid=$!
	exec 5>"$BATS_TEST_TMPDIR/lines"
	echo >&5
	# The program itself waits 0.3 s for its dump.
	sleep 1
	[ "$(ls -A "$HEAPAGENT_DIR")" = filler ]
	mount -o remount,size=1m "$HEAPAGENT_DIR"
	echo >&5
	exec 5>&-
	wait "$pid"
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = unhurt ]
	wait_dumps 1
	rm "$HEAPAGENT_DIR/filler"
	dumps_are 1 1
}

@test "a link of the dump's name is not followed" {
	echo precious >"$BATS_TEST_TMPDIR/target"
	limits symlink "$BATS_TEST_TMPDIR/target"
	[ "$(cat "$BATS_TEST_TMPDIR/target")" = precious ]
	limits symlink "$BATS_TEST_TMPDIR/new"
	[ ! -e "$BATS_TEST_TMPDIR/new" ]
	# One of the two dumps found no name, or both took the next.
	find "$HEAPAGENT_DIR" -type l -delete
	wait_dumps 1
	all_valid
}

@test "the directory is moved away, and back" {
	limits rename
	dumps_are 1 1
}

@test "the directory goes, or was never there" {
	mkdir "$HEAPAGENT_DIR/gone"
	HEAPAGENT_DIR=$HEAPAGENT_DIR/gone
	HEAPAGENT_RATE=1 LD_PRELOAD=$AGENT "$PROG/limits" rmdir \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err"
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = unhurt ]
	[ ! -e "$HEAPAGENT_DIR" ]
	HEAPAGENT_RATE=1 LD_PRELOAD=$AGENT "$PROG/limits" none \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err"
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = unhurt ]
	[ ! -e "$HEAPAGENT_DIR" ]
	refute grep -v '^heapagent: ' "$BATS_TEST_TMPDIR/err"
}

@test "a relative directory is the start directory's" {
	cd "$BATS_TEST_TMPDIR"
	HEAPAGENT_DIR=dumps limits cwd
	cd "$ROOT"
	dumps_are 2 0
}

@test "a set-user-ID program: inert, even with the agent linked in" {
	need_root
	HEAPAGENT_DIR=$(mktemp -d)
	chmod 777 "$HEAPAGENT_DIR"
	bin=$(mktemp -d)
	chmod 755 "$bin"
	cp "$AGENT" "$bin"
	gcc -w -D_GNU_SOURCE -o "$bin/raised" "$ROOT/test/prog/ends.c" \
		-pthread -Wl,--no-as-needed,-rpath,"$bin" \
		"$bin/libheapagent.so"
	chmod 4755 "$bin/raised"
	# Proof that it is linked in: without the bit it dumps at its end.
	cp "$bin/raised" "$bin/plain"
	chmod 755 "$bin/plain"
	HEAPAGENT_AT_EXIT=1 setpriv --reuid $NOBODY --clear-groups \
		"$bin/plain" || [ $? = 40 ]
	have_dumps 1
	rm "$HEAPAGENT_DIR"/*
	HEAPAGENT_AT_EXIT=1 HEAPAGENT_LOG=info HEAPAGENT_RATE=nonsense \
		LD_PRELOAD=$bin/libheapagent.so \
		setpriv --reuid $NOBODY --clear-groups \
		"$bin/raised" 2>"$BATS_TEST_TMPDIR/err" || [ $? = 40 ]
	nothing_written
	# setpriv itself is not raised, and may speak of the nonsense.
	[ "$(wc -l <"$BATS_TEST_TMPDIR/err")" -le 1 ]
	rm -r "$bin" "$HEAPAGENT_DIR"
}

@test "sandboxes: sampling goes on, a dump does no harm" {
	run "$PROG/sandbox" kill quiet
	[ "$status" -ne 77 ] || skip "no seccomp filters here"
	for action in kill errno trap; do
		rm -f "$HEAPAGENT_DIR"/*
		for what in quiet fork; do
			same "$PROG/sandbox" $action $what
			[ "$(agent_status)" = 0 ]
			nothing_written
		done
		BY_SYSCALL=1 same "$PROG/sandbox" $action signal
		[ "$(agent_status)" = 0 ]
		rm -f "$HEAPAGENT_DIR"/*
		same "$PROG/sandbox" $action signal
		[ "$(agent_status)" = 0 ]
		# The dump from before the sandbox, and none from within.
		wait_dumps 1
		[ "$(find "$HEAPAGENT_DIR" -type f | wc -l)" = 3 ]
		all_valid
	done
}
