/* SPDX-License-Identifier: MIT */
/*
 * id_set: the selected ids of a table; ids are small and dense. Errors: ERROR_NOMEM,
 * ERROR_DATABASE.
 */
#ifndef MTRACE_QUERIES_ID_SET_H
#define MTRACE_QUERIES_ID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct rundb;

struct id_set {
    unsigned char *is_member; /* by id; [0] stands for invalid ids */
    size_t size;
};

/* Makes an empty set with space for all ids of the table. */
int id_set_init(struct id_set *set, const struct rundb *database, const char *table, const char *id,
                struct error *err);
void id_set_done(struct id_set *set);

bool id_set_has(const struct id_set *set, int64_t id);

#endif
