/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instructions.c - reads what `objdump -dw` printed and compares each line with
 * what the agent's decoder makes of its bytes: length, where it goes, and
 * whether it writes rsp. Prints how many it read and, of these, how many were
 * refused and how many are wrong, with the first of the wrong.
 *
 * LINK: instruction
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instruction.h"

static unsigned long read_count, refused, wrong;

static void
complain(const char *line, const char *what)
{
	if (wrong++ < 20)
		printf("%s: %s", what, line);
}

/* AT&T syntax: what is written comes last. */
static int
writes_sp(const char *mnemonic, const char *operands)
{
	size_t length = strcspn(operands, " \n");
	static const char *const readers[] = { "cmp", "test", "push", "call",
					       "jmp", "nop",  "bt" };

	for (unsigned i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (strncmp(mnemonic, readers[i], strlen(readers[i])) == 0)
			return 0;
	return length >= 4 && strncmp(operands + length - 4, "%rsp", 4) == 0;
}

static int
kind_fits(const char *mnemonic, enum instruction_flow flow)
{
	if (strncmp(mnemonic, "call", 4) == 0)
		return flow == FLOW_CALL;
	if (strncmp(mnemonic, "jmp", 3) == 0)
		return flow == FLOW_JUMP || flow == FLOW_ANYWHERE;
	if (mnemonic[0] == 'j' || strncmp(mnemonic, "loop", 4) == 0)
		return flow == FLOW_BRANCH;
	if (strcmp(mnemonic, "ret") == 0 || strncmp(mnemonic, "ud", 2) == 0 ||
	    strcmp(mnemonic, "hlt") == 0 || strcmp(mnemonic, "int3") == 0)
		return flow == FLOW_STOP;
	return flow == FLOW_ON || flow == FLOW_STOP;
}

static int
stack_fits(const char *mnemonic, const char *operands,
	   const struct instruction *in)
{
	if (strncmp(mnemonic, "push", 4) == 0)
		return in->stack == STACK_MOVED && in->amount == -8;
	if (strcmp(mnemonic, "leave") == 0 ||
	    (strcmp(mnemonic, "pop") == 0 && strstr(operands, "%rbp")))
		return in->stack == STACK_FP_BACK;
	if (strncmp(mnemonic, "pop", 3) == 0 && mnemonic[3] != 'c')
		return in->stack == STACK_MOVED && in->amount == 8;
	if (strcmp(mnemonic, "enter") == 0)
		return in->stack == STACK_UNKNOWN;
	/* A call of the next instruction, as of a function that follows. */
	if (strncmp(mnemonic, "call", 4) == 0 && in->stack == STACK_UNKNOWN &&
	    in->length == 5)
		return 1;
	if (writes_sp(mnemonic, operands))
		return in->stack == STACK_MOVED || in->stack == STACK_FROM_FP ||
		       in->stack == STACK_UNKNOWN;
	return in->stack == STACK_KEPT || in->stack == STACK_TO_FP;
}

static void
check(const char *line, const unsigned char *bytes, unsigned count,
      const char *text)
{
	struct instruction in;
	char mnemonic[32] = "";
	const char *operands;

	/* Prefixes stand before the mnemonic, as words of their own. */
	while (strncmp(text, "notrack ", 8) == 0 ||
	       strncmp(text, "bnd ", 4) == 0 || strncmp(text, "rep", 3) == 0 ||
	       strncmp(text, "lock ", 5) == 0 ||
	       strncmp(text, "data16 ", 7) == 0 ||
	       strncmp(text, "rex", 3) == 0 || strncmp(text, "cs ", 3) == 0 ||
	       strncmp(text, "ds ", 3) == 0)
		text += strcspn(text, " ") + 1;
	sscanf(text, "%31s", mnemonic);
	operands = text + strlen(mnemonic);
	operands += strspn(operands, " ");
	read_count++;
	if (!instruction_read(bytes, bytes + 16, &in)) {
		refused++;
		if (refused <= 20)
			printf("refused: %s", line);
	} else if (bytes[0] == 0x9b) {
		return; /* fwait, of which objdump makes one with the next */
	} else if (in.length != count) {
		complain(line, "length");
	} else if (!kind_fits(mnemonic, in.flow)) {
		complain(line, "flow");
	} else if (!stack_fits(mnemonic, operands, &in)) {
		complain(line, "stack");
	}
}

int
main(void)
{
	char line[1024];

	while (fgets(line, sizeof(line), stdin)) {
		unsigned char bytes[32] = { 0 };
		unsigned count = 0;
		char *at = strchr(line, '\t'), *text;

		if (at == NULL || (text = strchr(at + 1, '\t')) == NULL ||
		    strstr(line, "(bad)"))
			continue;
		while (at < text && count < 16) {
			char *next;
			unsigned long value = strtoul(at, &next, 16);

			if (next == at || next > text)
				break;
			bytes[count++] = (unsigned char)value;
			at = next;
		}
		check(line, bytes, count, text + 1);
	}
	printf("read %lu refused %lu wrong %lu\n", read_count, refused, wrong);
	return 0;
}
