/* SPDX-License-Identifier: MIT */
/*
 * timeline_picture: memory over time as a picture, stacked by call site.
 *
 * It shows one process: the selected one, else that with most memory. --measure chooses what is
 * live at the end of each time step, or allocated, freed or temporary in it. The line above the
 * areas is the maximum within each step.
 */
#ifndef MTRACE_QUERIES_TIMELINE_PICTURE_H
#define MTRACE_QUERIES_TIMELINE_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct query;

/* The process to draw; 0: there is none. */
int timeline_picture_process(const struct query *query, int64_t *ret_process_id, struct error *err);

/* Start and end of a process. */
int timeline_picture_life(const struct query *query, int64_t process_id, int64_t *ret_start_ns,
                          int64_t *ret_end_ns, struct error *err);

/* is_inline: inside an HTML page. */
int timeline_picture_draw(const struct query *query, int64_t process_id, bool is_inline,
                          struct error *err);

#endif
