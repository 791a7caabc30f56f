#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hostile_text.bats - any text as a name or as a pattern: bounded time, and
# nothing that a terminal or a browser obeys.

load helpers
load hostile

@test "names of mangled form that take the demangler for ever" {
	local name
	name=_ZcvT_InnvT_Inarddddddddddddddddd
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		name+=nZcvT_IdddgvT_InnvT_Inarddddddddddddddddd
	done
	{
		echo "type space bytes"
		echo "mapping 0x1000 0x2000 0 /x -"
		# Each may take its time, all together not.
		for i in {1..100}; do
			echo "function $name$i /x.c 1"
			echo "sample 1 1 f$i:1"
		done
	} | "$MAKE" p.pb.gz
	one 0 "$SMALL" "$HEAPAGENT" top --nodecount 0 p.pb.gz
	"$HEAPAGENT" top --nodecount 0 p.pb.gz | grep -c _ZcvT_Inn
}

@test "names that take the demangler long, none of them too long" {
	local name=_ZcvT_InnvT_Inarddddddddddddddddd
	for _ in 1 2 3 4 5 6; do
		name+=nZcvT_IdddgvT_InnvT_Inarddddddddddddddddd
	done
	{
		echo "type space bytes"
		for i in {1..100}; do
			echo "function $name$i /x.c 1"
			echo "sample 1 1 f$i:1"
		done
	} | "$MAKE" p.pb.gz
	# 5 seconds for all; it is some 30 of the processor's if each is tried.
	python3 - "$HEAPAGENT" <<-'END'
		import resource, subprocess, sys
		subprocess.run([sys.argv[1], "top", "p.pb.gz"], check=True)
		used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
		print(used)
		assert used < 8
	END
}

# dropping PATTERN [NAME]: p.pb.gz, whose drop_frames is that.
dropping() {
	"$MAKE" p.pb.gz <<-END
		type space bytes
		drop $1
		mapping 0x1000 0x2000 0 /x -
		function ${2:-alpha} a.c 1
		function main a.c 2
		sample 1 1 f1:1 f2:2
	END
}

@test "patterns in a profile: bounded, and none can end the command" {
	local many pattern command name=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab
	many=$(python3 -c 'print("(" * 7000 + "a" + ")" * 7000)')
	for pattern in "$many" "$many$many" "(a" \
		'((((a{1,255}){1,255}){1,255}){1,255})'; do
		dropping "$pattern"
		for command in top tree "peek main" flame; do
			# shellcheck disable=SC2086 # words are wanted
			one 0 "$SMALL" "$HEAPAGENT" $command p.pb.gz >out
			grep -q 'p.pb.gz: drop_frames: not used: no regular' out
		done
	done
	# Too slow for one name, or for all.
	dropping '(a+)+(a+)+(a+)+[cd]' $name
	one 1 "$SMALL" "$HEAPAGENT" top p.pb.gz |
		grep -F "'(a+)+(a+)+(a+)+[cd]' takes too much time"
	{
		echo "type space bytes"
		echo "drop (a|a)*(a|a)*(a|a)*(a|a)*[cd]"
		for i in {1..4000}; do
			echo "function aaaaaaaaaab$i a.c 1"
			echo "sample 1 1 f$i:1"
		done
	} | "$MAKE" p.pb.gz
	one 1 "$SMALL" "$HEAPAGENT" top p.pb.gz |
		grep "p.pb.gz: drop_frames: .* takes too much time"
}

@test "patterns of the user: bounded, too" {
	local many name=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab
	many=$(python3 -c 'print("(" * 300 + "a" + ")" * 300)')
	dropping - $name
	for option in --focus --ignore; do
		one 2 "$SMALL" "$HEAPAGENT" top "$option=$many" p.pb.gz |
			grep "top: $option '((.* it takes a regular expression (par"
		one 1 "$SMALL" "$HEAPAGENT" top "$option=(a+)+(a+)+[cd]" p.pb.gz |
			grep -e "$option: .* takes too much time"
	done
	one 2 "$SMALL" "$HEAPAGENT" peek "$many" p.pb.gz
	one 1 "$SMALL" "$HEAPAGENT" peek "(a+)+(a+)+[cd]" p.pb.gz |
		grep "peek: REGEX: .* takes too much time"
	# Go's signs are known.
	"$HEAPAGENT" top --focus '(?i)\bMAIN\b|\d{3}' p.pb.gz
}

# A name with whatever a terminal or a browser might obey.
evil_name() {
	printf 'x\033]0;title\007\033[31m\302\233mred\233m\r\b</script>%s' \
		'<script>alert(1)</script><img src=x onerror=alert(1)>"'\''\\&'
}

@test "names are text: on a terminal and in a page" {
	local name command files
	name=$(evil_name)
	python3 - "$name" >evil.pb <<-'END'
		import os, sys
		name = os.fsencode(sys.argv[1])
		def field(number, content):
		    def varint(n):
		        out = b""
		        while n > 127:
		            out += bytes([n & 127 | 128]); n >>= 7
		        return out + bytes([n])
		    if isinstance(content, int):
		        return varint(number << 3) + varint(content)
		    return (varint(number << 3 | 2) + varint(len(content)) +
		            content)
		out = field(1, field(1, 3) + field(2, 3))
		out += b"".join(field(6, s) for s in (b"", b"a", b"b", name))
		out += field(3, field(1, 1) + field(3, 99) + field(5, 3) +
		             field(6, 3))
		out += field(5, field(1, 1) + field(2, 3) + field(4, 3))
		out += field(4, field(1, 1) + field(2, 1) + field(3, 7) +
		             field(4, field(1, 1) + field(2, 1)))
		out += field(4, field(1, 2) + field(2, 1) + field(3, 8))
		for location in (1, 2):
		    out += field(2, field(1, location) + field(2, 7) + field(
		        3, field(1, 3) + field(2, 3)))
		out += field(13, 3)
		sys.stdout.buffer.write(out)
	END
	for command in "top" "top --json" "tree" "peek ." "diff" "diff --json" \
		"text" "flame -o -" "symbolize -o named.pb.gz"; do
		files=(evil.pb)
		[[ $command != diff* ]] || files+=(evil.pb)
		# shellcheck disable=SC2086 # words are wanted
		"$HEAPAGENT" $command "${files[@]}" >out 2>err || true
		echo "$command: $(wc -c <out) bytes"
		cat err
		# No control character but tab and newline, and valid UTF-8.
		python3 - <<-'END'
			for name in "out", "err":
			    text = open(name, encoding="utf-8", newline="").read()
			    assert not [c for c in text if c not in "\n\t" and
			                (c < " " or "\x7f" <= c < "\xa0")], name
		END
	done
	"$HEAPAGENT" flame evil.pb -o evil.html
	python3 - <<-'END'
		import json, re
		page = open("evil.html", encoding="utf-8").read()
		assert page.count("</script>") == 2, page.count("</script>")
		assert page.count("<script") == 2
		data = re.search(r'id="data">(.*?)</script>', page, re.S).group(1)
		assert "<" not in data
		assert any("<script>alert(1)" in n
		           for n in json.loads(data)["names"])
	END
	# The message about such a file is one line of text, too.
	cp /dev/null "$name" 2>/dev/null || cp /dev/null "${name//\//}"
	one 1 "$SMALL" "$HEAPAGENT" top "${name//\//}"
}
