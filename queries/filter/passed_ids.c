/* SPDX-License-Identifier: MIT */
#include "queries/filter/passed_ids.h"

#include "lib/base/error.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter_sql.h"

int passed_ids_fill(struct rundb *database, const struct filter_sql *filter, const char *condition,
                    struct error *err)
{
    int rc = rundb_run(database, "CREATE TEMP TABLE _passed(id INTEGER PRIMARY KEY)", err);

    return rc ? rc
              : filter_sql_insert(filter, "_passed",
                                  filter_sql_rows(filter, "a.allocation_id", 0, condition), err);
}
