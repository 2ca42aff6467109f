/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/foreign_database.h"

#include "lib/sqlite/embedded_sql.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TABLES = 96,
    MAX_COLUMNS = 32,
    MAX_DAMAGE = 32,
    PAGE_BYTES = 1024,
    FILE_HEADER_BYTES = 100,
    MAX_CHANGES = 24,
    LONG_TEXT = 70000
};

struct table {
    char *name;
    char *definition; /* as imported, and as readers expect it */
    char *columns[MAX_COLUMNS];
    int n_columns;
    char *key;       /* "a, b"; "rowid" where there is none */
    char *first_key; /* its first column */
    char *list;      /* all columns */
};

static struct table tables[MAX_TABLES];
static size_t n_tables;

/* The database with loose definitions. Readers bring their own views: parsing the file's takes a
 * fifth of the time, and is done for one database in eight. */
static struct image {
    unsigned char *bytes;
    sqlite3_int64 size;
} image, image_with_views;

static void require(bool is_good, const char *what, sqlite3 *db)
{
    if (is_good)
        return;
    (void)fprintf(stderr, "foreign_database: %s: %s\n", what, db ? sqlite3_errmsg(db) : "");
    abort();
}

/* ---- the database as it should be ---- */

static void run(sqlite3 *db, const char *sql)
{
    require(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "SQL", db);
}

static void run_file(sqlite3 *db, const char *name)
{
    FILE *file = fopen(name, "rb");
    static char text[1 << 16];
    size_t size;

    require(file != NULL, name, NULL);
    size = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    run(db, text);
}

