/* SPDX-License-Identifier: MIT */
/*
 * sqlite_memory: object walks over SQLite's memory. Its blocks come from functions that keep a list
 * of them by purpose; its page cache is a block of its own. Visitors show all of it, and the
 * database has the blocks that they missed.
 */
#include "include/mtrace_objects.h"
#include "tests/workloads/workload.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum {
    PAGE_BYTES = 4096,
    N_PAGES = 200, /* fewer than the table takes: the others are blocks */
    N_ROWS = 20000,
};

enum purpose {
    CONNECTION,
    SCHEMA,
    STATEMENTS,
    ROWS,
    N_PURPOSES
};

/* Header of SQLite's blocks; 32 bytes, so that the alignment stays malloc's. */
struct block {
    struct block *next, *before;
    size_t size_bytes;
    enum purpose purpose;
};

struct sqlite_memory {
    struct block *of[N_PURPOSES];
    char *pages;
    int page_bytes;
    sqlite3 *connection;
};

static struct sqlite_memory sqlite;
static enum purpose g_purpose; /* of what is allocated now */

/* ---- SQLite's memory methods ---- */

static void link_in(struct block *block)
{
    struct block **first = &sqlite.of[block->purpose];

    block->before = NULL;
    block->next = *first;
    if (*first)
        (*first)->before = block;
    *first = block;
}

static void take_out(struct block *block)
{
    if (block->next)
        block->next->before = block->before;
    if (block->before)
        block->before->next = block->next;
    else
        sqlite.of[block->purpose] = block->next;
}

static void *take(int size_bytes)
{
    struct block *block = malloc(sizeof(*block) + (size_t)size_bytes);

    if (!block)
        return NULL;
    block->size_bytes = (size_t)size_bytes;
    block->purpose = g_purpose;
    link_in(block);
    return block + 1;
}

static void give_back(void *data)
{
    struct block *block = (struct block *)data - 1;

    take_out(block);
    free(block);
}

static void *resize(void *data, int size_bytes)
{
    struct block *block = (struct block *)data - 1;
    struct block *resized;

    take_out(block);
    resized = realloc(block, sizeof(*block) + (size_t)size_bytes);
    if (resized) {
        resized->size_bytes = (size_t)size_bytes;
        link_in(resized);
        return resized + 1;
    }
    link_in(block);
    return NULL;
}

static int size_of(void *data)
{
    return data ? (int)((struct block *)data - 1)->size_bytes : 0;
}

static int round_up(int size_bytes)
{
    return (size_bytes + 7) & ~7;
}

static int begin(void *unused)
{
    (void)unused;
    return SQLITE_OK;
}

static void end(void *unused)
{
    (void)unused;
}

/* ---- visitors ---- */

static void visit_block(struct mtrace_visitor *v, const void *object)
{
    const struct block *block = object;

    mtrace_visit_field(v, "header", block, sizeof(*block), NULL);
    mtrace_visit_array(v, "data", block + 1, block->size_bytes, 1, NULL);
}

static void visit_purpose(struct mtrace_visitor *v, const void *object)
{
    struct block *const *first = object;

    for (const struct block *block = *first; block; block = block->next)
        mtrace_visit_unique(v, "blocks", 0, "block", block, sizeof(*block) + block->size_bytes,
                            visit_block);
}

static void visit_sqlite(struct mtrace_visitor *v, const void *object)
{
    const struct sqlite_memory *memory = object;
    int n_pages = 0, most;

    sqlite3_status(SQLITE_STATUS_PAGECACHE_USED, &n_pages, &most, 0);
    mtrace_visit_field(v, "connection", &memory->of[CONNECTION], sizeof(struct block *),
                       visit_purpose);
    mtrace_visit_field(v, "schema", &memory->of[SCHEMA], sizeof(struct block *), visit_purpose);
    mtrace_visit_field(v, "statements", &memory->of[STATEMENTS], sizeof(struct block *),
                       visit_purpose);
    mtrace_visit_field(v, "rows", &memory->of[ROWS], sizeof(struct block *), visit_purpose);
    mtrace_visit_vector(v, "page cache", sizeof(memory->pages), "page", memory->pages,
                        (size_t)n_pages, N_PAGES, (size_t)memory->page_bytes, NULL);
}

MTRACE_ROOT(sqlite, visit_sqlite);

/* ---- a program that uses SQLite ---- */

static void configure(void)
{
    static const sqlite3_mem_methods methods = {take,     give_back, resize, size_of,
                                                round_up, begin,     end,    NULL};
    int header_bytes = 0;

    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods)
        || sqlite3_config(SQLITE_CONFIG_PCACHE_HDRSZ, &header_bytes))
        _exit(98);
    sqlite.page_bytes = PAGE_BYTES + round_up(header_bytes);
    sqlite.pages = malloc((size_t)sqlite.page_bytes * N_PAGES);
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, sqlite.pages, sqlite.page_bytes, N_PAGES);
}

static void run(const char *sql)
{
    if (sqlite3_exec(sqlite.connection, sql, NULL, NULL, NULL))
        _exit(97);
}

/* Statements that are kept prepared, as servers keep them. */
static void prepare_some(sqlite3_stmt **statements, unsigned n)
{
    char sql[100];

    g_purpose = STATEMENTS;
    for (unsigned i = 0; i < n; i++) {
        snprintf(sql, sizeof(sql), "SELECT name, count(*) FROM people WHERE age > %u GROUP BY name",
                 i);
        if (sqlite3_prepare_v2(sqlite.connection, sql, -1, &statements[i], NULL))
            _exit(96);
    }
}

static unsigned long long own_count(void)
{
    unsigned long long n = 0;

    for (int i = 0; i < N_PURPOSES; i++)
        for (const struct block *block = sqlite.of[i]; block; block = block->next)
            n++;
    return n;
}

int main(void)
{
    static sqlite3_stmt *statements[50];
    struct mtrace_walk *walk;
    char sql[200];

    configure();
    if (sqlite3_open(":memory:", &sqlite.connection))
        _exit(99);
    g_purpose = SCHEMA;
    run("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, age INTEGER); CREATE INDEX by_name ON people(name);");
    g_purpose = ROWS;
    snprintf(sql, sizeof(sql),
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
             "INSERT INTO people SELECT i, printf('somebody of the name %%d', i), i %% 90 FROM n",
             N_ROWS);
    run(sql);
    prepare_some(statements, 50);

    void *volatile forgotten = malloc(30777); /* no visitor knows of it */
    walk = mtrace_walk_new();
    mtrace_walk_roots(walk);
    mtrace_walk_record(walk, "people");
    mtrace_walk_free(walk);
    /* The bytes that SQLite itself counts, and the headers, which it does not know. */
    expect("bytes_of_sqlite",
           (unsigned long long)sqlite3_memory_used() + own_count() * sizeof(struct block));
    expect("known_nine_tenths", 1);
    expect("object_warnings", 0);
    expect("claimed_twice", 0);
    expect("unclaimed_own", 30777);
    return forgotten == NULL;
}
