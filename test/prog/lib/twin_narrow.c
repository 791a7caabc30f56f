/* SPDX-License-Identifier: Apache-2.0 */
/* twin_narrow.c - one of two libraries of the same layout; see twin.h. */
#include "twin.h"

/* Both need four bytes to be written. */
TWIN("0x108");
