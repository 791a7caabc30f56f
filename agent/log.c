/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - one-line messages without stdio; see log.h. */
#include "log.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler.h"
#include "config.h"
#include "error_texts.h"
#include "sys.h"

#define LINE_BYTES 512

struct output {
	char *next;
	char *end; /* room for the terminator is kept */
};

static void
put(struct output *out, char c)
{
	if (out->next < out->end)
		*out->next++ = c;
}

static void
put_string(struct output *out, const char *s)
{
	for (s = s == NULL ? "(null)" : s; *s != '\0'; s++)
		put(out, *s);
}

static void
put_number(struct output *out, uint64_t n, unsigned base, unsigned width)
{
	char digits[24];
	unsigned used = 0;

	do
		digits[used++] = "0123456789abcdef"[n % base];
	while ((n /= base) != 0);
	while (used < width && used < sizeof(digits))
		digits[used++] = '0';
	while (used > 0)
		put(out, digits[--used]);
}

/* Any of %d %u %x with the length modifiers l, ll, z; %0Nu pads with zeros. */
static const char *
put_conversion(struct output *out, const char *format, va_list *args)
{
	unsigned longs = 0, width = 0;
	uint64_t n;

	while (*format >= '0' && *format <= '9')
		width = width * 10 + (unsigned)(*format++ - '0');
	while (*format == 'l' || *format == 'z') {
		longs++;
		format++;
	}
	switch (*format) {
	case 's':
		put_string(out, va_arg(*args, const char *));
		break;
	case 'd': {
		int64_t d = longs ? va_arg(*args, long) : va_arg(*args, int);

		if (d < 0)
			put(out, '-');
		put_number(out, d < 0 ? 0 - (uint64_t)d : (uint64_t)d, 10,
			   width);
		break;
	}
	case 'u':
	case 'x':
		n = longs ? va_arg(*args, unsigned long)
			  : va_arg(*args, unsigned int);
		put_number(out, n, *format == 'x' ? 16 : 10, width);
		break;
	default:
		put(out, *format);
	}
	return *format == '\0' ? format : format + 1;
}

size_t
log_vformat(char *buffer, size_t size_bytes, const char *format, va_list args)
{
	struct output out = { buffer, buffer + size_bytes - 1 };
	va_list copy;

	va_copy(copy, args);
	while (*format != '\0') {
		if (*format == '%')
			format = put_conversion(&out, format + 1, &copy);
		else
			put(&out, *format++);
	}
	va_end(copy);
	*out.next = '\0';
	return (size_t)(out.next - buffer);
}

size_t
log_format(char *buffer, size_t size_bytes, const char *format, ...)
{
	va_list args;
	size_t length;

	va_start(args, format);
	length = log_vformat(buffer, size_bytes, format, args);
	va_end(args);
	return length;
}

/* Immutable after log_remember_stream(). */
static struct {
	dev_t device;
	ino_t inode;
} stream;

/*
 * True if a line can be written at once. Not to a pipe that nobody reads any
 * more (POLLERR beside POLLOUT): its SIGPIPE would end the host.
 */
static bool
takes_a_line(void)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct timespec now = { 0, 0 };

	/* Not poll, see resume.h. */
	return sys_call5(SYS_ppoll, &fd, 1, &now, NULL, 0) == 1 &&
	       fd.revents == POLLOUT;
}

static void
write_line(const char *format, va_list args)
{
	struct sys_oversize oversize;
	char line[LINE_BYTES];
	size_t used = log_format(line, sizeof(line) - 1, "heapagent: ");

	used += log_vformat(line + used, sizeof(line) - 1 - used, format, args);
	line[used++] = '\n';
	/* A message that cannot be written is lost: there is nobody to tell. */
	if (!takes_a_line())
		return;
	sys_oversize_begin(&oversize);
	(void)sys_write_all(STDERR_FILENO, line, used);
	sys_oversize_end(&oversize);
}

void
log_warn(const char *format, ...)
{
	va_list args;

	if (config.log < LOG_WARN)
		return;
	va_start(args, format);
	write_line(format, args);
	va_end(args);
}

void
log_info(const char *format, ...)
{
	va_list args;

	if (config.log < LOG_INFO)
		return;
	va_start(args, format);
	write_line(format, args);
	va_end(args);
}

const char *
log_error_text(long error)
{
	/* Not strerrordesc_np(), of glibc 2.32: others have to load us, too. */
	static const char *const texts[] = {
#define ERROR_TEXT(name, text) [name] = text,
		ERROR_TEXTS(ERROR_TEXT)
#undef ERROR_TEXT
	};
	uint64_t number = (uint64_t)-error;

	return number < ARRAY_SIZE(texts) && texts[number] != NULL
		       ? texts[number]
		       : "unknown error";
}

void
log_remember_stream(void)
{
	struct stat st;

	if (sys_failed(sys_call2(SYS_fstat, STDERR_FILENO, &st)))
		return;
	stream.device = st.st_dev;
	stream.inode = st.st_ino;
}

static bool
is_remembered_stream(void)
{
	struct stat st;

	return !sys_failed(sys_call2(SYS_fstat, STDERR_FILENO, &st)) &&
	       st.st_dev == stream.device && st.st_ino == stream.inode;
}

void
log_late(const char *format, ...)
{
	va_list args;

	if (config.log < LOG_WARN || !is_remembered_stream())
		return;
	va_start(args, format);
	write_line(format, args);
	va_end(args);
}
