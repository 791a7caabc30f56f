/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.c - memcpy and its like, hidden: what libc declares in string.h, as far
 * as the agent and the zlib in it call it. [any]
 *
 * libc's own would be called through the program's symbols, where a sanitizer
 * or another preloaded library may stand before it. Theirs expect a thread of
 * the program (ThreadSanitizer's keeps its state in thread-local memory, which
 * the dump child has none of) and judge memory that is ours.
 *
 * Compiled freestanding, so that the compiler does not make calls of
 * themselves out of these loops. Speed matters for memcmp (a stack is compared
 * with each sample) and for copying and clearing in deflate.
 */
#include <stdint.h>
#include <string.h>

/* From here on "rep movsb" is faster than words (Intel SDM 3.7.6). */
#define LONG_BYTES 128

typedef uint64_t word __attribute__((may_alias, aligned(1)));

void *
memcpy(void *restrict to, const void *restrict from, size_t n)
{
	char *t = to;
	const char *f = from;

	if (n >= LONG_BYTES) {
		__asm__ volatile("rep movsb"
				 : "+D"(t), "+S"(f), "+c"(n)
				 :
				 : "memory");
		return to;
	}
	for (; n >= sizeof(word); n -= sizeof(word)) {
		*(word *)t = *(const word *)f;
		t += sizeof(word);
		f += sizeof(word);
	}
	while (n-- > 0)
		*t++ = *f++;
	return to;
}

void *
memmove(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	/* Upwards is right unless the target begins within the source. */
	if ((uintptr_t)to - (uintptr_t)from >= n) {
		while (n-- > 0)
			*t++ = *f++;
	} else {
		while (n-- > 0)
			t[n] = f[n];
	}
	return to;
}

void *
memset(void *to, int byte, size_t n)
{
	void *t = to;

	__asm__ volatile("rep stosb" : "+D"(t), "+c"(n) : "a"(byte) : "memory");
	return to;
}

int
memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *p = a, *q = b;

	for (; n >= sizeof(word) && *(const word *)p == *(const word *)q;
	     n -= sizeof(word)) {
		p += sizeof(word);
		q += sizeof(word);
	}
	for (; n > 0; n--, p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

size_t
strnlen(const char *s, size_t most)
{
	size_t n = 0;

	while (n < most && s[n] != '\0')
		n++;
	return n;
}

size_t
strlen(const char *s)
{
	return strnlen(s, SIZE_MAX);
}

int
strncmp(const char *a, const char *b, size_t n)
{
	for (; n > 0; n--, a++, b++)
		if (*a != *b || *a == '\0')
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

int
strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

char *
strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (*s == '\0')
			return NULL;
	return (char *)(uintptr_t)s;
}

char *
strrchr(const char *s, int c)
{
	const char *found = NULL;

	for (;; s++) {
		if (*s == (char)c)
			found = s;
		if (*s == '\0')
			return (char *)(uintptr_t)found;
	}
}

size_t
strcspn(const char *s, const char *reject)
{
	size_t n = 0;

	while (s[n] != '\0' && strchr(reject, s[n]) == NULL)
		n++;
	return n;
}

size_t
strspn(const char *s, const char *accept)
{
	size_t n = 0;

	while (s[n] != '\0' && strchr(accept, s[n]) != NULL)
		n++;
	return n;
}

char *
strstr(const char *s, const char *part)
{
	size_t length = strlen(part);

	for (; strncmp(s, part, length) != 0; s++)
		if (*s == '\0')
			return NULL;
	return (char *)(uintptr_t)s;
}

char *
strcpy(char *restrict to, const char *restrict from)
{
	return memcpy(to, from, strlen(from) + 1);
}
