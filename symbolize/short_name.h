/* SPDX-License-Identifier: Apache-2.0 */
/*
 * short_name.h - C++ names without what makes them long.
 */
#ifndef HEAPAGENT_SHORT_NAME_H
#define HEAPAGENT_SHORT_NAME_H

/*
 * "void std::vector<int, …>::push_back(int&&)" → "std::vector::push_back":
 * without return type, template arguments and parameters. To be freed.
 */
char *short_name(const char *name);

#endif
