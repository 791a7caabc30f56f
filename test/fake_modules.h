/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_modules.h - a module table for tests of the profile layer, in place of
 * agent/modules.c: the records are what the test says.
 */
#ifndef HEAPAGENT_TEST_FAKE_MODULES_H
#define HEAPAGENT_TEST_FAKE_MODULES_H

#include <stdio.h>
#include <string.h>

#include "modules.h"
#include "region.h"

#define FAKE_MODULES_MAX MODULES_MAX
#define FAKE_PATH_BYTES 64

static _Alignas(8) char fake_region[8 + FAKE_MODULES_MAX * FAKE_PATH_BYTES];
static struct module fake_modules[FAKE_MODULES_MAX];
static unsigned fake_module_count = 1;
static uint64_t fake_segment;
uint64_t *region_segments = &fake_segment;

const struct module *
module_at(unsigned number)
{
	return &fake_modules[number];
}

unsigned
modules_count(void)
{
	return fake_module_count;
}

/* Code of 64 KiB at bias + 0x1000, which stands at 0x1000 in the file. */
static inline unsigned
fake_module(const char *path, uint64_t bias)
{
	unsigned number = fake_module_count++;
	struct module *module = &fake_modules[number];
	size_t at = REGION_UNIT + number * (size_t)FAKE_PATH_BYTES;
	char *copy = fake_region + at;

	fake_segment = (uintptr_t)fake_region;
	snprintf(copy, FAKE_PATH_BYTES, "%s", path);
	*module = (struct module){
		.map_start = bias,
		.map_end = bias + 0x20000,
		.bias = bias,
		.text_start = 0x1000,
		.text_end = 0x11000,
		.text_file_offset = 0x1000,
		.path = (region_offset)(at / REGION_UNIT),
		.build_id_bytes = 20,
	};
	for (unsigned i = 0; i < module->build_id_bytes; i++)
		module->build_id[i] = (unsigned char)(number * 16 + i);
	return number;
}

#endif
