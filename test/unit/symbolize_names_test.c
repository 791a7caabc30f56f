/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize_names_test.c - names and numbers as a person reads them. */
/* SYMBOLIZE: demangle short_name units json perf_map memory utf8 */
/* SYMBOLIZE: profile_file target reason */
/* LIBS: -liberty -lm -lz */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "demangle.h"
#include "json.h"
#include "perf_map.h"
#include "short_name.h"
#include "units.h"

static const char *const mangled[][2] = {
	{ "main", "main" },
	{ "_init", "_init" },
	{ "_Znot_a_name", "_Znot_a_name" },
	/* C++ */
	{ "_ZN4shop4sellEm", "shop::sell(unsigned long)" },
	{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
	  "std::vector<int, std::allocator<int> >::push_back(int&&)" },
	{ "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()" },
	/* Rust, older form: the hash is dropped. */
	{ "_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
	  "core::ptr::drop_in_place" },
	{ "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fm"
	  "t17h0123456789abcdefE",
	  "<alloc::string::String as core::fmt::Display>::fmt" },
	/* Rust v0: the examples of RFC 2603. */
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	{ "_RNvMs_CsgStHSCytQ6I_7mycrateNtB4_7Example3foo",
	  "<mycrate::Example>::foo" },
	{ "_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>" },
};

static void
test_demangles(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(mangled) / sizeof(*mangled); i++) {
		char *name = demangle(mangled[i][0]);
		assert_string_equal(name, mangled[i][1]);
		free(name);
	}
}

/* Nested substitutions that double at each step: 2^30 characters. */
static void
test_hostile_names_end(void **state)
{
	char deep[20000];
	(void)state;
	memset(deep, 'P', sizeof(deep));
	memcpy(deep, "_Z1f", 4);
	strcpy(deep + sizeof(deep) - 2, "i");
	free(demangle(deep));
	deep[8000] = '\0';
	free(demangle(deep));
}

static const char *const shorter[][2] = {
	{ "main", "main" },
	{ "shop::sell(unsigned long)", "shop::sell" },
	{ "void std::vector<int, std::allocator<int> >::push_back(int&&)",
	  "std::vector::push_back" },
	{ "(anonymous namespace)::foo()", "(anonymous namespace)::foo" },
	{ "A::size() const", "A::size" },
	{ "operator new(unsigned long)", "operator new" },
	{ "bool operator< <int>(A<int> const&)", "operator<" },
	{ "std::ostream& operator<< <char>(std::ostream&, char)",
	  "operator<<" },
	{ "A<int>::operator->() const", "A::operator->" },
	{ "A::operator()(int) const", "A::operator()" },
	{ "A::operator unsigned int() const", "A::operator unsigned int" },
	{ "f(int)::{lambda(char)#1}::operator()(char) const",
	  "f::{lambda#1}::operator()" },
	{ "foo(int) [clone .cold]", "foo" },
	{ "decltype (x->y) f<T>(T)", "f" },
	{ "<unbalanced", "<unbalanced" },
	{ "f(", "f" },
};

static void
test_shortens(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shorter) / sizeof(*shorter); i++) {
		char *name = short_name(shorter[i][0]);
		assert_string_equal(name, shorter[i][1]);
		free(name);
	}
}

static void
check_units(struct units_text got, const char *wanted)
{
	assert_string_equal(got.text, wanted);
}

