/* SPDX-License-Identifier: MIT */
/*
 * log_header: checks whether this mtrace can read a log, and names the machine that made it.
 *
 * A log can be read on every machine of the same byte order, whatever its processor and word size
 * (LF-9, LF-10).
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
static inline bool log_header_is_ours(const struct log_header *file)
{
    return memcmp(file->magic, LOG_MAGIC, sizeof(file->magic)) == 0;
}

static inline bool log_header_is_packed(const struct log_header *file)
{
    return log_header_is_ours(file) && file->form == LOG_FORM_PACKED;
}

/* Checks byte order, version and word size. The magic has been checked. */
int log_header_check(const struct log_header *header, const char *path, struct error *err);

enum {
    LOG_HEADER_ARCH_BYTES = 32
};

/* The value of processes.architecture: 'x86_64', 'aarch64', 'arm', …, 'machine 258'. Returns a
 * constant or `buffer`; NULL: arch is 0. */
const char *log_header_arch_text(unsigned arch, unsigned word_bytes,
                                 char buffer[LOG_HEADER_ARCH_BYTES]);

/* The frames are in rotated files (LOG_ROTATED_MAGIC). `bytes`: those after the header page. */
static inline bool log_header_is_rotated(const void *bytes, size_t n_bytes)
{
    return n_bytes >= sizeof(LOG_ROTATED_MAGIC) - 1
           && memcmp(bytes, LOG_ROTATED_MAGIC, sizeof(LOG_ROTATED_MAGIC) - 1) == 0;
}

#endif
