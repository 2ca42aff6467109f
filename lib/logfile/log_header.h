/* SPDX-License-Identifier: MIT */
/*
 * log_header: can this mtrace read a log whose header says this, and what machine made it?
 *
 * Model:   a log is read by any machine of its byte order, whatever the processor and the width of its
 *          words (LF-9, LF-10). One of the other order is refused before any number of it is looked at.
 * Threads: any.
 */
#ifndef MTRACE_LIB_LOG_HEADER_H
#define MTRACE_LIB_LOG_HEADER_H

#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <string.h>

/* What a file begins with; nothing else of it was looked at. */
static inline bool log_header_is_ours(const struct log_file *file)
{
    return memcmp(file->magic, LOG_MAGIC, sizeof(file->magic)) == 0;
}

static inline bool log_header_is_packed(const struct log_file *file)
{
    return log_header_is_ours(file) && file->form == LOG_FORM_PACKED;
}

/* Byte order, version, words. The magic has been checked. */
int log_header_check(const struct log_file *header, const char *path, struct error *err);

enum {
    LOG_HEADER_ARCH_BYTES = 32
};

/* As processes.architecture has it: 'x86_64', 'aarch64', 'arm', …, 'machine 258'. Static or `buffer`;
 * NULL: arch is 0. */
const char *log_header_arch_text(unsigned arch, unsigned word_bytes,
                                 char buffer[LOG_HEADER_ARCH_BYTES]);

#endif
