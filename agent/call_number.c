/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_number.c - the way through a function of libc; see call_number.h.
 *
 *	mov $nr, %eax         or xor %eax, %eax; or mov disp(%rsp), %rax, where
 *	...                   the stack is as it is at the system call
 *	syscall
 *
 * What stands between must be one of a few kinds of instruction that say which
 * register they write. No branch of the function may lead to between.
 */
#include "call_number.h"

#include <link.h>
#include <string.h>

#include "compiler.h"
#include "instruction.h"
#include "sys.h"

#define SYSCALL_BYTES 2
#define MODULES 2 /* libc.so.6; before glibc 2.34 libpthread.so.0 */
/* No function of libc with a system call is longer. */
#define FUNCTION_BYTES_MAX 16384

/* Immutable after call_number_init(). */
static struct text {
	uintptr_t first, end;
	uintptr_t header;     /* of .eh_frame_hdr */
	const int32_t *table; /* pairs: where a function begins, its FDE; both
				 from the header on; sorted */
	uint32_t count;
} texts[MODULES];
static unsigned text_count;

/* .eh_frame_hdr as every linker writes it (LSB 5.0, 10.6.2): 4-byte numbers,
 * those of the table from the header on. */
struct header {
	unsigned char version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
	int32_t table[];
};

static bool
is_ours(const char *path)
{
	static const char *const names[] = { "libc.so.6", "libpthread.so.0" };
	const char *slash = strrchr(path, '/');

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (slash != NULL && strcmp(slash + 1, names[i]) == 0)
			return true;
	return false;
}

static int
keep_text(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
	struct text text = { 0 };
	const struct header *header;

	(void)size_bytes;
	(void)context;
	if (text_count == MODULES || !is_ours(info->dlpi_name))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t first = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD &&
		    (segment->p_flags & (PF_X | PF_R)) == (PF_X | PF_R)) {
			text.first = first;
			text.end = first + segment->p_filesz;
		} else if (segment->p_type == PT_GNU_EH_FRAME) {
			text.header = first;
		}
	}
	header = (const struct header *)text.header;
	if (text.first == 0 || header == NULL || header->version != 1 ||
	    header->frame_encoding != 0x1b || header->count_encoding != 0x03 ||
	    header->table_encoding != 0x3b)
		return 0;
	text.table = header->table;
	text.count = header->count;
	texts[text_count++] = text;
	return 0;
}

void
call_number_init(void)
{
	(void)dl_iterate_phdr(keep_text, NULL);
}

static const struct text *
text_of(uintptr_t ip)
{
	for (unsigned i = 0; i < text_count; i++)
		if (ip >= texts[i].first && ip < texts[i].end)
			return &texts[i];
	return NULL;
}

/* The function that ip is in, [*first, *end); false if there is none. What is
 * described elsewhere (a part that the compiler has put apart) is another. */
