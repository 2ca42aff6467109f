/* SPDX-License-Identifier: MIT */
#include "queries/render/table.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORTEST_NAME = 4, /* of a function whose file and line are kept */
    NARROWEST = 20,    /* a cut column keeps at least this many characters */
    /* Columns are omitted until a cut column keeps so many characters. */
    WANTED = 40,
    WANTED_BESIDE_BYTES = 28 /* when only columns of bytes are left to omit */
};

void table_init(struct table *table)
{
    *table = (struct table){0};
}

void table_done(struct table *table)
{
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    for (size_t i = 0; i < table->n_columns; i++)
        free(table->headings[i]);
    for (size_t i = 0; i < table->n_lines; i++)
        free(table->lines[i].text);
    for (size_t i = 0; i < table->n_files; i++)
        free(table->files[i].path);
    free(table->files);
    free(table->lines);
    free(table->cells);
    *table = (struct table){0};
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t table_text_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += !is_continuation(*text);
    return width;
}

static char *copy_printable(const char *text)
{
    char *copy = strdup(text);

    if (copy)
        utf8_clean(copy);
    return copy;
}

void table_add_cell(struct table *table, const char *text)
{
    char **cells;

    if (table->is_failed)
        return;
    cells =
        dynamic_array_reserve(table->cells, &table->capacity, table->n_cells + 1, sizeof(*cells));
    if (cells) {
        table->cells = cells;
        cells[table->n_cells] = copy_printable(text);
    }
    if (cells && cells[table->n_cells])
        table->n_cells++;
    else
        table->is_failed = true;
}

void table_add_column(struct table *table, const char *heading, bool is_right)
{
    if (table->n_columns == TABLE_MAX_COLUMNS)
        return;
    table->headings[table->n_columns] = copy_printable(heading);
    if (!table->headings[table->n_columns])
        table->is_failed = true;
    table->ranks[table->n_columns] = TABLE_RANK_KEPT;
    table->is_right[table->n_columns++] = is_right;
}

void table_align_left(struct table *table, size_t column)
{
    if (column < table->n_columns)
        table->is_right[column] = false;
}

void table_rank(struct table *table, size_t column, enum table_rank rank)
{
    if (column < table->n_columns)
        table->ranks[column] = rank;
}

void table_end_row(struct table *table)
{
    while (!table->is_failed && table->n_columns && table->n_cells % table->n_columns)
        table_add_cell(table, "");
}

void table_add_line(struct table *table, const char *text)
{
    struct table_line *lines;
    char *copy;

    if (table->is_failed)
        return;
    lines = dynamic_array_reserve(table->lines, &table->lines_capacity, table->n_lines + 1,
                                  sizeof(*lines));
    table->lines = lines ? lines : table->lines;
    copy = lines ? copy_printable(text) : NULL;
    if (copy)
        table->lines[table->n_lines++] = (struct table_line){table->n_cells, copy};
    else
        table->is_failed = true;
}

/* ---- files of the same name ---- */

void table_name_file(struct table *table, const char *path)
{
    struct table_file *files;
    char *copy;

    if (table->is_failed || table->n_cells == 0 || !strchr(path, '/'))
        return;
    files = dynamic_array_reserve(table->files, &table->files_capacity, table->n_files + 1,
                                  sizeof(*files));
    table->files = files ? files : table->files;
    copy = files ? copy_printable(path) : NULL;
    if (copy)
        table->files[table->n_files++] = (struct table_file){table->n_cells - 1, copy};
    else
        table->is_failed = true;
}

/* The number of bytes at the end that two paths have in common. */
static size_t common_end(const char *a, const char *b)
{
    size_t n_a = strlen(a);
    size_t n_b = strlen(b);
    size_t n = 0;

    while (n < n_a && n < n_b && a[n_a - 1 - n] == b[n_b - 1 - n])
        n++;
    return n;
}

/* From the end: files of one name are neighbours, and so are those whose ends are alike longest. */
static int compare_ends(const void *a, const void *b)
{
    const char *path_a = ((const struct table_file *)a)->path;
    const char *path_b = ((const struct table_file *)b)->path;
    size_t n_a = strlen(path_a);
    size_t n_b = strlen(path_b);
    size_t n = common_end(path_a, path_b);

    if (n == n_a || n == n_b)
        return n_a < n_b ? -1 : n_a > n_b;
    return (unsigned char)path_a[n_a - 1 - n] < (unsigned char)path_b[n_b - 1 - n] ? -1 : 1;
}

