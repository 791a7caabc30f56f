/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_reader.h - reads DWARF's numbers within bounds.
 *
 * A reader that is asked for more than there is stands at its end and has
 * failed, and gives zeros from then on; so a caller checks once, after it has
 * read a group of fields. All in line: this is the cold frame's time.
 */
#ifndef HEAPAGENT_DWARF_READER_H
#define HEAPAGENT_DWARF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Pointer encodings, LSB 5.0 Core 10.5.1: format, application, indirection. */
#define DW_EH_PE_absptr 0x00
#define DW_EH_PE_uleb128 0x01
#define DW_EH_PE_udata2 0x02
#define DW_EH_PE_udata4 0x03
#define DW_EH_PE_udata8 0x04
#define DW_EH_PE_sleb128 0x09
#define DW_EH_PE_sdata2 0x0a
#define DW_EH_PE_sdata4 0x0b
#define DW_EH_PE_sdata8 0x0c
#define DW_EH_PE_format_mask 0x0f
#define DW_EH_PE_pcrel 0x10
#define DW_EH_PE_datarel 0x30
#define DW_EH_PE_application_mask 0x70
#define DW_EH_PE_indirect 0x80
#define DW_EH_PE_omit 0xff

struct dwarf_reader {
	const unsigned char *p;
	const unsigned char *end;
	bool failed;
};

static inline bool
dwarf_more(const struct dwarf_reader *in)
{
	return in->p < in->end;
}

static inline void
dwarf_fail(struct dwarf_reader *in)
{
	in->p = in->end;
	in->failed = true;
}

static inline void
dwarf_skip(struct dwarf_reader *in, uint64_t size_bytes)
{
	if (size_bytes > (uint64_t)(in->end - in->p))
		dwarf_fail(in);
	else
		in->p += size_bytes;
}

static inline void
dwarf_copy(struct dwarf_reader *in, void *to, size_t size_bytes)
{
	if (size_bytes > (size_t)(in->end - in->p)) {
		memset(to, 0, size_bytes);
		dwarf_fail(in);
		return;
	}
	memcpy(to, in->p, size_bytes);
	in->p += size_bytes;
}

#define DWARF_FIXED(name, type) \
	static inline type name(struct dwarf_reader *in) \
	{ \
		type value; \
\
		dwarf_copy(in, &value, sizeof(value)); \
		return value; \
	}

DWARF_FIXED(dwarf_u8, uint8_t)
DWARF_FIXED(dwarf_u16, uint16_t)
DWARF_FIXED(dwarf_u32, uint32_t)
DWARF_FIXED(dwarf_u64, uint64_t)
#undef DWARF_FIXED

static inline uint64_t
dwarf_leb128(struct dwarf_reader *in, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = dwarf_u8(in);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return value;
}

static inline uint64_t
dwarf_uleb(struct dwarf_reader *in)
{
	return dwarf_leb128(in, false);
}

static inline int64_t
dwarf_sleb(struct dwarf_reader *in)
{
	return (int64_t)dwarf_leb128(in, true);
}

/* A pointer in the given encoding; data is what DW_EH_PE_datarel adds to. */
static inline uint64_t
dwarf_pointer(struct dwarf_reader *in, uint8_t encoding, uintptr_t data)
{
	uint64_t base = 0;

	switch (encoding & DW_EH_PE_application_mask) {
	case 0:
		break;
	case DW_EH_PE_pcrel:
		base = (uintptr_t)in->p;
		break;
	case DW_EH_PE_datarel:
		base = data;
		break;
	default:
		dwarf_fail(in);
	}
	switch (encoding & DW_EH_PE_format_mask) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return base + dwarf_u64(in);
	case DW_EH_PE_uleb128:
		return base + dwarf_uleb(in);
	case DW_EH_PE_sleb128:
		return base + (uint64_t)dwarf_sleb(in);
	case DW_EH_PE_udata2:
		return base + dwarf_u16(in);
	case DW_EH_PE_sdata2:
		return base + (uint64_t)(int64_t)(int16_t)dwarf_u16(in);
	case DW_EH_PE_udata4:
		return base + dwarf_u32(in);
	case DW_EH_PE_sdata4:
		return base + (uint64_t)(int64_t)(int32_t)dwarf_u32(in);
	default:
		dwarf_fail(in);
		return 0;
	}
}

#endif
