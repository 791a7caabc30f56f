#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# views.bats - top, tree, peek, diff, flame, inuse and delta: the figures are
# those of the profile, and those of go tool pprof.

bats_require_minimum_version 1.5.0
load helpers
HEAPAGENT=$ROOT/build/heapagent
MAKE=$ROOT/build/test/tools/profile_make

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export HOME=$BATS_TEST_TMPDIR PPROF_TMPDIR=$BATS_TEST_TMPDIR
	export HEAPAGENT_DIR=$BATS_TEST_TMPDIR/dumps
	mkdir -p "$HEAPAGENT_DIR"
	heap 1700000000000000000 500 50 >a.txt
	"$MAKE" a.pb.gz <a.txt
	# Later: more of alpha's small blocks, fewer of beta's large ones.
	heap 1700000010500000000 500000 20 >b.txt
	"$MAKE" b.pb.gz <b.txt
}

# heap TIME ALPHAS BETAS: main calls alpha, which allocates 64 bytes a time,
# calls beta for a megabyte, and itself once more for a template's 4 KiB.
heap() {
	cat <<-END
		type alloc_objects count
		type alloc_space bytes
		type inuse_objects count
		type inuse_space bytes
		default inuse_space
		period 524288 space bytes
		time $1
		comment made by views.bats
		mapping 0x1000 0x2000 0x1000 /opt/app -
		function alpha a.c 10
		function beta b.c 20
		function main main.c 1
		function _ZN3foo3barIiEEvT_ foo.cc 4
		sample 64 600000,38400000,$2,$(($2 * 64)) f1:11 f3:4
		sample 1048576 100,104857600,$3,$(($3 * 1048576)) f2:21 f1:12 f3:4
		sample 4096 3000,12288000,1000,4096000 f4:21 f1:12 f1:13 f3:4
		sample 128 10,1280,0,0 1:0x1234 f3:9
	END
}

# json FILE.json EXPRESSION: of the parsed document d, in Python.
json() {
	python3 -c "import json, sys; d = json.load(open(sys.argv[1]))
f = {x['name']: x for x in d.get('functions', [])}
print($2)" "$1"
}

# With pprof's rounding undone: its values, in bytes, and names.
pprof_top() {
	go tool pprof -top -nodefraction=0 -nodecount=100000 -unit=B -sample_index="$2" "$1" 2>/dev/null |
		awk 'seen { sub(/B$/, "", $1); sub(/B$/, "", $4); print $1, $4, $6 }
			$1 == "flat" { seen = 1 }' | sort
}

our_top() {
	"$HEAPAGENT" top --json --nodecount 0 --sample_index="$2" "$1" >top.json
	json top.json '"\n".join("%d %d %s" % (x["flat"], x["cum"],
		x["name"]) for x in d["functions"])' | sort
}

@test "top has the figures of go tool pprof -top" {
	for type in inuse_space inuse_objects alloc_space alloc_objects; do
		pprof_top a.pb.gz $type | grep -v 0x | grep -v '\[app\]' >pprof
		our_top a.pb.gz $type | grep -v '^0 0 ' | grep -v app+ >ours
		diff pprof ours
		[ "$(wc -l <ours)" -ge 4 ]
	done
}

@test "top reads as it should" {
	run "$HEAPAGENT" top a.pb.gz
	[ "$status" -eq 0 ]
	[[ $output == *"File: app"*"Type: inuse_space"* ]]
	[[ $output == *"of 53.9 MiB ±5.8 % in total"* ]]
	[[ $output == *"50.0 MiB ±5.6 %  92.7 %  92.7 %"*"beta"* ]]
	[[ $output == *"foo::bar"* ]]
	[[ $output != *$'\033'* ]]
	run "$HEAPAGENT" top --full-names a.pb.gz
	[[ $output == *"void foo::bar<int>(int)"* ]]
	run "$HEAPAGENT" top --alloc_objects -cum -nodecount=2 a.pb.gz
	[ "${#lines[@]}" -eq 8 ]
	[[ ${lines[6]} == *main ]]
	[[ ${lines[7]} == *alpha ]]
	# What has no name is told by its place in its file.
	run "$HEAPAGENT" top --alloc_space a.pb.gz
	[[ $output == *"app+0x1234"* ]]
}