static char *get_text(sqlite3 *db, const char *sql, const char *name)
{
    sqlite3_stmt *stmt;
    char *text = NULL;

    require(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, sql, db);
    sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
        text = strdup((const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return text;
}

static void learn_table(sqlite3 *db, const char *name, const char *definition)
{
    struct table *table = &tables[n_tables++];
    sqlite3_stmt *stmt;

    require(n_tables <= MAX_TABLES, "too many tables", NULL);
    table->name = strdup(name);
    table->definition = strdup(definition);
    table->list = get_text(db, "SELECT group_concat(name) FROM pragma_table_info(?1)", name);
    table->key =
        get_text(db, "SELECT group_concat(name) FROM pragma_table_info(?1) WHERE pk > 0", name);
    if (!table->key)
        table->key = strdup("rowid");
    table->first_key = strndup(table->key, strcspn(table->key, ","));
    require(sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info(?1)", -1, &stmt, NULL)
                == SQLITE_OK,
            name, db);
    sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    while (sqlite3_step(stmt) == SQLITE_ROW && table->n_columns < MAX_COLUMNS)
        table->columns[table->n_columns++] = strdup((const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
}

/* Columns that accept any type: STRICT does not protect a file against an editor. */
static const char loosen[] =
    "PRAGMA writable_schema = ON;"
    "UPDATE sqlite_schema SET sql = replace(replace(replace(replace(replace(replace(replace(sql,"
    " 'INTEGER PRIMARY KEY', '@'), 'INTEGER', 'BLOB'), 'TEXT', 'BLOB'), '@', 'INTEGER PRIMARY KEY'),"
    " 'NOT NULL', ''), 'STRICT, WITHOUT ROWID', 'WITHOUT ROWID'), ') STRICT', ')')"
    " WHERE type = 'table'; PRAGMA writable_schema = OFF";

/* The counts of rows are computed again from these. */
static const char clear_totals[] =
    "DELETE FROM backtrace_totals; DELETE FROM free_sites; DELETE FROM kinds; DELETE FROM heaps;"
    "DELETE FROM heap_extents; DELETE FROM markers; DELETE FROM realloc_chains";

/* The tables that importers compute, with fewer rows. */
static const char ranges[] =
    "INSERT INTO row_ranges SELECT min(allocation_id), max(allocation_id), min(size_bytes),"
    " max(size_bytes), min(address), max(address), max(lifetime_ns), sum(lifetime_ns IS NULL)"
    " FROM packed_allocation_rows GROUP BY (allocation_id - 1) / 4";

static void keep_image(sqlite3 *db, struct image *ret_image)
{
    ret_image->bytes = sqlite3_serialize(db, "main", &ret_image->size, 0);
    require(ret_image->bytes != NULL, "image", db);
}

static void make_images(void)
{
    static const char *const files[] = {"tests/sql/code.sql", "tests/sql/totals.sql",
                                        "tests/cli/fixtures/rows.sql"};
    sqlite3_stmt *stmt;
    sqlite3 *db;

    require(sqlite3_open(":memory:", &db) == SQLITE_OK, "open", NULL);
    run(db, "PRAGMA page_size = 1024"); /* PAGE_BYTES */
    for (const struct embedded_sql *part = embedded_schema; part->name; part++)
        run(db, part->text);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char name[4096];
        (void)snprintf(name, sizeof(name), "%s/%s", SOURCE_DIR, files[i]);
        if (strstr(name, "rows.sql"))
            run(db, clear_totals);
        run_file(db, name);
    }
    for (const struct embedded_sql *view = embedded_views; view->name; view++)
        run(db, view->text);
    run_file(db, SOURCE_DIR "/tests/sql/made_tables.sql");
    run(db, ranges);
    require(sqlite3_prepare_v2(
                db, "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name", -1,
                &stmt, NULL)
                == SQLITE_OK,
            "tables", db);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        learn_table(db, (const char *)sqlite3_column_text(stmt, 0),
                    (const char *)sqlite3_column_text(stmt, 1));
    sqlite3_finalize(stmt);
    run(db, loosen);
    keep_image(db, &image_with_views);
    run(db, "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE type = 'view'");
    keep_image(db, &image);
    sqlite3_close(db);
}

/* ---- a program ---- */

struct program {
    const uint8_t *at, *end;
};

static unsigned next_byte(struct program *program)
{
    return program->at < program->end ? *program->at++ : 0;
}

static int64_t next_number(struct program *program)
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number = number << 8 | next_byte(program);
    return (int64_t)number;
}

static const int64_t numbers[] = {
    0,         1,         2,          3,
    4,         5,         7,          8,
    11,        20,        99,         1000,
    70000,     1000000,   -1,         -2,
    INT64_MAX, INT64_MIN, 1LL << 31,  0xffffffffLL,
    1LL << 32, 1LL << 40, 1LL << 47,  1LL << 48,
    1LL << 62, 4096,      0x10000,    0x13fff,
    0x40000,   100000000, -100000000, INT64_MAX - 1,
};

static const char *const texts[] = {
    "",         "x",         "5",         "a\nb\x01\x1b[31m\xff\xfe",
    "<&\"'>]]", "/dev/zero", "/bin/true", "peak",
    "end",      "regular",   "[",         "[\"a\", 1]",
    "*",        "[a",        "%s%n%d",    "function",
    "complete", "exec",      "glibc",     "\xc3",
    "1e999",
};

enum {
    N_NUMBERS = sizeof(numbers) / sizeof(numbers[0]),
    N_TEXTS = sizeof(texts) / sizeof(texts[0])
};

static void bind_value(sqlite3_stmt *stmt, int index, struct program *program)
{
    static char text[LONG_TEXT];
    unsigned kind = next_byte(program);
    unsigned which = next_byte(program);

    switch (kind % 12) {
    case 0:
        sqlite3_bind_null(stmt, index);
        break;
    case 1:
        sqlite3_bind_text(stmt, index, texts[which % N_TEXTS], -1, SQLITE_STATIC);
        break;
    case 2:
        memset(text, 'a' + (int)(which % 26), sizeof(text));
        sqlite3_bind_text(stmt, index, text, which % 2 ? LONG_TEXT : 300, SQLITE_STATIC);
        break;
    case 3:
        sqlite3_bind_zeroblob(stmt, index, which % 2 ? 4000 : (int)which);
        break;
    case 4:
        sqlite3_bind_double(stmt, index, which % 2 ? 1e300 : which % 3 ? -1e300 : 0.5);
        break;
    case 5:
        sqlite3_bind_int64(stmt, index, next_number(program));
        break;
    default:
        sqlite3_bind_int64(stmt, index, numbers[which % N_NUMBERS]);
    }
}

/* Impossible changes are skipped. A statement's parameters: ?1 a row, then up to two values. */
static void change(sqlite3 *db, struct program *program, int64_t row, char *sql)
{
    sqlite3_stmt *stmt;

    require(sql != NULL, "memory", NULL);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
        if (sqlite3_bind_parameter_count(stmt) > 0)
            sqlite3_bind_int64(stmt, 1, row);
        for (int i = 2; i <= sqlite3_bind_parameter_count(stmt); i++)
            bind_value(stmt, i, program);
        (void)sqlite3_step(stmt);
        sqlite3_finalize(stmt);
    }
    sqlite3_free(sql);
}

static void duplicate_row(sqlite3 *db, struct program *program, const struct table *table,
                          const char *column, int64_t row)
{
    change(db, program, row,
           sqlite3_mprintf("CREATE TEMP TABLE one AS SELECT %s FROM %s LIMIT 1 OFFSET %lld",
                           table->list, table->name, row));
    change(db, program, row, sqlite3_mprintf("UPDATE temp.one SET %s = ?2", column));
    change(db, program, row,
           sqlite3_mprintf("UPDATE temp.one SET %s = ?2",
                           strcmp(table->first_key, "rowid") == 0 ? column : table->first_key));
    change(db, program, row,
           sqlite3_mprintf("INSERT OR REPLACE INTO %s(%s) SELECT * FROM temp.one", table->name,
                           table->list));
    change(db, program, row, sqlite3_mprintf("DROP TABLE IF EXISTS temp.one"));
}

static void change_schema(sqlite3 *db, struct program *program, const struct table *table)
{
    static const char *const views[] = {"leaks",  "allocations",  "stack_frames",
                                        "_sites", "_site_totals", "summary"};
    const char *view = views[next_byte(program) % 6];

    switch (next_byte(program) % 5) {
    case 0:
        change(db, program, 0, sqlite3_mprintf("DROP TABLE %s", table->name));
        break;
    case 1:
        change(db, program, 0, sqlite3_mprintf("DROP VIEW %s", view));
        change(
            db, program, 0,
            sqlite3_mprintf("CREATE VIEW %s AS SELECT zeroblob(900000000) AS backtrace_id", view));
        break;
    case 2:
        change(db, program, 0, sqlite3_mprintf("DROP VIEW %s", view));
        change(db, program, 0,
               sqlite3_mprintf("CREATE VIEW %s AS WITH RECURSIVE r(i) AS (VALUES (1) UNION ALL"
                               " SELECT i + 1 FROM r) SELECT i AS backtrace_id FROM r",
                               view));
        break;
    case 3:
        change(db, program, 0,
               sqlite3_mprintf("CREATE TRIGGER harm AFTER DELETE ON %s BEGIN"
                               " INSERT INTO meta VALUES (randomblob(9), zeroblob(900000000)); END",
                               table->name));
        break;
    default:
        change(db, program, 0,
               sqlite3_mprintf("CREATE INDEX harm ON %s(%s)", table->name, table->columns[0]));
    }
}

enum damage_kind {
    DAMAGE_BYTE,
    DAMAGE_SCHEMA,      /* a row of sqlite_schema */
    DAMAGE_PAGE_HEADER, /* a byte of it, or of the first pointers to cells */
    DAMAGE_PAGE,        /* is what another one is */
    DAMAGE_FILE_HEADER,
    DAMAGE_END, /* the file ends before */
    N_DAMAGE_KINDS
};

/* Runs after the rows were changed. */
struct damage {
    struct {
        enum damage_kind kind;
        uint32_t where;
        uint8_t what, value;
    } list[MAX_DAMAGE];

    size_t n;
};

static void add_damage(struct program *program, struct damage *damage, enum damage_kind kind)
{
    uint64_t number = (uint64_t)next_number(program);
    uint8_t value = (uint8_t)next_byte(program);

    if (damage->n == MAX_DAMAGE)
        return;
    damage->list[damage->n].kind = kind;
    damage->list[damage->n].where = (uint32_t)number;
    damage->list[damage->n].what = (uint8_t)(number >> 32);
    damage->list[damage->n++].value = value;
}

/* The ids of a row's column and of its neighbour's key are exchanged for one another: what names
 * another row names itself, or they name each other. */
static void link_rows(sqlite3 *db, struct program *program, const struct table *table, int64_t row)
{
    const char *column = table->columns[next_byte(program) % (unsigned)table->n_columns];
    unsigned steps = next_byte(program) % 4;

    change(db, program, row,
           sqlite3_mprintf(
               "UPDATE OR REPLACE %s SET %s = (SELECT o.%s FROM %s AS o LIMIT 1 OFFSET ?1 - %u)"
               " WHERE (%s) = (SELECT %s FROM %s LIMIT 1 OFFSET ?1)",
               table->name, column, table->first_key, table->name, steps, table->key, table->key,
               table->name));
}

static void change_once(sqlite3 *db, struct program *program, struct damage *damage)
{
    unsigned operation = next_byte(program) % 16;
    const struct table *table = &tables[next_byte(program) % n_tables];
    const char *column = table->columns[next_byte(program) % (unsigned)table->n_columns];
    int64_t row = next_byte(program) % 20;

    switch (operation) {
    case 7:
        change(db, program, row,
               sqlite3_mprintf("UPDATE OR REPLACE %s SET %s = ?2", table->name, column));
        break;
    case 8:
        change(
            db, program, row,
            sqlite3_mprintf("UPDATE OR REPLACE %s SET %s = %s + ?2", table->name, column, column));
        break;
    case 9:
        change(
            db, program, row,
            sqlite3_mprintf("UPDATE OR REPLACE %s SET %s = %s * ?2", table->name, column, column));
        break;
    case 10:
        change(db, program, row,
               sqlite3_mprintf("DELETE FROM %s WHERE (%s) = (SELECT %s FROM %s LIMIT 1 OFFSET ?1)",
                               table->name, table->key, table->key, table->name));
        break;
    case 11:
        change(db, program, row,
               sqlite3_mprintf("UPDATE OR REPLACE %s SET %s = %s", table->name, column,
                               table->columns[(size_t)row % (size_t)table->n_columns]));
        break;
    case 12:
    case 13:
        duplicate_row(db, program, table, column, row);
        break;
    case 14:
        if (row == 7)
            change_schema(db, program, table);
        else if (row < 7)
            add_damage(program, damage, (enum damage_kind)((unsigned)row % N_DAMAGE_KINDS));
        else
            link_rows(db, program, table, row);
        break;
    case 15:
        if (row % 4 == 0)
            add_damage(program, damage, DAMAGE_BYTE);
        break;
    default:
        change(db, program, row,
               sqlite3_mprintf("UPDATE OR REPLACE %s SET %s = ?2 WHERE (%s) ="
                               " (SELECT %s FROM %s LIMIT 1 OFFSET ?1)",
                               table->name, column, table->key, table->key, table->name));
    }
}

/* ---- the file ---- */

static void restore_definitions(sqlite3 *db)
{
    sqlite3_stmt *stmt;

    run(db, "PRAGMA writable_schema = ON");
    require(sqlite3_prepare_v2(
                db, "UPDATE sqlite_schema SET sql = ?1 WHERE type = 'table' AND name = ?2", -1,
                &stmt, NULL)
                == SQLITE_OK,
            "definitions", db);
    for (size_t i = 0; i < n_tables; i++) {
        sqlite3_bind_text(stmt, 1, tables[i].definition, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, tables[i].name, -1, SQLITE_STATIC);
        require(sqlite3_step(stmt) == SQLITE_DONE, "definition", db);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
}

/* Of two tables, the definitions of the first. */
static const char *const schema_damage[] = {
    "rootpage = (SELECT o.rootpage FROM sqlite_schema AS o WHERE o.name = ?2)",
    "rootpage = ?3",
    "rootpage = -?3",
    "rootpage = NULL",
    "sql = replace(sql, ',', ', -- and\n')",
    "sql = replace(sql, 'INTEGER', 'TEXT')",
    "sql = replace(sql, 'NOT NULL', 'DEFAULT (zeroblob(900000000))')",
    "sql = replace(sql, ') STRICT', ', more BLOB AS (zeroblob(900000000))) STRICT')",
    "sql = replace(sql, ') STRICT', ', CHECK (length(zeroblob(900000000)))) STRICT')",
    "sql = replace(sql, ', WITHOUT ROWID', '')",
    "sql = 'CREATE VIRTUAL TABLE ' || name || ' USING fts5(x)'",
    "sql = NULL",
    "sql = 'CREATE TABLE'",
    "type = 'view'",
    "type = 'index'",
    "name = ?2",
    "tbl_name = ?2",
    "name = 'sqlite_stat1', tbl_name = 'sqlite_stat1'",
    "name = 'allocations', tbl_name = 'allocations', type = 'view'",
};

static void damage_schema(sqlite3 *db, uint32_t where, uint8_t what, uint8_t value)
{
    size_t n = sizeof(schema_damage) / sizeof(schema_damage[0]);
    char *sql =
        sqlite3_mprintf("UPDATE sqlite_schema SET %s WHERE name = ?1", schema_damage[what % n]);
    sqlite3_stmt *stmt;

    require(sql != NULL, "memory", NULL);
    require(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, sql, db);
    sqlite3_bind_text(stmt, 1, tables[where % n_tables].name, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, tables[value % n_tables].name, -1, SQLITE_STATIC);
    sqlite3_bind_int(stmt, 3, value);
    (void)sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
}

static sqlite3 *open_image(const struct image *from)
{
    unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)from->size);
    sqlite3 *db;

    require(copy && sqlite3_open(":memory:", &db) == SQLITE_OK, "open", NULL);
    memcpy(copy, from->bytes, (size_t)from->size);
    require(sqlite3_deserialize(db, "main", copy, from->size, from->size,
                                SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)
                == SQLITE_OK,
            "image", db);
    return db;
}

