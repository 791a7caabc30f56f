/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - parses the HEAPAGENT_* settings; see config.h. */
#include "config.h"

#include <signal.h>
#include <string.h>

#include "compiler.h"
#include "log.h"
#include "region.h"
#include "sys.h"
#include "unwind.h"

struct config config = {
	.rate_bytes = CONFIG_RATE_DEFAULT,
	.memory_bytes = CONFIG_MEMORY_DEFAULT,
	.depth_frames = CONFIG_DEPTH_DEFAULT,
	.signal = SIGUSR2,
	.profiles = PROFILE_ALL,
	.resume = true,
	.children = true,
	.unwinder = UNWINDER_AUTO,
	.log = LOG_WARN,
};

/* A decimal number with an optional suffix K, M, G or T (powers of 1024). */
static bool
parse_size(const char *text, uint64_t minimum, uint64_t maximum,
	   uint64_t *result)
{
	static const char suffixes[] = "KMGT";
	uint64_t value = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, 10U, &value) ||
		    __builtin_add_overflow(value, (unsigned)(*text - '0'),
					   &value))
			return false;
	if (*text != '\0') {
		/* A space becomes the terminator, which strchr() finds, too. */
		int letter = *text & ~0x20;
		const char *suffix = strchr(suffixes, letter);

		if (letter == '\0' || suffix == NULL || text[1] != '\0' ||
		    __builtin_mul_overflow(value,
					   UINT64_C(1) << (10 * (suffix -
								 suffixes + 1)),
					   &value))
			return false;
	}
	*result = value;
	return value >= minimum && value <= maximum;
}

static bool
set_rate(const char *value)
{
	uint64_t rate;

	if (!parse_size(value, 0, CONFIG_RATE_MAX, &rate))
		return false;
	config.rate_bytes = rate;
	return true;
}

static bool
set_memory(const char *value)
{
	uint64_t memory;

	if (!parse_size(value, REGION_SIZE_MIN, REGION_SIZE_MAX, &memory))
		return false;
	config.memory_bytes = memory;
	return true;
}

static bool
set_depth(const char *value)
{
	uint64_t depth;

	if (!parse_size(value, 1, UNWIND_FRAMES_MAX, &depth))
		return false;
	config.depth_frames = (unsigned)depth;
	return true;
}

/* Removes "." and repeated or trailing slashes; ".." is left to the kernel. */
static bool
set_directory(const char *value)
{
	char *out = config.directory;
	size_t used = 0;

	if (value[0] == '\0')
		return false;
	if (value[0] != '/') {
		/* The result counts the terminator. */
		long r = sys_call2(SYS_getcwd, out, CONFIG_PATH_MAX);

		/* Without a leading slash the directory is out of reach. */
		if (r <= 1 || out[0] != '/')
			return false;
		used = (size_t)r - 1;
	}
	if (used + 1 + strlen(value) >= CONFIG_PATH_MAX)
		return false;
	while (*value != '\0') {
		size_t length = strcspn(value, "/");

		if (length > 0 && !(length == 1 && value[0] == '.')) {
			if (used == 0 || out[used - 1] != '/')
				out[used++] = '/';
			memcpy(out + used, value, length);
			used += length;
		}
		value += length + (value[length] == '/');
	}
	if (used == 0)
		out[used++] = '/';
	out[used] = '\0';
	return true;
}

static const struct {
	const char *name;
	int number;
} signal_names[] = {
	{ "HUP", SIGHUP },	 { "USR1", SIGUSR1 },	{ "USR2", SIGUSR2 },
	{ "ALRM", SIGALRM },	 { "TERM", SIGTERM },	{ "CHLD", SIGCHLD },
	{ "URG", SIGURG },	 { "XCPU", SIGXCPU },	{ "PROF", SIGPROF },
	{ "VTALRM", SIGVTALRM }, { "WINCH", SIGWINCH }, { "IO", SIGIO },
	{ "PWR", SIGPWR },	 { "INT", SIGINT },	{ "QUIT", SIGQUIT },
};

/* A signal whose handler may return and that is not a fault or a stop. */
static bool
usable_signal(uint64_t number)
{
	if (number >= (unsigned)SIGRTMIN && number <= (unsigned)SIGRTMAX)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(signal_names); i++)
		if ((uint64_t)signal_names[i].number == number)
			return true;
	return false;
}

static bool
set_signal(const char *value)
{
	uint64_t number;

	if (strcmp(value, "none") == 0) {
		config.signal = 0;
		return true;
	}
	if (strncmp(value, "SIG", 3) == 0)
		value += 3;
	for (size_t i = 0; i < ARRAY_SIZE(signal_names); i++)
		if (strcmp(signal_names[i].name, value) == 0) {
			config.signal = signal_names[i].number;
			return true;
		}
	if (strncmp(value, "RTMIN", 5) == 0) {
		number = 0;
		if (value[5] != '\0' &&
		    (value[5] != '+' || !parse_size(value + 6, 0, 64, &number)))
			return false;
		number += (unsigned)SIGRTMIN;
	} else if (!parse_size(value, 1, 64, &number)) {
		return false;
	}
	if (!usable_signal(number))
		return false;
	config.signal = (int)number;
	return true;
}

