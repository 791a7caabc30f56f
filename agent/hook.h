/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - what the hooks of an allocation begin with: hooks.c, operators.c.
 */
#ifndef HEAPAGENT_HOOK_H
#define HEAPAGENT_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86_64.h"
#include "compiler.h"
#include "thread.h"

/*
 * The saved frame pointer and the return address, of a function that keeps a
 * frame: asking for its own address makes gcc give it one.
 */
#define HOOK_FRAME ((const uintptr_t *)__builtin_frame_address(0))

/* Subtracts; true if that was more than was left. [hook] */
static inline bool
hook_countdown(size_t size)
{
	return unlikely(arch_countdown(&thread_self.countdown_bytes, size));
}

/*
 * After a dlclose(): a C++ runtime that only a plugin brought along may be
 * gone, and another be behind operator new now. operators.c's, in the library
 * that has it. [hook]
 */
extern HIDDEN void operators_closed(void) __attribute__((weak));

#endif
