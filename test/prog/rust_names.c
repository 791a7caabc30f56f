/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rust_names.c - functions named as rustc names them, v0 and the older form:
 * each allocates, then calls the next. The names behind // are what a Rust
 * programmer expects (rustfilt's, for the older form without the hash);
 * test/e2e/names.bats reads them here.
 */
#include <stdlib.h>

#define RUST(symbol) __asm__(symbol) __attribute__((noinline))

void *held[16];

static inline __attribute__((always_inline)) void *
take(size_t n)
{
	void *p = malloc(n);
	held[n % 16] = p;
	return p;
}

// mycrate::run
void run(void) RUST("_RNvCs1234_7mycrate3run");
// <mycrate::Example>::grow
void grow(void) RUST("_RNvMs_CsgStHSCytQ6I_7mycrateNtB4_7Example4grow");
// std::mem::align_of::<usize>
void align_of(void) RUST("_RINvNtC3std3mem8align_ofjE");
// mycrate::run::{closure#0}
void closure(void) RUST("_RNCNvCs1234_7mycrate3run0B3_");
// core::ptr::drop_in_place
void old_drop(void) RUST("_ZN4core3ptr13drop_in_place17h0123456789abcdefE");
// <alloc::string::String as core::fmt::Display>::fmt
void old_fmt(void) RUST("_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt"
			"..Display$GT$3fmt17h0123456789abcdefE");
// mycrate::run::{{closure}}
void old_closure(void) RUST("_ZN7mycrate3run28_$u7b$$u7b$closure$u7d$$u7d$"
			    "17hfedcba9876543210E");

void
old_closure(void)
{
	take(1007);
}

void
old_fmt(void)
{
	take(1006);
	old_closure();
}

void
old_drop(void)
{
	take(1005);
	old_fmt();
}

void
closure(void)
{
	take(1004);
	old_drop();
}

void
align_of(void)
{
	take(1003);
	closure();
}

void
grow(void)
{
	take(1002);
	align_of();
}

void
run(void)
{
	take(1001);
	grow();
}

int
main(void)
{
	run();
	return held[1007 % 16] == NULL;
}
