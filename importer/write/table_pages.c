/* SPDX-License-Identifier: MIT */
#include "importer/write/table_pages.h"

#include "importer/write/database.h"
#include "lib/abi/attr.h"
#include "lib/base/file_io.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_TABLES = 6,
    MAX_LEVELS = 12, /* of pages above the leaves: enough for 2^32 pages */
    BUFFER_BYTES = 1 << 20,

    FILE_HEADER_BYTES = 100,
    CHANGE_COUNTER = 24, /* offsets in the header */
    PAGE_COUNT = 28,
    VERSION_VALID_FOR = 92,
    LOCK_BYTE = 1 << 30,

    LEAF = 0x0d, /* page types; these two of tables */
    INNER = 0x05,
    KEYED_LEAF = 0x0a, /* and these of indexes, as which WITHOUT ROWID tables are stored */
    KEYED_INNER = 0x02,
    N_CELLS = 3, /* offsets in a page */
    CONTENT_START = 5,
    LAST_CHILD = 8,
    LEAF_HEADER_BYTES = 8,
    INNER_HEADER_BYTES = 12,

    POINTER_BYTES = 2,
    CHILD_BYTES = 4,
    MAX_VARINT_BYTES = 9,
    MAX_TEXT_BYTES = 57, /* whose serial type fits in one byte */
    REAL = 7,            /* serial types */
    TEXT = 13,
};

/* Maximum bytes of a row: its length, its key, the length of its header, a type and a value per
 * column, and all its texts. */
#define ROW_BYTES (2 + MAX_VARINT_BYTES + 1 + 9 * TABLE_PAGES_COLUMNS + MAX_TEXT_BYTES)

_Static_assert(TABLE_PAGES_COLUMNS + 1 < 128, "the length of a row's header takes one byte");

/* A key, or a row with its length: separates a child from the next one. */
struct divider {
    unsigned n_bytes;
    uint8_t bytes[ROW_BYTES];
};

struct child {
    uint32_t page;
    struct divider divider;
};

/* Children of the next inner page, and two more, so that the last page gets two (TP-2). */
struct level {
    struct child *children;
    size_t n;
};

struct page_table {
    struct table_pages *pages;
    uint32_t root;
    unsigned n_columns;
    unsigned key_column;
    unsigned n_keys; /* 0: has row ids */
    size_t max_children;
    unsigned max_row_bytes;
    uint8_t *leaf; /* leaf being filled */
    unsigned n_cells;
    unsigned content; /* offset of the last cell: cells grow down from the end of the page */
    int64_t last_key[TABLE_PAGES_KEYS];
    bool has_last; /* a row was added; last_key is its key */
    struct level levels[MAX_LEVELS];
};

struct table_pages {
    sqlite3 *db;
    int fd;
    unsigned page_bytes;
    uint32_t n_pages; /* of the file, including the buffer */
    uint8_t *buffer;  /* the last n_buffered of them */
    size_t n_buffered;
    size_t n_tables;
    struct page_table tables[MAX_TABLES];
};

/* ---- bytes ---- */

static void put_16(uint8_t *to, unsigned value)
{
    uint16_t big = htobe16((uint16_t)value);

    memcpy(to, &big, sizeof big);
}

static void put_32(uint8_t *to, uint32_t value)
{
    uint32_t big = htobe32(value);

    memcpy(to, &big, sizeof big);
}

static uint32_t get_32(const uint8_t *from)
{
    uint32_t big;

    memcpy(&big, from, sizeof big);
    return be32toh(big);
}

/* Seven bits per byte, the highest first; a ninth byte has eight. */
static size_t put_varint(uint8_t *to, uint64_t value)
{
    uint8_t reversed[MAX_VARINT_BYTES];
    size_t n = 0;

    if (value >> 56) {
        for (int i = 0; i < 8; i++)
            to[i] = (uint8_t)(value >> (57 - 7 * i) & 0x7f) | 0x80;
        to[8] = (uint8_t)value;
        return MAX_VARINT_BYTES;
    }
    do {
        reversed[n++] = (uint8_t)(value & 0x7f) | 0x80;
        value >>= 7;
    } while (value);
    reversed[0] &= 0x7f;
    for (size_t i = 0; i < n; i++)
        to[i] = reversed[n - 1 - i];
    return n;
}

/* Serial type of an integer other than 0 and 1, by its signed bits; below, the bytes of each
 * type. */
