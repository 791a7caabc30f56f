/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instruction.c - prefixes, opcode, ModRM, displacement, immediate; see
 * instruction.h.
 *
 * What follows an opcode is in two tables of 256 letters. What an instruction
 * does to rsp is looked at for the one-byte opcodes only: no compiler writes
 * rsp, which holds no variable, with any other.
 */
#include "instruction.h"

#include <stddef.h>
#include <string.h>

/*
 * . nothing   m ModRM   b 8 bits   w 16 bits   z 32 bits, 16 with a 66 prefix
 * d a distance of 32 bits   B, Z: m and b, m and z   f, F: m, and b, z if its
 * reg is 0 or 1   o an address   v 32 bits, or 64 with REX.W, or 16   e enter
 * p prefix   s not an opcode itself: see read_opcode()   x invalid
 */
static const char one_byte[] = "mmmmbzxxmmmmbzxs" /* 00 */
			       "mmmmbzxxmmmmbzxx" /* 10 */
			       "mmmmbzpxmmmmbzpx" /* 20 */
			       "mmmmbzpxmmmmbzpx" /* 30 */
			       "pppppppppppppppp" /* 40: REX */
			       "................" /* 50 */
			       "xxsmppppzZbB...." /* 60 */
			       "bbbbbbbbbbbbbbbb" /* 70 */
			       "BZxBmmmmmmmmmmmm" /* 80 */
			       "..........x....." /* 90 */
			       "oooo....bz......" /* a0 */
			       "bbbbbbbbvvvvvvvv" /* b0 */
			       "BBw.ssBZe.w..bx." /* c0 */
			       "mmmmxxx.mmmmmmmm" /* d0 */
			       "bbbbbbbbddxb...." /* e0 */
			       "p.pp..fF......mm" /* f0 */;
static const char two_bytes[] = "mmmmx.....x.xm.x" /* 0f 00 */
				"mmmmmmmmmmmmmmmm" /* 10 */
				"mmmmxxxxmmmmmmmm" /* 20 */
				"......x.sxsxxxxx" /* 30 */
				"mmmmmmmmmmmmmmmm" /* 40 */
				"mmmmmmmmmmmmmmmm" /* 50 */
				"mmmmmmmmmmmmmmmm" /* 60 */
				"BBBBmmm.mmmmmmmm" /* 70 */
				"dddddddddddddddd" /* 80 */
				"mmmmmmmmmmmmmmmm" /* 90 */
				"...mBmxx...mBmmm" /* a0 */
				"mmmmmmmmmmBmmmmm" /* b0 */
				"mmBmBBBm........" /* c0 */
				"mmmmmmmmmmmmmmmm" /* d0 */
				"mmmmmmmmmmmmmmmm" /* e0 */
				"mmmmmmmmmmmmmmmm" /* f0 */;
_Static_assert(sizeof(one_byte) == 257 && sizeof(two_bytes) == 257,
	       "a letter for each opcode");

#define INSTRUCTION_BYTES_MAX 15

enum { SP = 4, FP = 5 };

enum { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A };

/* An instruction taken apart. Registers have their fourth bit. */
struct parts {
	const unsigned char *at; /* what is read next */
	const unsigned char *end;
	bool failed;
	bool operand_16;
	bool wide;		      /* REX.W */
	bool vex;		      /* or EVEX */
	unsigned rex_r, rex_x, rex_b; /* 8 or 0 */
	unsigned map;
	unsigned char opcode;
	char letter;
	/* All 0 where there is no ModRM. */
	unsigned mod, reg, rm, base, index;
	int64_t displacement;
	int64_t immediate;
};

