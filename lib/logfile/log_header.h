/* SPDX-License-Identifier: MIT */
/*
 * log_header: checks whether this mtrace can read a log, names the machine that made it, and marks
 * what was sent away.
 *
 * A log can be read on every machine of the same byte order, whatever its processor and word size
 * (LF-9, LF-10).
 *
 * A packed log may have its beginning on another machine, and its space here freed. Then struct
 * log_punched_hole (lib/abi/log_format.h) follows the header page, in place of the first frame.
 * From `until` on the file is unchanged. Before it is a hole, or the old bytes.
 *
 *   GV-1 A frame begins at `until`, or the file ends there.
 */
#ifndef MTRACE_LIB_LOG_HEADER_H
#define MTRACE_LIB_LOG_HEADER_H

#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Checks the magic only. */
static inline bool log_header_is_ours(const struct log_file *file)
{
    return memcmp(file->magic, LOG_MAGIC, sizeof(file->magic)) == 0;
}

static inline bool log_header_is_packed(const struct log_file *file)
{
    return log_header_is_ours(file) && file->form == LOG_FORM_PACKED;
}

/* Checks byte order, version and word size. The magic has been checked. */
int log_header_check(const struct log_file *header, const char *path, struct error *err);

enum {
    LOG_HEADER_ARCH_BYTES = 32
};

/* The value of processes.architecture: 'x86_64', 'aarch64', 'arm', …, 'machine 258'. Returns a
 * constant or `buffer`; NULL: arch is 0. */
const char *log_header_arch_text(unsigned arch, unsigned word_bytes,
                                 char buffer[LOG_HEADER_ARCH_BYTES]);

/* ---- the mark of a punched hole ---- */

/* Parses the bytes after the header page. Returns `until`, or 0 if they are not a mark. */
uint64_t punched_hole_parse(const void *bytes, size_t n_bytes);

/* The same for a file. */
uint64_t punched_hole_read(int fd);

/* Returns 0 or errno. */
int punched_hole_mark(int fd, uint64_t until);

#endif