static unsigned serial_type(int64_t value)
{
    static const uint8_t by_bytes[] = {0, 1, 2, 3, 4, 5, 5, 6, 6};
    unsigned n_bits = 65 - (unsigned)__builtin_clzll((uint64_t)(value < 0 ? ~value : value) | 1);

    return by_bytes[(n_bits + 7) / 8];
}

static const uint8_t serial_bytes[] = {0, 1, 2, 3, 4, 6, 8, [REAL] = 8};

static const char *text_of(const struct page_row *row, unsigned column)
{
    return (const char *)(intptr_t)row->values[column];
}

/* Returns the serial type of a value other than NULL; appends its bytes at *body and advances
 * it. */
static uint8_t encode_value(const struct page_row *row, unsigned column, uint8_t **body)
{
    int64_t value = row->values[column];
    bool is_real = row->reals >> column & 1;

    if (mtrace_unlikely(row->texts >> column & 1)) {
        size_t length = strlen(text_of(row, column));
        memcpy(*body, text_of(row, column), length);
        *body += length;
        return (uint8_t)(TEXT + 2 * length);
    }
    if (!is_real && (value == 0 || value == 1))
        return (uint8_t)(8 + value);
    unsigned type = is_real ? REAL : serial_type(value);
    uint64_t big = htobe64((uint64_t)value << (64 - 8 * serial_bytes[type]));
    memcpy(*body, &big, sizeof big);
    *body += serial_bytes[type];
    return (uint8_t)type;
}

static bool has_room_for_texts(const struct page_table *table, const struct page_row *row)
{
    size_t n = 0;

    for (unsigned i = 0; i < table->n_columns; i++)
        n += row->texts >> i & ~row->nulls >> i & 1 ? strlen(text_of(row, i)) : 0;
    return n <= MAX_TEXT_BYTES;
}

/* A cell: length of the row, key (unless it is a column), and the row: length of its header, types,
 * values. */
static unsigned encode_cell(uint8_t *cell, const struct page_table *table,
                            const struct page_row *row)
{
    uint8_t header[1 + TABLE_PAGES_COLUMNS];
    uint8_t body[ROW_BYTES + sizeof(uint64_t)];
    uint64_t nulls = row->nulls | (table->n_keys ? 0 : UINT64_C(1) << table->key_column);
    uint8_t *end = body;
    size_t n_header = 1 + table->n_columns;

    header[0] = (uint8_t)n_header;
    for (unsigned i = 0; i < table->n_columns; i++)
        header[1 + i] = nulls >> i & 1 ? 0 : encode_value(row, i, &end);
    size_t n_body = (size_t)(end - body);
    size_t n = put_varint(cell, n_header + n_body);
    if (!table->n_keys)
        n += put_varint(cell + n, (uint64_t)row->values[table->key_column]);
    memcpy(cell + n, header, n_header);
    memcpy(cell + n + n_header, body, n_body);
    return (unsigned)(n + n_header + n_body);
}

/* ---- the file ---- */

static int write_at(struct table_pages *pages, uint64_t offset, const uint8_t *bytes,
                    size_t n_bytes, struct error *err)
{
    int failure = file_io_write(pages->fd, bytes, n_bytes, offset, NULL);

    return failure ? database_write_error(pages->db, failure, err) : 0;
}

static int flush(struct table_pages *pages, struct error *err)
{
    uint64_t first = pages->n_pages - pages->n_buffered;
    int code = write_at(pages, first * pages->page_bytes, pages->buffer,
                        pages->n_buffered * pages->page_bytes, err);

    pages->n_buffered = 0;
    return code;
}

/* Appends a page with these bytes; NULL: zeros. */
static int append_page(struct table_pages *pages, const uint8_t *bytes, uint32_t *ret_page,
                       struct error *err)
{
    int code = 0;

    if (mtrace_unlikely(pages->n_pages == LOCK_BYTE / pages->page_bytes && bytes)) /* TP-3 */
        code = append_page(pages, NULL, ret_page, err);
    if (code)
        return code;
    if (pages->n_pages >= UINT32_MAX - 2)
        return error_set(err, ERROR_DATABASE, "more pages than a database can have");
    uint8_t *place = pages->buffer + pages->n_buffered * pages->page_bytes;
    if (bytes)
        memcpy(place, bytes, pages->page_bytes);
    else
        memset(place, 0, pages->page_bytes);
    pages->n_buffered++;
    *ret_page = ++pages->n_pages;
    return pages->n_buffered * pages->page_bytes < BUFFER_BYTES ? 0 : flush(pages, err);
}

