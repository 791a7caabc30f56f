/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize_legacy_test.c - legacy texts become the profiles they mean. */
/* SYMBOLIZE: profile profile_check profile_file legacy_text legacy_place */
/* SYMBOLIZE: table target memory utf8 reason proto */
/* SYMBOLIZE: legacy_thread */
/* LIBS: -lprotobuf-c -lz -lm */
#include "legacy_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static struct profile *
parse(const char *text)
{
	struct profile *profile = NULL;
	struct reason reason = { "" };
	int status = profile_parse("test", (const uint8_t *)text, strlen(text),
				   &profile, &reason);

	if (status != 0)
		print_error("%s\n", reason.text);
	assert_int_equal(status, 0);
	return profile;
}

/* Refused, with a reason that has this in it. */
static void
refuse(const char *text, const char *why)
{
	struct profile *profile = NULL;
	struct reason reason = { "" };

	assert_true(profile_parse("test", (const uint8_t *)text, strlen(text),
				  &profile, &reason) < 0);
	assert_null(profile);
	if (strstr(reason.text, why) == NULL)
		fail_msg("'%s' is not in '%s'", why, reason.text);
}

static void
expect_values(const struct profile *profile, size_t sample, int64_t a,
	      int64_t b, int64_t c, int64_t d)
{
	const int64_t *value = profile->pb->sample[sample]->value;

	assert_int_equal(profile->pb->sample[sample]->n_value, 4);
	assert_int_equal(value[0], a);
	assert_int_equal(value[1], b);
	assert_int_equal(value[2], c);
	assert_int_equal(value[3], d);
}

static const char heap[] =
	"heap profile: 7: 528384 [8: 528385] @ heap_v2/524288\n"
	"4: 4096 [5: 5120] @ 0x401101 0x7f0000001201 0x401101\n"
	"  3:  3072 [  3:  3072] @ 0x800000000001\n"
	"# bytes = 500000\n"
	"0: 0 [1: 524288] @\n"
	"\n"
	"# heapagent 1\n"
	"# kind = allocs\n"
	"# time_nanos = 1700000000000000000\n"
	"# duration_nanos = 5\n"
	"# build_id = c0ffee 0x401000\n"
	"#\t0x401100\tmain+0x10\tmain.c:3\n"
	"\n"
	"MAPPED_LIBRARIES:\n"
	"00401000-00402000 r-xp 00001000 08:01 1234   /usr/bin/a b\n"
	"00402000-00403000 rw-p 00001000 08:01 1234   /usr/bin/a b\n"
	"7f0000001000-7f0000002000 r-xp 00000000 00:00 0 /lib/l.so\n"
	"800000000000-800000001000 r-xp 00000000 00:00 0 [truncated]\n";

/* Go's own figures for these sums (runtime/pprof's test of 2016). */
static void
test_heap_figures(void **state)
{
	struct profile *profile = parse(heap);
	const struct pb_profile *pb = profile->pb;

	(void)state;
	assert_int_equal(pb->n_sample, 3);
	expect_values(profile, 0, 2562, 2624000, 2050, 2099200);
	expect_values(profile, 1, 1537, 1574400, 1537, 1574400);
	expect_values(profile, 2, 1, 829411, 0, 0);
	assert_int_equal(pb->sample[0]->label[0]->num, 1024);
	/* Said by the comment before that line, and for that line alone. */
	assert_int_equal(pb->sample[2]->label[0]->num, 500000);
	assert_int_equal(pb->period, 524288);
	assert_string_equal(profile_text(profile, pb->period_type->type),
			    "space");
	assert_int_equal(profile_default_type(profile), 1);
	assert_int_equal(pb->time_nanos, 1700000000000000000);
	assert_int_equal(pb->duration_nanos, 5);
	assert_int_equal(pb->n_comment, 2);
	assert_string_equal(profile_text(profile, pb->comment[0]),
			    "heapagent 1");
	profile_free(profile);
}

static void
test_places(void **state)
{
	struct profile *profile = parse(heap);
	const struct pb_profile *pb = profile->pb;
	const struct pb_location *location;

	(void)state;
	/* Equal addresses are one location, one off what the text has. */
	assert_int_equal(pb->n_location, 3);
	assert_int_equal(pb->sample[0]->n_location_id, 3);
	assert_int_equal(pb->sample[0]->location_id[0],
			 pb->sample[0]->location_id[2]);
	assert_int_equal(pb->sample[2]->n_location_id, 0);
	location = profile_location(profile, pb->sample[0]->location_id[0]);
	assert_int_equal(location->address, 0x401100);
	assert_int_equal(location->mapping_id, 1);
	/* Code alone, with its name whole. */
	assert_int_equal(pb->n_mapping, 3);
	assert_string_equal(profile_text(profile, pb->mapping[0]->filename),
			    "/usr/bin/a b");
	assert_string_equal(profile_text(profile, pb->mapping[0]->build_id),
			    "c0ffee");
	assert_string_equal(profile_text(profile, pb->mapping[1]->build_id),
			    "");
	assert_int_equal(pb->mapping[0]->file_offset, 0x1000);
	location = profile_location(profile, pb->sample[0]->location_id[1]);
	assert_int_equal(location->mapping_id, 2);
	location = profile_location(profile, pb->sample[1]->location_id[0]);
	assert_int_equal(location->n_line, 1);
	assert_string_equal(
		profile_text(profile,
			     profile_function(profile,
					      location->line[0]->function_id)
				     ->name),
		"[truncated]");
	profile_free(profile);
}

