# SPDX-License-Identifier: Apache-2.0
# Completion of heapagent's command lines in bash. Needs nothing else; where the
# package bash-completion is loaded, the program of `heapagent run` has its own
# completion, too.
#
#	. scripts/heapagent.bash	(or: make install, for all shells)
#
# Commands, options and the kinds of values come from the command's own help, so
# that this file knows no option.

# Fills the caller's commands=(...) from the help of $1.
_heapagent_commands() {
	local line
	commands=()
	while IFS= read -r line; do
		[[ $line =~ ^\ \ ([a-z]+)\ \  ]] && commands+=("${BASH_REMATCH[1]}")
	done < <("$1" --help 2>/dev/null)
}

# Fills the caller's usage and values[OPTION]=VALUE from the help of command $2.
_heapagent_options() {
	local line row='^ +((-.), )?(--[a-z_-]+)( ([^ ]+))?( |$)'
	usage=
	while IFS= read -r line; do
		if [[ $line == Usage:* ]]; then
			usage=${line#*"[OPTION]... "}
		elif [[ $line =~ $row ]]; then
			values[${BASH_REMATCH[3]}]=${BASH_REMATCH[5]}
			[[ -z ${BASH_REMATCH[2]} ]] ||
				values[${BASH_REMATCH[2]}]=${BASH_REMATCH[5]}
		fi
	done < <("$1" "$2" --help 2>/dev/null)
}

# Takes the words of a list that begin as $1 does.
_heapagent_words() {
	mapfile -t COMPREPLY < <(compgen -W "${*:2}" -- "$1")
}

# Takes file names; compgen's option $1 says which.
_heapagent_files() {
	# What is typed may be quoted; readline quotes the answer.
	local typed=${2//[\\\"\']/}
	# Only a completion in progress has options; the tests have none.
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$typed")
}

# Takes profiles and directories, or any file if there are none.
_heapagent_profiles() {
	local name kept=()
	_heapagent_files -f "$1"
	for name in "${COMPREPLY[@]}"; do
		case $name in
		*.pb.gz | *.pb | *.heap | *.txt) kept+=("$name") ;;
		*) [[ -d ${name/#\~\//$HOME/} ]] && kept+=("$name") ;;
		esac
	done
	[[ ${#kept[@]} -eq 0 ]] || COMPREPLY=("${kept[@]}")
}

# Takes the numbers of the processes that have the agent in them, as far as
# they may be looked at: no other can be dumped.
_heapagent_pids() {
	local file pids=()
	while IFS= read -r file; do
		file=${file#/proc/}
		pids+=("${file%/maps}")
	done < <(grep -Els '/libheapagent(-cxx)?\.so' /proc/[0-9]*/maps \
		2>/dev/null)
	_heapagent_words "$1" "${pids[@]}"
}

# Takes lists of dump kinds: heap,threads.
_heapagent_kinds() {
	local kind begun=${1%"${1##*,}"} lists=()
	for kind in heap allocs threads; do
		[[ ,$begun == *,$kind,* ]] || lists+=("$begun$kind")
	done
	_heapagent_words "$1" "${lists[@]}"
}

# Takes values of the kind $2, as the help calls it.
_heapagent_value() {
	case $2 in
	*'|'*) _heapagent_words "$1" "${2//|/ }" ;;
	DIR) _heapagent_files -d "$1" ;;
	FILE | OUT) _heapagent_files -f "$1" ;;
	KINDS) _heapagent_kinds "$1" ;;
	SIGNAL) _heapagent_words "$1" USR1 USR2 PROF WINCH URG IO none \
		RTMIN+{1..8} ;;
	TYPE) _heapagent_words "$1" {inuse,alloc}_{space,objects} threads ;;
	esac
}

# Takes what completes word $1 and what follows as a command line of its own.
_heapagent_program() {
	local current=${COMP_WORDS[COMP_CWORD]}
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [[ $COMP_CWORD -eq $1 && $current != */* ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$current")
	else
		_heapagent_files -f "$current"
	fi
}

# Takes what may stand as argument number $2 (from 0) of a command.
_heapagent_argument() {
	case $usage in
	PID) [[ $2 -gt 0 ]] || _heapagent_pids "$1" ;;
	REGEX*) [[ $2 -eq 0 ]] || _heapagent_profiles "$1" ;;
	*) _heapagent_profiles "$1" ;;
	esac
}

_heapagent() {
	local heapagent=${1/#\~\//$HOME/} current=${COMP_WORDS[COMP_CWORD]}
	local usage word option='' only_arguments='' arguments=0 i
	local -a commands
	local -A values=()
	COMPREPLY=()
	if [[ $COMP_CWORD -eq 1 || ${COMP_WORDS[1]} == help ]]; then
		_heapagent_commands "$heapagent"
		[[ $COMP_CWORD -gt 1 ]] || commands+=(--help --version)
		[[ $COMP_CWORD -gt 2 ]] ||
			_heapagent_words "$current" "${commands[@]}"
		return
	fi
	_heapagent_options "$heapagent" "${COMP_WORDS[1]}"
	[[ -n $usage ]] || return
	# $option: the one whose value comes next. The shell takes --dir=x for
	# three words.
	for ((i = 2; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $word == = && -n $option ]]; then
			continue
		elif [[ -n $option ]]; then
			option=
		elif [[ $word == -- && -z $only_arguments ]]; then
			only_arguments=1
		elif [[ $word == -?* && -z $only_arguments ]]; then
			[[ -z ${values[$word]:-${values[-$word]-}} ]] ||
				option=$word
		elif [[ $usage == *PROGRAM* ]]; then
			_heapagent_program $i
			return
		else
			arguments=$((arguments + 1))
		fi
	done
	if [[ -n $option ]]; then
		[[ $current != = ]] || current=
		_heapagent_value "$current" \
			"${values[$option]:-${values[-$option]-}}"
	elif [[ $current == -* && -z $only_arguments ]]; then
		_heapagent_words "$current" "${!values[@]}"
	elif [[ $usage == *PROGRAM* ]]; then
		_heapagent_program "$COMP_CWORD"
	else
		_heapagent_argument "$current" "$arguments"
	fi
}

complete -F _heapagent heapagent
