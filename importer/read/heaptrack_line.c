/* SPDX-License-Identifier: MIT */
#include "importer/read/heaptrack_line.h"

#include <string.h>

#define VERSION_1_2_0 0x10200u /* the version with format 1 that did not write so */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool heaptrack_line_field(struct heaptrack_fields *fields, uint64_t *ret)
{
    uint64_t value = 0;
    int n_digits = 0;
    int digit;

    while (fields->at < fields->end && *fields->at == ' ')
        fields->at++;
    for (; fields->at < fields->end && (digit = hex_digit(*fields->at)) >= 0; fields->at++) {
        if (value >> 60)
            return false;
        value = value << 4 | (uint64_t)digit;
        n_digits++;
    }
    *ret = value;
    return n_digits > 0 && (fields->at == fields->end || *fields->at == ' ');
}

/* The rest of the line, or up to a space; since version 3 the length comes first. */
static bool take_text(const struct heaptrack_grammar *grammar, bool is_word,
                      struct heaptrack_line *line)
{
    struct heaptrack_fields *fields = &line->fields;
    uint64_t n = (uint64_t)(fields->end - fields->at);
    const char *space;

    if (grammar->file_version >= 3) {
        if (!heaptrack_line_field(fields, &n) || fields->at == fields->end)
            return false;
        fields->at++;
        if (n > (uint64_t)(fields->end - fields->at))
            return false;
    } else if (is_word && (space = memchr(fields->at, ' ', n)) != NULL) {
        n = (uint64_t)(space - fields->at);
    }
    line->text = fields->at;
    line->text_bytes = strnlen(fields->at, n);
    fields->at += n;
    return true;
}

static bool parse_version(struct heaptrack_grammar *grammar, struct heaptrack_line *line)
{
    uint64_t file_version;

    if (grammar->has_version || !heaptrack_line_field(&line->fields, &line->a))
        return false;
    if (!heaptrack_line_field(&line->fields, &file_version))
        file_version = line->a == VERSION_1_2_0;
    grammar->has_version = true;
    grammar->tool_version = (uint32_t)line->a;
    grammar->file_version = file_version < UINT32_MAX ? (uint32_t)file_version : UINT32_MAX;
    return true;
}

static bool parse_executable(struct heaptrack_grammar *grammar, struct heaptrack_line *line)
{
    if (grammar->has_executable || !take_text(grammar, false, line))
        return false;
    grammar->has_executable = grammar->is_raw = true;
    return true;
}

static bool parse_arguments(struct heaptrack_grammar *grammar, struct heaptrack_line *line)
{
    if (grammar->has_arguments)
        return false;
    grammar->has_arguments = true;
    grammar->is_in_arguments = grammar->is_raw;
    line->text = line->fields.at;
    line->text_bytes = strnlen(line->text, (size_t)(line->fields.end - line->text));
    return true;
}

static bool parse_system(struct heaptrack_grammar *grammar, struct heaptrack_line *line)
{
    if (!heaptrack_line_field(&line->fields, &line->a)
        || !heaptrack_line_field(&line->fields, &line->b))
        return false;
    grammar->is_in_arguments = false;
    return true;
}

/* Since version 3 the collector writes the length first, but heaptrack's own reader and other tests
 * do not: both are accepted. */
static bool parse_suppression(struct heaptrack_line *line)
{
    struct heaptrack_fields fields = line->fields;
    uint64_t n;

    if (heaptrack_line_field(&fields, &n) && fields.at < fields.end
        && n == (uint64_t)(fields.end - fields.at - 1))
        line->fields.at = fields.at + 1;
    line->text = line->fields.at;
    line->text_bytes = strnlen(line->text, (size_t)(line->fields.end - line->text));
    return true;
}

static bool parse_module(struct heaptrack_grammar *grammar, struct heaptrack_line *line)
{
    if (!take_text(grammar, true, line))
        return false;
    grammar->is_raw = true;
    grammar->is_in_arguments = false;
    if (line->text_bytes == 1 && *line->text == '-') {
        line->kind = HEAPTRACK_NO_MODULES;
        return true;
    }
    return heaptrack_line_field(&line->fields, &line->a);
}

static bool parse_two(struct heaptrack_line *line)
{
    bool is_good = heaptrack_line_field(&line->fields, &line->a)
                   && heaptrack_line_field(&line->fields, &line->b);
    if (!is_good)
        line->a = line->b = 0;
    return is_good;
}

static bool parse_info_index(const struct heaptrack_grammar *grammar, struct heaptrack_line *line)
{
    uint64_t info;

    if (!heaptrack_line_field(&line->fields, &info) || info >= grammar->n_infos)
        return false;
    line->info = (uint32_t)info;
    return true;
}

