/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.c - the calls, and what of a part is whose; see transfer.h.
 *
 * A call that has an end where there is no more, or no room, may be made again
 * whatever it was cut short by. One that waits for all only of some files has
 * to be asked what it is for: of others it returns as much as there is, and the
 * rest is not there yet.
 */
#include "transfer.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "compiler.h"
#include "descriptor.h"

/* No call transfers more, read(2) and write(2). */
#define BYTES_MAX UINT64_C(0x7ffff000)

/* io_uring_enter(2), arguments: how many to submit, and to wait for. */
enum { URING_SUBMIT = 1, URING_COMPLETE = 2, URING_FLAGS = 3 };
#define URING_GETEVENTS 1
#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif

enum through {
	THROUGH_ANY,
	THROUGH_STREAM, /* descriptor, argument 0 */
	THROUGH_SOURCE, /* the same */
};

/* Instead of a buffer: files whose offsets the kernel has moved. */
#define NO_BUFFER 6

struct transfer {
	uint16_t nr;
	uint8_t buffer; /* which arguments */
	uint8_t length;
	uint8_t through;
};

static const struct transfer transfers[] = {
	{ SYS_write, 1, 2, THROUGH_ANY },
	{ SYS_sendto, 1, 2, THROUGH_ANY },
	{ SYS_recvfrom, 1, 2, THROUGH_STREAM },
	{ SYS_read, 1, 2, THROUGH_SOURCE },
	{ SYS_getrandom, 0, 1, THROUGH_ANY },
	{ SYS_sendfile, NO_BUFFER, 3, THROUGH_ANY },
	{ SYS_copy_file_range, NO_BUFFER, 4, THROUGH_ANY },
	{ SYS_io_uring_enter, NO_BUFFER, URING_SUBMIT, THROUGH_ANY },
};

static const struct transfer *
find(long nr)
{
	for (unsigned i = 0; i < ARRAY_SIZE(transfers); i++)
		if (transfers[i].nr == nr)
			return &transfers[i];
	return NULL;
}

/*
 * True if all has been submitted, and was to be waited for: the result does not
 * tell if it was. If it was, a second wait finds it done.
 */
static bool
has_submitted(const uint64_t *arguments, long result)
{
	return result > 0 && (uint64_t)result == arguments[URING_SUBMIT] &&
	       arguments[URING_COMPLETE] != 0 &&
	       (arguments[URING_FLAGS] & URING_GETEVENTS) != 0;
}

bool
transfer_is_known(long nr)
{
	return find(nr) != NULL;
}

bool
transfer_is_part(int pid, long nr, const uint64_t *arguments, long result)
{
	const struct transfer *transfer = find(nr);

	if (nr == SYS_io_uring_enter)
		return has_submitted(arguments, result);
	if (transfer == NULL || result <= 0 ||
	    (uint64_t)result >= MIN(arguments[transfer->length], BYTES_MAX))
		return false;
	/* Only such a receipt waits for all of it. */
	if (nr == SYS_recvfrom &&
	    (arguments[3] & (MSG_WAITALL | MSG_PEEK)) != MSG_WAITALL)
		return false;
	switch ((enum through)transfer->through) {
	case THROUGH_STREAM:
		return descriptor_is_stream(pid, (int)arguments[0]);
	case THROUGH_SOURCE:
		return descriptor_is_source(pid, (int)arguments[0]);
	case THROUGH_ANY:
		break;
	}
	return true;
}

void
transfer_advance(long nr, uint64_t *arguments, long result)
{
	const struct transfer *transfer = find(nr);

	if (transfer == NULL)
		return;
	if (transfer->buffer != NO_BUFFER)
		arguments[transfer->buffer] += (uint64_t)result;
	arguments[transfer->length] -= (uint64_t)result;
	/* An error after a part raises no signal. */
	if (nr == SYS_sendto)
		arguments[3] |= MSG_NOSIGNAL;
}