/* The path from the folder that begins before the last n bytes; NULL if these do not contain the
 * whole name of the file. */
static const char *path_beyond(const char *path, size_t n)
{
    const char *name = strrchr(path, '/') + 1;
    const char *from = path + strlen(path) - n;

    if (from > name - 1)
        return NULL;
    while (from > path && from[-1] != '/')
        from--;
    return from;
}

/* Replaces the name of the file in its cell by a longer one that ends in it. */
static void lengthen(struct table *table, const struct table_file *file, const char *longer)
{
    char *cell = table->cells[file->cell];
    const char *name = strrchr(file->path, '/') + 1;
    char *gap = strstr(cell, "  ");
    char *at = strstr(gap ? gap : cell, name);
    size_t size = strlen(cell) + strlen(longer) + 1;
    char *text = at ? malloc(size) : NULL;

    if (!text)
        return;
    (void)snprintf(text, size, "%.*s%s%s", (int)(at - cell), cell, longer, at + strlen(name));
    free(cell);
    table->cells[file->cell] = text;
}

/* The longest end that a path has in common with another path, which is near it in the order. */
static size_t common_with_others(const struct table *table, size_t file)
{
    const char *path = table->files[file].path;
    size_t most = 0;
    size_t before = file;
    size_t after = file;

    while (before > 0 && strcmp(table->files[before].path, path) == 0)
        before--;
    while (after + 1 < table->n_files && strcmp(table->files[after].path, path) == 0)
        after++;
    for (size_t i = 0; i < 2; i++) {
        const char *other = table->files[i ? after : before].path;
        size_t n = strcmp(other, path) != 0 ? common_end(path, other) : 0;

        most = n > most ? n : most;
    }
    return most;
}

static void separate_files(struct table *table)
{
    if (table->n_files > 1)
        qsort(table->files, table->n_files, sizeof(*table->files), compare_ends);
    for (size_t i = 0; i < table->n_files; i++) {
        const char *longer = path_beyond(table->files[i].path, common_with_others(table, i));

        if (longer && longer < strrchr(table->files[i].path, '/') + 1)
            lengthen(table, &table->files[i], longer);
    }
    for (size_t i = 0; i < table->n_files; i++)
        free(table->files[i].path);
    table->n_files = 0;
}

/* ---- widths ---- */

/* The part of a heading that stays together: up to and with the next blank or "_". */
static size_t piece_length(const char *heading)
{
    size_t length = strcspn(heading, " _");

    return heading[length] ? length + 1 : length;
}

/* The same without the blank, in columns. */
static size_t piece_width(const char *heading, size_t length)
{
    size_t width = 0;

    for (size_t i = 0; i < length; i++)
        width += !is_continuation(heading[i]);
    return width - (length > 0 && heading[length - 1] == ' ');
}

static size_t widest_piece(const char *heading)
{
    size_t widest = 0;

    for (size_t length; *heading; heading += length) {
        length = piece_length(heading);
        if (piece_width(heading, length) > widest)
            widest = piece_width(heading, length);
    }
    return widest;
}

static void measure(const struct table *table, bool is_broken, size_t *widths)
{
    for (size_t i = 0; i < table->n_columns; i++)
        widths[i] =
            is_broken ? widest_piece(table->headings[i]) : table_text_width(table->headings[i]);
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t width = table_text_width(table->cells[i]);
        if (width > widths[i % table->n_columns])
            widths[i % table->n_columns] = width;
    }
}

/* The width of a line; columns that can be cut count at most `cut`. */
static size_t sum_widths(const struct table *table, const size_t *widths, size_t cut)
{
    size_t total = 0;

    for (size_t i = 0; i < table->n_columns; i++) {
        if (!table->is_omitted[i])
            total += TABLE_GAP + (!table->is_right[i] && widths[i] > cut ? cut : widths[i]);
    }
    return total >= TABLE_GAP ? total - TABLE_GAP : 0;
}

static bool is_constant(const struct table *table, size_t column)
{
    for (size_t i = column + table->n_columns; i < table->n_cells; i += table->n_columns) {
        if (strcmp(table->cells[i], table->cells[column]) != 0)
            return false;
    }
    return table->n_cells > table->n_columns;
}