static bool
function_of(uintptr_t ip, uintptr_t *first, uintptr_t *end)
{
	const struct text *text = text_of(ip);
	uint32_t low = 0, high;

	if (text == NULL)
		return false;
	/* The last entry that begins at ip or before. */
	for (high = text->count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (text->header + (uintptr_t)text->table[2 * middle] <= ip)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	*first = text->header + (uintptr_t)text->table[2 * low - 2];
	*end = low < text->count
		       ? text->header + (uintptr_t)text->table[2 * low]
		       : text->end;
	*end = MIN(*end, text->end);
	return *first >= text->first && ip < *end &&
	       *end - *first <= FUNCTION_BYTES_MAX;
}

/* --- what is known of a register */

enum { AX = 0, SI = 6 };
enum source { UNKNOWN, CONSTANT, ON_STACK };

struct value {
	enum source source;
	int64_t number;	 /* the constant, or how far above the stack pointer */
	uintptr_t since; /* the instruction after the one that wrote it */
};

/* Reads a displacement or constant. */
static int64_t
number_at(const unsigned char *code, unsigned bytes)
{
	int32_t number = 0;

	memcpy(&number, code, bytes);
	return bytes == 1 ? (int8_t)number : number;
}

/* True of `mov disp(%rsp), reg`, 64 bits: *displacement. */
static bool
is_load_from_stack(const unsigned char *code, unsigned reg,
		   int64_t *displacement)
{
	unsigned modrm = code[2];

	if (code[0] != 0x48 || code[1] != 0x8b || (modrm & 7) != 4 ||
	    (modrm >> 3 & 7) != reg || code[3] != 0x24 || modrm >> 6 == 3)
		return false;
	*displacement = modrm >> 6 == 0
				? 0
				: number_at(code + 4, modrm >> 6 == 1 ? 1 : 4);
	return true;
}

/* The register (0 to 15) that an instruction writes, 16: none, -1: it is not
 * one of those that are known here. */
static int
written_register(const unsigned char *code)
{
	unsigned rex = 0, modrm;
	int in_rm, in_reg;

	if (*code == 0x64) /* fs: */
		code++;
	if ((*code & 0xf0) == 0x40)
		rex = *code++;
	modrm = code[1];
	in_rm = modrm >> 6 == 3 ? (int)((modrm & 7) | (rex & 1) << 3) : 16;
	in_reg = (int)((modrm >> 3 & 7) | (rex & 4) << 1);
	switch (code[0]) {
	case 0x01: /* add, or, and, sub, xor */
	case 0x09:
	case 0x21:
	case 0x29:
	case 0x31:
	case 0x89: /* mov */
	case 0xc7:
		return in_rm;
	case 0x80: /* of 8 bits; without REX 4 to 7 are ah to bh */
		if (rex == 0 && in_rm >= 4 && in_rm <= 7)
			return -1;
		__attribute__((fallthrough));
	case 0x81: /* arithmetic with a constant; 7: compares */
	case 0x83:
		return (modrm >> 3 & 7) == 7 ? 16 : in_rm;
	case 0x03:
	case 0x0b:
	case 0x23:
	case 0x2b:
	case 0x33:
	case 0x63: /* movslq */
	case 0x8b:
	case 0x8d: /* lea */
		return in_reg;
	case 0x39: /* compares, test, nop, push */
	case 0x3b:
	case 0x85:
	case 0x90:
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
		return 16;
	case 0x58 ... 0x5f:
	case 0xb8 ... 0xbf:
		return (int)((code[0] & 7) | (rex & 1) << 3);
	default:
		return -1;
	}
}

/* The value of reg after the instruction. */
static void
follow(struct value *value, unsigned reg, uintptr_t ip,
       const struct instruction *instruction)
{
	const unsigned char *code = (const unsigned char *)ip;
	int written =
		instruction->flow == FLOW_ON ? written_register(code) : -1;

	if (written == (int)reg || written < 0)
		value->source = UNKNOWN;
	/* Its place moves away from the stack pointer. */
	if (value->source == ON_STACK && instruction->stack == STACK_MOVED)
		value->number -= instruction->amount;
	else if (value->source == ON_STACK &&
		 instruction->stack != STACK_KEPT &&
		 instruction->stack != STACK_TO_FP)
		value->source = UNKNOWN;
	if (written != (int)reg)
		return;
	if (is_load_from_stack(code, reg, &value->number))
		value->source = ON_STACK;
	else if (code[0] == 0xb8 + reg) {
		value->source = CONSTANT;
		value->number = number_at(code + 1, 4);
	} else if ((code[0] == 0x31 || code[0] == 0x33) &&
		   code[1] == (0xc0 | reg << 3 | reg)) {
		value->source = CONSTANT;
		value->number = 0;
	}
	value->since = ip + instruction->length;
}

/*
 * What reg holds when the instruction at ip begins, where the processor comes
 * one instruction after the other from the one that wrote it.
 */
static struct value
value_before(uintptr_t ip, unsigned reg)
{
	const struct value unknown = { UNKNOWN, 0, 0 };
	struct value value = unknown, found = unknown;
	uintptr_t first, end;

	if (!function_of(ip, &first, &end))
		return found;
	for (uintptr_t at = first; at <= ip;) {
		struct instruction instruction;

		if (at == ip)
			found = value;
		if (!instruction_read((const unsigned char *)at,
				      (const unsigned char *)end, &instruction))
			return found;
		follow(&value, reg, at, &instruction);
		at += instruction.length;
	}
	if (found.source == UNKNOWN)
		return found;
	/* Whoever jumps in between may bring another. */
	for (uintptr_t at = first; at < end;) {
		struct instruction instruction;

		if (!instruction_read((const unsigned char *)at,
				      (const unsigned char *)end,
				      &instruction) ||
		    instruction.flow == FLOW_ANYWHERE ||
		    (instruction.flow != FLOW_CALL &&
		     instruction.target >= found.since &&
		     instruction.target <= ip))
			return unknown;
		at += instruction.length;
	}
	return found;
}

/* What was on the stack, when its pointer was sp. */
static long
number_in(const struct value *value, uintptr_t sp)
{
	uintptr_t at = sp + (uintptr_t)value->number;

	if (value->source == CONSTANT)
		return value->number;
	if (value->source != ON_STACK || !sys_readable(at))
		return -1;
	return *(const long *)at;
}

/* --- cancellable calls from glibc 2.41 on */

/* __syscall_cancel_arch(&cancelled, nr, a1, ... a6), as far as it is the same
 * in all (sysdeps/unix/sysv/linux/x86_64/syscall_cancel.S). */
static const unsigned char cancellable[] = {
	0x49, 0x89, 0xfb,	      /* mov %rdi, %r11 */
	0x48, 0x89, 0xf0,	      /* mov %rsi, %rax */
	0x48, 0x89, 0xd7,	      /* mov %rdx, %rdi */
	0x48, 0x89, 0xce,	      /* mov %rcx, %rsi */
	0x4c, 0x89, 0xc2,	      /* mov %r8, %rdx */
	0x4d, 0x89, 0xca,	      /* mov %r9, %r10 */
	0x4c, 0x8b, 0x44, 0x24, 0x08, /* mov 8(%rsp), %r8 */
	0x4c, 0x8b, 0x4c, 0x24, 0x10, /* mov 16(%rsp), %r9 */
	0x4c, 0x89, 0x5c, 0x24, 0x08, /* mov %r11, 8(%rsp) */
	0x0f, 0x05,		      /* syscall */
};

/* In that function, at its end, nothing is on the stack but the return
 * address. The number was in rsi. */
static long
callers_number(uintptr_t ip, uintptr_t sp)
{
	const unsigned call_bytes = 5; /* call disp32 */
	uintptr_t first, end, back, call;
	struct instruction instruction;
	struct value value;

	if (!function_of(ip, &first, &end) ||
	    ip - first < sizeof(cancellable) ||
	    memcmp((const void *)(ip - sizeof(cancellable)), cancellable,
		   sizeof(cancellable)) != 0 ||
	    !sys_readable(sp))
		return -1;
	back = *(const uintptr_t *)sp;
	call = back - call_bytes;
	if (text_of(call) == NULL || text_of(back) == NULL ||
	    !instruction_read((const unsigned char *)call,
			      (const unsigned char *)back, &instruction) ||
	    instruction.flow != FLOW_CALL || instruction.target != first)
		return -1;
	value = value_before(call, SI);
	return number_in(&value, sp + sizeof(back));
}

static bool
is_syscall(uintptr_t ip)
{
	const unsigned char *code = (const unsigned char *)ip;

	return code[0] == 0x0f && code[1] == 0x05;
}

long
call_number(uintptr_t ip, uintptr_t sp)
{
	uintptr_t call = ip - SYSCALL_BYTES;
	struct value value;

	if (text_of(call) == NULL || text_of(ip) == NULL || !is_syscall(call))
		return -1;
	value = value_before(call, AX);
	return value.source != UNKNOWN ? number_in(&value, sp)
				       : callers_number(ip, sp);
}

bool
call_is_at(uintptr_t ip)
{
	return sys_readable(ip) && sys_readable(ip + SYSCALL_BYTES - 1) &&
	       is_syscall(ip);
}
