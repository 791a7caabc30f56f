/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_test.c - rows of code whose CFI is known, and of CFI that is broken.
 *
 * LINK: cfi cfi_program cfi_expression
 */
#include "cfi.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static uint64_t memory[CFI_MEMORY_BYTES / 8];

/* Each label is a place to ask about; nothing here is ever run. */
__asm__(".text\n"
	".macro begin name\n"
	".p2align 4\n"
	".type \\name, @function\n"
	"\\name:\n"
	".cfi_startproc\n"
	".endm\n"
	".macro finish name\n"
	".cfi_endproc\n"
	".size \\name, . - \\name\n"
	".endm\n"

	"begin plain\n"
	"plain_entry: nop\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"plain_pushed: nop\n"
	".cfi_def_cfa_register %rbp\n"
	".cfi_offset %rbx, -24\n"
	"plain_body: nop\n"
	".cfi_remember_state\n"
	".cfi_def_cfa %rsp, 8\n"
	".cfi_restore %rbp\n"
	"plain_early: nop\n"
	".cfi_restore_state\n"
	"plain_late: nop\n"
	"finish plain\n"

	"begin realigned\n"
	".cfi_escape 0x10, 6, 2, 0x76, 0\n"    /* rbp at *(rbp + 0) */
	".cfi_escape 0x10, 3, 2, 0x76, 0x68\n" /* rbx at *(rbp - 24) */
	".cfi_escape 0x0f, 3, 0x76, 0x78, 6\n" /* CFA = *(rbp - 8) */
	"realigned_body: nop\n"
	"finish realigned\n"

	"begin loaded\n" /* CFA = *(rsp + 152) + 8 */
	".cfi_escape 0x0f, 6, 0x77, 0x98, 1, 6, 0x23, 8\n"
	"loaded_body: nop\n"
	"finish loaded\n"

	"begin plt\n" /* rsp + 8 + ((rip & 15) >= 11) * 8 */
	".cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a\n"
	".cfi_escape 0x33, 0x24, 0x22\n"
	"plt_0: .skip 10, 0x90\n"
	"plt_10: nop\n"
	"plt_11: nop\n"
	"finish plt\n"

	"begin based\n"
	".cfi_def_cfa %rbx, 24\n"
	"based_bx: nop\n"
	".cfi_def_cfa %r10, 0\n"
	"based_r10: nop\n"
	".cfi_def_cfa %rsp, 8\n"
	".cfi_undefined %rbp\n"
	"lost: nop\n"
	".cfi_same_value %rbp\n"
	".cfi_val_offset %rbx, -8\n"
	"same: nop\n"
	".cfi_register %rip, %rdx\n"
	"moved: nop\n"
	".cfi_undefined %rip\n"
	"outermost: nop\n"
	"finish based\n"

	"begin trampoline\n"
	".cfi_signal_frame\n"
	"as_called: nop\n"
	/* DW_CFA_expression for the return address, as in __restore_rt. */
	".cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1\n"
	"trampoline_body: nop\n"
	"finish trampoline\n"

	"begin personal\n"
	".cfi_personality 0x9b, personality_pointer\n"
	".cfi_lsda 0x1b, plain_data\n"
	".cfi_def_cfa_offset 48\n"
	"personal_body: nop\n"
	"finish personal\n"

	"begin far\n"
	".cfi_def_cfa_offset 0x900000\n"
	"far_body: nop\n"
	".cfi_def_cfa_offset 0x7ffff8\n"
	".cfi_offset %rbp, -0x40008\n"
	"far_slot: nop\n"
	"finish far\n"

	"begin nested\n"
	".rept 20\n"
	".cfi_remember_state\n"
	".endr\n"
	"nested_body: nop\n"
	"finish nested\n"

	".type uncovered, @function\n"
	"uncovered: nop\n"
	".data\n"
	".p2align 3\n"
	"personality_pointer: .quad plain\n"
	"plain_data: .quad 0\n"
	".text\n");

