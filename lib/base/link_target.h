/* SPDX-License-Identifier: MIT */
/*
 * link_target: reads a symbolic link. Any thread.
 */
#ifndef MTRACE_LIB_LINK_TARGET_H
#define MTRACE_LIB_LINK_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/* The text of the link, cut to n_bytes - 1 and NUL-terminated. False: no such link; the text is
 * "". */
bool link_target(const char *path, char *ret_target, size_t n_bytes);

#endif