static void
test_units(void **state)
{
	double variance = 1331439862.0 * 0.031; /* 3.1 % of 1.24 GiB */
	(void)state;
	check_units(units_value(0, "bytes"), "0 B");
	check_units(units_value(1023, "bytes"), "1023 B");
	check_units(units_value(1024, "bytes"), "1.00 KiB");
	check_units(units_value(1331439862, "bytes"), "1.24 GiB");
	check_units(units_value(-52428800, "bytes"), "-50.0 MiB");
	check_units(units_value(1.5e9, "nanoseconds"), "1.50 s");
	check_units(units_value(12345, "count"), "12345");
	check_units(units_value(7, "apples"), "7 apples");
	check_units(units_change(1024, "bytes"), "+1.00 KiB");
	check_units(units_change(0, "bytes"), "0 B");
	check_units(units_estimate(1331439862, variance * variance, "bytes",
				   true),
		    "1.24 GiB ±3.1 %");
	check_units(units_estimate(10, 1e6, "count", true), "10 >100 %");
	check_units(units_estimate(10, 1e6, "count", false), "10");
	check_units(units_percent(1, 3), "33.3 %");
	check_units(units_percent(1, 0), "");
	assert_int_equal(units_columns("10 ±3 µs"), 8);
}

static char *
written(void (*write)(FILE *out, const void *value), const void *value)
{
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	write(out, value);
	fclose(out);
	return text;
}

static void
write_string(FILE *out, const void *value)
{
	json_string(out, value);
}

static void
write_number(FILE *out, const void *value)
{
	json_number(out, *(const double *)value);
}

static void
test_json(void **state)
{
	static const char *const strings[][2] = {
		{ "plain", "\"plain\"" },
		{ "a\"b\\c\n", "\"a\\\"b\\\\c\\u000a\"" },
		{ "</script>", "\"\\u003c/script>\"" },
		{ "±", "\"±\"" },
		{ "\xff\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
	};
	static const struct {
		double value;
		const char *text;
	} numbers[] = {
		{ 0, "0" },	 { 52428800, "52428800" },
		{ -1, "-1" },	 { 0.25, "0.25" },
		{ NAN, "null" }, { INFINITY, "null" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		char *text = written(write_string, strings[i][0]);
		assert_string_equal(text, strings[i][1]);
		free(text);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		char *text = written(write_number, &numbers[i].value);
		assert_string_equal(text, numbers[i].text);
		free(text);
	}
}

static void
test_perf_map(void **state)
{
	static const char lines[] = "1000 10 first one\n"
				    "nonsense\n"
				    "2000 ffffffffffffffff overflows\n"
				    "1020 10 second\n"
				    "1000 8 replaced\n";
	char path[] = "/tmp/symbolize-perf-XXXXXX";
	int fd = mkstemp(path);
	struct reason reason;
	(void)state;
	fchmod(fd, 0644);
	assert_int_equal(write(fd, lines, sizeof(lines) - 1),
			 sizeof(lines) - 1);
	close(fd);
	struct perf_map *map = perf_map_open_usual(path, (uid_t)-1, &reason);
	assert_non_null(map);
	assert_null(perf_map_find(map, 0xfff));
	assert_string_equal(perf_map_find(map, 0x1000), "replaced");
	assert_null(perf_map_find(map, 0x1008));
	assert_string_equal(perf_map_find(map, 0x102f), "second");
	assert_null(perf_map_find(map, 0x1030));
	assert_null(perf_map_find(map, 0x2000));
	perf_map_close(map);
	/* Anybody may put a link or a file of theirs into /tmp. */
	char link[64];
	snprintf(link, sizeof(link), "%s.link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_null(perf_map_open_usual(link, (uid_t)-1, &reason));
	assert_string_equal(reason.text, "it is a link");
	/* But for who names it. */
	map = perf_map_open(link, &reason);
	assert_non_null(map);
	perf_map_close(map);
	unlink(link);
	if (!geteuid() && !chown(path, 12345, 12345) && !seteuid(54321)) {
		map = perf_map_open_usual(path, (uid_t)-1, &reason);
		assert_null(map);
		assert_non_null(strstr(reason.text, "to user 12345,"));
		map = perf_map_open_usual(path, 12345, &reason);
		assert_int_equal(seteuid(0), 0);
		assert_non_null(map);
		perf_map_close(map);
	}
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_demangles),
		cmocka_unit_test(test_hostile_names_end),
		cmocka_unit_test(test_shortens),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_perf_map),
	};
	return CHECK_RUN(tests);
}