static void damage_bytes(unsigned char *bytes, size_t *size, const struct damage *damage, size_t i)
{
    enum damage_kind kind = damage->list[i].kind;
    uint32_t where = damage->list[i].where;
    unsigned what = damage->list[i].what;
    unsigned value = damage->list[i].value;
    size_t page = (where + 1) % (*size / PAGE_BYTES) * PAGE_BYTES;

    if (kind == DAMAGE_BYTE)
        bytes[where % *size] = (unsigned char)value;
    else if (kind == DAMAGE_PAGE_HEADER)
        bytes[page + (page ? 0 : FILE_HEADER_BYTES) + what % 16] = (unsigned char)value;
    else if (kind == DAMAGE_PAGE)
        memmove(bytes + page, bytes + (what * 256 + value) % (*size / PAGE_BYTES) * PAGE_BYTES,
                PAGE_BYTES);
    else if (kind == DAMAGE_FILE_HEADER)
        bytes[what % FILE_HEADER_BYTES] = (unsigned char)value;
    else if (kind == DAMAGE_END && *size > (size_t)2 * PAGE_BYTES)
        *size = PAGE_BYTES + where % (*size - PAGE_BYTES);
}

static void write_file(sqlite3 *db, const struct damage *damage, const char *path)
{
    sqlite3_int64 all;
    unsigned char *bytes = sqlite3_serialize(db, "main", &all, 0);
    size_t size = (size_t)all;
    FILE *file = fopen(path, "wb");

    require(bytes && file && size > 0, path, db);
    for (size_t i = 0; i < damage->n; i++)
        damage_bytes(bytes, &size, damage, i);
    require(fwrite(bytes, size, 1, file) == 1 && fclose(file) == 0, path, NULL);
    sqlite3_free(bytes);
}

