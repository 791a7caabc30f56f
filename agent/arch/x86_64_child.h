/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch/x86_64_child.h - to make a child that shares our memory on a stack of
 * its own, and to run a function on another stack. No data.
 */
#ifndef HEAPAGENT_ARCH_X86_64_CHILD_H
#define HEAPAGENT_ARCH_X86_64_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "x86_64.h"

struct arch_clone {
	unsigned long flags;
	void *stack_top; /* aligned to 16 bytes */
	void *parent_tid;
	void *child_tid;
	void *thread_pointer; /* with CLONE_SETTLS */
	void (*body)(void);
};

/*
 * The clone system call; the child runs body on its stack and exits with
 * status 0. The child's process ID or a negative errno. [any]
 */
static inline long
arch_clone(const struct arch_clone *request)
{
	void (**stack)(void) = (void (**)(void))request->stack_top;
	/* cppcheck-suppress constStatement ; a register's name */
	register long r10 __asm__("r10") = (long)request->child_tid;
	/* cppcheck-suppress constStatement */
	register long r8 __asm__("r8") = (long)request->thread_pointer;
	long result;

	/* Two words, so that the child's stack is aligned when it calls. */
	stack -= 2;
	stack[0] = request->body;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 ".cfi_remember_state\n\t"
			 ".cfi_undefined rip\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov (%%rsp), %%rax\n\t"
			 "call *%%rax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "mov $231, %%eax\n\t" /* exit_group */
			 "syscall\n\t"
			 "hlt\n\t"
			 ".cfi_restore_state\n"
			 "1:"
			 : "=a"(result)
			 : "a"(56L /* clone */), "D"(request->flags),
			   "S"(stack), "d"(request->parent_tid), "r"(r10),
			   "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

/* Runs body on the stack that ends at stack_top, and comes back. [any] */
static inline void
arch_call_on_stack(void *stack_top, void (*body)(void))
{
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %[top], %%rsp\n\t"
			 "call *%[body]\n\t"
			 "mov %%rbx, %%rsp"
			 :
			 : [top] "r"(stack_top), [body] "r"(body)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
			   "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
			   "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
			   "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
			   "xmm15");
}

/* struct sigaction as rt_sigaction(2) has it. */
struct arch_sigaction {
	union {
		void (*handler)(int);
		void (*action)(int, siginfo_t *, void *);
	};
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};
#define ARCH_SA_RESTORER 0x04000000UL

/* What a signal handler returns to. In the form of libc's, by which debuggers
 * and unwinders know it. */
static __attribute__((naked, unused)) void
arch_sigreturn(void)
{
	__asm__("mov $15, %rax\n\t" /* rt_sigreturn */
		"syscall");
}

/*
 * True under valgrind, which ends a program that makes such a child. Its
 * client requests (valgrind manual, "The Client Request mechanism") are four
 * rotations by 128 bits together and an exchange of a register with itself,
 * which do nothing elsewhere; request 0x1001 asks whether it is there. [any]
 */
static inline bool
arch_under_valgrind(void)
{
	uint64_t request[6] = { 0x1001 };
	uint64_t answer = 0;

	__asm__ volatile("rolq $3, %%rdi\n\t"
			 "rolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\t"
			 "rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(request)
			 : "cc", "memory");
	return answer != 0;
}

/*
 * Makes the 64 bytes at block a thread control block that code compiled with
 * stack protection can run on: its own address (ELF TLS, variant II; and
 * glibc's copy of it), and the calling thread's stack and pointer guards.
 */
static inline void
arch_make_thread_block(void *block)
{
	uintptr_t words[8] = { 0 };

	words[0] = (uintptr_t)block;
	words[2] = (uintptr_t)block;
	__asm__("mov %%fs:0x28, %0" : "=r"(words[5]));
	__asm__("mov %%fs:0x30, %0" : "=r"(words[6]));
	memcpy(block, words, sizeof(words));
}
#define ARCH_THREAD_BLOCK_BYTES 64

#endif
