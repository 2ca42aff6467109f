/* SPDX-License-Identifier: MIT */
#include "symbolizer/unit_lines.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <dwarf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct path {
    char *bytes;
    size_t length;
    size_t size;
    size_t kept; /* length of the "/" or "../.." in front that no ".." can remove */
};

static bool is_dots(const char *part, size_t size, size_t n_dots)
{
    return size == n_dots && !memcmp(part, "..", n_dots);
}

static void drop_last(struct path *path)
{
    while (path->length > path->kept && path->bytes[path->length - 1] != '/')
        path->length--;
    if (path->length > path->kept)
        path->length--;
}

static bool push(struct path *path, const char *part, size_t size)
{
    bool is_separated = path->length > 0 && path->bytes[path->length - 1] != '/';

    if (path->length + is_separated + size + 1 > path->size)
        return false;
    if (is_separated)
        path->bytes[path->length++] = '/';
    memcpy(path->bytes + path->length, part, size);
    path->length += size;
    return true;
}

static bool push_part(struct path *path, const char *part, size_t size)
{
    bool is_rooted = path->kept && path->bytes[0] == '/';

    if (size == 0 || is_dots(part, size, 1))
        return true;
    if (!is_dots(part, size, 2))
        return push(path, part, size);
    if (path->length > path->kept) {
        drop_last(path);
    } else if (!is_rooted) {
        if (!push(path, part, size))
            return false;
        path->kept = path->length;
    }
    return true;
}

static bool push_all(struct path *path, const char *text)
{
    while (*text) {
        size_t size = strcspn(text, "/");
        if (!push_part(path, text, size))
            return false;
        text += size + (text[size] == '/');
    }
    return true;
}

size_t unit_lines_normalize_path(const char *directory, const char *file, char *ret_path,
                                 size_t size)
{
    struct path path = {.bytes = ret_path, .size = size};
    const char *base = directory && file[0] != '/' ? directory : "";

    if (size < 2)
        return 0;
    if (file[0] == '/' || base[0] == '/') {
        path.bytes[path.length++] = '/';
        path.kept = 1;
    }
    if (!push_all(&path, base) || !push_all(&path, file))
        return 0;
    path.bytes[path.length] = '\0';
    return path.length;
}

static const char *read_directory(Dwarf_Die *skeleton)
{
    Dwarf_Attribute attribute;

    return dwarf_formstring(dwarf_attr(skeleton, DW_AT_comp_dir, &attribute));
}

int unit_lines_read(struct unit_lines *lines, Dwarf_Die *skeleton, Dwarf_Die *unit,
                    struct error *err)
{
    const char **paths;

    if (dwarf_getsrclines(skeleton, &lines->lines, &lines->n_lines) != 0)
        lines->n_lines = 0;
    if (dwarf_getsrcfiles(unit, &lines->files, &lines->n_files) != 0
        && dwarf_getsrcfiles(skeleton, &lines->files, &lines->n_files) != 0)
        lines->n_files = 0;
    lines->directory = read_directory(skeleton);
    if (lines->n_files == 0)
        return 0;
    paths = dynamic_array_reserve(lines->paths, &lines->n_paths_allocated, lines->n_files,
                                  sizeof(*paths));
    if (!paths)
        return error_set(err, ERROR_NOMEM, "no memory for %zu source files", lines->n_files);
    lines->paths = paths;
    memset(paths, 0, lines->n_files * sizeof(*paths));
    return 0;
}

/* libdw's name for file 0 of a table that begins with 1. */
static bool is_known(const char *path)
{
    return path && strcmp(path, "???") != 0;
}

/* libdw prepends the directory unless both it and the file's folder are relative. */
static const char *directory_for(const struct unit_lines *lines, const char *path)
{
    size_t length = lines->directory ? strlen(lines->directory) : 0;

    if (length == 0 || (!strncmp(path, lines->directory, length) && path[length] == '/'))
        return NULL;
    return lines->directory;
}

static int keep_path(struct unit_lines *lines, const char *path, const char **ret_source,
                     struct error *err)
{
    char normalized[PATH_MAX];
    size_t length =
        unit_lines_normalize_path(directory_for(lines, path), path, normalized, sizeof(normalized));
    int64_t number;

    *ret_source = NULL;
    if (length == 0)
        return 0;
    number = intern_add(lines->sources, normalized, length);
    if (number < 0)
        return error_set(err, ERROR_NOMEM, "no memory for the names of source files");
    *ret_source = intern_get(lines->sources, (uint32_t)number);
    return 0;
}

int unit_lines_file(struct unit_lines *lines, size_t file, const char **ret_source,
                    struct error *err)
{
    const char *path;
    int status = 0;

    *ret_source = NULL;
    if (file >= lines->n_files)
        return 0;
    if (!lines->paths[file]) {
        path = dwarf_filesrc(lines->files, file, NULL, NULL);
        status = is_known(path) ? keep_path(lines, path, &lines->paths[file], err) : 0;
    }
    *ret_source = lines->paths[file];
    return status;
}

static uint64_t address_of(Dwarf_Lines *lines, size_t row)
{
    Dwarf_Addr address = 0;

    dwarf_lineaddr(dwarf_onesrcline(lines, row), &address);
    return address;
}

static Dwarf_Line *find_row(const struct unit_lines *lines, uint64_t address)
{
    size_t i;
    Dwarf_Line *row;
    bool is_end;

    LOWER_BOUND(i, lines->n_lines, address_of(lines->lines, i) <= address);
    if (i == 0)
        return NULL;
    row = dwarf_onesrcline(lines->lines, i - 1);
    return row && !dwarf_lineendsequence(row, &is_end) && !is_end ? row : NULL;
}

/* The row uses the file table of the skeleton; the split unit of a .dwo has another. */
static int source_of_row(struct unit_lines *lines, Dwarf_Line *row, const char **ret_source,
                         struct error *err)
{
    Dwarf_Files *files;
    size_t file;
    const char *path;

    if (dwarf_line_file(row, &files, &file) == 0 && files == lines->files)
        return unit_lines_file(lines, file, ret_source, err);
    path = dwarf_linesrc(row, NULL, NULL);
    return is_known(path) ? keep_path(lines, path, ret_source, err) : 0;
}

int unit_lines_find(struct unit_lines *lines, uint64_t address, struct source_line *ret_line,
                    struct error *err)
{
    Dwarf_Line *row = find_row(lines, address);
    int line = 0;
    int column = 0;

    memset(ret_line, 0, sizeof(*ret_line));
    if (!row)
        return 0;
    if (dwarf_lineno(row, &line) == 0 && line > 0)
        ret_line->line = (uint32_t)line;
    if (dwarf_linecol(row, &column) == 0 && column > 0)
        ret_line->column = (uint32_t)column;
    return source_of_row(lines, row, &ret_line->source, err);
}

void unit_lines_done(struct unit_lines *lines)
{
    free(lines->paths);
    memset(lines, 0, sizeof(*lines));
}