extern char plain[], plain_entry[], plain_pushed[], plain_body[], plain_early[],
	plain_late[], realigned_body[], loaded_body[], plt_0[], plt_10[],
	plt_11[], based_bx[], based_r10[], lost[], same[], moved[], outermost[],
	as_called[], trampoline_body[], personal_body[], far_body[], far_slot[],
	nested_body[], uncovered[];

/* Finds the section of the object that holds the address. */
struct search {
	uintptr_t address;
	struct cfi_section section;
	uintptr_t text_start;
	uintptr_t text_end;
};

static int
look_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct cfi_section found = { 0, 0, 0 };
	uintptr_t text_start = 0, text_end = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X)) {
			text_start = at;
			text_end = at + ph->p_memsz;
		}
		if (ph->p_type == PT_GNU_EH_FRAME)
			found.header = at;
	}
	if (search->address < text_start || search->address >= text_end)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && found.header >= at &&
		    found.header < at + ph->p_filesz) {
			found.start = at;
			found.end = at + ph->p_filesz;
		}
	}
	search->section = found;
	search->text_start = text_start;
	search->text_end = text_end;
	return 1;
}

static struct search
section_of(uintptr_t address)
{
	struct search search = { .address = address };

	assert_int_equal(dl_iterate_phdr(look_at, &search), 1);
	assert_int_not_equal(search.section.header, 0);
	return search;
}

static uint64_t
row_at(const char *label)
{
	struct search here = section_of((uintptr_t)plain);

	return cfi_row(&here.section, (uintptr_t)label, memory);
}

static void
expect(uint64_t row, enum row_kind kind, int64_t offset, enum row_at fp_at,
       int64_t fp_slot_bytes)
{
	assert_int_equal(row_kind(row), kind);
	assert_int_equal(row_offset(row), offset);
	assert_int_equal(row_fp_at(row), fp_at);
	assert_int_equal(row_fp_slot_bytes(row), fp_slot_bytes);
}

static void
test_prologue_and_states(void **state)
{
	(void)state;
	expect(row_at(plain_entry), ROW_SP, 8, ROW_AT_SAME, 0);
	expect(row_at(plain_pushed), ROW_SP, 16, ROW_AT_CFA, -16);
	expect(row_at(plain_body), ROW_FP, 16, ROW_AT_CFA, -16);
	assert_int_equal(row_bx_at(row_at(plain_body)), ROW_AT_CFA);
	assert_int_equal(row_bx_slot_bytes(row_at(plain_body)), -24);
	expect(row_at(plain_early), ROW_SP, 8, ROW_AT_SAME, 0);
	expect(row_at(plain_late), ROW_FP, 16, ROW_AT_CFA, -16);
	assert_int_equal(row_at(plain_pushed) & ROW_SPECIAL, 0);
	assert_int_equal(row_at(plain_body) & ROW_SPECIAL, 0);
}

static void
test_expressions(void **state)
{
	uint64_t row = row_at(realigned_body);

	(void)state;
	assert_int_equal(row_kind(row), ROW_FP_LOAD);
	assert_int_equal(row_load_first(row), -8);
	assert_int_equal(row_load_second(row), 0);
	assert_int_equal(row_fp_at(row), ROW_AT_FP);
	assert_int_equal(row_fp_slot_bytes(row), 0);
	assert_int_equal(row_bx_at(row), ROW_AT_FP);
	assert_int_equal(row_bx_slot_bytes(row), -24);
	row = row_at(loaded_body);
	assert_int_equal(row_kind(row), ROW_SP_LOAD);
	assert_int_equal(row_load_first(row), 152);
	assert_int_equal(row_load_second(row), 8);
	expect(row_at(plt_0), ROW_SP, 8, ROW_AT_SAME, 0);
	expect(row_at(plt_10), ROW_SP, 8, ROW_AT_SAME, 0);
	expect(row_at(plt_11), ROW_SP, 16, ROW_AT_SAME, 0);
}

