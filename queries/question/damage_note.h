/* SPDX-License-Identifier: MIT */
/*
 * damage_note: one line on what of a log could not be read, because it changes every figure.
 *
 * Model: import writes what it lost to the table meta. Screens that begin with a headline show the
 *        line below it, every other answer has it as a remark.
 */
#ifndef MTRACE_QUERIES_DAMAGE_NOTE_H
#define MTRACE_QUERIES_DAMAGE_NOTE_H

#include <stddef.h>

struct error;
struct query;

/* ret_text: "" for a log that is whole. */
int damage_note_format(const struct query *query, char *ret_text, size_t size, struct error *err);

/* As a remark; nothing when the command's own screen shows it. */
int damage_note_print(const struct query *query, struct error *err);

#endif
