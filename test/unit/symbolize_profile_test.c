/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize_profile_test.c - profiles are read whole, checked, and kept. */
/* SYMBOLIZE: profile profile_check profile_file legacy_text legacy_place */
/* SYMBOLIZE: table target memory utf8 reason proto */
/* SYMBOLIZE: legacy_thread */
/* LIBS: -lprotobuf-c -lz -lm */
#include "profile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "check.h"
#include "profile_file.h"

/*
 * By hand, so that no encoder of ours is believed: sample_type {type "a" unit
 * "b"}, one sample of location 1 with value 7, that location at 0x10, a field
 * 99 that the schema does not know, strings "", "a", "b".
 */
static const uint8_t good[] = {
	0x0a, 4, 0x08, 1,   0x10, 2,		  /* sample_type */
	0x12, 6, 0x0a, 1,   1,	  0x12, 1,   7,	  /* sample */
	0x22, 4, 0x08, 1,   0x18, 0x10,		  /* location */
	0x9a, 6, 4,    'k', 'e',  'p',	't',	  /* field 99 */
	0x32, 0, 0x32, 1,   'a',  0x32, 1,   'b', /* strings */
};

static int
parse(const uint8_t *data, size_t bytes, struct profile **profile)
{
	struct reason reason;
	*profile = NULL;
	return profile_parse("test", data, bytes, profile, &reason);
}

static void
test_reads_what_is_there(void **state)
{
	struct profile *profile;
	(void)state;
	assert_int_equal(parse(good, sizeof(good), &profile), 0);
	assert_int_equal(profile->pb->n_sample, 1);
	assert_int_equal(profile->pb->sample[0]->value[0], 7);
	assert_int_equal(profile_location(profile, 1)->address, 0x10);
	assert_null(profile_location(profile, 2));
	assert_int_equal(profile_sample_type(profile, "a"), 0);
	assert_int_equal(profile_sample_type(profile, "b"), -1);
	assert_int_equal(profile_default_type(profile), 0);
	profile_free(profile);
}

static void
test_keeps_unknown_fields(void **state)
{
	struct profile *profile, *again;
	struct reason reason;
	char path[] = "/tmp/symbolize-profile-XXXXXX";
	(void)state;
	close(mkstemp(path));
	assert_int_equal(parse(good, sizeof(good), &profile), 0);
	assert_int_equal(profile_write(profile, path, &reason), 0);
	assert_int_equal(profile_read(path, &again, &reason), 0);
	assert_int_equal(again->pb->base.n_unknown_fields, 1);
	const ProtobufCMessageUnknownField *field =
		&again->pb->base.unknown_fields[0];
	assert_int_equal(field->tag, 99);
	assert_memory_equal(field->data + field->len - 4, "kept", 4);
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	unlink(path);
	profile_free(profile);
	profile_free(again);
}

/* Each change of one byte makes the profile invalid, for the reason named. */
static void
test_refuses_what_is_inconsistent(void **state)
{
	static const struct {
		size_t offset;
		uint8_t value;
		const char *says;
	} cases[] = {
		{ 3, 9, "string index" },     /* sample_type.type */
		{ 10, 2, "location 2" },      /* sample.location_id */
		{ 11, 0x22, "0 values" },     /* sample.value: unknown */
		{ 17, 0, "reserved id 0" },   /* location.id */
		{ 27, 0x6a, "string table" }, /* "" is no string any more */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint8_t bad[sizeof(good)];
		struct profile *profile = NULL;
		struct reason reason = { "" };
		memcpy(bad, good, sizeof(good));
		bad[cases[i].offset] = cases[i].value;
		int status = profile_parse("test", bad, sizeof(bad), &profile,
					   &reason);
		if (status >= 0 || !strstr(reason.text, cases[i].says))
			fail_msg("case %zu: %d, \"%s\"", i, status,
				 reason.text);
	}
}

/* Any damage is refused or harmless: what is accepted can be written. */
static void
test_survives_damage(void **state)
{
	struct profile *profile;
	unsigned accepted = 0;
	(void)state;
	srandom(1);
	for (size_t cut = 0; cut < sizeof(good); cut++)
		if (!parse(good, cut, &profile))
			profile_free(profile);
	for (int i = 0; i < 20000; i++) {
		uint8_t bad[sizeof(good)];
		memcpy(bad, good, sizeof(good));
		for (long j = random() % 3; j >= 0; j--)
			bad[(size_t)random() % sizeof(bad)] ^=
				(uint8_t)(1 << random() % 8);
		if (parse(bad, sizeof(bad), &profile))
			continue;
		accepted++;
		assert_true(perftools__profiles__profile__get_packed_size(
				    profile->pb) > 0);
		profile_string(profile, "one more");
		profile_free(profile);
	}
	assert_true(accepted > 0);
}

