/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked_frames_o0.c - blocked_frames.c, not optimised.
 *
 * CFLAGS: -O0 -Wno-vla
 * LIBS: -lrt
 */
#include "blocked_frames.c"
