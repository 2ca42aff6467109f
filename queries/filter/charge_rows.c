/* SPDX-License-Identifier: MIT */
#include "queries/filter/charge_rows.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/lower_bound.h"
#include "lib/base/saturating.h"
#include "lib/totals/sample_weight.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/own_peaks.h"
#include "queries/filter/row_feed.h"

#include <stdlib.h>

/* Pairs of blocks and bytes, in the order of the tables' columns. */
enum number {
    ALLOCATED,
    FREED,
    FREED_ELSEWHERE,
    MOVED_IN,
    MOVED_OUT,
    LEAKED,
    N_NUMBERS
};

struct account {
    uint32_t process, of; /* the key: a group_id, or the number of a tag */
    uint32_t first_tag, n_tags;
    bool is_begun; /* its tags are known */
    int64_t blocks[N_NUMBERS], bytes[N_NUMBERS];
    double bytes_variance[N_NUMBERS];
};

enum {
    KEY_BYTES = 2 * sizeof(uint32_t)
};

struct group_tag {
    uint32_t group, tag;
};

struct charges {
    const struct rundb *database;
    const uint64_t *mean_of;      /* as in row_feed */
    struct hash_map groups, tags; /* struct account */
    struct own_peaks peaks;       /* of group account i: 2i; of tag account i: 2i + 1 */
    struct group_tag *tagged;     /* in the order of groups */
    size_t n_tagged, tagged_capacity;
    struct sqlite3_stmt *moves; /* the next one not yet taken, while has_move */
    bool has_move;
    int rc; /* of reading moves */
    struct error error;
};

/* ---- tags ---- */

static const char tags_sql[] =
    "CREATE TEMP TABLE _tags(tag INTEGER PRIMARY KEY, key, value, UNIQUE (key, value));"
    "INSERT INTO temp._tags(key, value) SELECT DISTINCT key, value FROM main.allocation_group_tags;";

static int read_tags(struct charges *charges, struct rundb *database, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_run(database, tags_sql, err);

    if (rc == 0)
        rc = rundb_prepare(database,
                           "SELECT g.group_id, t.tag FROM main.allocation_group_tags AS g JOIN"
                           " temp._tags AS t ON t.key = g.key AND t.value = g.value"
                           " WHERE g.group_id BETWEEN 0 AND 0xffffffff ORDER BY g.group_id",
                           &stmt, err);
    if (rc != 0)
        return rc;
    while ((rc = rundb_step(database, stmt, err)) == 1) {
        struct group_tag *list = dynamic_array_reserve(charges->tagged, &charges->tagged_capacity,
                                                       charges->n_tagged + 1, sizeof(*list));

        if (!list) {
            rc = error_set(err, ERROR_NOMEM, "no memory for the tags of groups");
            break;
        }
        charges->tagged = list;
        list[charges->n_tagged++] = (struct group_tag){(uint32_t)sqlite3_column_int64(stmt, 0),
                                                       (uint32_t)sqlite3_column_int64(stmt, 1)};
    }
    sqlite3_finalize(stmt);
    return rc;
}

static size_t first_tag_of(const struct charges *charges, uint32_t group)
{
    size_t i;

    LOWER_BOUND(i, charges->n_tagged, charges->tagged[i].group < group);
    return i;
}

static void begin(const struct charges *charges, struct account *account)
{
    size_t first = first_tag_of(charges, account->of);
    size_t end = first;

    while (end < charges->n_tagged && charges->tagged[end].group == account->of)
        end++;
    account->first_tag = (uint32_t)first;
    account->n_tags = (uint32_t)(end - first);
    account->is_begun = true;
}

/* ---- accounts ---- */

/* A change of an account, which holds the block from from_ns to end_ns if that is a time. */
struct posting {
    enum number number;
    int64_t blocks, bytes;
    double bytes_variance;
    int64_t from_ns, end_ns; /* for ALLOCATED and MOVED_IN; end_ns INT64_MAX: never */
};

static struct account *account_of(struct hash_map *accounts, uint32_t process, uint32_t of)
{
    const uint32_t key[] = {process, of};

    return hash_map_get(accounts, key, KEY_BYTES, sizeof(struct account));
}

