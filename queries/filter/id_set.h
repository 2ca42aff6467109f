/* SPDX-License-Identifier: MIT */
/*
 * id_set: which ids of a table were selected; ids are small and dense.
 *
 * Failure: memory and the database.
 */
#ifndef MTRACE_QUERIES_ID_SET_H
#define MTRACE_QUERIES_ID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct rundb;

struct id_set {
    unsigned char *is_member; /* by id; [0] is written by what is no id */
    size_t size;
};

/* Empty, with room for all ids of the table. */
int id_set_init(struct id_set *set, const struct rundb *database, const char *table, const char *id,
                struct error *err);
void id_set_done(struct id_set *set);

bool id_set_has(const struct id_set *set, int64_t id);

#endif
