/* SPDX-License-Identifier: MIT */
#include "queries/filter/id_set.h"

#include "lib/base/error.h"
#include "queries/db/rundb.h"

#include <stdlib.h>

int id_set_init(struct id_set *set, const struct rundb *database, const char *table, const char *id,
                struct error *err)
{
    int rc = database_ids(database->handle, table, id, &set->size, err);

    if (rc != 0)
        return rc;
    set->is_member = calloc(set->size, 1);
    return set->is_member ? 0 : error_set(err, ERROR_NOMEM, "no memory for %zu ids", set->size);
}

void id_set_done(struct id_set *set)
{
    free(set->is_member);
    *set = (struct id_set){NULL, 0};
}

bool id_set_has(const struct id_set *set, int64_t id)
{
    return id > 0 && (size_t)id < set->size && set->is_member[id];
}