static bool post_to(struct charges *charges, struct hash_map *accounts, struct account *account,
                    const struct posting *posting)
{
    size_t index = (size_t)(account - (struct account *)accounts->elements);
    size_t place = 2 * index + (accounts == &charges->tags);
    const struct own_peaks_size size = {posting->bytes, posting->bytes_variance};

    account->blocks[posting->number] += posting->blocks;
    saturating_grow(&account->bytes[posting->number], posting->bytes);
    account->bytes_variance[posting->number] += posting->bytes_variance;
    if (posting->number == ALLOCATED)
        return own_peaks_allocated(&charges->peaks, place, posting->from_ns, size, posting->end_ns);
    return posting->number != MOVED_IN
           || own_peaks_joined(&charges->peaks, place, posting->from_ns, size, posting->end_ns);
}

static bool post(struct charges *charges, uint32_t process, uint32_t group,
                 const struct posting *posting)
{
    struct account *account = account_of(&charges->groups, process, group);
    uint32_t first;
    uint32_t n;

    if (!account)
        return false;
    if (!account->is_begun)
        begin(charges, account);
    first = account->first_tag;
    n = account->n_tags;
    if (!post_to(charges, &charges->groups, account, posting))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct account *tag = account_of(&charges->tags, process, charges->tagged[first + i].tag);

        if (!tag || !post_to(charges, &charges->tags, tag, posting))
            return false;
    }
    return true;
}

/* ---- moves ---- */

enum move_column {
    MOVE_ALLOCATION,
    MOVE_AT,
    MOVE_FROM,
    MOVE_TO
};

static int open_moves(struct charges *charges, struct error *err)
{
    int rc = rundb_prepare(charges->database,
                           "SELECT allocation_id, at_ns, from_group_id, group_id"
                           " FROM main.group_moves ORDER BY allocation_id, move",
                           &charges->moves, err);

    if (rc == 0)
        rc = rundb_step(charges->database, charges->moves, err);
    charges->has_move = rc == 1;
    return rc < 0 ? rc : 0;
}

static void next_move(struct charges *charges)
{
    int rc = rundb_step(charges->database, charges->moves, &charges->error);

    charges->has_move = rc == 1;
    if (rc < 0)
        charges->rc = rc;
}

static bool has_move_of(struct charges *charges, int64_t allocation_id)
{
    while (charges->has_move
           && sqlite3_column_int64(charges->moves, MOVE_ALLOCATION) < allocation_id)
        next_move(charges);
    return charges->has_move
           && sqlite3_column_int64(charges->moves, MOVE_ALLOCATION) == allocation_id;
}

/* ---- rows ---- */

static struct posting posting_of(enum number number, const struct scanned_row *row)
{
    return (struct posting){number, row->blocks, row->bytes, row->bytes_variance, row->alloc_ns, 0};
}

/* Posts the block to a group that holds it until the next move or the free. */
static bool hold(struct charges *charges, const struct scanned_row *row, uint32_t group,
                 struct posting *posting)
{
    bool is_moved = has_move_of(charges, row->allocation_id);

    posting->end_ns =
        is_moved ? sqlite3_column_int64(charges->moves, MOVE_AT) : row_feed_end_ns(row);
    return post(charges, row->process, group, posting);
}

static bool post_allocation(struct charges *charges, const struct scanned_row *row)
{
    struct posting posting = posting_of(ALLOCATED, row);
    uint32_t group = has_move_of(charges, row->allocation_id)
                         ? (uint32_t)sqlite3_column_int64(charges->moves, MOVE_FROM)
                         : row->group;

    if (!hold(charges, row, group, &posting))
        return false;
    while (has_move_of(charges, row->allocation_id)) {
        const struct posting out = posting_of(MOVED_OUT, row);
        uint32_t from = (uint32_t)sqlite3_column_int64(charges->moves, MOVE_FROM);
        uint32_t to = (uint32_t)sqlite3_column_int64(charges->moves, MOVE_TO);

        posting.number = MOVED_IN;
        posting.from_ns = sqlite3_column_int64(charges->moves, MOVE_AT);
        next_move(charges);
        if (!post(charges, row->process, from, &out) || !hold(charges, row, to, &posting))
            return false;
    }
    return true;
}

static bool post_end(struct charges *charges, const struct scanned_row *row)
{
    struct posting posting = posting_of(FREED, row);

    if (row->ended_by == ROW_FEED_EXEC)
        return true;
    if (row->ended_by == ROW_FEED_LEAKED)
        posting.number = LEAKED;
    if (!post(charges, row->process, row->group, &posting))
        return false;
    posting.number = FREED_ELSEWHERE;
    return !row_feed_is_ended_by_call(row) || row->free_group == row->group
           || post(charges, row->process, row->group, &posting);
}