/* ---- the tree ---- */

static void clear_page(uint8_t *page, unsigned page_bytes, int type)
{
    memset(page, 0, page_bytes);
    page[0] = (uint8_t)type;
}

static void make_inner(uint8_t *page, const struct page_table *table, const struct child *children,
                       size_t n)
{
    unsigned content = table->pages->page_bytes;

    clear_page(page, content, table->n_keys ? KEYED_INNER : INNER);
    for (size_t i = 0; i + 1 < n; i++) {
        const struct divider *divider = &children[i].divider;
        content -= CHILD_BYTES + divider->n_bytes;
        put_32(page + content, children[i].page);
        memcpy(page + content + CHILD_BYTES, divider->bytes, divider->n_bytes);
        put_16(page + INNER_HEADER_BYTES + POINTER_BYTES * i, content);
    }
    put_16(page + N_CELLS, (unsigned)(n - 1));
    put_16(page + CONTENT_START, content);
    put_32(page + LAST_CHILD, children[n - 1].page);
}

static int add_child(struct page_table *table, size_t level, const struct child *child,
                     struct error *err);

/* Makes a page of the first n children of a level. */
static int close_inner(struct page_table *table, size_t level, size_t n, struct error *err)
{
    struct level *of = &table->levels[level];
    unsigned page_bytes = table->pages->page_bytes;
    struct child made = {.divider = of->children[n - 1].divider};
    uint8_t *page = malloc(page_bytes);

    if (!page)
        return error_set(err, ERROR_NOMEM, "out of memory");
    make_inner(page, table, of->children, n);
    int code = append_page(table->pages, page, &made.page, err);
    free(page);
    of->n -= n;
    memmove(of->children, of->children + n, of->n * sizeof *of->children);
    return code ? code : add_child(table, level + 1, &made, err);
}

static int add_child(struct page_table *table, size_t level, const struct child *child,
                     struct error *err)
{
    size_t max = table->max_children;
    struct level *to = &table->levels[level];
    int code = 0;

    if (!to->children)
        to->children = malloc((max + 2) * sizeof *to->children);
    if (!to->children)
        return error_set(err, ERROR_NOMEM, "out of memory");
    if (to->n == max + 2)
        code = close_inner(table, level, max, err);
    if (code == 0)
        to->children[to->n++] = *child;
    return code;
}

static void finish_leaf(struct page_table *table)
{
    put_16(table->leaf + N_CELLS, table->n_cells);
    put_16(table->leaf + CONTENT_START, table->content);
}

static void begin_leaf(struct page_table *table)
{
    clear_page(table->leaf, table->pages->page_bytes, table->n_keys ? KEYED_LEAF : LEAF);
    table->n_cells = 0;
    table->content = table->pages->page_bytes;
}

/* Moves the last row of a leaf, which has others, to the divider. */
static void take_last_row(struct page_table *table, struct divider *ret)
{
    unsigned end = table->pages->page_bytes;

    if (table->n_cells > 1) {
        uint16_t before;
        memcpy(&before, table->leaf + LEAF_HEADER_BYTES + POINTER_BYTES * (table->n_cells - 2),
               sizeof before);
        end = be16toh(before);
    }
    ret->n_bytes = end - table->content;
    memcpy(ret->bytes, table->leaf + table->content, ret->n_bytes);
    memset(table->leaf + LEAF_HEADER_BYTES + POINTER_BYTES * (table->n_cells - 1), 0,
           POINTER_BYTES);
    memset(table->leaf + table->content, 0, ret->n_bytes);
    table->n_cells--;
    table->content = end;
}

/* Writes the leaf. The last one has no successor and needs no divider. */
static int close_leaf(struct page_table *table, bool is_last, struct error *err)
{
    struct child made = {.page = 0};

    if (!table->n_keys)
        made.divider.n_bytes =
            (unsigned)put_varint(made.divider.bytes, (uint64_t)table->last_key[0]);
    else if (!is_last)
        take_last_row(table, &made.divider);
    finish_leaf(table);
    int code = append_page(table->pages, table->leaf, &made.page, err);
    begin_leaf(table);
    return code ? code : add_child(table, 0, &made, err);
}

