#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# help.bats - what the help says is what the command takes, no more, no less.
bats_require_minimum_version 1.5.0
load helpers
load cli

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# Of "N: NAME" in the sources' tables.
source_options() {
	perl -0777 -ne '
		while (/struct option_row \w+(?:\[\])? = \{(.*?)\n?\};/sg) {
			my $table = "{$1}";
			while ($table =~ /\{\s*[^{},]+,\s*"([a-z_-]+)",\s*(NULL|"[^"]*")\s*,/g) {
				my ($name, $value) = ($1, $2);
				$value =~ s/^NULL$//;
				$value =~ s/"//g;
				print "$name $value\n";
			}
		}' "$ROOT"/symbolize/*.c | sort -u
}

@test "help fits a screen, on standard output" {
	for name in $(commands) ""; do
		run --separate-stderr "$HEAPAGENT" ${name:+"$name"} --help
		echo "$name: $status: $output $stderr"
		[ "$status" -eq 0 ]
		[ -z "$stderr" ]
		[ "${#lines[@]}" -ge 4 ]
		[ "$(wc -l <<<"$output")" -le 24 ]
		[ "$(LC_ALL=C.UTF-8 wc -L <<<"$output")" -le 80 ]
		[[ $output == "Usage: heapagent ${name:-COMMAND} "* ]]
	done
}

@test "help, -h and --help say the same, wherever they stand" {
	[ "$("$HEAPAGENT" help)" = "$("$HEAPAGENT" --help)" ]
	[ "$("$HEAPAGENT" help)" = "$("$HEAPAGENT" -h)" ]
	for name in $(commands); do
		text=$("$HEAPAGENT" "$name" --help)
		[ "$("$HEAPAGENT" help "$name")" = "$text" ]
		[ "$("$HEAPAGENT" "$name" -h)" = "$text" ]
		[ "$("$HEAPAGENT" "$name" -help)" = "$text" ]
		[ "$name" = run ] ||
			[ "$("$HEAPAGENT" "$name" a b c --help)" = "$text" ]
	done
	# A value, and another program's option, are not ours.
	run "$HEAPAGENT" top --focus --help
	[ "$status" -eq 2 ]
	run "$HEAPAGENT" run echo --help
	[ "$status" -eq 0 ]
	[[ $output != *heapagent* ]]
}

@test "each option of the help is taken, with a value or without" {
	for name in $(commands); do
		rows=$(options "$name")
		while read -r option value; do
			[ "$option" != help ] || continue
			echo "$name --$option $value"
			if [ -n "$value" ]; then
				good=$(good_value "$value")
				run "$HEAPAGENT" "$name" "--$option" "$good"
				[[ $output == *"too few arguments"* ]]
				run "$HEAPAGENT" "$name" "-$option=$good"
				[[ $output == *"too few arguments"* ]]
				run "$HEAPAGENT" "$name" "--$option"
				[[ $output == *"--$option"*needs*"$value"* ]]
			else
				run "$HEAPAGENT" "$name" "--$option"
				[[ $output == *"too few arguments"* ]]
				run "$HEAPAGENT" "$name" "--$option=x"
				[[ $output == *"--$option"*"no value"* ]]
			fi
			[ "$status" -eq 2 ]
		done <<<"$rows"
	done
}

@test "each option in the sources' tables is in a help, and no other" {
	source_options >in_source
	for name in $(commands); do
		options "$name"
	done | sort -u >in_help
	diff in_source in_help
	[ "$(wc -l <in_help)" -ge 30 ]
	# No command reads its options in another way.
	grep -lE 'getopt(_long|_long_only)?\(' "$ROOT"/symbolize/*.c >readers
	[ "$(cat readers)" = "$ROOT/symbolize/options.c" ]
}

@test "run has an option for each setting of the agent" {
	# { "LOG", set_log, ...
	sed -n 's/^\t{ "\([A-Z_]*\)", set_.*/\1/p' "$ROOT/agent/config.c" |
		sort >settings
	options run | cut -d' ' -f1 | grep -vx help | tr a-z- A-Z_ |
		sed 's/^NO_//' | sort >taken
	diff settings taken
	[ "$(wc -l <settings)" -ge 11 ]
}
