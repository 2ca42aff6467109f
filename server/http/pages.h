/* SPDX-License-Identifier: MIT */
/*
 * pages: the files of web/, compressed into the program.
 *
 * web/build.mjs makes the table. Without npm the table is empty, and the server answers with a page
 * that says so. All addresses below /view/ return the same page, which interprets the rest itself.
 * Files with a hash in their name are cached by clients forever.
 */
#ifndef MTRACE_SERVER_PAGES_H
#define MTRACE_SERVER_PAGES_H

#include <stddef.h>

struct error;
struct exchange;

struct pages_file {
    const char *path; /* NULL ends the table */
    const char *content_type;
    const char *etag;           /* of its bytes */
    const unsigned char *bytes; /* gzip, RFC 1952 */
    size_t n_bytes;
};

extern const struct pages_file pages_files[];

/* ERROR_NOT_FOUND: there is no such file. */
int pages_answer(struct exchange *exchange, struct error *err);

#endif
