/* SPDX-License-Identifier: MIT */
#include "lib/logfile/log_name.h"

#include "lib/abi/settings.h"
#include "lib/base/utf8.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_NUMBER = 1000000
};

/* The name of a file, without characters that a terminal or a setting cannot hold. */
static void put_program(FILE *out, const char *path)
{
    char *name = strdup(basename(path));

    if (!name)
        return;
    utf8_clean(name);
    fputs(name, out);
    free(name);
}

/* Writes the value for the letter after a percent sign. */
static void put_value(FILE *out, char letter, const struct log_name_values *values, unsigned number)
{
    switch (letter) {
    case 'e':
        put_program(out, values->program);
        break;
    case 't':
        fprintf(out, "%" PRId64, values->unix_seconds);
        break;
    case 'p':
        fprintf(out, "%d", (int)values->pid);
        break;
    case 'n':
        fprintf(out, "%u", number);
        break;
    case '%':
        fputc('%', out);
        break;
    default:
        fprintf(out, "%%%c", letter);
    }
}

static int expand_with(const char *pattern, const struct log_name_values *values, unsigned number,
                       char **ret_name)
{
    size_t n_bytes;
    FILE *out = open_memstream(ret_name, &n_bytes);

    if (!out)
        return -1;
    for (const char *at = pattern; *at; at++) {
        if (*at == '%' && at[1])
            put_value(out, *++at, values, number);
        else
            fputc(*at, out);
    }
    return fclose(out) == 0 ? 0 : -1;
}

static bool has_number(const char *pattern)
{
    for (const char *at = pattern; (at = strchr(at, '%')) && at[1]; at += 2)
        if (at[1] == 'n')
            return true;
    return false;
}

static bool is_free(const char *name)
{
    char *live = log_name_live(name);
    bool is_taken = access(name, F_OK) == 0 || (live && access(live, F_OK) == 0);

    free(live);
    return !is_taken;
}

int log_name_expand(const char *pattern, const struct log_name_values *values, char **ret_name,
                    struct error *err)
{
    for (unsigned number = 1; number < MAX_NUMBER; number++) {
        char *name = NULL;
        if (expand_with(pattern, values, number, &name) != 0) {
            free(name);
            return error_set(err, ERROR_NOMEM, "not enough memory");
        }
        if (!settings_can_hold(name) || strlen(name) >= PATH_MAX - 64 || !*name) {
            free(name);
            return error_set(
                err, ERROR_USAGE,
                "the name of the log is empty, too long, or has a line break or a unit separator (0x1f)");
        }
        if (!has_number(pattern) || is_free(name)) {
            *ret_name = name;
            return 0;
        }
        free(name);
    }
    return error_set(err, ERROR_EXISTS, "no free name for '%s'", pattern);
}

char *log_name_absolute(const char *name)
{
    char *directory;
    char *absolute = NULL;

    if (name[0] == '/')
        return strdup(name);
    directory = getcwd(NULL, 0);
    if (directory && asprintf(&absolute, "%s/%s", directory, name) < 0)
        absolute = NULL;
    free(directory);
    return absolute;
}

char *log_name_live(const char *name)
{
    char *live = NULL;

    return asprintf(&live, "%s.live", name) < 0 ? NULL : live;
}

bool log_name_is_live(const char *path)
{
    static const char live[] = ".live";
    const char *end = NULL;

    for (const char *at = path; (at = strstr(at, live)); at += sizeof(live) - 1)
        end = at + sizeof(live) - 1;
    return *path == '/' && end && (*end == '\0' || *end == ' '); /* " (deleted)" */
}

bool log_name_has_live(const char *name)
{
    char *live = log_name_live(name);
    bool is_there = !live || access(live, F_OK) == 0;

    free(live);
    return is_there;
}
