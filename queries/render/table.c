/* SPDX-License-Identifier: MIT */
#include "queries/render/table.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHORTEST_NAME = 4, /* of a function whose file and line are kept */
    NARROWEST = 20     /* a cut column keeps at least this many characters */
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
    table->is_right[table->n_columns++] = is_right;
}

void table_align_left(struct table *table, size_t column)
{
    if (column < table->n_columns)
        table->is_right[column] = false;
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

/* The part of a heading that stays together: up to and with the next "_". */
static size_t piece_length(const char *heading)
{
    size_t length = strcspn(heading, "_");

    return heading[length] ? length + 1 : length;
}

static size_t widest_piece(const char *heading)
{
    size_t widest = 0;

    for (size_t length; *heading; heading += length) {
        length = piece_length(heading);
        if (length > widest)
            widest = length;
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

static size_t sum_widths(const struct table *table, const size_t *widths)
{
    size_t total = TABLE_GAP * (table->n_columns - 1);

    for (size_t i = 0; i < table->n_columns; i++)
        total += widths[i];
    return total;
}

/* Takes one character at a time from the widest column that may be cut. */
static void fit(const struct table *table, size_t *widths, size_t width)
{
    size_t total = sum_widths(table, widths);

    while (total > width) {
        size_t widest = table->n_columns;
        for (size_t i = 0; i < table->n_columns; i++) {
            if (!table->is_right[i] && widths[i] > NARROWEST
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

/* Prints one cell; blanks of empty or short cells are printed only if text follows. */
static void print_cell(const char *cell, bool is_right, size_t width, size_t *owed, FILE *out)
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
    (void)fputs(cell, out);
    *owed = is_right ? 0 : width - length;
}

/* The length of the first line of a heading that is broken to fit. */
static size_t heading_line_length(const char *heading, size_t width)
{
    size_t length = piece_length(heading);

    while (heading[length] && length + piece_length(heading + length) <= width)
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
    (void)snprintf(text, size, "%.*s", (int)length, heading);
}

static void print_headings(const struct table *table, const size_t *widths, bool is_coloured,
                           FILE *out)
{
    char text[TABLE_HEADING_BYTES];
    size_t n_lines = 0;

    for (size_t c = 0; c < table->n_columns; c++) {
        size_t n = count_heading_lines(table->headings[c], widths[c]);
        if (n > n_lines)
            n_lines = n;
    }
    for (size_t line = 0; line < n_lines; line++) {
        size_t owed = 0;

        (void)fputs(is_coloured ? "\033[2m" : "", out);
        for (size_t c = 0; c < table->n_columns; c++) {
            copy_heading_line(table->headings[c], widths[c], line, n_lines, text, sizeof(text));
            print_cell(text, table->is_right[c], widths[c], &owed, out);
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

static void print_row(const struct table *table, size_t first, const size_t *widths, FILE *out)
{
    size_t owed = 0;

    for (size_t c = 0; c < table->n_columns && first + c < table->n_cells; c++) {
        print_cell(table->cells[first + c], table->is_right[c], widths[c], &owed, out);
        owed += TABLE_GAP;
    }
    (void)putc('\n', out);
}

int table_print(const struct table *table, int width, bool is_coloured, FILE *out,
                struct error *err)
{
    size_t widths[TABLE_MAX_COLUMNS];
    size_t line = 0;

    if (table->is_failed)
        return error_set(err, ERROR_NOMEM, "no memory for a table of %zu cells", table->n_cells);
    if (table->n_columns == 0)
        return 0;
    measure(table, false, widths);
    if (width > 0 && sum_widths(table, widths) > (size_t)width)
        measure(table, true, widths);
    if (width > 0)
        fit(table, widths, (size_t)width);
    print_headings(table, widths, is_coloured, out);
    for (size_t i = 0; i < table->n_cells; i += table->n_columns) {
        print_row(table, i, widths, out);
        for (; line < table->n_lines && table->lines[line].after <= i + table->n_columns; line++)
            print_line(table->lines[line].text, width, out);
    }
    return 0;
}
