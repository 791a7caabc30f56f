#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# output.bats - where -o writes: links, modes, directories, pipes, devices.

bats_require_minimum_version 1.5.0
load helpers
HEAPAGENT=$ROOT/build/heapagent
MAKE=$ROOT/build/test/tools/profile_make

setup() {
	mkdir "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return
	"$MAKE" x.pb.gz <<-END
		type inuse_objects count
		type inuse_space bytes
		mapping 0x1000 0x2000 0x1000 /opt/app -
		function alpha a.c 10
		sample 64 500,32000 f1:11
	END
	umask 022
}

is_page() {
	head -n 1 "$1" | grep -qx '<!DOCTYPE html>' && tail -n 1 "$1" | grep -qx '</html>'
}

@test "a link stays, what it leads to is replaced" {
	mkdir there
	printf old >there/target.html
	ln -s there/target.html link.html
	ln -s link.html other.html
	ln -s there/new.html dangling.html
	for name in other dangling; do
		"$HEAPAGENT" flame x.pb.gz -o $name.html
		[ -L $name.html ]
	done
	[ -L link.html ]
	is_page there/target.html
	is_page there/new.html
	[ "$(ls there)" = $'new.html\ntarget.html' ]
	ln -s loop loop
	run "$HEAPAGENT" flame x.pb.gz -o loop
	[ "$status" -eq 1 ]
	[[ $output == "heapagent: loop: Too many"* ]]
}

@test "a link to an open file: as /dev/stdout, which stays" {
	ln -s /proc/self/fd/1 stdout
	"$HEAPAGENT" flame x.pb.gz -o stdout >f.html
	[ -L stdout ]
	is_page f.html
	# In the same place as the shell's, here at the end.
	echo first >g.html
	"$HEAPAGENT" flame x.pb.gz -o stdout >>g.html
	[ "$(head -n 1 g.html)" = first ]
	sed 1d g.html | cmp - f.html
	"$HEAPAGENT" flame x.pb.gz -o stdout | cmp - f.html
	"$HEAPAGENT" symbolize x.pb.gz -o stdout | gzip -t
}

@test "modes: what the umask leaves, or the one that was there" {
	local old
	"$HEAPAGENT" flame x.pb.gz
	"$HEAPAGENT" symbolize x.pb.gz
	[ "$(stat -c %a x.html x.symbolized.pb.gz)" = $'644\n644' ]
	(umask 077 && "$HEAPAGENT" flame x.pb.gz -o mine.html)
	[ "$(stat -c %a mine.html)" = 600 ]
	for old in 664 600 640; do
		chmod $old x.html
		"$HEAPAGENT" flame x.pb.gz
		[ "$(stat -c %a x.html)" = $old ]
	done
	[ "$(id -u)" -eq 0 ] || skip "only root can give files away"
	chown 65534:65534 x.html
	"$HEAPAGENT" flame x.pb.gz
	[ "$(stat -c %u:%g:%a x.html)" = 65534:65534:640 ]
	# What may not be written is not replaced, either.
	chmod 777 .
	chown 0:0 x.html
	printf old >x.html
	run setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$HEAPAGENT" flame - -o x.html <x.pb.gz
	[ "$status" -eq 1 ]
	[ "$output" = "heapagent: x.html: Permission denied" ]
	[ "$(cat x.html)" = old ]
}

@test "a directory, of what comes from standard input" {
	mkdir dir
	"$HEAPAGENT" flame - -o dir <x.pb.gz >said
	[ "$(cut -d: -f1 said)" = dir/stdin.html ]
	is_page dir/stdin.html
	"$HEAPAGENT" inuse - -o dir <x.pb.gz
	[ "$(ls dir)" = $'stdin.html\nstdin.inuse.pb.gz' ]
	"$HEAPAGENT" inuse - <x.pb.gz | gzip -t
}

@test "pipes: who reads is waited for, nobody not for ever" {
	mkfifo x.html read.html
	run timeout 20 "$HEAPAGENT" flame x.pb.gz
	[ "$status" -eq 1 ]
	[ "$output" = "heapagent: x.html: nobody reads from this pipe" ]
	[ -p x.html ]
	{ sleep 1 && cat read.html >copy.html; } 3>&- &
	timeout 20 "$HEAPAGENT" flame x.pb.gz -o read.html
	wait
	is_page copy.html
	[ -p read.html ]
	"$HEAPAGENT" flame x.pb.gz -o >(cat >copy2.html) >/dev/null
	wait_for 10 is_page copy2.html
}

@test "names are printed as text" {
	local evil=$'evil\033[31m\n\u202ename.pb.gz'
	cp x.pb.gz "$evil"
	for call in symbolize flame inuse; do
		"$HEAPAGENT" $call "$evil" >out
		[ "$(wc -l <out)" -eq 1 ]
		run ! grep -P '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae' out
	done
	run "$HEAPAGENT" top "$evil"none
	[ "${#lines[@]}" -eq 1 ]
	[[ $output != *$'\u202e'* ]]
}
