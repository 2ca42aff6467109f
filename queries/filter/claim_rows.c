/* SPDX-License-Identifier: MIT */
#include "queries/filter/claim_rows.h"

#include "queries/db/rundb.h"
#include "queries/filter/passed_ids.h"

static const char claims_sql[] =
    "CREATE TEMP VIEW object_claims AS SELECT * FROM main.object_claims"
    " WHERE NOT is_repeated OR allocation_id IN (SELECT id FROM temp._passed);";

int claim_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err)
{
    int rc = passed_ids_fill(database, filter,
                             " AND a.allocation_id IN (SELECT c.allocation_id"
                             " FROM main.object_claims AS c WHERE c.is_repeated)",
                             err);

    return rc == 0 ? rundb_run(database, claims_sql, err) : rc;
}
