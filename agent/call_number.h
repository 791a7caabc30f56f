/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_number.h - which system call was made, read from libc's code.
 *
 * A signal's context has no number of the call (rax holds the result). In
 * libc's own text the function around the system call instruction is known
 * (.eh_frame_hdr), so its instructions can be read one after the other from the
 * first on: the number is the constant that is moved to eax, if nothing writes
 * to that, and nothing jumps, between there and the system call. From glibc
 * 2.41 on cancellable calls are made in one place; the number is an argument of
 * its caller then, and lies on the stack.
 *
 * A wrong number would make the program execute another call. So where any of
 * this is not so, in all other code, and for libc's syscall(), there is none.
 */
#ifndef HEAPAGENT_CALL_NUMBER_H
#define HEAPAGENT_CALL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Finds libc's text. [init] */
void call_number_init(void);

/*
 * The number of the system call that ends at ip, made with stack pointer sp;
 * -1 if it is not known. [any]
 */
long call_number(uintptr_t ip, uintptr_t sp);

/* True if a system call instruction is what runs next at ip. [any] */
bool call_is_at(uintptr_t ip);

#endif
