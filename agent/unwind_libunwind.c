/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_libunwind.c - drives a privately loaded libunwind.
 *
 * As a dependency it would take over the host's _Unwind_* functions, so its
 * symbols are looked up, in a local scope, and only its header is built with.
 */
#include "unwind_libunwind.h"

#include <errno.h>
#include <string.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "compiler.h"
#include "frame.h"
#include "modules.h"
#include "symbol.h"

#define STRING_OF(x) #x
#define EXPANDED_STRING_OF(x) STRING_OF(x)

/* Immutable after unwind_libunwind_load(). */
static struct {
	__typeof__(unw_init_local2) *init;
	__typeof__(unw_step) *step;
	__typeof__(unw_get_reg) *get;
	__typeof__(unw_is_signal_frame) *is_signal;
	bool loaded;
} lib;

static int
look_up(void *handle, const char *name, void *function)
{
	void *symbol = symbol_in(handle, name);

	if (symbol == NULL)
		return -ENOENT;
	/* ISO C has no cast from an object's to a function's address. */
	memcpy(function, &symbol, sizeof(symbol));
	return 0;
}

/* The header's macros turn a name into the library's name for it. */
#define LOOK_UP(handle, name, function) \
	look_up((handle), EXPANDED_STRING_OF(name), (function))

int
unwind_libunwind_load(void)
{
	void *handle = symbol_open("libunwind.so.8");

	if (handle == NULL || LOOK_UP(handle, unw_init_local2, &lib.init) ||
	    LOOK_UP(handle, unw_step, &lib.step) ||
	    LOOK_UP(handle, unw_get_reg, &lib.get) ||
	    LOOK_UP(handle, unw_is_signal_frame, &lib.is_signal))
		return -ENOENT;
	lib.loaded = true;
	return 0;
}

static uint64_t
frame_of(uintptr_t address)
{
	unsigned number = modules_find(address);

	return frame_make(number,
			  number ? address - module_at(number)->bias : address);
}

static void
make_context(const struct unwind_registers *from, unw_context_t *context)
{
	memset(context, 0, sizeof(*context));
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)from->ip;
	context->uc_mcontext.gregs[REG_RSP] = (greg_t)from->sp;
	context->uc_mcontext.gregs[REG_RBP] = (greg_t)from->fp;
	context->uc_mcontext.gregs[REG_RBX] = (greg_t)from->bx;
}

enum unwind_end
unwind_libunwind_stack(const struct unwind_request *request, unsigned *count)
{
	bool exact = request->registers.exact;
	unw_context_t context;
	unw_cursor_t cursor;
	unsigned n = 0;
	unw_word_t ip = request->registers.ip;
	int more = 0;

	if (!lib.loaded)
		return unwind_stack(request, count);
	make_context(&request->registers, &context);
	if (lib.init(&cursor, &context, exact ? UNW_INIT_SIGNAL_FRAME : 0) < 0)
		more = -1;
	while (more >= 0 && n < request->max) {
		/* It says so of the frame that a signal interrupted. */
		exact = exact || lib.is_signal(&cursor) > 0;
		if (lib.get(&cursor, UNW_REG_IP, &ip) < 0 || ip == 0)
			break;
		request->frames[n++] = frame_of(ip - !exact);
		exact = false;
		more = lib.step(&cursor);
		if (more == 0)
			break;
	}
	if (n == 0)
		request->frames[n++] = frame_of(ip - !exact);
	*count = n;
	if (n == request->max)
		return UNWIND_DEPTH;
	if (more >= 0)
		return UNWIND_COMPLETE;
	request->frames[n++] = FRAME_TRUNCATED;
	*count = n;
	return UNWIND_TRUNCATED;
}
