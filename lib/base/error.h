/* SPDX-License-Identifier: MIT */
/*
 * error: error codes and messages of all programs except the collector.
 *
 * A function that can fail returns 0 or a negative enum error_code and fills the caller's struct
 * error. The function that knows most about the failure fills it. Libraries never print; main does.
 *
 * A message is one line without a full stop. It names the subject in single quotes and ends with
 * "; " and a hint where there is one. Bytes that are not printable become "?" (utf8.h).
 * These functions do not allocate.
 */
#ifndef MTRACE_LIB_ERROR_H
#define MTRACE_LIB_ERROR_H

#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stdint.h>

/* Tests and scripts rely on these numbers. */
enum error_code {
    ERROR_NONE = 0,
    ERROR_NOMEM = -1,
    ERROR_IO = -2,       /* open, read, write, rename, disk full; os_errno says more */
    ERROR_FORMAT = -3,   /* not the kind of file it should be, or damaged; offset says where */
    ERROR_VERSION = -4,  /* written by a newer mtrace */
    ERROR_DATABASE = -5, /* SQLite failed */
    ERROR_DEBUGINFO = -6,
    ERROR_NOT_FOUND = -7,
    ERROR_EXISTS = -8, /* target is there and --force was not given */
    ERROR_USAGE = -9,  /* exit status 2 */
    ERROR_EXEC = -10,
    ERROR_INTERRUPTED = -11, /* Ctrl-C */
    ERROR_BUG = -12,
    ERROR_LEFT_OUT = -13,      /* the database has not the tables that the query needs */
    ERROR_LEFT_OUT_ROWS = -14, /* the same for rows of single blocks */
};

enum {
    ERROR_EXIT_NO_ROOM = 5, /* of mtrace-import: the disk of the database is full */
    ERROR_EXIT_LATE = 7,    /* of mtrace-query --about: it took longer than its time_limit allows */
    ERROR_TEXT_BYTES = 1024, /* the names of all commands are one line */
    ERROR_NO_OFFSET = -1
};

struct error {
    int code;       /* enum error_code */
    int os_errno;   /* 0 if none */
    int64_t offset; /* byte position in the input, ERROR_NO_OFFSET if none */
    char text[ERROR_TEXT_BYTES];
};

/* Fills err (may be NULL) and returns code. Resets os_errno and offset. */
int error_set(struct error *err, enum error_code code, const char *format, ...) MTRACE_PRINTF(3, 4);

/* The same for a failed system call: appends ": " and the text of os_errno. */
int error_set_errno(struct error *err, int os_errno, const char *format, ...) MTRACE_PRINTF(3, 4);

/* The same for bad input at a byte position: appends " at byte N". */
int error_set_offset(struct error *err, enum error_code code, int64_t offset, const char *format,
                     ...) MTRACE_PRINTF(4, 5);

/* The file system has no space left, or a quota is used up (file_systems.h). */
bool error_means_disk_full(int os_errno);
bool error_is_disk_full(const struct error *err);

/* Exit status of a program that ends with this code: 0, 2 for ERROR_USAGE, 130 for
 * ERROR_INTERRUPTED, else 1. */
int error_exit_status(int code);

#ifdef __clang_analyzer__
/* Tells the analyzer, which sees one source file at a time, that these never return 0. */
#    define error_set(err, code, ...)        (error_set(err, code, __VA_ARGS__), (int)(code))
#    define error_set_errno(err, code, ...)  (error_set_errno(err, code, __VA_ARGS__), (int)ERROR_IO)
#    define error_set_offset(err, code, ...) (error_set_offset(err, code, __VA_ARGS__), (int)(code))
#endif

#endif