static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    struct charges *charges = context;

    for (size_t i = 0; i < n && charges->rc == 0; i++) {
        if (!post_allocation(charges, &rows[i]) || !post_end(charges, &rows[i]))
            return false;
    }
    return charges->rc == 0;
}

/* ---- tables ---- */

static const char tables_sql[] =
    "CREATE TEMP TABLE group_totals AS SELECT * FROM main.group_totals WHERE 0;"
    "CREATE TEMP TABLE tag_totals AS SELECT * FROM main.tag_totals WHERE 0;";

#define VALUES \
    "?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, nullif(?16, -1), ?17, ?18, ?19"

static int put_account(const struct charges *charges, struct sqlite3_stmt *insert,
                       const struct account *account, const struct own_peak *peak,
                       struct error *err)
{
    int at = 0;
    int rc;

    sqlite3_bind_int64(insert, ++at, account->process);
    sqlite3_bind_int64(insert, ++at, account->of);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        sqlite3_bind_int64(insert, ++at, account->blocks[i]);
        sqlite3_bind_int64(insert, ++at, account->bytes[i]);
    }
    sqlite3_bind_int64(insert, ++at, peak ? peak->peak_bytes : 0);
    sqlite3_bind_int64(insert, ++at, peak && peak->peak_bytes ? peak->peak_ns : -1);
    if (charges->mean_of[account->process]) {
        sqlite3_bind_double(insert, ++at, sample_weight_margin(account->bytes_variance[ALLOCATED]));
        sqlite3_bind_double(insert, ++at, sample_weight_margin(account->bytes_variance[LEAKED]));
        sqlite3_bind_double(insert, ++at, sample_weight_margin(peak ? peak->peak_variance : 0));
    }
    rc = rundb_step(charges->database, insert, err);
    sqlite3_reset(insert);
    sqlite3_clear_bindings(insert);
    return rc;
}

static int put_accounts(const struct charges *charges, const struct hash_map *accounts,
                        const char *sql, struct error *err)
{
    const struct account *list = accounts->elements;
    struct sqlite3_stmt *insert;
    int rc = rundb_prepare(charges->database, sql, &insert, err);

    for (size_t i = 0; rc == 0 && i < accounts->n; i++) {
        size_t place = 2 * i + (accounts == &charges->tags);

        rc = put_account(charges, insert, &list[i],
                         place < charges->peaks.n ? &charges->peaks.list[place] : NULL, err);
    }
    sqlite3_finalize(insert);
    return rc;
}

static int put_tables(struct charges *charges, struct rundb *database, struct error *err)
{
    int rc = rundb_run(database, tables_sql, err);

    own_peaks_finish(&charges->peaks);
    if (rc == 0)
        rc = put_accounts(charges, &charges->groups,
                          "INSERT INTO temp.group_totals VALUES (?1, ?2, " VALUES ")", err);
    return rc == 0 ? put_accounts(charges, &charges->tags,
                                  "INSERT INTO temp.tag_totals SELECT ?1, key, value, " VALUES
                                  " FROM temp._tags WHERE tag = ?2",
                                  err)
                   : rc;
}

int charge_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err)
{
    struct charges charges = {.database = database};
    struct row_feed scan;
    int64_t has_groups = 0;
    int rc = row_feed_init(&scan, database, err);

    if (rc == 0)
        rc = rundb_get_int64(database, "SELECT EXISTS (SELECT 1 FROM main.allocation_groups)",
                             &has_groups, err);
    if (rc == 0)
        rc = read_tags(&charges, database, err);
    if (rc == 0)
        rc = open_moves(&charges, err);
    charges.mean_of = scan.mean_of;
    if (rc == 0 && has_groups)
        rc = row_feed_run_whole(&scan, filter, take, &charges, err);
    if (charges.rc != 0) {
        *err = charges.error;
        rc = charges.rc;
    }
    sqlite3_finalize(charges.moves);
    if (rc == 0)
        rc = put_tables(&charges, database, err);
    hash_map_done(&charges.groups);
    hash_map_done(&charges.tags);
    own_peaks_done(&charges.peaks);
    free(charges.tagged);
    row_feed_done(&scan);
    return rc;
}
