/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_number.h - which system call was made, read from the code.
 *
 * A signal's context has no number of the call (rax holds the result). The
 * instruction before the context's is `syscall`, and shortly before it stands
 * `mov $nr, %eax` (or `xor %eax, %eax`), as the compiler writes it for every
 * wrapper of libc. In libc's syscall() the number comes from the caller, whose
 * code has `mov $nr, %edi` shortly before its call.
 */
#ifndef HEAPAGENT_CALL_NUMBER_H
#define HEAPAGENT_CALL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The number of the system call that ends at ip, made with stack pointer sp;
 * -1 if the code does not say, or gives none that is_known() accepts. [any]
 */
long call_number(uintptr_t ip, uintptr_t sp, bool (*is_known)(long nr));

/* True if a system call instruction stands before ip. [any] */
bool call_ends_at(uintptr_t ip);

/* True if a system call instruction is what runs next at ip. [any] */
bool call_is_at(uintptr_t ip);

#endif
