/* SPDX-License-Identifier: MIT */
/*
 * log_damage: report of damage found inside logs.
 *
 * It counts everything and keeps the first LOG_DAMAGE_KEPT entries, so that a garbage file costs no
 * memory. Paths and texts are not copied; they live with the set (log_set.h). Threads: one per
 * report.
 */
#ifndef MTRACE_IMPORTER_LOG_DAMAGE_H
#define MTRACE_IMPORTER_LOG_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

enum log_damage_kind {
    LOG_DAMAGE_TRUNCATED,     /* the file is shorter than its headers say */
    LOG_DAMAGE_CHECKSUM,      /* a frame of a packed file does not match its checksum */
    LOG_DAMAGE_HEADER,        /* invalid header of a segment or frame */
    LOG_DAMAGE_RECORD,        /* invalid record in a segment; the rest of it is lost */
    LOG_DAMAGE_UNKNOWN,       /* record of an unknown kind; skipped */
    LOG_DAMAGE_NODE,          /* undefined stack node, module or parent */
    LOG_DAMAGE_TIME,          /* time decreased; the event got the last time */
    LOG_DAMAGE_MISSING_CHILD, /* a child's log is missing or unreadable */
    LOG_DAMAGE_MISSING_PART,  /* a rotated log is missing, or removed ones had losses */
    LOG_DAMAGE_KINDS,
};

struct log_damage {
    enum log_damage_kind kind;
    const char *path;
    uint64_t offset; /* in the file */
    uint64_t bytes;  /* unusable bytes of the file */
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

/* Counts an entry, and keeps it if there is space. */
void log_damage_add(struct log_damage_report *report, enum log_damage_kind kind, const char *path,
                    uint64_t offset, uint64_t bytes, const char *what);

/* Name of a kind for messages and meta keys: 'truncated', 'checksum', … */
const char *log_damage_name(enum log_damage_kind kind);

#endif
