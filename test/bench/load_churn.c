/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_churn.c - very many small, short-lived objects with little work on each
 * (the shape of cfrac and espresso): numbers as linked lists of digits, added
 * to each other, divided by a small prime and thrown away.
 */
#include <stdlib.h>

#include "random.h"

#define DIGITS 24
#define NUMBERS 64
#define ADDITIONS 800000

struct digit {
	struct digit *next;
	unsigned value;
};

static struct digit *
push(struct digit *number, unsigned value)
{
	struct digit *digit = malloc(sizeof(*digit));

	digit->next = number;
	digit->value = value;
	return digit;
}

static struct digit *
add(const struct digit *a, const struct digit *b)
{
	struct digit *sum = NULL;
	unsigned carry = 0;

	for (; a != NULL && b != NULL; a = a->next, b = b->next) {
		unsigned value = a->value + b->value + carry;

		sum = push(sum, value % 10000);
		carry = value / 10000;
	}
	return sum;
}

static unsigned
remainder_by(const struct digit *number, unsigned prime)
{
	unsigned remainder = 0;

	for (; number != NULL; number = number->next)
		remainder = (remainder * 10000 + number->value) % prime;
	return remainder;
}

static void
drop(struct digit *number)
{
	while (number != NULL) {
		struct digit *next = number->next;

		free(number);
		number = next;
	}
}

int
main(void)
{
	struct digit *numbers[NUMBERS] = { NULL };
	uint64_t random = 1;
	unsigned divisible = 0;

	for (int i = 0; i < NUMBERS * DIGITS; i++)
		numbers[i % NUMBERS] = push(numbers[i % NUMBERS],
					    random_below(&random, 10000));
	for (int i = 0; i < ADDITIONS; i++) {
		uint32_t a = random_below(&random, NUMBERS);
		uint32_t b = random_below(&random, NUMBERS);
		struct digit *sum = add(numbers[a], numbers[b]);

		drop(numbers[a]);
		numbers[a] = sum;
		divisible += remainder_by(sum, 10007) == 0;
	}
	return divisible == 0;
}
