/* SPDX-License-Identifier: Apache-2.0 */
/* libunwind.c - see libunwind.h. */
#include "libunwind.h"

#include <errno.h>

int
libunwind_load(void)
{
	return -ENOSYS;
}

enum unwind_end
libunwind_stack(const struct unwind_request *request, unsigned *count)
{
	return unwind_stack(request, count);
}
