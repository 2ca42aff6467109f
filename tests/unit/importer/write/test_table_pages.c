/* SPDX-License-Identifier: MIT */
/* Tables of pages compared with the same rows inserted by SQLite, which also checks the pages. */
#include "importer/write/database.h"
#include "importer/write/table_pages.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void must(int code, const struct error *err)
{
    if (code)
        fail_msg("%s", err->text);
}

static void ask_text(sqlite3 *db, const char *sql, const char *expected)
{
    sqlite3_stmt *statement;

    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), expected);
    sqlite3_finalize(statement);
}

static sqlite3 *new_database(unsigned page_bytes)
{
    char sql[1024];
    sqlite3 *db;

    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    snprintf(
        sql, sizeof sql,
        "PRAGMA page_size = %u; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
        "CREATE TABLE last(a INTEGER, b INTEGER, c INTEGER, k INTEGER PRIMARY KEY) STRICT;"
        "CREATE TABLE first(k INTEGER PRIMARY KEY, a INTEGER, b INTEGER) STRICT;"
        "CREATE TABLE last_2(a INTEGER, b INTEGER, c INTEGER, k INTEGER PRIMARY KEY) STRICT;"
        "CREATE TABLE first_2(k INTEGER PRIMARY KEY, a INTEGER, b INTEGER) STRICT;"
        "CREATE TABLE keyed(k INTEGER, l INTEGER, a INTEGER, r REAL, t TEXT, PRIMARY KEY(k, l))"
        " STRICT, WITHOUT ROWID;"
        "CREATE TABLE keyed_2(k INTEGER, l INTEGER, a INTEGER, r REAL, t TEXT, PRIMARY KEY(k, l))"
        " STRICT, WITHOUT ROWID;",
        page_bytes);
    must(database_execute(db, sql, NULL), NULL);
    return db;
}

/* Integers of every length that SQLite stores, around each limit, of both signs. */
static int64_t value_of(size_t i)
{
    unsigned bits = (unsigned)(i % 64);
    uint64_t limit = (uint64_t)1 << bits;
    uint64_t value = i % 5 == 0   ? limit - 1
                     : i % 5 == 1 ? limit
                     : i % 5 == 2 ? -limit
                                  : limit * 3 / 2;

    return i % 5 == 3 ? -(int64_t)(value >> 1) - 1 : (int64_t)value;
}

static struct page_row row_of(size_t i, int64_t key)
{
    struct page_row row = {.values = {value_of(i), (int64_t)(i % 3), value_of(i / 7), key}};

    row.nulls = i % 4 == 0 ? 1U << (i % 3) : 0;
    return row;
}

static void insert_twin(sqlite3_stmt *insert, const struct page_row *row, int n_columns)
{
    for (int i = 0; i < n_columns; i++) {
        double real;
        memcpy(&real, &row->values[i], sizeof real);
        if (row->nulls >> i & 1)
            sqlite3_bind_null(insert, i + 1);
        else if (row->reals >> i & 1)
            sqlite3_bind_double(insert, i + 1, real);
        else if (row->texts >> i & 1)
            sqlite3_bind_text(insert, i + 1, (const char *)(intptr_t)row->values[i], -1,
                              SQLITE_STATIC);
        else
            sqlite3_bind_int64(insert, i + 1, row->values[i]);
    }
    assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_reset(insert);
}

static struct page_row first_of(size_t i)
{
    struct page_row row = row_of(i, 0);

    row.values[2] = row.values[1];
    row.values[1] = row.values[0];
    row.values[0] = (int64_t)i * 1000003 - 5000; /* keys of other lengths, some negative */
    row.nulls <<= 1;
    row.nulls &= 7;
    return row;
}

/* Reals that are whole numbers too, texts of each length. */
static struct page_row keyed_of(size_t i)
{
    static const char text[] = "fifty-seven bytes are what a text may have, and no more of it";
    struct page_row row = {
        .values = {(int64_t)(i / 50) - 3, (int64_t)(i % 50) * 1000003, value_of(i)}};

    page_row_put_real(&row, 3, i % 3 ? (double)i / 7 : (double)value_of(i));
    page_row_put_text(&row, 4, text + sizeof text - 1 - i % 58);
    row.nulls = i % 4 == 0 ? UINT64_C(1) << (2 + i % 3) : 0;
    return row;
}

