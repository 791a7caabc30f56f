/* SPDX-License-Identifier: Apache-2.0 */
/* call_number.c - the few patterns of instructions; see call_number.h. */
#include "call_number.h"

#include <string.h>
#include <sys/syscall.h>

#include "sys.h"

#define SYSCALL_BYTES 2
#define MOV_IMM32_EAX 0xb8
#define MOV_IMM32_EDI 0xbf
#define MOV_BYTES 5
#define XOR_EAX_EAX_0 0x31
#define XOR_EAX_EAX_1 0xc0
#define REX_B 0x41 /* before MOV_IMM32_EDI: into %r15d */

/* How far before the `syscall` its number is looked for: libc's epoll_pwait
 * has one instruction of 4 bytes between. */
#define WRAPPER_BYTES 16
/* How far before the end of the call of syscall(): the other arguments may be
 * set in between, by seven bytes each. */
#define CALLER_BYTES 48
/*
 * The lowest number that is looked for there. Those below have wrappers in
 * libc, and are more often an argument of some other function.
 */
#define CALLER_LOWEST SYS_futex

/* libc's syscall() up to its system call: each argument one place down. */
static const unsigned char general[] = {
	0x48, 0x89, 0xf8,	      /* mov %rdi, %rax */
	0x48, 0x89, 0xf7,	      /* mov %rsi, %rdi */
	0x48, 0x89, 0xd6,	      /* mov %rdx, %rsi */
	0x48, 0x89, 0xca,	      /* mov %rcx, %rdx */
	0x4d, 0x89, 0xc2,	      /* mov %r8, %r10 */
	0x4d, 0x89, 0xc8,	      /* mov %r9, %r8 */
	0x4c, 0x8b, 0x4c, 0x24, 0x08, /* mov 8(%rsp), %r9 */
	0x0f, 0x05,		      /* syscall */
};

/* Copies the size_bytes of code before end; false if it cannot be read. */
static bool
read_code(unsigned char *code, uintptr_t end, unsigned size_bytes)
{
	/* Less than a page: both ends say all. */
	if (!sys_readable(end - size_bytes) || !sys_readable(end - 1))
		return false;
	memcpy(code, (const void *)(end - size_bytes), size_bytes);
	return true;
}

bool
call_ends_at(uintptr_t ip)
{
	static const unsigned char syscall[SYSCALL_BYTES] = { 0x0f, 0x05 };
	unsigned char code[SYSCALL_BYTES];

	return read_code(code, ip, sizeof(code)) &&
	       memcmp(code, syscall, sizeof(code)) == 0;
}

bool
call_is_at(uintptr_t ip)
{
	return call_ends_at(ip + SYSCALL_BYTES);
}

static long
number_at(const unsigned char *code)
{
	uint32_t nr;

	memcpy(&nr, code + 1, sizeof(nr));
	return (long)nr;
}

/* What the caller of syscall(), which returns to ip, gave it as a number. */
static long
callers_number(uintptr_t ip, bool (*is_known)(long nr))
{
	unsigned char code[CALLER_BYTES];

	if (!read_code(code, ip, sizeof(code)))
		return -1;
	/* The nearest one. */
	for (int at = CALLER_BYTES - MOV_BYTES; at > 0; at--) {
		long nr = number_at(code + at);

		if (code[at] == MOV_IMM32_EDI && code[at - 1] != REX_B &&
		    nr >= CALLER_LOWEST && is_known(nr))
			return nr;
	}
	return -1;
}

static long
wrappers_number(const unsigned char *code, bool (*is_known)(long nr))
{
	/* The nearest one; the number 0, read, is made by xor. */
	for (int at = WRAPPER_BYTES - SYSCALL_BYTES - 2; at >= 0; at--) {
		if (code[at] == XOR_EAX_EAX_0 && code[at + 1] == XOR_EAX_EAX_1)
			return SYS_read;
		if (at > WRAPPER_BYTES - SYSCALL_BYTES - MOV_BYTES)
			continue;
		if (code[at] == MOV_IMM32_EAX && is_known(number_at(code + at)))
			return number_at(code + at);
	}
	return -1;
}

long
call_number(uintptr_t ip, uintptr_t sp, bool (*is_known)(long nr))
{
	unsigned char code[sizeof(general)];

	if (!call_ends_at(ip) || !read_code(code, ip, WRAPPER_BYTES))
		return -1;
	if (memcmp(code, general + sizeof(general) - WRAPPER_BYTES,
		   WRAPPER_BYTES) != 0)
		return wrappers_number(code, is_known);
	/* It has nothing on the stack but where it returns to. */
	if (!read_code(code, ip, sizeof(code)) ||
	    memcmp(code, general, sizeof(code)) != 0 || !sys_readable(sp))
		return -1;
	return callers_number(*(const uintptr_t *)sp, is_known);
}