/* Does the key follow the last one (TP-1)? Makes it the last one. */
static bool advance_key(struct page_table *table, const struct page_row *row)
{
    const int64_t *key = &row->values[table->n_keys ? 0 : table->key_column];
    unsigned n = table->n_keys ? table->n_keys : 1;
    unsigned i = 0;

    while (i < n && key[i] == table->last_key[i])
        i++;
    bool is_behind = !table->has_last || (i < n && key[i] > table->last_key[i]);
    memcpy(table->last_key, key, n * sizeof *key);
    table->has_last = true;
    return is_behind;
}

static int add_row(struct page_table *table, const uint8_t *cell, unsigned n, struct error *err)
{
    unsigned pointers = LEAF_HEADER_BYTES + POINTER_BYTES * (table->n_cells + 1);
    int code = 0;

    if (mtrace_unlikely(pointers + n > table->content)) {
        code = close_leaf(table, false, err);
        pointers = LEAF_HEADER_BYTES + POINTER_BYTES;
    }
    table->content -= n;
    memcpy(table->leaf + table->content, cell, n);
    put_16(table->leaf + pointers - POINTER_BYTES, table->content);
    table->n_cells++;
    return code;
}

int table_pages_add(struct page_table *table, const struct page_row *row, struct error *err)
{
    uint8_t cell[ROW_BYTES + sizeof(uint64_t)];

    if (mtrace_unlikely(row->texts && !has_room_for_texts(table, row)))
        return error_set(err, ERROR_FORMAT, "a row with longer texts than there is room for");
    unsigned n = encode_cell(cell, table, row);
    if (mtrace_unlikely(n > table->max_row_bytes)) /* TP-4 */
        return error_set(err, ERROR_FORMAT, "a row that is too long for its page");
    /* add_row may close a leaf, whose key is that of the previous row: advance the key later */
    int code = add_row(table, cell, n, err);
    if (mtrace_unlikely(!advance_key(table, row)))
        return error_set(err, ERROR_FORMAT, "rows are out of order");
    return code;
}

/* The root replaces the page of SQLite's empty table. */
static int write_root(struct page_table *table, const uint8_t *page, struct error *err)
{
    unsigned page_bytes = table->pages->page_bytes;

    return write_at(table->pages, (uint64_t)(table->root - 1) * page_bytes, page, page_bytes, err);
}

static int write_inner_root(struct page_table *table, const struct level *top, struct error *err)
{
    make_inner(table->leaf, table, top->children, top->n);
    return write_root(table, table->leaf, err);
}

static int finish_table(struct page_table *table, struct error *err)
{
    size_t max = table->max_children;
    int code = 0;

    if (table->n_cells == 0)
        return 0;
    if (table->levels[0].n == 0) {
        finish_leaf(table);
        return write_root(table, table->leaf, err);
    }
    code = close_leaf(table, true, err);
    for (size_t i = 0; code == 0 && i + 1 < MAX_LEVELS; i++) {
        const struct level *level = &table->levels[i];
        if (table->levels[i + 1].n == 0 && level->n <= max)
            return write_inner_root(table, level, err);
        if (level->n > max)
            code = close_inner(table, i, level->n / 2, err);
        if (code == 0)
            code = close_inner(table, i, level->n, err);
    }
    return code;
}

/* ---- begin and end ---- */

/* Changes the file's version, so that SQLite drops its cache. */
static int write_header(struct table_pages *pages, struct error *err)
{
    uint8_t header[FILE_HEADER_BYTES];

    if (pread(pages->fd, header, sizeof header, 0) != sizeof header)
        return database_write_error(pages->db, EIO, err);
    uint32_t version = get_32(header + CHANGE_COUNTER) + 1;
    put_32(header + CHANGE_COUNTER, version);
    put_32(header + PAGE_COUNT, pages->n_pages);
    put_32(header + VERSION_VALID_FOR, version);
    return write_at(pages, 0, header, sizeof header, err);
}

static int open_file(struct table_pages *pages, struct error *err)
{
    size_t page_bytes = 0;
    size_t n_pages = 0;
    int code = database_get_count(pages->db, "PRAGMA page_size", &page_bytes, err);

    if (code == 0)
        code = database_get_count(pages->db, "PRAGMA page_count", &n_pages, err);
    if (code)
        return code;
    pages->page_bytes = (unsigned)page_bytes;
    pages->n_pages = (uint32_t)n_pages;
    pages->fd = open(sqlite3_db_filename(pages->db, "main"), O_RDWR | O_CLOEXEC);
    return pages->fd < 0 ? database_write_error(pages->db, errno, err) : 0;
}

