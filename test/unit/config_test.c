/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_test.c - what each setting takes, and what is said of the rest.
 *
 * LINK: config log sys
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/*
 * Reads one setting on top of the defaults and returns what went to standard
 * error.
 */
static const char *
read_setting(const char *entry)
{
	static struct config defaults;
	static bool saved;
	static char output[4096];
	char text[256];
	char *envp[] = { text, NULL };
	int ends[2], error = dup(2);
	ssize_t n;

	if (!saved)
		defaults = config;
	saved = true;
	config = defaults;
	strcpy(text, entry);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	dup2(ends[1], 2);
	config_read(envp);
	dup2(error, 2);
	n = read(ends[0], output, sizeof(output) - 1);
	output[n < 0 ? 0 : n] = '\0';
	close(error);
	close(ends[0]);
	close(ends[1]);
	return output;
}

static void
accept(const char *entry)
{
	assert_string_equal(read_setting(entry), "");
}

static void
refuse(const char *entry)
{
	const char *said = read_setting(entry);

	assert_non_null(strstr(said, "heapagent: HEAPAGENT_"));
	assert_non_null(strstr(said, strchr(entry, '=') + 1));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void
rates(void **state)
{
	(void)state;
	accept("HEAPAGENT_NONE=1");
	assert_int_equal(config.rate_bytes, 524288);
	accept("HEAPAGENT_RATE=0");
	assert_int_equal(config.rate_bytes, 0);
	accept("HEAPAGENT_RATE=64K");
	assert_int_equal(config.rate_bytes, 65536);
	accept("HEAPAGENT_RATE=2g");
	assert_int_equal(config.rate_bytes, UINT64_C(2) << 30);
	refuse("HEAPAGENT_RATE=");
	refuse("HEAPAGENT_RATE=-1");
	refuse("HEAPAGENT_RATE=1KB");
	refuse("HEAPAGENT_RATE=1 ");
	refuse("HEAPAGENT_RATE=0 ");
	refuse("HEAPAGENT_RATE=0x10");
	refuse("HEAPAGENT_RATE=2T");
	refuse("HEAPAGENT_RATE=18446744073709551617");
	refuse("HEAPAGENT_RATE=999999999999G");
	assert_int_equal(config.rate_bytes, 524288);
}

static void
directories(void **state)
{
	char here[4096], want[8192];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	accept("HEAPAGENT_NONE=1");
	assert_string_equal(config.directory, here);
	accept("HEAPAGENT_DIR=/var/tmp//x/");
	assert_string_equal(config.directory, "/var/tmp/x");
	accept("HEAPAGENT_DIR=/");
	assert_string_equal(config.directory, "/");
	accept("HEAPAGENT_DIR=./a/./b");
	strcpy(want, here);
	strcat(want, "/a/b");
	assert_string_equal(config.directory, want);
	refuse("HEAPAGENT_DIR=");
	assert_string_equal(config.directory, here);
}

static void
signals(void **state)
{
	(void)state;
	accept("HEAPAGENT_SIGNAL=SIGUSR1");
	assert_int_equal(config.signal, SIGUSR1);
	accept("HEAPAGENT_SIGNAL=PROF");
	assert_int_equal(config.signal, SIGPROF);
	accept("HEAPAGENT_SIGNAL=12");
	assert_int_equal(config.signal, 12);
	accept("HEAPAGENT_SIGNAL=RTMIN+3");
	assert_int_equal(config.signal, SIGRTMIN + 3);
	accept("HEAPAGENT_SIGNAL=none");
	assert_int_equal(config.signal, 0);
	refuse("HEAPAGENT_SIGNAL=KILL");
	refuse("HEAPAGENT_SIGNAL=9");
	refuse("HEAPAGENT_SIGNAL=SEGV");
	refuse("HEAPAGENT_SIGNAL=11");
	refuse("HEAPAGENT_SIGNAL=RTMIN+99");
	refuse("HEAPAGENT_SIGNAL=RTMINX");
	refuse("HEAPAGENT_SIGNAL=65");
	refuse("HEAPAGENT_SIGNAL=0");
	assert_int_equal(config.signal, SIGUSR2);
}

static void
others(void **state)
{
	(void)state;
	accept("HEAPAGENT_PROFILES=heap,threads");
	assert_int_equal(config.profiles, PROFILE_HEAP | PROFILE_THREADS);
	accept("HEAPAGENT_PROFILES=allocs");
	assert_int_equal(config.profiles, PROFILE_ALLOCS);
	refuse("HEAPAGENT_PROFILES=heap,");
	refuse("HEAPAGENT_PROFILES=cpu");
	refuse("HEAPAGENT_PROFILES=");
	accept("HEAPAGENT_AT_EXIT=1");
	assert_true(config.at_exit);
	refuse("HEAPAGENT_AT_EXIT=yes");
	refuse("HEAPAGENT_AT_EXIT=");
	accept("HEAPAGENT_RESUME=0");
	assert_false(config.resume);
	refuse("HEAPAGENT_RESUME=2");
	accept("HEAPAGENT_CHILDREN=0");
	assert_false(config.children);
	accept("HEAPAGENT_DEPTH=512");
	assert_int_equal(config.depth_frames, 512);
	refuse("HEAPAGENT_DEPTH=513");
	refuse("HEAPAGENT_DEPTH=0");
	accept("HEAPAGENT_MEMORY=4M");
	assert_int_equal(config.memory_bytes, 4 << 20);
	refuse("HEAPAGENT_MEMORY=3M");
	accept("HEAPAGENT_UNWINDER=libunwind");
	assert_int_equal(config.unwinder, UNWINDER_LIBUNWIND);
	refuse("HEAPAGENT_UNWINDER=LIBUNWIND");
	accept("HEAPAGENT_LOG=info");
	assert_int_equal(config.log, LOG_INFO);
	refuse("HEAPAGENT_LOG=debug");
	accept("HEAPAGENT_FORMAT=proto");
	assert_int_equal(config.format, FORMAT_PROTO);
	accept("HEAPAGENT_FORMAT=text");
	assert_int_equal(config.format, FORMAT_TEXT);
	refuse("HEAPAGENT_FORMAT=json");
}

static void
quiet_says_nothing(void **state)
{
	char log[] = "HEAPAGENT_LOG=quiet", rate[] = "HEAPAGENT_RATE=x";
	char *envp[] = { rate, log, NULL };
	int ends[2], error = dup(2);
	char c;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	dup2(ends[1], 2);
	config_read(envp);
	dup2(error, 2);
	assert_int_equal(read(ends[0], &c, 1), -1);
	close(error);
}

static void
one_by_name(void **state)
{
	(void)state;
	assert_null(config_set("DEPTH", "77"));
	assert_int_equal(config.depth_frames, 77);
	assert_string_equal(config_set("DEPTH", "0"), "1 to 512 frames");
	assert_int_equal(config.depth_frames, 77);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates),
		cmocka_unit_test(directories),
		cmocka_unit_test(signals),
		cmocka_unit_test(others),
		cmocka_unit_test(quiet_says_nothing),
		cmocka_unit_test(one_by_name),
	};

	return CHECK_RUN(tests);
}
