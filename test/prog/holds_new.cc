/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holds_new.cc - holds 2,000 blocks of 100 bytes from operator new and frees
 * as many, in every form that the language has, asks for a dump and prints
 * how many it holds and how many bytes they are, then the same of all that it
 * allocated.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

#define FORMS 8
#define EACH 250
#define SIZE 100

static const std::align_val_t alignment{ 64 };

__attribute__((noinline)) static void *
make(int form)
{
	switch (form) {
	case 0:
		return operator new(SIZE);
	case 1:
		return operator new[](SIZE);
	case 2:
		return operator new(SIZE, std::nothrow);
	case 3:
		return operator new[](SIZE, std::nothrow);
	case 4:
		return operator new(SIZE, alignment);
	case 5:
		return operator new[](SIZE, alignment);
	case 6:
		return operator new(SIZE, alignment, std::nothrow);
	default:
		return operator new[](SIZE, alignment, std::nothrow);
	}
}

/* Two ways for each form, in turn. */
__attribute__((noinline)) static void
unmake(int form, void *p, bool other)
{
	switch (form) {
	case 0:
		return other ? operator delete(p) : operator delete(p, SIZE);
	case 1:
		return other ? operator delete[](p) :
			     operator delete[](p, SIZE);
	case 2:
		return operator delete(p, std::nothrow);
	case 3:
		return operator delete[](p, std::nothrow);
	case 4:
		return other ? operator delete(p, alignment) :
			     operator delete(p, SIZE, alignment);
	case 5:
		return other ? operator delete[](p, alignment) :
			     operator delete[](p, SIZE, alignment);
	case 6:
		return operator delete(p, alignment, std::nothrow);
	default:
		return operator delete[](p, alignment, std::nothrow);
	}
}

static void *volatile held[FORMS * EACH];

int
main()
{
	for (int i = 0; i < FORMS * EACH; i++) {
		void *p = make(i % FORMS);

		unmake(i % FORMS, p, i / FORMS % 2 != 0);
		held[i] = make(i % FORMS);
		if (held[i] == nullptr)
			abort();
	}
	kill(getpid(), SIGUSR2);
	printf("%d %d %d %d\n", FORMS * EACH, FORMS * EACH * SIZE,
	       2 * FORMS * EACH, 2 * FORMS * EACH * SIZE);
	return 0;
}