static void close_file(struct table_pages *pages)
{
    if (pages->fd >= 0)
        close(pages->fd);
    pages->fd = -1;
}

int table_pages_begin(sqlite3 *db, struct table_pages **ret, struct error *err)
{
    struct table_pages *pages = calloc(1, sizeof *pages);

    if (!pages)
        return error_set(err, ERROR_NOMEM, "out of memory");
    pages->db = db;
    pages->fd = -1;
    pages->buffer = malloc(BUFFER_BYTES);
    int code = pages->buffer ? database_execute(db, "COMMIT", err)
                             : error_set(err, ERROR_NOMEM, "out of memory");
    if (code == 0)
        code = open_file(pages, err);
    if (code) {
        table_pages_free(pages);
        return code;
    }
    *ret = pages;
    return 0;
}

/* Maximum bytes of a row: SQLite would store a longer one in overflow pages (section 1.6). */
static unsigned max_row_bytes(unsigned page_bytes, bool is_keyed)
{
    unsigned local = is_keyed ? (page_bytes - 12) * 64 / 255 - 23 : page_bytes - 35;
    unsigned with_lengths = local + 1; /* at least 1 byte for the length of the row */

    return with_lengths < ROW_BYTES ? with_lengths : ROW_BYTES;
}

static int open_table(struct table_pages *pages, const char *table, struct page_table shape,
                      struct page_table **ret, struct error *err)
{
    struct page_table *made = &pages->tables[pages->n_tables];
    size_t root = 0;
    char *sql = sqlite3_mprintf(
        "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = %Q", table);

    if (!sql || pages->n_tables == MAX_TABLES || shape.n_columns > TABLE_PAGES_COLUMNS
        || shape.n_keys > TABLE_PAGES_KEYS) {
        sqlite3_free(sql);
        return error_set(err, ERROR_NOMEM, "no room for table %s", table);
    }
    int code = database_get_count(pages->db, sql, &root, err);
    sqlite3_free(sql);
    if (code)
        return code;
    *made = shape;
    made->pages = pages;
    made->root = (uint32_t)root;
    made->max_row_bytes = max_row_bytes(pages->page_bytes, shape.n_keys != 0);
    unsigned divider = shape.n_keys ? made->max_row_bytes : MAX_VARINT_BYTES;
    made->max_children =
        (pages->page_bytes - INNER_HEADER_BYTES) / (CHILD_BYTES + divider + POINTER_BYTES) + 1;
    made->leaf = malloc(pages->page_bytes);
    if (!made->leaf)
        return error_set(err, ERROR_NOMEM, "out of memory");
    pages->n_tables++;
    begin_leaf(made);
    *ret = made;
    return 0;
}

int table_pages_open(struct table_pages *pages, const char *table, unsigned n_columns,
                     unsigned key_column, struct page_table **ret, struct error *err)
{
    return open_table(pages, table,
                      (struct page_table){.n_columns = n_columns, .key_column = key_column}, ret,
                      err);
}

int table_pages_open_keyed(struct table_pages *pages, const char *table, unsigned n_columns,
                           unsigned n_keys, struct page_table **ret, struct error *err)
{
    return open_table(pages, table, (struct page_table){.n_columns = n_columns, .n_keys = n_keys},
                      ret, err);
}

int table_pages_end(struct table_pages *pages, struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < pages->n_tables; i++)
        code = finish_table(&pages->tables[i], err);
    if (code == 0)
        code = flush(pages, err);
    if (code == 0)
        code = write_header(pages, err);
    close_file(
        pages); /* before SQLite locks: closing releases all locks of the process on the file */
    return code ? code : database_execute(pages->db, "BEGIN", err);
}

void table_pages_free(struct table_pages *pages)
{
    if (!pages)
        return;
    for (size_t i = 0; i < pages->n_tables; i++) {
        free(pages->tables[i].leaf);
        for (size_t level = 0; level < MAX_LEVELS; level++)
            free(pages->tables[i].levels[level].children);
    }
    close_file(pages);
    free(pages->buffer);
    free(pages);
}