@test "the standard error is that of Poisson sampling" {
	"$HEAPAGENT" top --json a.pb.gz >a.json
	# 50 blocks of 1 MiB at 512 KiB: sqrt(50 / (exp(2) - 1)) of them.
	[ "$(json a.json 'round(f["beta"]["flat_standard_error"])')" = \
		"$(python3 -c 'import math
print(round(math.sqrt(50 / (math.exp(2) - 1)) * 1048576))')" ]
	# At a rate of 1 there is none.
	sed 's/^period .*/period 1 space bytes/' a.txt | "$MAKE" exact.pb.gz
	run "$HEAPAGENT" top exact.pb.gz
	[[ $output != *±* ]]
}

@test "drop_frames and keep_frames of the profile, as go tool pprof" {
	local keep
	for keep in - 'take_k.*'; do
		"$MAKE" d.pb.gz <<-END
			type space bytes
			drop take.*|(anonymous.namespace.::)?lower
			keep $keep
			mapping 0x1000 0x2000 0x1000 /opt/app -
			function lower a.c 10
			function take_it a.c 20
			function take_kept a.c 20
			function main main.c 1
			function start main.c 1
			sample 1 1 f1:1 f2:2 f4:3 f5:4
			sample 1 10 f1:1 f3:2 f4:3
			sample 1 100 f1:1 f2:2
			sample 1 1000 f4:5 f3:6 f5:7
		END
		pprof_top d.pb.gz space | grep -v 0x >pprof
		our_top d.pb.gz space >ours
		diff pprof ours
		cat ours
		[ "$(grep -c take_kept ours)" -eq $((${#keep} > 1)) ]
	done
	grep -qx '10 1010 take_kept' ours
	grep -qx '100 100 lower' ours
}

@test "--focus and --ignore take functions and files" {
	"$HEAPAGENT" top --json --focus '^beta$' a.pb.gz >a.json
	[ "$(json a.json 'sorted(f)')" = "['alpha', 'beta', 'main']" ]
	[ "$(json a.json 'f["main"]["cum"]')" = 52428800 ]
	[ "$(json a.json 'd["total"]')" = 56556800 ]
	"$HEAPAGENT" top --json --focus 'b\.c' a.pb.gz >b.json
	cmp a.json b.json
	"$HEAPAGENT" top --json --ignore 'beta|foo' a.pb.gz >a.json
	[ "$(json a.json 'f["main"]["cum"]')" = 32000 ]
}

@test "recursion counts once" {
	"$HEAPAGENT" tree --json a.pb.gz >a.json
	[ "$(json a.json 'f["alpha"]["cum"]')" = 56556800 ]
	[ "$(json a.json '[(x["name"], x["value"])
		for x in f["alpha"]["callees"]]')" = \
		"[('beta', 52428800), ('alpha', 4096000), ('foo::bar', 4096000)]" ]
	[ "$(json a.json '[(x["name"], x["value"])
		for x in f["beta"]["callers"]]')" = "[('alpha', 52428800)]" ]
}

@test "peek shows the functions that match, in pprof's form" {
	run "$HEAPAGENT" peek '^beta$' a.pb.gz
	[ "$status" -eq 0 ]
	[[ $output == *"|   alpha"*"| beta"* ]]
	[[ $output != *main* ]]
	run "$HEAPAGENT" peek nothing a.pb.gz
	[ "$status" -eq 1 ]
}

@test "diff shows what grew and what shrank" {
	"$HEAPAGENT" diff --json a.pb.gz b.pb.gz >d.json
	[ "$(json d.json 'f["alpha"]["flat"]')" = 31968000 ]
	[ "$(json d.json 'f["beta"]["flat"]')" = -31457280 ]
	[ "$(json d.json 'f["main"]["cum"]')" = 510720 ]
	[ "$(json d.json '"foo::bar" in f')" = False ]
	run "$HEAPAGENT" diff a.pb.gz b.pb.gz
	[[ $output == *"+30.5 MiB"*"-30.0 MiB"* ]]
	run "$HEAPAGENT" diff a.pb.gz a.pb.gz
	[[ $output != *alpha* ]]
}

@test "inuse: allocation columns dropped, empty samples gone" {
	"$HEAPAGENT" inuse a.pb.gz
	"$DECODE" a.inuse.pb.gz >got || "$DECODE" a.inuse.pb.gz
	[ "$(grep -c ^sample_type got)" -eq 2 ]
	[ "$(grep -c '^sample ' got)" -eq 3 ]
	run ! grep -q 0x1234 got
	grep -q "^comment made by views.bats" got
	diff <(our_top a.pb.gz inuse_space | grep -v '^0 0') \
		<(our_top a.inuse.pb.gz inuse_space)
}

@test "delta: allocations between two dumps" {
	sed -e 's/^sample 64 600000,38400000/sample 65 600200,38413000/' \
		-e 's/^time .*/time 1700000010500000000/' a.txt |
		"$MAKE" later.pb.gz
	run "$HEAPAGENT" delta a.pb.gz later.pb.gz -o d.pb.gz
	[[ $output == "d.pb.gz: 1 samples in 10.5 s" ]]
	go tool pprof -raw d.pb.gz 2>/dev/null >raw
	grep -q 'Duration: 10.5' raw
	grep -q '^ *200 *13000: ' raw
	grep -q 'alloc_objects/count alloc_space/bytes' raw
	run ! grep -q inuse raw
	run "$HEAPAGENT" delta later.pb.gz a.pb.gz -o e.pb.gz
	[ "$status" -eq 1 ]
	[[ $output == *"older"* ]]
	sed 's/^sample 128 10,1280/sample 128 9,1152/' b.txt | "$MAKE" other.pb.gz
	run "$HEAPAGENT" delta a.pb.gz other.pb.gz -o e.pb.gz
	[ "$status" -eq 1 ]
	[[ $output == *"not of one process"* ]]
	[ ! -e e.pb.gz ]
}

# The data of a page that flame wrote, as JSON.
page_data() {
	sed -n '/<script type="application\/json"/,/<\/script>/p' "$1" |
		sed -e '1s/^[^{]*//' -e '$d'
}

@test "flame: one page with every figure, and nothing from elsewhere" {
	"$HEAPAGENT" flame a.pb.gz -o a.html
	run ! grep -Eq 'https?:|src=|@import|url\(|@@' a.html
	page_data a.html >a.json
	[ "$(json a.json '[t["name"] for t in d["types"]][d["default_type"]]')" \
		= inuse_space ]
	[ "$(json a.json 'd["values"][3]')" = 56556800 ]
	[ "$(json a.json '[d["values"][4 * i + 3] for i, n
		in enumerate(d["name_of"]) if d["names"][n] == "beta"]')" = \
		"[52428800]" ]
	"$HEAPAGENT" flame --diff a.pb.gz b.pb.gz -o d.html
	page_data d.html >d.json
	[ "$(json d.json 'd["diff"], d["values"][3] - d["base_values"][3]')" = \
		"True 510720" ]
	# Names from a profile stay text.
	sed 's|function beta|function </script><script>alert(1)</script>|' a.txt |
		"$MAKE" evil.pb.gz
	"$HEAPAGENT" flame evil.pb.gz -o evil.html
	[ "$(grep -c '<script>alert' evil.html)" -eq 0 ]
}

# dom PAGE[#VIEW] [OPTION]...: the page after its script ran, in Chromium.
dom() {
	timeout 60 chromium --headless --no-sandbox --disable-gpu \
		--disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync \
		--user-data-dir="$BATS_TEST_TMPDIR/chromium" \
		--window-size=1200,800 --virtual-time-budget=2000 "${@:2}" \
		--dump-dom "file://$PWD/$1" 2>/dev/null
}

@test "flame in Chromium: frames, search, zoom, figures" {
	command -v chromium >/dev/null || skip "chromium is not installed"
	"$HEAPAGENT" flame a.pb.gz -o a.html
	dom a.html >plain
	# all, main, alpha, beta, alpha, foo::bar
	[ "$(grep -o 'class="f[ "]' plain | wc -l)" -eq 6 ]
	grep -q '53.9 MiB ±5.8 %, 100.0 % of all' plain
	grep -q 'title="beta' plain
	dom 'a.html#search=bet' >found
	grep -q 'matched: 50.0 MiB, 92.7 %' found
	[ "$(grep -o 'class="f hit"' found | wc -l)" -eq 1 ]
	dom 'a.html#zoom=beta&type=alloc_space' >zoomed
	grep -q '100 MiB ±4.0 %, 67.4 % of all, 67.4 % of its caller' zoomed
	[ "$(grep -o 'class="f above"' zoomed | wc -l)" -eq 3 ]
	# The same by hand: a click on a frame, then words in the search field.
	{
		cat a.html
		echo "<script>document.querySelector('[title^=beta]').click();"
		echo "\$('search').value = 'a'; \$('search').oninput();</script>"
	} >hands.html
	dom hands.html >clicked
	grep -q '50.0 MiB ±5.6 %, 92.7 % of all' clicked
	[ "$(grep -o 'class="f above' clicked | wc -l)" -eq 3 ]
	grep -q 'matched: 50.0 MiB, 100.0 % of this frame' clicked
	"$HEAPAGENT" flame --diff a.pb.gz b.pb.gz -o d.html
	dom d.html >difference
	grep -q '53.9 MiB → 54.4 MiB: +499 KiB' difference
}

# does PAGE SCRIPT [OPTION]...: what the script, which may wait, returns.
# shellcheck disable=SC2016 # $ is the page's
does() {
	{
		cat "$1"
		echo '<script>'
		echo 'const wait = () => new Promise(done => setTimeout(done, 100));'
		echo 'const key = name => document.activeElement.dispatchEvent('
		echo '  new KeyboardEvent("keydown", { key: name, bubbles: true }));'
		echo 'const box = id => $(id).getBoundingClientRect();'
		echo "(async () => { $2 })().then(text => {"
		echo 'document.body.dataset.result = text; });</script>'
	} >does.html
	dom does.html "${@:3}" | sed -n 's/.*data-result="\([^"]*\)".*/\1/p'
}

# shellcheck disable=SC2016 # $ is the page's
@test "flame in Chromium: panel, keyboard, Back, links, dark, nothing to show" {
	command -v chromium >/dev/null || skip "chromium is not installed"
	heap 1 500 50 | sed "s/function beta/function long$(printf '::er%.0s' {1..400})/" |
		"$MAKE" long.pb.gz
	"$HEAPAGENT" flame long.pb.gz -o long.html
	# Neither a long name nor scrolling moves graph or panel.
	[ "$(does long.html 'const frame = document.querySelector("[title^=long]");
		const graph = box("graph").top, details = box("details");
		frame.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
		const text = $("name").textContent;
		document.body.style.height = "3000px";
		scrollTo(0, 1000);
		return [box("graph").top + scrollY - graph, scrollY > 0,
			box("details").top - details.top,
			box("details").height - details.height,
			box("details").bottom - innerHeight,
			text.includes(" … ") && text.length < 400];')" = \
		"0,true,0,0,0,true" ]
	"$HEAPAGENT" flame a.pb.gz -o a.html
	[ "$(does a.html 'const tabs = document.querySelectorAll(".f[tabindex=\"0\"]");
		tabs[0].focus();
		const seen = [tabs.length];
		for (const name of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight",
				"ArrowLeft", "ArrowUp", "ArrowDown", "Enter"]) {
			key(name);
			seen.push($("name").textContent);
		}
		return [...seen, zoom > 0, document.activeElement.className];')" = \
		"1,main,alpha,beta,alpha,beta,alpha,beta,beta,true,f" ]
	[ "$(does a.html 'document.querySelector("[title^=beta]").click();
		const seen = [location.hash];
		$("type").value = 1; $("type").onchange();
		seen.push(location.hash);
		history.back(); await wait();
		seen.push(type, name(zoom));
		history.back(); await wait();
		seen.push(zoom, location.hash);
		return seen.join(" ");')" = \
		"#zoom=beta&amp;frame=3 #type=alloc_space&amp;zoom=beta&amp;frame=3 3 beta 0 " ]
	# The inner alpha is not the outer one.
	dom 'a.html#zoom=alpha&frame=4&search=foo' >inner
	grep -q 'matched: 3.91 MiB, 100.0 % of this frame' inner
	local colour='return getComputedStyle(document.body).backgroundColor;'
	[ "$(does a.html "$colour")" = "rgb(255, 255, 255)" ]
	[ "$(does a.html "$colour" --blink-settings=preferredColorScheme=0)" = \
		"rgb(23, 24, 26)" ]
	heap 1 0 0 | sed 's/1000,4096000/0,0/' | "$MAKE" freed.pb.gz
	"$HEAPAGENT" flame freed.pb.gz -o freed.html
	dom freed.html |
		grep -q 'No inuse_space here; there is 603110 of alloc_objects, 148 MiB of alloc_space'
}

@test "colour and pager on a terminal only" {
	command -v script >/dev/null || skip "script(1) is not installed"
	export TERM=xterm PAGER="sed s/^/paged:/"
	script -qec "$HEAPAGENT top a.pb.gz" /dev/null >typescript
	grep -q 'paged:.*'$'\033''\[31mbeta' typescript
	NO_COLOR=1 script -qec "$HEAPAGENT top a.pb.gz" /dev/null >typescript
	grep -q 'paged:.*beta' typescript
	run ! grep -q $'\033' typescript
	"$HEAPAGENT" top a.pb.gz >plain
	run ! grep -q paged plain
}

# on COLUMNS COMMAND...: what stands on a terminal so wide.
on() {
	TERM=xterm NO_COLOR=1 PAGER=cat timeout 20 \
		"$ROOT/test/tools/on_terminal" "$@" | tr -d '\r'
}

# columns_before NAME: so many columns stand before it in what is read.
columns_before() {
	python3 -c 'import sys
print(min(l.find(sys.argv[1]) for l in sys.stdin if sys.argv[1] in l))' "$1"
}

@test "names are seen on a terminal of 80 columns" {
	export LC_ALL=C.UTF-8
	for call in "top a.pb.gz" "tree a.pb.gz" "peek alpha a.pb.gz" \
		"diff a.pb.gz b.pb.gz"; do
		# shellcheck disable=SC2086 # words are wanted
		on 80 "$HEAPAGENT" $call >out
		cat out
		[ "$(columns_before alpha <out)" -le 50 ]
		grep -q '[0-9]MiB±[0-9]' out
		# shellcheck disable=SC2086
		on 200 "$HEAPAGENT" $call | grep -q '[0-9] MiB ±[0-9]'
		# What is no terminal has no width.
		# shellcheck disable=SC2086
		COLUMNS=80 "$HEAPAGENT" $call | grep -q '[0-9] MiB ±[0-9]'
	done
}

@test "a terminal without UTF-8 gets ASCII" {
	for call in "top a.pb.gz" "tree a.pb.gz" "diff a.pb.gz b.pb.gz"; do
		for columns in 80 200; do
			# shellcheck disable=SC2086 # words are wanted
			LC_ALL=C on $columns "$HEAPAGENT" $call >out
			run ! grep -P '[^\x00-\x7f]' out
			grep -q '+-' out
			# shellcheck disable=SC2086
			env -u LC_ALL -u LC_CTYPE -u LANG bash -c \
				"$(declare -f on)"'; on "$@"' _ $columns \
				"$HEAPAGENT" $call >out
			run ! grep -P '[^\x00-\x7f]' out
		done
		# shellcheck disable=SC2086
		LC_ALL=C.UTF-8 on 80 "$HEAPAGENT" $call | grep -q ±
		# A file is always the same.
		# shellcheck disable=SC2086
		LC_ALL=C "$HEAPAGENT" $call | grep -q ±
	done
}

@test "Ctrl-C in the pager is the pager's" {
	# It goes on after it, and the command waits for its end.
	export TERM=xterm
	PAGER='trap : INT; cat >/dev/null; echo ready; sleep 2; echo went on' \
		run timeout 20 "$ROOT/test/tools/on_terminal" \
		--interrupt-at ready 80 "$HEAPAGENT" top a.pb.gz
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"went on"* ]]
}

@test "--json has every function unless told otherwise; what is not shown is said" {
	{
		echo "type space bytes"
		for i in {1..100}; do
			echo "function f$i a.c 1"
			echo "sample 1 $i f$i:1"
		done
	} | "$MAKE" many.pb.gz
	echo "type space bytes" | "$MAKE" none.pb.gz
	for call in "top many.pb.gz" "tree many.pb.gz" "peek f many.pb.gz" \
		"diff none.pb.gz many.pb.gz"; do
		# shellcheck disable=SC2086 # words are wanted
		"$HEAPAGENT" $call --json >all.json
		[ "$(json all.json 'len(f), d["omitted"]')" = "100 0" ]
		# shellcheck disable=SC2086
		"$HEAPAGENT" $call --json --nodecount 30 >some.json
		[ "$(json some.json 'len(f), d["omitted"]')" = "30 70" ]
		# shellcheck disable=SC2086
		"$HEAPAGENT" $call >out
		grep -q 'Showing 80 of 100 functions' out
	done
}

@test "tables without rows say why" {
	run "$HEAPAGENT" top a.pb.gz --focus '^nothing$'
	[ "$status" -eq 1 ]
	[ "$output" = "heapagent: a.pb.gz: no stack matches --focus '^nothing\$'" ]
	run "$HEAPAGENT" tree a.pb.gz --ignore .
	[ "$status" -eq 1 ]
	[ "$output" = "heapagent: a.pb.gz: no stack is left by --ignore '.'" ]
	run "$HEAPAGENT" diff a.pb.gz a.pb.gz
	[ "$status" -eq 0 ]
	[[ $output == *"No function grew or shrank"* ]]
	heap 1 0 0 | sed 's/1000,4096000/0,0/' | "$MAKE" freed.pb.gz
	for call in top tree; do
		run "$HEAPAGENT" $call freed.pb.gz
		[ "$status" -eq 0 ]
		[[ $output == *"No function has any inuse_space; there are 603110 of alloc_objects, 148 MiB of alloc_space"* ]]
	done
	{
		echo "type space bytes"
		echo "function only a.c 1"
		echo "function - - 1"
		echo "sample 1 1 f1:1"
	} | "$MAKE" one.pb.gz
	"$HEAPAGENT" top one.pb.gz | grep -q 'Showing 1 function with'
}

@test "sample types by number and by the begin of their names" {
	for index in inuse inuse_space 3; do
		run "$HEAPAGENT" top --sample_index $index a.pb.gz
		[[ $output == *"Type: inuse_space"* ]]
	done
	run "$HEAPAGENT" top --sample_index alloc a.pb.gz
	[[ $output == *"Type: alloc_space"* ]]
	run "$HEAPAGENT" top --sample_index 4 a.pb.gz
	[ "$status" -eq 1 ]
}

@test "a full disk is said" {
	run bash -c '"$0" top a.pb.gz >/dev/full' "$HEAPAGENT"
	[ "$status" -eq 1 ]
	[[ $output == *"No space left"* ]]
}

@test "a real program: names as go tool pprof has them, figures too" {
	PYTHONMALLOC=malloc HEAPAGENT_AT_EXIT=1 HEAPAGENT_RATE=4096 \
		preloaded /usr/bin/python3 -c 'x = [str(i) * 9 for i in range(100000)]'
	file=$(newest heap)
	"$HEAPAGENT" symbolize "$file" -o named.pb.gz
	"$CHECKVALID" named.pb.gz
	pprof_top named.pb.gz alloc_space | grep -v 0x | grep -v '\[' |
		grep -v '^0 0 ' >pprof
	"$HEAPAGENT" top --json --full-names --nodecount 0 --alloc_space \
		"$file" >top.json
	json top.json '"\n".join("%d %d %s" % (x["flat"], x["cum"],
		x["name"]) for x in d["functions"])' | sort >ours
	[ "$(wc -l <pprof)" -ge 10 ]
	# Each of pprof's lines is one of ours.
	[ -z "$(comm -23 pprof ours)" ]
}
