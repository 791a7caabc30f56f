/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.h - numbers as a person reads them.
 */
#ifndef HEAPAGENT_UNITS_H
#define HEAPAGENT_UNITS_H

#include <stdbool.h>
#include <stddef.h>

#define UNITS_TEXT_BYTES 64
#define UNITS_CHANGE_BYTES (2 * UNITS_TEXT_BYTES + 8)

struct units_text {
	char text[UNITS_TEXT_BYTES];
};

/* "1.24 GiB" of bytes, "3.5 s" of nanoseconds, "12345" of anything else. */
struct units_text units_value(double value, const char *unit);

/* The same with a sign in front, also of what is positive. */
struct units_text units_change(double value, const char *unit);

/*
 * "1.24 GiB ±3.1 %": the standard error in percent of the value; without it
 * if is_estimate is false. "±∞" does not occur: an error beyond the value
 * itself is written as ">100 %".
 */
struct units_text units_estimate(double value, double variance,
				 const char *unit, bool is_estimate);

/* "45.1 %" of a total; empty if the total is 0. */
struct units_text units_percent(double part, double total);

/* For who reads no UTF-8: "+-", "->" and "us" from here on. */
void units_use_ascii(void);
const char *units_plus_minus(void);
const char *units_arrow(void);

/* Columns of a terminal that UTF-8 text fills: ± and ∞ are one each. */
size_t units_columns(const char *text);

#endif
