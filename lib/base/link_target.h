/* SPDX-License-Identifier: MIT */
/*
 * link_target: where a symbolic link leads.
 *
 * Threads: any.
 */
#ifndef MTRACE_LIB_LINK_TARGET_H
#define MTRACE_LIB_LINK_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/* As the link has it, cut where it has n_bytes or more, and ended by 0. False: there is no such link, and "". */
bool link_target(const char *path, char *ret_target, size_t n_bytes);

#endif
