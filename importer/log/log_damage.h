/* SPDX-License-Identifier: MIT */
/*
 * log_damage: what was found wrong inside logs, counted and partly kept; log_set.h hands it out.
 *
 * Model:   a report counts everything and keeps the first LOG_DAMAGE_KEPT entries, so that a file
 *          of garbage costs no memory. Paths and texts are not copied; they live with the set.
 * Threads: one per report.
 */
#ifndef MTRACE_IMPORTER_LOG_DAMAGE_H
#define MTRACE_IMPORTER_LOG_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

enum log_damage_kind {
    LOG_DAMAGE_TRUNCATED,     /* the file ends before what it announces */
    LOG_DAMAGE_CHECKSUM,      /* a frame of a packed file does not match its checksum */
    LOG_DAMAGE_HEADER,        /* a segment or frame header makes no sense */
    LOG_DAMAGE_RECORD,        /* a record inside a segment makes no sense; the rest is lost */
    LOG_DAMAGE_UNKNOWN,       /* a kind of record this version does not know; skipped */
    LOG_DAMAGE_NODE,          /* a stack node, module or parent that the log does not define */
    LOG_DAMAGE_TIME,          /* time ran backwards; the event was moved to the last time seen */
    LOG_DAMAGE_MISSING_CHILD, /* a child's log is not there or cannot be read */
    LOG_DAMAGE_MISSING_PART, /* a generation of a bounded log, or what was lost of those that are gone by now */
    LOG_DAMAGE_KINDS,
};

/* One thing found wrong. */
struct log_damage {
    enum log_damage_kind kind;
    const char *path;
    uint64_t offset; /* in the file */
    uint64_t bytes;  /* of the file that could not be used; 0 if none */
    const char *what;
};

enum {
    LOG_DAMAGE_KEPT = 64
};

struct log_damage_report {
    uint64_t count[LOG_DAMAGE_KINDS];
    uint64_t lost_bytes; /* sum of log_damage.bytes */
    size_t n_kept;
    struct log_damage kept[LOG_DAMAGE_KEPT];
};

/* Counts one thing, and keeps it while there is room. */
void log_damage_add(struct log_damage_report *report, enum log_damage_kind kind, const char *path,
                    uint64_t offset, uint64_t bytes, const char *what);

/* 'truncated', 'checksum', …: the word of a kind for messages and meta keys. */
const char *log_damage_name(enum log_damage_kind kind);

#endif
