/* SPDX-License-Identifier: MIT */
#include "recorder/session/collector_library.h"

#include "lib/abi/log_format.h"
#include "lib/base/file_io.h"
#include "lib/logfile/log_header.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct triplet {
    struct collector_library_kind kind;
    const char *name; /* NULL: there is no collector */
} triplets[] = {

#define TRIPLET(arch, word_bytes, name, triplet) {{arch, word_bytes}, triplet},
    LOG_MACHINES(TRIPLET)
#undef TRIPLET
};

static const char *triplet_of(const struct collector_library_kind *kind)
{
    for (size_t i = 0; i < sizeof(triplets) / sizeof(triplets[0]); i++)
        if (triplets[i].kind.machine == kind->machine
            && triplets[i].kind.word_bytes == kind->word_bytes)
            return triplets[i].name;
    return NULL;
}

bool collector_library_is_own(const struct collector_library_kind *kind)
{
    struct log_header own;

    log_file_set_machine(&own);
    return kind->machine == own.arch && kind->word_bytes == own.word_bytes;
}

char *collector_library_beside(const char *suffix)
{
    char self[PATH_MAX];
    char *slash;
    char *path = NULL;

    if (!file_io_link_target("/proc/self/exe", self, sizeof(self)))
        return NULL;
    slash = strrchr(self, '/');
    if (!slash || asprintf(&path, "%.*s/%s", (int)(slash - self), self, suffix) < 0)
        return NULL;
    return path;
}

/* An absolute path, because ld.so opens it in the program's working directory; NULL: not there. */
static char *resolve(const char *beside, const char *compiled_in)
{
    char *path = collector_library_beside(beside);
    char *resolved = path ? realpath(path, NULL) : NULL;

    free(path);
    return resolved ? resolved : realpath(compiled_in, NULL);
}

static char *find_own(const char *name)
{
    char beside[PATH_MAX];
    char compiled_in[PATH_MAX];

    (void)snprintf(beside, sizeof(beside), "../lib/mtrace/%s", name);
    (void)snprintf(compiled_in, sizeof(compiled_in), "%s/lib/mtrace/%s", MTRACE_PREFIX, name);
    return resolve(beside, compiled_in);
}

/* NULL: not installed. */
static char *find_foreign(const struct collector_library_kind *kind, const char *name)
{
    const char *triplet = triplet_of(kind);
    char beside[PATH_MAX];
    char compiled_in[PATH_MAX];

    if (!triplet)
        return NULL;
    (void)snprintf(beside, sizeof(beside), "../lib/%s/mtrace/%s", triplet, name);
    (void)snprintf(compiled_in, sizeof(compiled_in), "%s/lib/%s/mtrace/%s", MTRACE_PREFIX, triplet,
                   name);
    return resolve(beside, compiled_in);
}

const char *collector_library_explain(const struct collector_library_kind *kind, char *text,
                                      size_t text_bytes)
{
    char buffer[LOG_HEADER_ARCH_BYTES];
    const char *architecture = log_header_arch_text(kind->machine, kind->word_bytes, buffer);
    const char *triplet = triplet_of(kind);
    char *path = find_foreign(kind, "libmtrace.so");

    free(path);
    if (path)
        return NULL;
    if (triplet)
        (void)snprintf(text, text_bytes,
                       "it is a program for %s, whose collector is not installed "
                       "(package mtrace-collector-%.*s: lib/%s/mtrace/libmtrace.so)",
                       architecture, (int)strcspn(triplet, "-"), triplet, triplet);
    else
        (void)snprintf(text, text_bytes,
                       "it is a program for %s, for which mtrace has no collector",
                       architecture ? architecture : "an unknown processor");
    return text;
}

int collector_library_find(const struct collector_library_kind *kind, bool has_operators,
                           char **ret_path, struct error *err)
{
    const char *wanted = getenv("MTRACE_LIBRARY");
    const char *name = has_operators ? "libmtrace-new.so" : "libmtrace.so";
    char *path = NULL;

    if (wanted && *wanted)
        path = realpath(wanted, NULL);
    else if (kind && !collector_library_is_own(kind))
        path = find_foreign(kind, name);
    else
        path = find_own(name);
    *ret_path = NULL;
    if (!path && kind && !collector_library_is_own(kind) && !(wanted && *wanted))
        return 0;
    if (!path)
        return error_set(err, ERROR_IO,
                         "cannot find '%s'; set MTRACE_LIBRARY to the path of libmtrace.so",
                         wanted && *wanted ? wanted : "libmtrace.so");
    if (strpbrk(path, ": \n")) {
        error_set(err, ERROR_USAGE,
                  "'%s' cannot be preloaded, its path has a colon, space or line break; set "
                  "MTRACE_LIBRARY to a link without",
                  path);
        free(path);
        return ERROR_USAGE;
    }
    *ret_path = path;
    return 0;
}