static void
test_other_registers(void **state)
{
	(void)state;
	expect(row_at(based_bx), ROW_BX, 24, ROW_AT_SAME, 0);
	assert_int_equal(row_at(based_r10), ROW_FALLBACK);
	expect(row_at(lost), ROW_SP, 8, ROW_AT_LOST, 0);
	expect(row_at(same), ROW_SP, 8, ROW_AT_SAME, 0);
	assert_int_equal(row_bx_at(row_at(same)), ROW_AT_LOST);
	assert_int_equal(row_at(moved), ROW_FALLBACK);
	assert_int_equal(row_at(outermost), ROW_OUTERMOST);
}

static void
test_special_functions(void **state)
{
	struct search here = section_of((uintptr_t)plain);
	struct cfi_function function;

	(void)state;
	expect(row_at(as_called), ROW_SP, 8, ROW_AT_SAME, 0);
	assert_int_equal(row_at(trampoline_body), ROW_SIGNAL);
	expect(row_at(personal_body), ROW_SP, 48, ROW_AT_SAME, 0);
	assert_int_equal(row_at(uncovered), ROW_NONE);
	assert_true(cfi_function(&here.section, (uintptr_t)plain, memory,
				 &function));
	assert_int_equal(function.first, plain);
	assert_true(function.end > (uintptr_t)plain_pushed);
	assert_true(cfi_function(&here.section, (uintptr_t)plain_pushed, memory,
				 &function));
	assert_int_equal(function.first, plain);
	assert_false(cfi_function(&here.section, (uintptr_t)uncovered, memory,
				  &function));
}

static void
test_out_of_the_fields_range(void **state)
{
	(void)state;
	assert_int_equal(row_at(far_body), ROW_FALLBACK);
	expect(row_at(far_slot), ROW_SP, 0x7ffff8, ROW_AT_LOST, 0);
	assert_int_equal(row_at(nested_body), ROW_FALLBACK);
}

static uint64_t random_state = 88172645463325252U;

static uint64_t
next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* A copy of a section between two pages that cannot be touched. */
struct copy {
	struct cfi_section section;
	unsigned char *original;
	size_t size_bytes;
	intptr_t moved; /* address of the copy minus that of the original */
};

/* Byte by byte: a sanitizer's red zones between the bytes are part of it. */
__attribute__((no_sanitize("address"))) static void
copy_bytes(volatile unsigned char *to, const unsigned char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = from[i];
}