/* "--" and SQL up to a byte 0. */
static void run_text(sqlite3 *db, struct program *program)
{
    size_t length = strnlen((const char *)program->at, (size_t)(program->end - program->at));
    char *sql = sqlite3_mprintf("%.*s", (int)length, (const char *)program->at);

    require(sql != NULL, "memory", NULL);
    (void)sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    program->at += length;
}

void foreign_database_write(const uint8_t *bytes, size_t size, const char *path)
{
    struct program program = {bytes, bytes + size};
    struct damage damage = {.n = 0};
    sqlite3 *db;

    (void)sqlite3_hard_heap_limit64(0); /* that of the reader before */
    if (!image.bytes)
        make_images();
    db = open_image(size % 8 == 7 ? &image_with_views : &image);
    run(db, "BEGIN");
    if (size > 2 && memcmp(bytes, "--", 2) == 0)
        run_text(db, &program);
    for (int i = 0; i < MAX_CHANGES && program.at < program.end; i++)
        change_once(db, &program, &damage);
    restore_definitions(db);
    for (size_t i = 0; i < damage.n; i++) {
        if (damage.list[i].kind == DAMAGE_SCHEMA)
            damage_schema(db, damage.list[i].where, damage.list[i].what, damage.list[i].value);
    }
    run(db, "COMMIT");
    write_file(db, &damage, path);
    sqlite3_close(db);
}
