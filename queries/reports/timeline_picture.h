/* SPDX-License-Identifier: MIT */
/*
 * timeline_picture: memory over time as a picture, stacked by call site.
 *
 * Model: of one process, that with most memory when none is asked for. What --measure says is live at the end of each part
 *        of the time, or allocated, freed or temporary in it; the line above areas is the highest within each part.
 */
#ifndef MTRACE_QUERIES_TIMELINE_PICTURE_H
#define MTRACE_QUERIES_TIMELINE_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct query;

/* The process that is drawn; 0: there is none. */
int timeline_picture_process(const struct query *query, int64_t *ret_process_id, struct error *err);

/* From when to when a process lived. */
int timeline_picture_life(const struct query *query, int64_t process_id, int64_t *ret_start_ns,
                          int64_t *ret_end_ns, struct error *err);

/* is_inline: inside of a page. */
int timeline_picture_draw(const struct query *query, int64_t process_id, bool is_inline,
                          struct error *err);

#endif
