/* SPDX-License-Identifier: MIT */
#include "server/api/source_text.h"

#include "lib/base/error.h"
#include "lib/base/file_io.h"
#include "lib/base/json_text.h"
#include "queries/db/rundb.h"
#include "server/core/recordings.h"
#include "server/core/request.h"
#include "server/http/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NOTE_BYTES = 256
};

struct source {
    char path[PATH_MAX];
    char object[PATH_MAX]; /* one of those that it was compiled into; "": not known */
    int64_t began_unix_ns; /* the recording */
    const char *state;
    char note[NOTE_BYTES];
    int64_t modified_unix_ns; /* 0: not known */
    char *text;               /* NULL: not shown */
};

/* ---- what the recording says of it ---- */

static const char source_sql[] =
    "SELECT s.path, (SELECT o.path FROM frame_lines AS l JOIN frames AS f ON f.frame_id = l.frame_id"
    " JOIN objects AS o ON o.object_id = f.object_id WHERE l.source_id = s.source_id LIMIT 1)"
    " FROM sources AS s WHERE s.path = ?1";

static void copy_text(char *ret_text, size_t size, const unsigned char *text)
{
    (void)snprintf(ret_text, size, "%s", text ? (const char *)text : "");
}

static int find_row(const struct rundb *database, const char *path, struct source *source,
                    struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(database, source_sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC);
    rc = rundb_step(database, stmt, err);
    if (rc == 1) {
        copy_text(source->path, sizeof(source->path), sqlite3_column_text(stmt, 0));
        copy_text(source->object, sizeof(source->object), sqlite3_column_text(stmt, 1));
    }
    sqlite3_finalize(stmt);
    if (rc == 0)
        return error_set(
            err, ERROR_NOT_FOUND,
            "path: the recording names no source file '%.200s'; values?parameter=source_regex"
            " lists them",
            path);
    return rc < 0 ? rc : 0;
}

static int find_source(const struct recording *recording, const char *path, struct source *source,
                       struct error *err)
{
    struct rundb database;
    int rc = rundb_open(&database, recording->path, NULL, err);

    if (rc != 0)
        return rc;
    source->began_unix_ns = recording->start_unix_ns;
    rc = find_row(&database, path, source, err);
    rundb_close(&database);
    return rc;
}

/* ---- the file ---- */

static void MTRACE_PRINTF(3, 4)
    set_state(struct source *source, const char *state, const char *format, ...)
{
    va_list arguments;

    source->state = state;
    va_start(arguments, format);
    (void)vsnprintf(source->note, sizeof(source->note), format, arguments);
    va_end(arguments);
}

/* Reads a regular file; a '\0' in it means that it is not text. */
static void read_text(struct source *source, int fd, size_t size)
{
    char *text = malloc(size + 1);
    size_t done = 0;
    ssize_t n = 1;

    while (text && done < size && n > 0) {
        n = read(fd, text + done, size - done);
        done += n > 0 ? (size_t)n : 0;
    }
    if (text && n >= 0 && !memchr(text, '\0', done)) {
        text[done] = '\0';
        source->text = text;
        return;
    }
    free(text);
    set_state(source, "unreadable", "%s", n < 0 ? "it cannot be read" : "it is no text");
}

/* A program that was not modified after the recording began was built at its modification time. */
static void compare_times(struct source *source)
{
    struct stat object;
    bool has_object = *source->object && stat(source->object, &object) == 0;

    source->state = "unchanged";
    if (source->began_unix_ns && source->modified_unix_ns > source->began_unix_ns)
        set_state(source, "changed", "it was modified after the recording began");
    else if (has_object && file_io_modified_ns(&object) <= source->began_unix_ns
             && source->modified_unix_ns > file_io_modified_ns(&object))
        set_state(source, "changed", "it was modified after the program was built");
}

/* Where the open file really is decides: the recording may name any path, through links and "..".
 */
static bool may_be_read(const struct request_place *place, int fd)
{
    size_t n = place->source_dir ? strlen(place->source_dir) : 0;
    char link[64];
    char path[PATH_MAX];

    if (!place->is_open)
        return true;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return n > 0 && file_io_link_target(link, path, sizeof(path))
           && strncmp(path, place->source_dir, n) == 0 && (path[n] == '/' || path[n - 1] == '/');
}

static void open_text(const struct request_place *place, struct source *source)
{
    bool is_absolute = *source->path == '/';
    int fd = is_absolute ? open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    struct stat status;

    if (!is_absolute) {
        set_state(source, "absent", "the recording does not have its folder");
    } else if (fd < 0 || fstat(fd, &status) != 0) {
        set_state(source, errno == ENOENT || errno == ENOTDIR ? "absent" : "unreadable", "%s",
                  strerror(errno));
    } else if (!may_be_read(place, fd)) {
        set_state(source, "unreadable",
                  "mtrace-serve --listen shows files below its --source-dir only");
    } else if (!S_ISREG(status.st_mode)) {
        set_state(source, "unreadable", "it is no regular file");
    } else if (status.st_size > SOURCE_TEXT_MAX_BYTES) {
        set_state(source, "unreadable", "it has more than %d bytes", SOURCE_TEXT_MAX_BYTES);
    } else {
        source->modified_unix_ns = file_io_modified_ns(&status);
        compare_times(source);
        read_text(source, fd, (size_t)status.st_size);
    }
    if (fd >= 0)
        (void)close(fd);
}

/* ---- the answer ---- */

static void print_head(FILE *out, const struct source *source)
{
    (void)fputs("{\"path\":", out);
    json_text_put(out, source->path);
    (void)fprintf(out, ",\"state\":\"%s\",\"note\":", source->state);
    json_text_put(out, source->note);
    (void)fprintf(out, ",\"modified_unix_ns\":");
    (void)fprintf(out, source->modified_unix_ns ? "%" PRId64 : "null", source->modified_unix_ns);
    (void)fputs(",\n\"lines\":", out);
}

static int answer(const struct request_place *place, const struct recording *recording,
                  struct source *source, struct exchange *exchange, struct error *err)
{
    static const char *const own[] = {"path", NULL};
    const struct request lines = {
        .command = "lines", .argument = source->path, .own = own, .is_json = true};
    int rc;

    print_head(exchange->out, source);
    rc = request_answer(place, recording, &lines, exchange, err);
    if (rc != 0)
        return rc;
    (void)fputs(",\"text\":", exchange->out);
    if (source->text)
        json_text_put(exchange->out, source->text);
    else
        (void)fputs("null", exchange->out);
    (void)fputs("}\n", exchange->out);
    return 0;
}

int source_text_answer(const struct request_place *place, const struct recording *recording,
                       struct exchange *exchange, struct error *err)
{
    const char *path = exchange_parameter(exchange, "path");
    struct source *source;
    int rc;

    if (place->is_confidential)
        return error_set(err, ERROR_NOT_FOUND, "source files are not shown (--confidential)");
    if (!path || !*path)
        return error_set(err, ERROR_USAGE, "source needs path: the whole path of a source file");
    source = calloc(1, sizeof(*source));
    if (!source)
        return error_set(err, ERROR_NOMEM, "no memory for a source file");
    rc = find_source(recording, path, source, err);
    if (rc == 0) {
        open_text(place, source);
        rc = answer(place, recording, source, exchange, err);
    }
    free(source->text);
    free(source);
    return rc;
}
