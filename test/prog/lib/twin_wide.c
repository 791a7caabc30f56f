/* SPDX-License-Identifier: Apache-2.0 */
/* twin_wide.c - the other of two libraries of one layout; see twin.h. */
#include "twin.h"

TWIN("0x1008");