/* A signed number of so many bytes, little-endian. */
static int64_t
number(struct parts *parts, unsigned bytes)
{
	uint64_t value = 0;

	if ((size_t)(parts->end - parts->at) < bytes) {
		parts->failed = true;
		return 0;
	}
	memcpy(&value, parts->at, bytes);
	parts->at += bytes;
	if (bytes == 0 || bytes == 8)
		return (int64_t)value;
	return (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static unsigned char
byte(struct parts *parts)
{
	return (unsigned char)number(parts, 1);
}

/* Prefixes, to the first byte of the opcode. */
static void
read_prefixes(struct parts *parts)
{
	const unsigned operand_size = 0x66;

	while ((parts->letter = one_byte[parts->opcode = byte(parts)]) == 'p') {
		bool rex = (parts->opcode & 0xf0) == 0x40;

		if (parts->failed)
			return;
		/* A REX counts only right before the opcode. */
		parts->wide = rex && (parts->opcode & 8) != 0;
		parts->rex_r = rex && (parts->opcode & 4) ? 8 : 0;
		parts->rex_x = rex && (parts->opcode & 2) ? 8 : 0;
		parts->rex_b = rex && (parts->opcode & 1) ? 8 : 0;
		parts->operand_16 |= parts->opcode == operand_size;
	}
}

/* After VEX's and EVEX's first byte: their payload, and the opcode. */
static void
read_vex(struct parts *parts)
{
	unsigned first = byte(parts);

	parts->vex = true;
	parts->map = MAP_0F;
	if (parts->opcode == 0xc4) {
		parts->map = first & 0x1f;
		(void)byte(parts);
	} else if (parts->opcode == 0x62) {
		parts->map = first & 7;
		(void)number(parts, 2);
	}
	parts->opcode = byte(parts);
}

static void
read_opcode(struct parts *parts)
{
	read_prefixes(parts);
	if (parts->letter != 's')
		return;
	if (parts->opcode == 0x0f) {
		parts->map = MAP_0F;
		parts->opcode = byte(parts);
		if (two_bytes[parts->opcode] == 's') {
			parts->map =
				parts->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
			parts->opcode = byte(parts);
		}
	} else {
		read_vex(parts);
	}
	if (parts->map == MAP_0F)
		parts->letter = two_bytes[parts->opcode];
	else if (parts->map == MAP_0F3A)
		parts->letter = 'B';
	else /* EVEX's maps 5 and 6 (AVX512-FP16) are like 0f38. */
		parts->letter = parts->map == MAP_0F38 || parts->map == 5 ||
						parts->map == 6
					? 'm'
					: 'x';
}

static void
read_modrm(struct parts *parts)
{
	unsigned modrm = byte(parts), sib;

	parts->mod = modrm >> 6;
	parts->reg = (modrm >> 3 & 7) | parts->rex_r;
	parts->rm = (modrm & 7) | parts->rex_b;
	parts->base = parts->rm;
	parts->index = SP; /* none */
	if (parts->mod == 3)
		return;
	if ((modrm & 7) == SP) {
		sib = byte(parts);
		parts->index = (sib >> 3 & 7) | parts->rex_x;
		parts->base = (sib & 7) | parts->rex_b;
	}
	if (parts->mod == 1)
		parts->displacement = number(parts, 1);
	else if (parts->mod == 2 || (parts->base & 7) == FP)
		parts->displacement = number(parts, 4);
}

static void
read_immediate(struct parts *parts)
{
	unsigned z = parts->operand_16 && !parts->wide ? 2 : 4;

	switch (parts->letter) {
	case 'b':
	case 'B':
		parts->immediate = number(parts, 1);
		break;
	case 'w':
		parts->immediate = number(parts, 2);
		break;
	case 'z':
	case 'Z':
		parts->immediate = number(parts, z);
		break;
	case 'd':
		parts->immediate = number(parts, 4);
		break;
	case 'f':
		parts->immediate = number(parts, parts->reg % 8 < 2);
		break;
	case 'F':
		parts->immediate = number(parts, parts->reg % 8 < 2 ? z : 0);
		break;
	case 'v':
		parts->immediate = number(parts, parts->wide ? 8 : z);
		break;
	case 'o':
		parts->immediate = number(parts, 8);
		break;
	case 'e':
		parts->immediate = number(parts, 3);
		break;
	default:
		break;
	}
}

static enum instruction_flow
flow_of_two_bytes(const struct parts *parts)
{
	if (parts->vex || parts->map != MAP_0F)
		return FLOW_ON;
	if (parts->letter == 'd')
		return FLOW_BRANCH;
	/* ud2, ud1, ud0 */
	return parts->opcode == 0x0b || parts->opcode == 0xb9 ||
			       parts->opcode == 0xff
		       ? FLOW_STOP
		       : FLOW_ON;
}

static enum instruction_flow
flow_of(const struct parts *parts)
{
	if (parts->map != MAP_ONE_BYTE)
		return flow_of_two_bytes(parts);
	switch (parts->opcode) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
		return FLOW_BRANCH;
	case 0xe8:
		return FLOW_CALL;
	case 0xe9:
	case 0xeb:
		return FLOW_JUMP;
	case 0xc2:
	case 0xc3:
	case 0xca ... 0xcc: /* far returns, int3 */
	case 0xcf:
	case 0xf4: /* hlt */
		return FLOW_STOP;
	case 0xff:
		if (parts->reg % 8 == 2 || parts->reg % 8 == 3)
			return FLOW_CALL;
		if (parts->reg % 8 == 4 || parts->reg % 8 == 5)
			return FLOW_ANYWHERE;
		return FLOW_ON;
	default:
		return FLOW_ON;
	}
}

/* The register that is written, of the instructions that may write rsp. */
static unsigned
destination(const struct parts *parts)
{
	const unsigned none = 16;
	unsigned in_rm = parts->mod == 3 ? parts->rm : none;
	unsigned group = parts->reg % 8;

	switch (parts->opcode) {
	case 0x00 ... 0x37: /* arithmetic; 38 to 3f compares */
		return parts->opcode % 8 == 1	? in_rm
		       : parts->opcode % 8 == 3 ? parts->reg
						: none;
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8b:
	case 0x8d:
		return parts->reg;
	case 0x81:
	case 0x83:
		return group == 7 ? none : in_rm;
	case 0x87:
		return parts->reg == SP ? SP : in_rm;
	case 0x89:
	case 0xc1:
	case 0xc7:
	case 0xd1:
	case 0xd3:
		return in_rm;
	case 0xf7:
		return group == 2 || group == 3 ? in_rm : none;
	case 0xff:
		return group < 2 ? in_rm : none;
	case 0x90 ... 0x97:
	case 0xb8 ... 0xbf:
		return (parts->opcode & 7) | parts->rex_b;
	default:
		return none;
	}
}

static enum instruction_stack
pop_to(unsigned reg, int64_t *amount)
{
	*amount = 8;
	return reg == SP   ? STACK_UNKNOWN
	       : reg == FP ? STACK_FP_BACK
			   : STACK_MOVED;
}

/* Of mov, lea, add and sub, whatever they are about. */
static enum instruction_stack
stack_of_plain(const struct parts *parts, int64_t *amount)
{
	unsigned to = destination(parts), from = 16;

	if (to != SP && to != FP)
		return STACK_KEPT;
	*amount = 0;
	if (!parts->wide)
		return to == SP ? STACK_UNKNOWN : STACK_KEPT;
	if (parts->opcode == 0x89)
		from = parts->reg;
	else if (parts->opcode == 0x8b && parts->mod == 3)
		from = parts->rm;
	if (parts->opcode == 0x8d && parts->index == SP &&
	    (parts->mod == 1 || parts->mod == 2)) {
		from = parts->base;
		*amount = parts->displacement;
	}
	if ((parts->opcode == 0x81 || parts->opcode == 0x83) && to == SP &&
	    (parts->reg == 0 || parts->reg == 5)) {
		from = SP;
		*amount =
			parts->reg == 0 ? parts->immediate : -parts->immediate;
	}
	if (to == FP)
		return from == SP ? STACK_TO_FP : STACK_KEPT;
	return from == SP   ? STACK_MOVED
	       : from == FP ? STACK_FROM_FP
			    : STACK_UNKNOWN;
}

static enum instruction_stack
stack_of(const struct parts *parts, int64_t *amount)
{
	const bool narrow = parts->operand_16;

	if (parts->map != MAP_ONE_BYTE)
		return STACK_KEPT;
	*amount = -8;
	switch (parts->opcode) {
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
	case 0x9c: /* pushf */
		return narrow ? STACK_UNKNOWN : STACK_MOVED;
	case 0x58 ... 0x5f:
		return narrow ? STACK_UNKNOWN
			      : pop_to((parts->opcode & 7) | parts->rex_b,
				       amount);
	case 0x9d: /* popf */
		return narrow ? STACK_UNKNOWN : pop_to(16, amount);
	case 0x8f:
		return narrow ? STACK_UNKNOWN
			      : pop_to(parts->mod == 3 ? parts->rm : 16,
				       amount);
	case 0xc9:
		return STACK_FP_BACK;
	case 0xc8: /* enter */
		return STACK_UNKNOWN;
	case 0xff:
		if (parts->reg % 8 == 6)
			return narrow ? STACK_UNKNOWN : STACK_MOVED;
		return destination(parts) == SP ? STACK_UNKNOWN : STACK_KEPT;
	default:
		return stack_of_plain(parts, amount);
	}
}

bool
instruction_read(const unsigned char *code, const unsigned char *end,
		 struct instruction *instruction)
{
	struct parts parts = { .at = code, .end = end };
	bool relative;

	if (end - code > INSTRUCTION_BYTES_MAX)
		parts.end = code + INSTRUCTION_BYTES_MAX;
	read_opcode(&parts);
	if (parts.failed || parts.letter == 'x')
		return false;
	if (strchr("mBZfF", parts.letter) != NULL)
		read_modrm(&parts);
	read_immediate(&parts);
	/* With a 66 prefix alone, processors differ in how they take it. */
	if (parts.failed ||
	    (parts.letter == 'd' && parts.operand_16 && !parts.wide))
		return false;
	instruction->length = (unsigned)(parts.at - code);
	instruction->flow = flow_of(&parts);
	instruction->amount = 0;
	instruction->stack = stack_of(&parts, &instruction->amount);
	relative = instruction->flow == FLOW_BRANCH ||
		   instruction->flow == FLOW_JUMP || parts.letter == 'd';
	instruction->target =
		relative ? (uintptr_t)parts.at + (uintptr_t)parts.immediate : 0;
	/* A call of the next instruction pushes an address. */
	if (instruction->flow == FLOW_CALL && relative && parts.immediate == 0)
		instruction->stack = STACK_UNKNOWN;
	return true;
}

bool
instruction_call_before(const unsigned char *start, const unsigned char *end)
{
	struct instruction call;

	/* From `call *%rax` to `call *disp32(base,index)` with a REX. */
	for (int length = 2; length <= 8 && length <= end - start; length++)
		if (instruction_read(end - length, end, &call) &&
		    call.flow == FLOW_CALL && call.length == (unsigned)length)
			return true;
	return false;
}
