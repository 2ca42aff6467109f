/* SPDX-License-Identifier: MIT */
/* The call tree of the filtered allocations as JSON and as text, and what static initialisers left.
 * Ids of stacks are in preorder: one walk from the last id adds sums up, one from the first writes
 * the tree. */
#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "lib/base/saturating.h"
#include "server/bytehound/bytehound_filter.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/bytehound/bytehound_stacks.h"
#include "server/http/exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct sum {
    int64_t bytes, blocks;
    int64_t first_ns, last_ns;
};

struct tree {
    struct bytehound *self;
    struct bytehound_stacks stacks;
    struct bytehound_filter filter;
    struct sum *sums; /* by id; [0] is everything */
};

static void add(struct sum *to, const struct sum *from)
{
    if (from->blocks == 0)
        return;
    if (to->blocks == 0 || from->first_ns < to->first_ns)
        to->first_ns = from->first_ns;
    if (to->blocks == 0 || from->last_ns > to->last_ns)
        to->last_ns = from->last_ns;
    saturating_grow(&to->bytes, from->bytes);
    saturating_grow(&to->blocks, from->blocks);
}

static char *make_sums(const struct bytehound_filter *filter)
{
    if (bytehound_filter_is_of_groups(filter))
        return filter_sql_totals(&filter->sql,
                                 "g.backtrace_id, g.allocated_bytes, g.allocated_blocks,"
                                 " g.first_ns, g.last_ns");
    return bytehound_filter_rows(filter,
                                 "a.backtrace_id, sum(a.size_bytes), count(*), min(a.alloc_ns),"
                                 " max(a.alloc_ns)",
                                 "GROUP BY a.backtrace_id");
}