/* The index in a NULL-terminated list of words; -1 if it is not there. */
static int
word_index(const char *const *words, const char *value, size_t length)
{
	for (int i = 0; words[i] != NULL; i++)
		if (strlen(words[i]) == length &&
		    memcmp(words[i], value, length) == 0)
			return i;
	return -1;
}

static bool
set_profiles(const char *value)
{
	static const char *const kinds[] = { "threads", "allocs", "heap",
					     NULL };
	unsigned profiles = 0;

	for (;;) {
		size_t length = strcspn(value, ",");
		int kind = word_index(kinds, value, length);

		if (kind < 0)
			return false;
		profiles |= 1U << kind; /* the order of PROFILE_* */
		if (value[length] == '\0')
			break;
		value += length + 1;
	}
	config.profiles = profiles;
	return true;
}

static bool
set_format(const char *value)
{
	static const char *const names[] = { "proto", "text", NULL };
	int index = word_index(names, value, strlen(value));

	if (index < 0)
		return false;
	config.format = (enum config_format)index;
	return true;
}

static bool
parse_bool(const char *value, bool *result)
{
	if ((value[0] != '0' && value[0] != '1') || value[1] != '\0')
		return false;
	*result = value[0] == '1';
	return true;
}

static bool
set_at_exit(const char *value)
{
	return parse_bool(value, &config.at_exit);
}

static bool
set_children(const char *value)
{
	return parse_bool(value, &config.children);
}

static bool
set_resume(const char *value)
{
	return parse_bool(value, &config.resume);
}

static bool
set_unwinder(const char *value)
{
	static const char *const names[] = { "auto", "cfi", "fp", "libunwind",
					     NULL };
	int index = word_index(names, value, strlen(value));

	if (index < 0)
		return false;
	config.unwinder = (enum config_unwinder)index;
	return true;
}

static bool
set_log(const char *value)
{
	static const char *const names[] = { "quiet", "warn", "info", NULL };
	int index = word_index(names, value, strlen(value));

	if (index < 0)
		return false;
	config.log = (enum config_log)index;
	return true;
}

/* LOG first, so that it governs what is said of the others. */
static const struct {
	const char *name;
	bool (*set)(const char *value);
	const char *accepted;
	const char *fallback;
} settings[] = {
	{ "LOG", set_log, "quiet, warn, info", "warn" },
	{ "RATE", set_rate, "0 to 1T bytes (K, M, G, T allowed)", "524288" },
	{ "DIR", set_directory, "a directory's path of at most 4000 bytes",
	  "the start directory" },
	{ "SIGNAL", set_signal,
	  "a signal's name or number, RTMIN+n, none (not KILL, STOP or a "
	  "fault)",
	  "USR2" },
	{ "PROFILES", set_profiles, "a list of heap, allocs, threads",
	  "heap,allocs,threads" },
	{ "FORMAT", set_format, "proto, text", "proto" },
	{ "AT_EXIT", set_at_exit, "0, 1", "0" },
	{ "DEPTH", set_depth, "1 to 512 frames", "128" },
	{ "MEMORY", set_memory, "4M to 31G bytes (K, M, G allowed)", "64M" },
	{ "CHILDREN", set_children, "0, 1", "1" },
	{ "RESUME", set_resume, "0, 1", "1" },
	{ "UNWINDER", set_unwinder, "auto, cfi, fp, libunwind", "auto" },
};

const char *
config_set(const char *name, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (strcmp(settings[i].name, name) == 0)
			return settings[i].set(value) ? NULL
						      : settings[i].accepted;
	return NULL;
}

static const char *
find_variable(char *const *envp, const char *name)
{
	static const char prefix[] = "HEAPAGENT_";
	size_t length = strlen(name);

	for (; *envp != NULL; envp++) {
		const char *entry = *envp;

		if (strncmp(entry, prefix, sizeof(prefix) - 1) != 0)
			continue;
		entry += sizeof(prefix) - 1;
		if (strncmp(entry, name, length) == 0 && entry[length] == '=')
			return entry + length + 1;
	}
	return NULL;
}

void
config_read(char *const *envp)
{
	if (!set_directory("."))
		memcpy(config.directory, "/", 2);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		const char *value = find_variable(envp, settings[i].name);

		if (value == NULL || settings[i].set(value))
			continue;
		log_warn("HEAPAGENT_%s=\"%s\" is not accepted; it takes %s; "
			 "using %s",
			 settings[i].name, value, settings[i].accepted,
			 settings[i].fallback);
	}
}
