/* SPDX-License-Identifier: MIT */
/*
 * notes: what must be said beside an answer, as remarks (query_remark): what of the log was lost,
 * because it changes every figure; which allocator was not seen; which libraries have no names; what a recording of another tool cannot answer, because that is
 * no finding about the program; which blocks have no row.
 */
#ifndef MTRACE_QUERIES_NOTES_H
#define MTRACE_QUERIES_NOTES_H

#include <stddef.h>

struct error;
struct query;

/* Before the answer. Where the command's own screen begins with a headline, that has
 * the first three. */
int notes_before(const struct query *query, struct error *err);

/* After an answer in which culled blocks are missing, as in all that is made of rows: how many they
 * are. */
int notes_after(const struct query *query, struct error *err);

/* One line on what of the log could not be read; "" for a log that is whole. */
int notes_format_damage(const struct query *query, char *ret_text, size_t size, struct error *err);

/* One line on an allocator inside an executable, whose blocks are missing; "" where none is known. */
int notes_format_unseen(const struct query *query, char *ret_text, size_t size, struct error *err);

/* One line on libraries whose code has no names, because too many were loaded; "" for none. */
int notes_format_untold(const struct query *query, char *ret_text, size_t size, struct error *err);

#endif