static bool parse_alloc(const struct heaptrack_grammar *grammar, struct heaptrack_line *line)
{
    if (!heaptrack_grammar_has_addresses(grammar))
        return parse_info_index(grammar, line);
    return parse_two(line) && heaptrack_line_field(&line->fields, &line->c)
           && line->a <= HEAPTRACK_MAX_BYTES && line->c > 0 && line->c <= HEAPTRACK_MAX_BYTES;
}

static bool parse_free(const struct heaptrack_grammar *grammar, struct heaptrack_line *line)
{
    if (!heaptrack_grammar_has_addresses(grammar))
        return parse_info_index(grammar, line);
    return heaptrack_line_field(&line->fields, &line->c) && line->c <= HEAPTRACK_MAX_BYTES;
}

static bool parse_clock(struct heaptrack_grammar *grammar, struct heaptrack_line *line)
{
    if (!heaptrack_line_field(&line->fields, &line->a) || line->a > HEAPTRACK_MAX_MS
        || line->a < grammar->last_ms)
        return false;
    grammar->last_ms = line->a;
    return true;
}

static bool count(uint32_t *n, bool is_good)
{
    if (*n == UINT32_MAX / 2)
        return false;
    ++*n;
    return is_good;
}

static bool parse_info(struct heaptrack_grammar *grammar, struct heaptrack_line *line)
{
    bool is_good = parse_two(line);

    if (line->a > HEAPTRACK_MAX_BYTES) {
        line->a = 0;
        is_good = false;
    }
    return count(&grammar->n_infos, is_good);
}

static bool parse_kind(struct heaptrack_grammar *grammar, char letter, struct heaptrack_line *line)
{
    switch (letter) {
    case 'v':
        line->kind = HEAPTRACK_VERSION;
        return parse_version(grammar, line);
    case 'x':
        line->kind = HEAPTRACK_EXECUTABLE;
        return parse_executable(grammar, line);
    case 'X':
        line->kind = HEAPTRACK_ARGUMENTS;
        return parse_arguments(grammar, line);
    case 'I':
        line->kind = HEAPTRACK_SYSTEM;
        return parse_system(grammar, line);
    case 'A':
        line->kind = HEAPTRACK_ATTACHED;
        return true;
    case 'S':
        line->kind = HEAPTRACK_SUPPRESSION;
        return parse_suppression(line);
    case 'm':
        line->kind = HEAPTRACK_MODULE;
        return parse_module(grammar, line);
    case 's':
        line->kind = HEAPTRACK_STRING;
        return count(&grammar->n_strings, take_text(grammar, false, line));
    case 'i':
        line->kind = HEAPTRACK_IP;
        return count(&grammar->n_ips, parse_two(line));
    case 't':
        line->kind = HEAPTRACK_TRACE;
        return count(&grammar->n_traces, parse_two(line));
    case 'a':
        line->kind = HEAPTRACK_INFO;
        return parse_info(grammar, line);
    case '+':
        line->kind = HEAPTRACK_ALLOC;
        return parse_alloc(grammar, line);
    case '-':
        line->kind = HEAPTRACK_FREE;
        return parse_free(grammar, line);
    case 'c':
        line->kind = HEAPTRACK_CLOCK;
        return parse_clock(grammar, line);
    case 'R':
        line->kind = HEAPTRACK_MEMORY;
        return heaptrack_line_field(&line->fields, &line->a);
    default:
        return letter == '#';
    }
}

void heaptrack_line_parse(struct heaptrack_grammar *grammar, const char *text, size_t n_bytes,
                          struct heaptrack_line *ret)
{
    bool was_in_arguments = grammar->is_in_arguments;

    memset(ret, 0, sizeof(*ret));
    ret->fields = (struct heaptrack_fields){text + n_bytes, text + n_bytes};
    if (n_bytes > 2 && text[1] == ' ')
        ret->fields.at = text + 2;
    if (was_in_arguments && (n_bytes == 0 || (text[0] != 'I' && text[0] != 'm'))) {
        ret->kind = HEAPTRACK_ARGUMENTS_MORE;
    } else if (n_bytes > 0) {
        ret->is_bad =
            (n_bytes > 1 && text[1] != ' ' && text[0] != '#') || !parse_kind(grammar, text[0], ret);
        if (ret->is_bad && was_in_arguments)
            *ret = (struct heaptrack_line){.kind = HEAPTRACK_ARGUMENTS_MORE};
    }
    if (ret->kind == HEAPTRACK_ARGUMENTS_MORE) {
        ret->text = text;
        ret->text_bytes = strnlen(text, n_bytes);
    }
}