/* The older type says twice the rate; the unsampled one has no weights. */
static void
test_other_types(void **state)
{
	struct profile *profile =
		parse("heap profile: 4: 4096 [5: 5120] @ heap/1048576\n"
		      "4: 4096 [4: 4096] @ 0x2\n");

	(void)state;
	expect_values(profile, 0, 2050, 2099200, 2050, 2099200);
	assert_int_equal(profile->pb->period, 524288);
	profile_free(profile);
	profile = parse("heap profile: 4: 4096 [5: 5120] @ heapprofile\n"
			"4: 4096 [5: 5120] @ 0x2\n");
	expect_values(profile, 0, 5, 5120, 4, 4096);
	assert_int_equal(profile->pb->period, 1);
	profile_free(profile);
	/* All equal: there is but one pair. */
	profile = parse("heap profile: 4: 4096 [4: 4096] @ heapprofile\n"
			"4: 4096 [4: 4096] @ 0x2\n");
	assert_int_equal(profile->pb->n_sample_type, 2);
	assert_int_equal(profile->pb->sample[0]->value[1], 4096);
	profile_free(profile);
}

static void
test_threads(void **state)
{
	struct profile *profile =
		parse("threads profile: total 2\n"
		      "\n"
		      "# thread 4711 \"a \\\"b\\\\\\x0a\\x5d\" [futex wait, "
		      "12 minutes]:\n"
		      "1 @ 0x401101 0x401102\n"
		      "#\t0x401100\tprogram+0x1100\n"
		      "\n"
		      "1 @ 0x401101\n"
		      "--- Memory map: ---\n"
		      "00401000-00402000 r-xp 00001000 00:00 0 /usr/bin/a\n");
	const struct pb_sample *sample = profile->pb->sample[0];

	(void)state;
	assert_int_equal(profile_sample_type(profile, "threads"), 0);
	assert_int_equal(profile->pb->n_sample, 2);
	assert_int_equal(sample->value[0], 1);
	assert_int_equal(sample->n_label, 4);
	assert_string_equal(profile_text(profile, sample->label[0]->str),
			    "a \"b\\\n]");
	assert_string_equal(profile_text(profile, sample->label[1]->str),
			    "futex wait");
	assert_int_equal(sample->label[2]->num, 4711);
	assert_true(sample->label[3]->num == INT64_C(720000000000));
	assert_string_equal(profile_text(profile, sample->label[3]->num_unit),
			    "nanoseconds");
	/* A name is that of the next stack only. */
	assert_int_equal(profile->pb->sample[1]->n_label, 0);
	profile_free(profile);
}

/* What is not quite so is a comment like others. */
static void
test_odd_threads(void **state)
{
	static const char *const odd[] = {
		"",
		"4711",
		"4711 ",
		"4711 worker [read]:",
		"4711 \"worker",
		"4711 \"worker\\",
		"4711 \"worker\\x5",
		"4711 \"worker\"",
		"4711 \"worker\" [read",
		"x \"worker\" [read]:",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "threads profile: total 1\n"
			 "# thread %s\n"
			 "1 @ 0x401101\n",
			 odd[i]);
		struct profile *profile = parse(text);
		assert_int_equal(profile->pb->sample[0]->n_label, 0);
		profile_free(profile);
	}
	/* Less than a minute, no time, or an absurd one. */
	struct profile *profile = parse("threads profile: total 1\n"
					"# thread 1 \"\" [read, no minutes]:\n"
					"1 @ 0x401101\n"
					"# thread 2 \"w\" [read, -9 minutes]:\n"
					"1 @ 0x401101\n");
	assert_int_equal(profile->pb->sample[0]->n_label, 3);
	assert_int_equal(profile->pb->sample[1]->n_label, 3);
	profile_free(profile);
}

static void
test_refused(void **state)
{
	(void)state;
	refuse("heap profile: what", "line 1");
	refuse("heap profile: 1: 1 [1: 1] @ growthz\n", "growthz");
	refuse("heap profile: 1: 1 [1: 2] @ heapprofile\n1: 1 @ 0x1\n",
	       "line 2");
	refuse("heap profile: 1: 1 [1: 2] @ heapprofile\n1: 1 [1: 1] @ x\n",
	       "address");
	refuse("heap profile: 1: 1 [1: 2] @ heapprofile\n1: 1 [1: 1] @ -1\n",
	       "address");
	refuse("threads profile: total 1\nx @ 0x1\n", "line 2");
	refuse("threads profile: total 1\n-1 @ 0x1\n", "line 2");
	/* No such text, so taken for the other format. */
	refuse("threads profile: total\n", "malformed protocol buffer");
}

/* Absurd figures are bounded, and nothing overflows. */
static void
test_absurd(void **state)
{
	struct profile *profile = parse(
		"heap profile: 1: 1 [1: 2] @ heap_v2/18446744073709551615\n"
		"18446744073709551615: 18446744073709551615 "
		"[18446744073709551615: 1] @ 0x0 0xffffffffffffffff "
		"0xfffffffffffffffffffff\n"
		"MAPPED_LIBRARIES:\n"
		"ffffffffffffffff-0 r-xp 0 0 0 x\n"
		"zz\n");

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_true(profile->pb->sample[0]->value[i] >= 0);
	profile_free(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heap_figures),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_other_types),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_odd_threads),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_absurd),
	};

	return CHECK_RUN(tests);
}
