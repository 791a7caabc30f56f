#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# manual.bats - heapagent(1) tells of each command, option and setting that
# there is, and of no other.
bats_require_minimum_version 1.5.0
load helpers
load cli

MANUAL=$ROOT/docs/heapagent.1

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	# As printed, without the overstrikes of bold and underline.
	mandoc -T ascii -O width=80 "$MANUAL" | sed 's/.\x08//g' >text
}

# section NAME: what stands in it.
section() {
	sed -n "/^$1\$/,/^[A-Z]/{ /^ /p }" text
}

@test "the manual has its sections, and fits a terminal" {
	for name in NAME SYNOPSIS DESCRIPTION COMMANDS ENVIRONMENT FILES \
		"EXIT STATUS" EXAMPLES "SEE ALSO"; do
		echo "$name"
		[ "$(section "$name" | wc -l)" -ge 1 ]
	done
	[ "$(wc -l <text)" -ge 200 ]
	[ "$(wc -L <text)" -le 80 ]
	mandoc -T lint -W warning "$MANUAL"
}

@test "each command stands in the synopsis and has its paragraph" {
	for name in $(commands); do
		echo "$name"
		section SYNOPSIS | grep -Eq "^     heapagent (.* \| )?$name "
		section COMMANDS | grep -Eq "^     $name "
	done
}

@test "the options of the manual are those of the helps" {
	for name in $(commands); do
		options "$name"
	done | cut -d' ' -f1 | sort -u >in_help
	section COMMANDS | grep -oE -- '--[a-z][a-z_-]*' | cut -c3- >in_manual
	# --help is told of once for all.
	section DESCRIPTION | grep -q -- '-h, --help'
	echo help >>in_manual
	sort -u in_manual | diff in_help -
	[ "$(wc -l <in_help)" -ge 30 ]
	# With values where there are values.
	for name in $(commands); do
		rows=$(options "$name")
		while read -r option value; do
			case $value in
			"") continue ;;
			*"|"*) value=${value//|/ | } ;;
			esac
			echo "--$option ${value,,}"
			section COMMANDS | grep -qiF -- "--$option $value"
		done <<<"$rows"
	done
}

@test "the settings of manual, README and agent are the same" {
	sed -n 's/^\t{ "\([A-Z_]*\)", set_.*/HEAPAGENT_\1/p' \
		"$ROOT/agent/config.c" | sort >in_agent
	sed -n 's/^| \(HEAPAGENT_[A-Z_]*\) .*/\1/p' "$ROOT/README.md" |
		sort >in_readme
	section ENVIRONMENT | grep -oE '^     HEAPAGENT_[A-Z_]*' |
		tr -d ' ' | sort >in_manual
	diff in_agent in_readme
	diff in_agent in_manual
	[ "$(wc -l <in_agent)" -ge 11 ]
}