/* The column to omit next; n_columns: none below this rank. */
static size_t find_least(const struct table *table, enum table_rank below)
{
    enum table_rank least = below;
    size_t found = table->n_columns;

    for (size_t i = 0; i < table->n_columns; i++) {
        if (!table->is_omitted[i] && table->ranks[i] <= least && table->ranks[i] < below) {
            least = table->ranks[i];
            found = i;
        }
    }
    return found;
}

static size_t omit_columns(struct table *table, const size_t *widths, size_t width)
{
    static const struct {
        enum table_rank below;
        size_t cut;
    } steps[] = {{TABLE_RANK_BYTES, WANTED}, {TABLE_RANK_KEPT, WANTED_BESIDE_BYTES}};

    size_t n_omitted = 0;

    for (size_t i = 0; i < table->n_columns; i++) {
        if (table->ranks[i] != TABLE_RANK_KEPT && is_constant(table, i))
            table->ranks[i] = TABLE_RANK_CONSTANT;
    }
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        size_t least;

        while (sum_widths(table, widths, steps[i].cut) > width
               && (least = find_least(table, steps[i].below)) < table->n_columns) {
            table->is_omitted[least] = true;
            n_omitted++;
        }
    }
    return n_omitted;
}

/* Takes one character at a time from the widest column that may be cut. */
static void fit(const struct table *table, size_t *widths, size_t width)
{
    size_t total = sum_widths(table, widths, SIZE_MAX);

    while (total > width) {
        size_t widest = table->n_columns;
        for (size_t i = 0; i < table->n_columns; i++) {
            if (!table->is_omitted[i] && !table->is_right[i] && widths[i] > NARROWEST
                && (widest == table->n_columns || widths[i] > widths[widest]))
                widest = i;
        }
        if (widest == table->n_columns)
            return;
        widths[widest]--;
        total--;
    }
}

static const char *skip_characters(const char *text, size_t n)
{
    for (; *text && n; n--) {
        for (text++; is_continuation(*text);)
            text++;
    }
    return text;
}

static void pad(size_t n, FILE *out)
{
    for (; n; n--)
        (void)putc(' ', out);
}

/* "Session::clone session.c:88 2 stacks": the text after the place is cut first, then the name; the
 * place is kept. */
static void print_cut(const char *cell, size_t width, FILE *out)
{
    const char *place = strstr(cell, "  ");
    const char *rest = place ? strstr(place + 2, "  ") : NULL;
    int length = !place ? 0 : rest ? (int)(rest - place) : (int)strlen(place);
    char text[TABLE_HEADING_BYTES] = "";

    if (length < TABLE_HEADING_BYTES)
        (void)snprintf(text, sizeof(text), "%.*s", length, place ? place : "");
    if (table_text_width(text) + SHORTEST_NAME + 2 > width)
        text[0] = '\0';
    if (rest && text[0] && table_text_width(cell) - table_text_width(rest) <= width) {
        (void)fwrite(cell, 1, (size_t)(rest - cell), out);
        return;
    }
    width -= 2 + table_text_width(text);
    (void)fwrite(cell, 1, (size_t)(skip_characters(cell, width) - cell), out);
    (void)fprintf(out, "..%s", text);
}

/* A place after a name is cyan. */
static void print_coloured(const char *cell, FILE *out)
{
    const char *place = strstr(cell, "  ");
    size_t length = place ? (size_t)(place - cell) : strlen(cell);

    (void)fwrite(cell, 1, length, out);
    if (place)
        (void)fprintf(out, "\033[36m%s\033[0m", place);
}

/* Prints one cell; blanks of empty or short cells are printed only if text follows. */
static void print_cell(const char *cell, bool is_right, bool is_coloured, size_t width,
                       size_t *owed, FILE *out)
{
    size_t length = table_text_width(cell);

    if (length == 0) {
        *owed += width;
        return;
    }
    if (length > width) {
        pad(*owed, out);
        print_cut(cell, width, out);
        *owed = 0;
        return;
    }
    pad(*owed + (is_right ? width - length : 0), out);
    if (is_coloured)
        print_coloured(cell, out);
    else
        (void)fputs(cell, out);
    *owed = is_right ? 0 : width - length;
}

/* The length of the first line of a heading that is broken to fit, with the blank at its end. */
static size_t heading_line_length(const char *heading, size_t width)
{
    size_t length = piece_length(heading);

    while (heading[length]
           && piece_width(heading, length + piece_length(heading + length)) <= width)
        length += piece_length(heading + length);
    return length;
}