static int load_sums(struct tree *tree, char *sql, struct error *err)
{
    const struct bytehound *self = tree->self;
    struct sqlite3_stmt *stmt = NULL;
    int rc = bytehound_filter_prepare(&tree->filter, self, sql, &stmt, err);

    tree->sums = calloc((size_t)tree->stacks.n_nodes, sizeof(*tree->sums));
    if (rc == 0 && !tree->sums)
        rc = error_set(err, ERROR_NOMEM, "no memory for a tree");
    while (rc == 0 && (rc = rundb_step(&self->database, stmt, err)) == 1) {
        int64_t id = sqlite3_column_int64(stmt, 0);
        const struct sum sum = {sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2),
                                sqlite3_column_int64(stmt, 3), sqlite3_column_int64(stmt, 4)};

        if (bytehound_stacks_has(&tree->stacks, id))
            add(&tree->sums[id], &sum);
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* A parent has a smaller id, or is 0. */
static void add_up(struct tree *tree)
{
    for (int64_t id = tree->stacks.n_nodes - 1; id > 0; id--)
        add(&tree->sums[tree->stacks.nodes[id].parent], &tree->sums[id]);
}

static int load(struct tree *tree, struct error *err)
{
    int rc = bytehound_filter_init(&tree->filter, tree->self, err);

    if (rc == 0 && !bytehound_filter_is_of_groups(&tree->filter))
        rc = bytehound_check_rows(tree->self, err);
    if (rc == 0)
        rc = bytehound_stacks_load(&tree->stacks, tree->self, err);
    return rc;
}

static void done(struct tree *tree)
{
    free(tree->sums);
    bytehound_stacks_done(&tree->stacks);
    bytehound_filter_done(&tree->filter);
}

/* ---- as JSON ---- */

static void put_sum(const struct tree *tree, const struct sum *sum)
{
    const struct bytehound *self = tree->self;

    (void)fprintf(
        self->out,
        "{\"size\":%" PRId64 ",\"count\":%" PRId64 ",\"first\":%" PRId64 ",\"last\":%" PRId64,
        sum->bytes, sum->blocks, saturating_add(self->start_unix_ns, sum->first_ns) / 1000000000,
        saturating_add(self->start_unix_ns, sum->last_ns) / 1000000000);
}

/* One nested node for each level of a frame. */
static size_t open_node(const struct tree *tree, int64_t id)
{
    const struct bytehound *self = tree->self;
    size_t n;
    const struct bytehound_level *levels = bytehound_stacks_levels(&tree->stacks, id, &n);

    for (size_t i = 0; i < n; i++) {
        put_sum(tree, &tree->sums[id]);
        (void)fputs(",\"value\":", self->out);
        bytehound_stacks_put_level(&tree->stacks, self, &levels[i]);
        (void)fputs(",\"children\":[", self->out);
    }
    return n;
}

static void close_node(const struct tree *tree, size_t n_levels)
{
    while (n_levels-- > 0)
        (void)fputs("]}", tree->self->out);
}

/* The nodes that are open, by where their subtrees end. */
struct open {
    int64_t last;
    size_t n_levels;
};

static int put_nodes(const struct tree *tree, struct error *err)
{
    struct open *path = calloc((size_t)tree->stacks.n_nodes, sizeof(*path));
    size_t depth = 0;
    bool has_before = false; /* among its siblings */

    if (!path)
        return error_set(err, ERROR_NOMEM, "no memory for a tree");
    for (int64_t id = 1; id < tree->stacks.n_nodes; id++) {
        if (tree->sums[id].blocks == 0 || !bytehound_stacks_has(&tree->stacks, id))
            continue;
        while (depth > 0 && path[depth - 1].last < id) {
            close_node(tree, path[--depth].n_levels);
            has_before = true;
        }
        (void)fputs(has_before ? ",\n" : "", tree->self->out);
        path[depth++] = (struct open){tree->stacks.nodes[id].last, open_node(tree, id)};
        has_before = false;
    }
    while (depth > 0)
        close_node(tree, path[--depth].n_levels);
    free(path);
    return 0;
}

int bytehound_tree(struct bytehound *self, const char *rest, struct error *err)
{
    struct tree tree = {.self = self};
    int rc = load(&tree, err);

    (void)rest;
    if (rc == 0)
        rc = load_sums(&tree, make_sums(&tree.filter), err);
    if (rc == 0) {
        add_up(&tree);
        put_sum(&tree, &tree.sums[0]);
        (void)fputs(",\"children\":[", self->out);
        rc = put_nodes(&tree, err);
        (void)fputs("]}\n", self->out);
    }
    done(&tree);
    return rc;
}

/* ---- as text ---- */

static void put_line(const struct tree *tree, const struct bytehound_level *level,
                     const struct sum *sum, int depth)
{
    const char *slash = level->source ? strrchr(level->source, '/') : NULL;

    (void)fprintf(tree->self->out, "%14" PRId64 " %10" PRId64 "  %*s%s", sum->bytes, sum->blocks,
                  2 * depth, "", level->function ? level->function : "???");
    if (level->source)
        (void)fprintf(tree->self->out, " [%s:%" PRId64 "]", slash ? slash + 1 : level->source,
                      level->line);
    (void)fputc('\n', tree->self->out);
}

static void put_lines(const struct tree *tree, int64_t id, int *depths)
{
    size_t n;
    const struct bytehound_level *levels = bytehound_stacks_levels(&tree->stacks, id, &n);
    int depth = depths[tree->stacks.nodes[id].parent];

    for (size_t i = 0; i < n; i++)
        put_line(tree, &levels[i], &tree->sums[id], depth++);
    depths[id] = depth;
}

int bytehound_ascii_tree(struct bytehound *self, const char *rest, struct error *err)
{
    struct tree tree = {.self = self};
    int *depths = NULL;
    int rc = load(&tree, err);

    (void)rest;
    self->exchange->content_type = "text/plain; charset=utf-8";
    if (rc == 0)
        rc = load_sums(&tree, make_sums(&tree.filter), err);
    if (rc == 0) {
        depths = calloc((size_t)tree.stacks.n_nodes, sizeof(*depths));
        rc = depths ? 0 : error_set(err, ERROR_NOMEM, "no memory for a tree");
    }
    if (rc == 0) {
        add_up(&tree);
        (void)fputs("         bytes     blocks  function\n", self->out);
    }
    for (int64_t id = 1; rc == 0 && id < tree.stacks.n_nodes; id++)
        if (tree.sums[id].blocks > 0 && bytehound_stacks_has(&tree.stacks, id))
            put_lines(&tree, id, depths);
    free(depths);
    done(&tree);
    return rc;
}

/* ---- what static initialisers left ---- */

struct place {
    const char *file;
    int64_t line;
    int64_t bytes, blocks;
};

/* The function that GCC makes for the initialisers of a file. bytehound takes its clone with a
 * constant argument for constants. */
static const struct bytehound_level *find_initialiser(const struct tree *tree, int64_t id,
                                                      bool is_constant)
{
    static const char name[] = "static_initialization_and_destruction";

    for (; bytehound_stacks_has(&tree->stacks, id); id = tree->stacks.nodes[id].parent) {
        size_t n;
        const struct bytehound_level *levels = bytehound_stacks_levels(&tree->stacks, id, &n);

        for (size_t i = 0; i < n; i++) {
            const char *function = levels[i].raw_function;

            if (function && strstr(function, name)
                && (strstr(function, ".constprop") != NULL) == is_constant)
                return &levels[i];
        }
    }
    return NULL;
}

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    int order = strcmp(a->file, b->file);

    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static size_t find_places(const struct tree *tree, bool is_constant, struct place *places)
{
    size_t n = 0;
    size_t n_merged = 0;

    for (int64_t id = 1; id < tree->stacks.n_nodes; id++) {
        const struct bytehound_level *level =
            tree->sums[id].blocks ? find_initialiser(tree, id, is_constant) : NULL;

        if (level)
            places[n++] = (struct place){level->source ? level->source : "", level->line,
                                         tree->sums[id].bytes, tree->sums[id].blocks};
    }
    qsort(places, n, sizeof(*places), compare_places);
    for (size_t i = 0; i < n; i++) {
        if (n_merged > 0 && compare_places(&places[n_merged - 1], &places[i]) == 0) {
            saturating_grow(&places[n_merged - 1].bytes, places[i].bytes);
            saturating_grow(&places[n_merged - 1].blocks, places[i].blocks);
        } else {
            places[n_merged++] = places[i];
        }
    }
    return n_merged;
}

/* All of them, or the consecutive places of one file. */
static void put_count(FILE *out, const struct place *places, size_t n)
{
    int64_t bytes = 0;
    int64_t blocks = 0;

    for (size_t i = 0; i < n; i++) {
        saturating_grow(&bytes, places[i].bytes);
        saturating_grow(&blocks, places[i].blocks);
    }
    (void)fprintf(out, "{\"count\":%" PRId64 ",\"size\":%" PRId64, blocks, bytes);
}

static size_t run_of_file(const struct place *places, size_t n)
{
    size_t length = 0;

    while (length < n && strcmp(places[length].file, places[0].file) == 0)
        length++;
    return length;
}

static void put_places(FILE *out, const struct place *places, size_t n)
{
    put_count(out, places, n);
    (void)fputs(",\"per_file\":{", out);
    for (size_t i = 0; i < n;) {
        size_t length = run_of_file(places + i, n - i);

        (void)fputs(i > 0 ? "," : "", out);
        json_text_put(out, places[i].file);
        (void)fputc(':', out);
        put_count(out, places + i, length);
        (void)fputs(",\"per_line\":{", out);
        for (size_t k = i; k < i + length; k++) {
            (void)fprintf(out, "%s\"%" PRId64 "\":", k > i ? "," : "", places[k].line);
            put_count(out, &places[k], 1);
            (void)fputc('}', out);
        }
        (void)fputs("}}", out);
        i += length;
    }
    (void)fputs("}}\n", out);
}

static void put_places_as_text(FILE *out, const struct place *places, size_t n)
{
    (void)fputs("         bytes     blocks  line\n", out);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%14" PRId64 " %10" PRId64 "  %s:%" PRId64 "\n", places[i].bytes,
                      places[i].blocks, places[i].file, places[i].line);
}

