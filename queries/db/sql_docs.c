/* SPDX-License-Identifier: MIT */
#include "queries/db/sql_docs.h"

#include "lib/sqlite/embedded_sql.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *line_end(const char *at)
{
    return at + strcspn(at, "\n");
}

static bool is_comment_line(const char *line)
{
    return strncmp(line, "--", 2) == 0;
}

/* The name after "CREATE TABLE " or "CREATE VIEW " at the start of a line; NULL for other lines. */
static const char *created_name(const char *line)
{
    static const char *const starts[] = {"CREATE TABLE ", "CREATE VIEW "};

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strncmp(line, starts[i], strlen(starts[i])) == 0)
            return line + strlen(starts[i]);
    }
    return NULL;
}

static bool is_named(const char *at, const char *name)
{
    size_t length = strlen(name);

    return strncmp(at, name, length) == 0 && !is_word(at[length]);
}

/* After the line that ends the definition, comments aside. */
static const char *definition_end(const char *line)
{
    for (; *line; line = *line_end(line) ? line_end(line) + 1 : line_end(line)) {
        const char *code_end = line;
        for (const char *c = line; c < line_end(line) && strncmp(c, "--", 2) != 0; c++) {
            if (*c != ' ')
                code_end = c + 1;
        }
        if (code_end > line && code_end[-1] == ';')
            return line_end(line);
    }
    return line;
}

static bool find_in(const char *text, const char *name, struct sql_object *ret)
{
    const char *comment = NULL;

    for (const char *line = text; *line;
         line = *line_end(line) ? line_end(line) + 1 : line_end(line)) {
        const char *created = created_name(line);

        if (created && is_named(created, name)) {
            *ret = (struct sql_object){line, definition_end(line), comment};
            return true;
        }
        if (!is_comment_line(line))
            comment = NULL;
        else if (!comment && strncmp(line, "-- SPDX", 7) != 0)
            comment = line;
    }
    return false;
}

int sql_docs_find(const char *name, struct sql_object *ret_object)
{
    for (const struct embedded_sql *view = embedded_views; view->name; view++) {
        if (find_in(view->text, name, ret_object))
            return true;
    }
    for (const struct embedded_sql *part = embedded_schema; part->name; part++) {
        if (find_in(part->text, name, ret_object)) {
            ret_object->comment = NULL; /* tables say it on their first line */
            return true;
        }
    }
    return false;
}

static void copy_range(const char *from, const char *to, char *text, size_t size)
{
    size_t length = (size_t)(to - from) < size ? (size_t)(to - from) : size - 1;

    memcpy(text, from, length);
    text[length] = '\0';
}

/* The comment after the code of a line; "" if there is none. */
static void copy_line_comment(const char *line, char *text, size_t size)
{
    const char *end = line_end(line);
    const char *dashes = strstr(line, "-- ");

    if (dashes && dashes < end)
        copy_range(dashes + 3, end, text, size);
    else
        text[0] = '\0';
}

void sql_docs_summary(const struct sql_object *object, char *ret_text, size_t size)
{
    const char *colon;

    if (!object->comment) {
        copy_line_comment(object->definition, ret_text, size);
        return;
    }
    colon = strstr(object->comment, ": ");
    copy_range(colon ? colon + 2 : object->comment, line_end(object->comment), ret_text, size);
}

void sql_docs_details(const struct sql_object *object, char *ret_text, size_t size)
{
    size_t used = 0;

    ret_text[0] = '\0';
    if (!object->comment)
        return;
    for (const char *line = line_end(object->comment) + 1; is_comment_line(line);
         line = line_end(line) + 1) {
        const char *text = line + 2 + (line[2] == ' ');
        size_t length = (size_t)(line_end(line) - text);
        if (used + length + 2 > size)
            return;
        memcpy(ret_text + used, text, length);
        used += length;
        ret_text[used++] = '\n';
        ret_text[used] = '\0';
    }
}

/* True if the code of a line contains the column name as a word after "(", "," or blanks, or in
 * quotes. */
static bool line_names(const char *line, const char *column)
{
    const char *end = strstr(line, "--");
    const char *at = line;

    if (!end || end > line_end(line))
        end = line_end(line);
    while ((at = strstr(at, column)) && at < end) {
        const char *before = at > line && at[-1] == '"' ? at - 1 : at;
        while (before > line && before[-1] == ' ')
            before--;
        if (!is_word(at[strlen(column)]) && (before == line || strchr("(,", before[-1])))
            return true;
        at++;
    }
    return false;
}

void sql_docs_column(const struct sql_object *object, const char *column, char *ret_text,
                     size_t size)
{
    ret_text[0] = '\0';
    for (const char *line = object->definition; line < object->end; line = line_end(line) + 1) {
        if (line_names(line, column)) {
            copy_line_comment(line, ret_text, size);
            return;
        }
        if (!*line_end(line))
            return;
    }
}
