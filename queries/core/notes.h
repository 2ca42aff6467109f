/* SPDX-License-Identifier: MIT */
/*
 * notes: warnings about an answer, given by query_note. They concern
 *
 *   - events that were dropped, or parts of the log that could not be read
 *   - an allocator that was not seen, libraries without names, times that were not recorded
 *   - requests that the log of another tool cannot answer
 *   - elided blocks, which have no row
 *   - small objects of CPython, which are no blocks
 */
#ifndef MTRACE_QUERIES_NOTES_H
#define MTRACE_QUERIES_NOTES_H

#include <stdint.h>

struct error;
struct query;

/* Without the full stop. */
#define NOTES_OF_PYTHON                                                                         \
    "CPython keeps objects of at most 512 bytes in arenas, which are mappings and not blocks: " \
    "PYTHONMALLOC=malloc records each object, at a higher overhead"

/* Notes before the answer. Commands with a headline print there what the log lost. */
int notes_before(const struct query *query, struct error *err);

/* Notes after the answer: where names of functions come from, if most are missing; and, if it is
 * made of rows, the number of elided blocks, or, of a bounded log
 * (--aggregate), the number of freed blocks, which includes the elided ones. */
int notes_after(const struct query *query, struct error *err);

/* Reports one line for each loss: dropped events, unreadable parts of the log, an allocator inside
 * an executable, libraries without names (too many were loaded), times that were not recorded or
 * not imported. */
int notes_of_what_is_missing(const struct query *query,
                             void (*report)(const struct query *query, const char *text),
                             struct error *err);

/* The same for a screen of one process, 0: of all, that counts dropped events itself. */
int notes_below_headline(const struct query *query, int64_t process_id,
                         void (*report)(const struct query *query, const char *text),
                         struct error *err);

#endif