static size_t count_heading_lines(const char *heading, size_t width)
{
    size_t n = 0;

    for (; *heading; n++)
        heading += heading_line_length(heading, width);
    return n;
}

/* Line `line` of a heading that has n_lines in all columns together; headings end on the last line.
 */
static void copy_heading_line(const char *heading, size_t width, size_t line, size_t n_lines,
                              char *text, size_t size)
{
    size_t first = n_lines - count_heading_lines(heading, width);
    size_t length;

    text[0] = '\0';
    if (line < first)
        return;
    for (; line > first; line--)
        heading += heading_line_length(heading, width);
    length = heading_line_length(heading, width);
    length -= heading[length - 1] == ' ';
    (void)snprintf(text, size, "%.*s", (int)length, heading);
}

static void print_headings(const struct table *table, const size_t *widths, bool is_coloured,
                           FILE *out)
{
    char text[TABLE_HEADING_BYTES];
    size_t n_lines = 0;

    for (size_t c = 0; c < table->n_columns; c++) {
        size_t n = table->is_omitted[c] ? 0 : count_heading_lines(table->headings[c], widths[c]);
        if (n > n_lines)
            n_lines = n;
    }
    for (size_t line = 0; line < n_lines; line++) {
        size_t owed = 0;

        (void)fputs(is_coloured ? "\033[2m" : "", out);
        for (size_t c = 0; c < table->n_columns; c++) {
            if (table->is_omitted[c])
                continue;
            copy_heading_line(table->headings[c], widths[c], line, n_lines, text, sizeof(text));
            print_cell(text, table->is_right[c], false, widths[c], &owed, out);
            owed += TABLE_GAP;
        }
        (void)fputs(is_coloured ? "\033[0m\n" : "\n", out);
    }
}

static void print_line(const char *text, int width, FILE *out)
{
    size_t indent = strspn(text, " ");

    (void)fwrite(text, 1, indent, out);
    text += indent;
    if ((size_t)width > indent + NARROWEST && table_text_width(text) + indent > (size_t)width)
        print_cut(text, (size_t)width - indent, out);
    else
        (void)fputs(text, out);
    (void)putc('\n', out);
}

static void print_row(const struct table *table, size_t first, const size_t *widths,
                      bool is_coloured, FILE *out)
{
    size_t owed = 0;

    for (size_t c = 0; c < table->n_columns && first + c < table->n_cells; c++) {
        if (table->is_omitted[c])
            continue;
        print_cell(table->cells[first + c], table->is_right[c], is_coloured, widths[c], &owed, out);
        owed += TABLE_GAP;
    }
    (void)putc('\n', out);
}

/* Chooses the columns and their widths; returns the number of omitted columns. */
static size_t lay_out(struct table *table, size_t width, size_t *ret_widths)
{
    size_t n_omitted;

    measure(table, false, ret_widths);
    if (width == 0 || sum_widths(table, ret_widths, SIZE_MAX) <= width)
        return 0;
    measure(table, true, ret_widths);
    n_omitted = omit_columns(table, ret_widths, width);
    measure(table, false, ret_widths);
    if (sum_widths(table, ret_widths, WANTED) > width)
        measure(table, true, ret_widths);
    fit(table, ret_widths, width);
    return n_omitted;
}

int table_print(struct table *table, int width, bool is_coloured, FILE *out, struct error *err)
{
    size_t widths[TABLE_MAX_COLUMNS];
    size_t n_omitted;
    size_t line = 0;

    if (table->is_failed)
        return error_set(err, ERROR_NOMEM, "no memory for a table of %zu cells", table->n_cells);
    if (table->n_columns == 0)
        return 0;
    separate_files(table);
    n_omitted = lay_out(table, width > 0 ? (size_t)width : 0, widths);
    print_headings(table, widths, is_coloured, out);
    for (size_t i = 0; i < table->n_cells; i += table->n_columns) {
        print_row(table, i, widths, is_coloured, out);
        for (; line < table->n_lines && table->lines[line].after <= i + table->n_columns; line++)
            print_line(table->lines[line].text, width, out);
    }
    if (n_omitted > 0)
        (void)fprintf(out, "%zu more column%s: --wide\n", n_omitted, n_omitted == 1 ? "" : "s");
    return 0;
}