static void
test_adds_each_string_once(void **state)
{
	struct profile *profile;
	(void)state;
	assert_int_equal(parse(good, sizeof(good), &profile), 0);
	assert_int_equal(profile_string(profile, "b"), 2);
	assert_int_equal(profile_string(profile, "new"), 3);
	assert_int_equal(profile_string(profile, "new"), 3);
	assert_string_equal(profile_text(profile, 3), "new");
	/* proto3 strings are UTF-8; names from an ELF file need not be. */
	int64_t index = profile_string(profile, "x\xff\xc3\xa9");
	assert_string_equal(profile_text(profile, index), "x?\xc3\xa9");
	profile_free(profile);
}

static void
test_new_functions_get_new_ids(void **state)
{
	struct profile *profile;
	(void)state;
	assert_int_equal(parse(good, sizeof(good), &profile), 0);
	struct pb_function *one = profile_add_function(profile);
	struct pb_function *two = profile_add_function(profile);
	assert_int_not_equal(one->id, 0);
	assert_int_not_equal(one->id, two->id);
	assert_ptr_equal(profile_function(profile, two->id), two);
	profile_free(profile);
}

static void
write_file(const char *path, const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), (ssize_t)bytes);
	close(fd);
}

static void
test_names_what_is_wrong_with_a_file(void **state)
{
	char path[] = "/tmp/symbolize-profile-XXXXXX";
	struct profile *profile;
	struct reason reason;
	uint8_t packed[4096];
	size_t bytes = 0;
	(void)state;
	close(mkstemp(path));
	assert_int_equal(profile_read("/nonexistent", &profile, &reason),
			 -2 /* ENOENT */);
	assert_true(profile_read("/tmp", &profile, &reason) < 0);
	assert_non_null(strstr(reason.text, "directory"));
	assert_true(profile_read(path, &profile, &reason) < 0);
	assert_non_null(strstr(reason.text, "empty"));
	assert_int_equal(profile_file_write(path, good, sizeof(good), &reason),
			 0);
	FILE *file = fopen(path, "rb");
	bytes = fread(packed, 1, sizeof(packed), file);
	fclose(file);
	write_file(path, packed, bytes - 6);
	assert_true(profile_read(path, &profile, &reason) < 0);
	assert_non_null(strstr(reason.text, "cut short"));
	packed[bytes - 6] ^= 1; /* the checksum */
	write_file(path, packed, bytes);
	assert_true(profile_read(path, &profile, &reason) < 0);
	assert_non_null(strstr(reason.text, "bad gzip data"));
	unlink(path);
}

/* 600 MiB of zeros in 600 KiB of file. */
static void
test_ends_a_gzip_bomb(void **state)
{
	char path[] = "/tmp/symbolize-profile-XXXXXX";
	static const char zeros[1 << 20];
	struct profile *profile;
	struct reason reason;
	(void)state;
	gzFile file = gzdopen(mkstemp(path), "wb1");
	for (int i = 0; i < 600; i++)
		assert_int_equal(gzwrite(file, zeros, sizeof(zeros)),
				 (int)sizeof(zeros));
	gzclose(file);
	assert_true(profile_read(path, &profile, &reason) < 0);
	assert_non_null(strstr(reason.text, "MiB"));
	unlink(path);
}

static void
test_leaves_no_partial_file(void **state)
{
	char directory[] = "/tmp/symbolize-profile-XXXXXX";
	char path[64];
	struct profile *profile;
	struct reason reason;
	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/none/x.pb.gz", directory);
	assert_int_equal(parse(good, sizeof(good), &profile), 0);
	assert_true(profile_write(profile, path, &reason) < 0);
	/* /dev/full: a device is written in place, and its failure said. */
	assert_true(profile_write(profile, "/dev/full", &reason) < 0);
	assert_int_equal(rmdir(directory), 0);
	profile_free(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_what_is_there),
		cmocka_unit_test(test_keeps_unknown_fields),
		cmocka_unit_test(test_refuses_what_is_inconsistent),
		cmocka_unit_test(test_survives_damage),
		cmocka_unit_test(test_adds_each_string_once),
		cmocka_unit_test(test_new_functions_get_new_ids),
		cmocka_unit_test(test_names_what_is_wrong_with_a_file),
		cmocka_unit_test(test_ends_a_gzip_bomb),
		cmocka_unit_test(test_leaves_no_partial_file),
	};
	return CHECK_RUN(tests);
}