static int put_initialisers(struct bytehound *self, bool is_constant, struct error *err)
{
    bool is_text = strstr(self->exchange->path, "_ascii_tree") != NULL;
    struct tree tree = {.self = self};
    struct place *places = NULL;
    int rc = load(&tree, err);

    if (rc == 0)
        rc = load_sums(&tree,
                       filter_sql_totals(&tree.filter.sql,
                                         "g.backtrace_id, g.leaked_bytes, g.leaked_blocks,"
                                         " g.leaked_first_ns, g.leaked_last_ns"),
                       err);
    if (rc == 0) {
        places = calloc((size_t)tree.stacks.n_nodes, sizeof(*places));
        rc = places ? 0 : error_set(err, ERROR_NOMEM, "no memory for places");
    }
    if (rc == 0) {
        size_t n = find_places(&tree, is_constant, places);

        if (is_text)
            self->exchange->content_type = "text/plain; charset=utf-8";
        (is_text ? put_places_as_text : put_places)(self->out, places, n);
    }
    free(places);
    done(&tree);
    return rc;
}

int bytehound_dynamic_constants(struct bytehound *self, const char *rest, struct error *err)
{
    (void)rest;
    return put_initialisers(self, true, err);
}

int bytehound_dynamic_statics(struct bytehound *self, const char *rest, struct error *err)
{
    (void)rest;
    return put_initialisers(self, false, err);
}
