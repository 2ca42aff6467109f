/* SPDX-License-Identifier: MIT */
/*
 * notes: what must be said beside an answer, as remarks (query_note): what of the log was lost, or never came there,
 * because it changes every figure; which allocator was not seen; which libraries have no names; which times are missing;
 * what a recording of another tool cannot answer, because that is no finding about the program; which blocks have no row.
 */
#ifndef MTRACE_QUERIES_NOTES_H
#define MTRACE_QUERIES_NOTES_H

struct error;
struct query;

/* Before the answer. Where the command's own screen begins with a headline, that has
 * what is missing. */
int notes_before(const struct query *query, struct error *err);

/* After an answer in which elided blocks are missing, as in all that is made of rows: how many they
 * are; of a bounded log (--aggregate) how many ended, of which elided ones are a part. */
int notes_after(const struct query *query, struct error *err);

/* One line each on events that were dropped, on what of the log could not be read, on an allocator inside an executable, whose
 * blocks are missing, on libraries whose code has no names, because too many were loaded, and on times
 * that were not recorded or not imported; none where nothing is missing. */
int notes_of_what_is_missing(const struct query *query,
                             void (*report)(const struct query *query, const char *text),
                             struct error *err);

/* The same below a headline, where the screen itself counts events that were dropped. */
int notes_below_headline(const struct query *query,
                         void (*report)(const struct query *query, const char *text),
                         struct error *err);

#endif
