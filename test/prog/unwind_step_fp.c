/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_step_fp.c - unwind_step.c's code, with frame pointers.
 *
 * CFLAGS: -O2 -fno-omit-frame-pointer -fasynchronous-unwind-tables
 * CFLAGS: -Wl,-z,lazy -mavx
 * LIBS: -lm
 */
#include "unwind_step.c"
