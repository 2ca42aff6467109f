/* SPDX-License-Identifier: MIT */
/*
 * shorten: names as short as a person needs them to recognize a function or a file.
 *
 * Model: std::vector<int, std::allocator<int>>::push_back(int const&) ->
 * std::vector<..>::push_back; parameter lists and return types go, template arguments become
 * "<..>", D's "!(..)"; operators, lambdas and "(anonymous namespace)" stay readable. A path becomes
 * its last part. What does not look like C++, D or Rust is copied. The result always fits and ends with NUL.
 */
#ifndef MTRACE_QUERIES_SHORTEN_H
#define MTRACE_QUERIES_SHORTEN_H

#include <stddef.h>

void shorten_function(const char *name, char *ret_text, size_t size);

/* Points into path. */
const char *shorten_path(const char *path);

#endif
