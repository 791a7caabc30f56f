/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undumpable.c - preloaded, makes a program one that nobody may trace: as one
 * that holds keys does it.
 */
#include <sys/prctl.h>

static __attribute__((constructor)) void
refuse(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
