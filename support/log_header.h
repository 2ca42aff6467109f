/* SPDX-License-Identifier: MIT */
/*
 * log_header: can this mtrace read a log whose header says this, and what machine made it?
 *
 * Model:   a log is read by any machine of its byte order, whatever the processor and the width of its
 *          words (LF-9, LF-10). One of the other order is refused before any number of it is looked at.
 * Threads: any.
 */
#ifndef MTRACE_SUPPORT_LOG_HEADER_H
#define MTRACE_SUPPORT_LOG_HEADER_H

#include "common/log_format.h"
#include "support/error.h"

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