static void
copy_section(const struct search *from, struct copy *copy)
{
	const size_t page = 4096;
	/* By 16, since rows of PLT entries depend on pc & 15. */
	size_t size = (from->section.end - from->section.start) & ~(size_t)15;
	size_t room = (size + page - 1) & ~(page - 1);
	char *base = mmap(NULL, room + 2 * page, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(base, MAP_FAILED);
	assert_return_code(mprotect(base + page, room, PROT_READ | PROT_WRITE),
			   0);
	/* It ends right before the page: what reads past the end faults. */
	copy->section.start = (uintptr_t)base + page + room - size;
	copy->section.end = (uintptr_t)base + page + room;
	copy->moved = (intptr_t)(copy->section.start - from->section.start);
	copy->section.header = from->section.header + (uintptr_t)copy->moved;
	copy->size_bytes = size;
	copy_bytes((unsigned char *)copy->section.start,
		   (const unsigned char *)from->section.start, size);
	copy->original = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(copy->original, MAP_FAILED);
	memcpy(copy->original, (const void *)copy->section.start, size);
}

static void
test_same_rows_in_a_copy(void **state)
{
	struct search libc = section_of((uintptr_t)&memcpy);
	struct copy copy;
	unsigned ordinary = 0;

	(void)state;
	copy_section(&libc, &copy);
	for (int i = 0; i < 20000; i++) {
		uintptr_t pc =
			libc.text_start +
			next_random() % (libc.text_end - libc.text_start);
		uint64_t row = cfi_row(&libc.section, pc, memory);

		assert_int_equal(cfi_row(&copy.section,
					 pc + (uintptr_t)copy.moved, memory),
				 row);
		ordinary += row_kind(row) <= ROW_FP;
	}
	/* All but the gaps between functions and some hand-written code. */
	assert_true(ordinary > 15000);
}

/* Breaks the copy in several places, asks, and puts it right again. */
static void
test_broken_cfi(void **state)
{
	struct search libc = section_of((uintptr_t)&memcpy);
	struct copy copy;
	unsigned char *bytes;
	unsigned fallbacks = 0;

	(void)state;
	copy_section(&libc, &copy);
	bytes = (unsigned char *)copy.section.start;
	for (int round = 0; round < 3000; round++) {
		size_t broken[64];
		/* In every fourth round the header and its table as well. */
		size_t first = round % 4 == 0 ? copy.section.header -
							copy.section.start
					      : 0;
		size_t range = round % 4 == 0 ? 64 : copy.size_bytes;

		for (size_t i = 0; i < 64; i++) {
			broken[i] = first + next_random() % range;
			bytes[broken[i]] = (unsigned char)next_random();
		}
		for (int i = 0; i < 50; i++) {
			uintptr_t pc = libc.text_start + (uintptr_t)copy.moved +
				       next_random() % (libc.text_end -
							libc.text_start);
			uint64_t row = cfi_row(&copy.section, pc, memory);

			assert_true(row_kind(row) <= ROW_NONE);
			fallbacks += row_kind(row) >= ROW_FALLBACK;
		}
		for (size_t i = 0; i < 64; i++)
			bytes[broken[i]] = copy.original[broken[i]];
	}
	assert_true(fallbacks > 0);
}

/* Breaks the very entries that are asked for. */
static void
test_broken_entries(void **state)
{
	struct search here = section_of((uintptr_t)plain);
	struct copy copy;
	unsigned char *bytes;

	(void)state;
	copy_section(&here, &copy);
	bytes = (unsigned char *)copy.section.start;
	for (size_t at = 0; at < copy.size_bytes; at++) {
		for (int i = 0; i < 4; i++) {
			bytes[at] = (unsigned char)(i == 0   ? 0xff
						    : i == 1 ? 0x80
							     : next_random());
			for (const char *pc = plain; pc < uncovered; pc += 8)
				(void)cfi_row(&copy.section,
					      (uintptr_t)pc +
						      (uintptr_t)copy.moved,
					      memory);
		}
		bytes[at] = copy.original[at];
	}
	assert_int_equal(cfi_row(&copy.section,
				 (uintptr_t)plain_body + (uintptr_t)copy.moved,
				 memory),
			 row_at(plain_body));
}

/* A header whose table is not sorted for search: the entries are scanned. */
static void
test_without_a_table(void **state)
{
	struct search here = section_of((uintptr_t)plain);
	struct copy copy;
	unsigned char *header;

	(void)state;
	copy_section(&here, &copy);
	header = (unsigned char *)copy.section.header;
	header[2] = header[3] = 0xff; /* count and table: omitted */
	expect(cfi_row(&copy.section,
		       (uintptr_t)plain_body + (uintptr_t)copy.moved, memory),
	       ROW_FP, 16, ROW_AT_CFA, -16);
	assert_int_equal(cfi_row(&copy.section,
				 (uintptr_t)uncovered + (uintptr_t)copy.moved,
				 memory),
			 ROW_NONE);
	header[0] = 2; /* A version to come. */
	assert_int_equal(cfi_row(&copy.section,
				 (uintptr_t)plain_body + (uintptr_t)copy.moved,
				 memory),
			 ROW_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prologue_and_states),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_other_registers),
		cmocka_unit_test(test_special_functions),
		cmocka_unit_test(test_out_of_the_fields_range),
		cmocka_unit_test(test_same_rows_in_a_copy),
		cmocka_unit_test(test_broken_cfi),
		cmocka_unit_test(test_broken_entries),
		cmocka_unit_test(test_without_a_table),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("cfi", tests, NULL, NULL);
}