static void write_pages(sqlite3 *db, size_t n)
{
    struct table_pages *pages;
    struct page_table *last;
    struct page_table *first;
    struct page_table *keyed;
    struct error err;

    must(table_pages_begin(db, &pages, &err), &err);
    must(table_pages_open_keyed(pages, "keyed", 5, 2, &keyed, &err), &err);
    must(table_pages_open(pages, "last", 4, 3, &last, &err), &err);
    must(table_pages_open(pages, "first", 3, 0, &first, &err), &err);
    for (size_t i = 0; i < n; i++) {
        struct page_row row = row_of(i, (int64_t)i + 1);
        must(table_pages_add(last, &row, &err), &err);
        row = first_of(i);
        if (i % 3 == 0)
            must(table_pages_add(first, &row, &err), &err);
        row = keyed_of(i);
        must(table_pages_add(keyed, &row, &err), &err);
    }
    must(table_pages_end(pages, &err), &err);
    table_pages_free(pages);
}

static void write_twins(sqlite3 *db, size_t n)
{
    sqlite3_stmt *last;
    sqlite3_stmt *first;
    sqlite3_stmt *keyed;

    must(database_prepare(db, "INSERT INTO keyed_2 VALUES (?, ?, ?, ?, ?)", &keyed, NULL), NULL);
    must(database_prepare(db, "INSERT INTO last_2 VALUES (?, ?, ?, ?)", &last, NULL), NULL);
    must(database_prepare(db, "INSERT INTO first_2 VALUES (?, ?, ?)", &first, NULL), NULL);
    for (size_t i = 0; i < n; i++) {
        struct page_row row = row_of(i, (int64_t)i + 1);
        insert_twin(last, &row, 4);
        row = first_of(i);
        if (i % 3 == 0)
            insert_twin(first, &row, 3);
        row = keyed_of(i);
        insert_twin(keyed, &row, 5);
    }
    sqlite3_finalize(keyed);
    sqlite3_finalize(last);
    sqlite3_finalize(first);
}

static void compare(sqlite3 *db)
{
    ask_text(db,
             "SELECT count(*) FROM (SELECT * FROM last EXCEPT SELECT * FROM last_2"
             " UNION ALL SELECT * FROM (SELECT * FROM last_2 EXCEPT SELECT * FROM last))",
             "0");
    ask_text(db,
             "SELECT count(*) FROM (SELECT * FROM first EXCEPT SELECT * FROM first_2"
             " UNION ALL SELECT * FROM (SELECT * FROM first_2 EXCEPT SELECT * FROM first))",
             "0");
    ask_text(db,
             "SELECT count(*) FROM (SELECT * FROM keyed EXCEPT SELECT * FROM keyed_2"
             " UNION ALL SELECT * FROM (SELECT * FROM keyed_2 EXCEPT SELECT * FROM keyed))",
             "0");
    ask_text(db, "SELECT (SELECT count(*) FROM keyed) = (SELECT count(*) FROM keyed_2)", "1");
    ask_text(db, /* each row is found by its key, in whatever page */
             "SELECT count(*) FROM keyed_2 b LEFT JOIN keyed a USING (k, l) WHERE a.k IS NULL",
             "0");
    ask_text(db, "SELECT (SELECT count(*) FROM last) = (SELECT count(*) FROM last_2)", "1");
    ask_text(db, "SELECT (SELECT max(rowid) FROM first) IS (SELECT max(rowid) FROM first_2)", "1");
    ask_text(db, "PRAGMA integrity_check", "ok");
}

static void round_of(unsigned page_bytes, size_t n)
{
    sqlite3 *db = new_database(page_bytes);

    write_pages(db, n);
    write_twins(db, n); /* in the same file, behind the pages */
    compare(db);
    must(database_execute(db, "COMMIT", NULL), NULL);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK); /* as anyone else reads it */
    compare(db);
    sqlite3_close(db);
    unlink(path);
}

static int name_path(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof path, "test_table_pages_%ld.db", (long)getpid());
    return 0;
}

TESTS_WITH(name_path, NULL);

/* With pages of 512 bytes about 20 rows fill a leaf, 34 leaves a page above, and 34 of those the
 * next level. */
TEST(every_shape_of_the_tree)
{
    for (size_t n = 0; n < 60; n++)
        round_of(512, n);
    for (size_t n = 60; n < 2000; n += 37)
        round_of(512, n);
    round_of(512, 30000);
    round_of(512, 60001);
    round_of(16384, 50000);
}

