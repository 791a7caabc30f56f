/* SPDX-License-Identifier: Apache-2.0 */
/*
 * short_name.c - C++ names without what makes them long.
 *
 * One pass over the demangler's text: what stands between < and > or ( and )
 * is left out, except in the names of operators and in "(anonymous
 * namespace)"; then a return type, which ends in the last space.
 */
#include "short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "memory.h"

static const char anonymous[] = "(anonymous namespace)";

static bool
starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool
is_name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The length of "operator" and its sign, 0 if none begins here. */
static size_t
operator_bytes(const char *begin, const char *at)
{
	size_t bytes = strlen("operator");
	if (!starts(at, "operator") || is_name_character(at[bytes]) ||
	    (at > begin && is_name_character(at[-1])))
		return 0;
	if (starts(at + bytes, "()"))
		return bytes + 2;
	return bytes + strspn(at + bytes, "<>=-+*/%^&|~!,[]");
}

/* What closes the bracket at text, or the text's end. */
static const char *
skip_brackets(const char *text)
{
	size_t depth = 0;
	for (; *text; text++) {
		/* -> and the operators in an argument open or close nothing. */
		if (*text == '-' && text[1] == '>')
			text++;
		else if (*text == '<' || *text == '(')
			depth++;
		else if ((*text == '>' || *text == ')') && !--depth)
			return text + 1;
	}
	return text;
}

static void
drop_return_type(char *name)
{
	char *last = NULL;
	for (char *c = name; *c; c++) {
		/* "operator new", "operator unsigned int": to the end. */
		if (operator_bytes(name, c))
			break;
		if (starts(c, anonymous))
			c += sizeof(anonymous) - 2;
		else if (*c == ' ')
			last = c;
	}
	if (last && last[1])
		memmove(name, last + 1, strlen(last + 1) + 1);
}

char *
short_name(const char *name)
{
	char *shorter = memory_string(name);
	char *out = shorter;
	const char *at = name;
	while (*at) {
		size_t bytes = operator_bytes(name, at);
		if (!bytes && starts(at, anonymous))
			bytes = sizeof(anonymous) - 1;
		if (!bytes && (*at == '<' || *at == '(')) {
			at = skip_brackets(at);
			/* "operator< <int>" */
			if (out > shorter && out[-1] == ' ')
				out--;
			/* const, & and [clone] after the parameters. */
			while (starts(at, " const") || starts(at, " &") ||
			       starts(at, " volatile"))
				at += 1 + strcspn(at + 1, " :");
			if (starts(at, " ["))
				break;
			continue;
		}
		if (!bytes)
			bytes = 1;
		memcpy(out, at, bytes);
		out += bytes;
		at += bytes;
	}
	*out = '\0';
	drop_return_type(shorter);
	if (*shorter)
		return shorter;
	memcpy(shorter, name, strlen(name) + 1);
	return shorter;
}
