/* SPDX-License-Identifier: MIT */
/*
 * shorten: short names of functions and files.
 *
 *   std::vector<int, std::allocator<int>>::push_back(int const&)  ->  std::vector<..>::push_back
 *   std.array.insertInPlace!(int, int).insertInPlace              ->
 *   std.array.insertInPlace!(..).insertInPlace
 *
 * Parameter lists and return types are removed and template arguments become "<..>" or "!(..)".
 * Operators, lambdas and "(anonymous namespace)" stay. Names of other languages than C++, Rust and
 * D are copied.
 */
#ifndef MTRACE_QUERIES_SHORTEN_H
#define MTRACE_QUERIES_SHORTEN_H

#include <stddef.h>

/* Cuts the result to size and ends it with NUL. */
void shorten_function(const char *name, char *ret_text, size_t size);

/* The last component; points into path. */
const char *shorten_path(const char *path);

#endif
