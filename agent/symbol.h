/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol.h - looks up what other loaded files define, on every libc.
 *
 * Before glibc 2.34 dlsym() and its like are in a library of their own, libdl,
 * which a program may not have; a reference to libc's newer version of them
 * would keep every program there from starting. So they are referred to
 * weakly and by their oldest version, and where they are not, symbol_next()
 * searches the loaded files itself.
 */
#ifndef HEAPAGENT_SYMBOL_H
#define HEAPAGENT_SYMBOL_H

/*
 * The function of that name behind the agent in the search order, as
 * dlsym(RTLD_NEXT, name) has it, or NULL. May allocate. Waits for a thread
 * that loads or closes something, as dlsym() does. [init]
 */
void *symbol_next(const char *name);

/*
 * The same without dlsym(): also what the program has loaded since its start.
 * Of several versions of a name the default one. Allocates nothing. [init]
 */
void *symbol_search_next(const char *name);

/* The symbol's first definition, as dlsym(RTLD_DEFAULT, name); NULL if there
 * is none, or no dlsym(). [init] */
void *symbol_default(const char *name);

/* dlopen() of the library, for our use alone, or NULL. [init] */
void *symbol_open(const char *library);

/* dlsym() in what symbol_open() gave, or NULL. [init] */
void *symbol_in(void *handle, const char *name);

#endif
