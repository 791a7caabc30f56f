/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_step_o2.c - unwind_step.c's code, optimised.
 *
 * CFLAGS: -O2 -fomit-frame-pointer -fasynchronous-unwind-tables
 * CFLAGS: -Wl,-z,lazy -mavx
 * LIBS: -lm
 */
#include "unwind_step.c"