/* A file that is a page short of a gibibyte, all of it a hole. */
TEST(the_page_of_the_lock_stays_empty)
{
    enum {
        PAGE_BYTES = 4096,
        LOCK_PAGE = (1 << 30) / PAGE_BYTES
    };

    sqlite3 *db = new_database(PAGE_BYTES);
    unsigned char header[100];
    char bytes[PAGE_BYTES];
    char zeros[PAGE_BYTES] = {0};

    must(database_execute(db, "COMMIT", NULL), NULL);
    sqlite3_close(db);
    FILE *file = fopen(path, "r+");
    assert_int_equal(fread(header, sizeof header, 1, file), 1);
    const uint32_t n_pages = LOCK_PAGE - 1;
    for (int i = 0; i < 4; i++)
        header[28 + i] = (unsigned char)(n_pages >> (24 - 8 * i));
    rewind(file);
    assert_int_equal(fwrite(header, sizeof header, 1, file), 1);
    fclose(file);
    assert_int_equal(truncate(path, (off_t)n_pages * PAGE_BYTES), 0);

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    must(database_execute(db, "PRAGMA journal_mode = OFF; BEGIN", NULL), NULL);
    write_pages(db, 5000);
    ask_text(db, "SELECT count(k) || ' ' || sum(k) FROM last", "5000 12502500");
    must(database_execute(db, "COMMIT", NULL), NULL);
    sqlite3_close(db);
    file = fopen(path, "r");
    assert_int_equal(fseek(file, (long)LOCK_PAGE * PAGE_BYTES, SEEK_SET), 0);
    assert_int_equal(fread(bytes, sizeof bytes, 1, file), 1);
    assert_memory_equal(bytes, zeros, sizeof bytes);
    assert_int_equal(fread(bytes, sizeof bytes, 1, file), 1); /* behind it the rows go on */
    assert_memory_not_equal(bytes, zeros, sizeof bytes);
    fclose(file);
    unlink(path);
}

/* Keys of two columns: the second one decides only where the first ones are equal. */
TEST(a_key_that_does_not_increase_is_refused)
{
    sqlite3 *db = new_database(512);
    struct table_pages *pages;
    struct page_table *table;
    struct page_table *keyed;
    struct page_row row = row_of(1, 7);
    struct error err;

    must(table_pages_begin(db, &pages, &err), &err);
    must(table_pages_open(pages, "last", 4, 3, &table, &err), &err);
    must(table_pages_open_keyed(pages, "keyed", 5, 2, &keyed, &err), &err);
    must(table_pages_add(table, &row, &err), &err);
    assert_int_equal(table_pages_add(table, &row, &err), ERROR_FORMAT);
    row = (struct page_row){.values = {1, 9}};
    must(table_pages_add(keyed, &row, &err), &err);
    row = (struct page_row){.values = {2, 3}};
    must(table_pages_add(keyed, &row, &err), &err);
    assert_int_equal(table_pages_add(keyed, &row, &err), ERROR_FORMAT);
    row = (struct page_row){.values = {1, 10}};
    assert_int_equal(table_pages_add(keyed, &row, &err), ERROR_FORMAT);
    table_pages_free(pages);
    sqlite3_close(db);
    unlink(path);
}

/* Rows of as many columns as there may be, of eight bytes each, fit in a page of 2048 bytes, but
 * not of 512, where SQLite would go on elsewhere. */
TEST(a_row_lies_in_one_page)
{
    static const unsigned sizes[] = {512, 2048, 16384};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sqlite3 *db = new_database(sizes[i]);
        struct table_pages *pages;
        struct page_table *wide;
        struct page_row row = {.values = {0}};
        struct error err;
        char sql[1024] = "CREATE TABLE wide(c0 INTEGER PRIMARY KEY";
        for (int k = 1; k < TABLE_PAGES_COLUMNS; k++)
            snprintf(sql + strlen(sql), sizeof sql - strlen(sql), ", c%d INTEGER", k);
        strcat(sql, ") STRICT, WITHOUT ROWID");
        must(database_execute(db, sql, NULL), NULL);
        must(table_pages_begin(db, &pages, &err), &err);
        must(table_pages_open_keyed(pages, "wide", TABLE_PAGES_COLUMNS, 1, &wide, &err), &err);
        for (int k = 0; k < TABLE_PAGES_COLUMNS; k++)
            row.values[k] = INT64_MAX - 5000 - k;
        if (sizes[i] == 512)
            assert_int_equal(table_pages_add(wide, &row, &err), ERROR_FORMAT);
        for (int n = 0; sizes[i] > 512 && n < 5000; n++) {
            row.values[0]++;
            must(table_pages_add(wide, &row, &err), &err);
        }
        if (sizes[i] > 512) {
            must(table_pages_end(pages, &err), &err);
            ask_text(db, "PRAGMA integrity_check", "ok");
            ask_text(
                db,
                "SELECT count(*) || ' ' || min(c0) || ' ' || max(c0) || ' ' || min(c33) FROM wide",
                "5000 9223372036854770808 9223372036854775807 9223372036854770774");
        }
        table_pages_free(pages);
        sqlite3_close(db);
        unlink(path);
    }
}
