/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.c - numbers as a person reads them.
 */
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MICRO "µ"

static bool is_ascii;

struct scale {
	double factor;
	const char *name;
};

static const struct scale byte_scales[] = {
	{ 0x1p50, "PiB" }, { 0x1p40, "TiB" }, { 0x1p30, "GiB" },
	{ 0x1p20, "MiB" }, { 0x1p10, "KiB" }, { 1, "B" },
};
static const struct scale time_scales[] = {
	{ 1e9, "s" },
	{ 1e6, "ms" },
	{ 1e3, MICRO "s" },
	{ 1, "ns" },
};

static struct units_text
scaled(double value, const struct scale *scales, size_t count)
{
	struct units_text out;
	size_t i = 0;
	while (i + 1 < count && fabs(value) < scales[i].factor)
		i++;
	double shown = value / scales[i].factor;
	/* Three figures; bytes themselves are whole. */
	int digits = scales[i].factor == 1  ? 0
		     : fabs(shown) >= 99.95 ? 0
		     : fabs(shown) >= 9.995 ? 1
					    : 2;
	const char *name = scales[i].name;
	if (is_ascii && !strncmp(name, MICRO, strlen(MICRO)))
		name = "us";
	snprintf(out.text, sizeof(out.text), "%.*f %s", digits, shown, name);
	return out;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct units_text
units_value(double value, const char *unit)
{
	struct units_text out;
	if (!strcmp(unit, "bytes"))
		return scaled(value, byte_scales, COUNT(byte_scales));
	if (!strcmp(unit, "nanoseconds"))
		return scaled(value, time_scales, COUNT(time_scales));
	bool plain = !*unit || !strcmp(unit, "count");
	snprintf(out.text, sizeof(out.text), "%.0f%s%.20s", value,
		 plain ? "" : " ", plain ? "" : unit);
	return out;
}

struct units_text
units_change(double value, const char *unit)
{
	struct units_text plain = units_value(value, unit), out;
	if (value <= 0)
		return plain;
	snprintf(out.text, sizeof(out.text), "+%.62s", plain.text);
	return out;
}

struct units_text
units_estimate(double value, double variance, const char *unit,
	       bool is_estimate)
{
	struct units_text plain = units_value(value, unit), out;
	if (!is_estimate || value == 0)
		return plain;
	double percent = 100 * sqrt(variance) / fabs(value);
	if (percent > 100)
		snprintf(out.text, sizeof(out.text), "%.40s >100 %%",
			 plain.text);
	else
		snprintf(out.text, sizeof(out.text), "%.40s %s%.*f %%",
			 plain.text, units_plus_minus(), percent < 9.95 ? 1 : 0,
			 percent);
	return out;
}

struct units_text
units_percent(double part, double total)
{
	struct units_text out = { "" };
	double percent = 100 * part / total;
	/* Of a total that is next to nothing: columns stay columns. */
	if (total != 0)
		snprintf(out.text, sizeof(out.text),
			 fabs(percent) < 1e5 ? "%.1f %%" : "%.0e %%", percent);
	return out;
}

void
units_use_ascii(void)
{
	is_ascii = true;
}

const char *
units_plus_minus(void)
{
	return is_ascii ? "+-" : "±";
}

const char *
units_arrow(void)
{
	return is_ascii ? "->" : "→";
}

size_t
units_columns(const char *text)
{
	size_t columns = 0;
	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}
