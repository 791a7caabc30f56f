/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - the agent's thread-local memory; see thread.h. */
#include "thread.h"

__thread struct thread thread_self;
