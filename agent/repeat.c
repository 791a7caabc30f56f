/* SPDX-License-Identifier: Apache-2.0 */
/* repeat.c - the block, and a thread found in our code; see repeat.h. */
#include "repeat.h"

#include "arch/x86_64_repeat.h"
#include "sys.h"
#include "transfer.h"

_Static_assert(REPEAT_BLOCK_BYTES == sizeof(struct arch_repeat_block),
	       "the block's size");

/* As long as rsp is the block's address. */
static bool
has_block(uintptr_t ip)
{
	return ip >= (uintptr_t)arch_repeat && ip < (uintptr_t)arch_repeat_jump;
}

/* As it is when the host makes the call. */
static bool
make_block(struct arch_repeat_block *block, const struct arch_call *call,
	   long nr)
{
	if (!sys_overwrite((uintptr_t)block) ||
	    !sys_overwrite((uintptr_t)&block->arguments[4]))
		return false;
	*block = (struct arch_repeat_block){
		.ip = call->ip,
		.sp = call->sp,
		.nr = (uint64_t)nr,
		.arguments = { call->arguments[0], call->arguments[1],
			       call->arguments[2], call->arguments[3],
			       call->arguments[4] },
	};
	return true;
}

bool
repeat_call(struct arch_call *call, long nr, uintptr_t block_address)
{
	uintptr_t address = has_block(call->ip) ? call->sp : block_address;
	struct arch_repeat_block *block = (void *)address;

	if (!has_block(call->ip) && !make_block(block, call, nr))
		return false;
	if (call->result > 0) {
		block->done += (uint64_t)call->result;
		transfer_advance(nr, call->arguments, call->result);
	}
	call->ip = (uintptr_t)arch_repeat;
	call->sp = address;
	/* A thread that is stopped again before it runs has no result yet. */
	call->result = 0;
	return true;
}

long
repeat_number(uintptr_t ip, uintptr_t sp)
{
	return ip == (uintptr_t)arch_repeat_ended
		       ? (long)((const struct arch_repeat_block *)sp)->nr
		       : -1;
}

void
repeat_registers(struct unwind_registers *registers, uintptr_t cx)
{
	const struct arch_repeat_block *block = (const void *)registers->sp;

	if (has_block(registers->ip)) {
		/* One that was not stopped may have ended. */
		if (!sys_readable((uintptr_t)&block->ip) ||
		    !sys_readable((uintptr_t)&block->sp))
			return;
		registers->ip = block->ip;
		registers->sp = block->sp;
	} else if (registers->ip == (uintptr_t)arch_repeat_jump) {
		registers->ip = cx;
	}
}
