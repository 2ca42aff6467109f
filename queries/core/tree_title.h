/* SPDX-License-Identifier: MIT */
/*
 * tree_title: the title line of a picture of stacks. Example:
 *
 *   server (pid 812): live at the peak, 9.8 KiB in 39 blocks of 7 stacks; size_min 1KiB
 */
#ifndef MTRACE_QUERIES_TREE_TITLE_H
#define MTRACE_QUERIES_TREE_TITLE_H

#include <stddef.h>

struct error;
struct query;
struct stack_weights;

int tree_title_format(const struct query *query, const struct stack_weights *weights,
                      char *ret_text, size_t size, struct error *err);

/* "server (pid 812)", or the number of processes. ERROR_NOT_FOUND for an unknown process. */
int tree_title_processes(const struct query *query, char *ret_text, size_t size, struct error *err);

#endif
