/* SPDX-License-Identifier: MIT */
/*
 * log_file: one file of a log, raw or packed: its kind, its segments and their bytes; and the
 * report of damage found inside logs.
 *
 * log_file_open recognizes the file by its first bytes, log_scan.h lists its segments,
 * log_file_read reads one payload. The file is not trusted: only segments with a valid header are
 * listed.
 *
 * A damage report counts everything and keeps the first LOG_DAMAGE_KEPT entries, so that a garbage
 * file costs no memory. Its paths and texts are not copied; they live with the set (log_set.h).
 *
 * Invariants
 *   FR-1 A listed segment lies inside the file: offset + stored bytes <= size_bytes. Only the last
 *        one of a raw file may be cut; its missing end reads as zeros.
 *   FR-2 raw_bytes <= LOG_SEGMENT_PAYLOAD_BYTES, and a multiple of 8.
 *   FR-3 The file is not mapped: if it shrinks, reads are short and no SIGBUS occurs.
 *
 * Threads: log_file_read from one thread at a time; a report has one thread.
 */
#ifndef MTRACE_IMPORTER_LOG_FILE_H
#define MTRACE_IMPORTER_LOG_FILE_H

#include "importer/log/clock_map.h"
#include "importer/log/text_arena.h"
#include "lib/abi/log_format.h"
#include "lib/base/error.h"
#include "lib/logfile/pack.h"

#include <stdbool.h>
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

/* Location of a segment, or of a part of one. */
struct log_segment_ref {
    uint64_t sequence;
    uint64_t offset; /* of the segment (raw) or frame (packed) */
    uint64_t base_ticks;
    uint32_t raw_bytes;  /* readable payload */
    uint32_t file_bytes; /* size of the segment or frame in its file */
    uint32_t first_byte; /* DEFS, NODES of a packed file: offset of the part in the payload */
    uint32_t first_node; /* NODES */
    uint32_t thread;     /* EVENTS */
    uint32_t n_events;   /* packed only, from the frame */
    uint32_t copy;       /* 1-based index in log_input.copies; 0: no copy. Set by the owner */
    uint16_t file;       /* index of the file; set by the owner */
    uint8_t kind;        /* enum log_segment_kind */
    bool is_packed;
    bool is_filling;  /* raw only: the program may write more into it */
    bool is_complete; /* it will not grow */
};

struct log_file_reader {
    const char *path;
    int fd; /* -1: opened for each read (log_file_close_fd) */
    uint64_t size_bytes;
    uint64_t scanned_bytes;        /* packed: end of the listed frames */
    struct log_header header;      /* the trailer, if there is one */
    bool has_trailer;              /* the file is complete */
    uint32_t rotated_number;       /* number of a rotated log; 0: it is not one */
    uint64_t n_losses, lost_bytes; /* of a rotated log: unreadable places and bytes */
    uint64_t *samples;             /* offsets of LOG_FRAME_SAMPLES frames */
    size_t n_samples, samples_capacity;
};

/*
 * Opens a log. If the file is something else, the error says what: a directory, empty, text, a
 * database, a heaptrack recording, a log of a newer mtrace. The path is kept in `arena`. `ret` is
 * set on success only.
 */
int log_file_open(const char *path, struct text_arena *arena, struct log_file_reader **ret,
                  struct error *err);
void log_file_close(struct log_file_reader *file);

/* Reads the current size of the file. */
int log_file_refresh(struct log_file_reader *file, struct error *err);

/* Closes the descriptor: from now on the file is opened for each read. For sets of very many
 * files. */
void log_file_close_fd(struct log_file_reader *file);

/* Reads up to n_bytes at offset; fewer only at the end of the file. Several threads may read
 * concurrently. */
int log_file_read_at(struct log_file_reader *file, void *bytes, size_t n_bytes, uint64_t offset,
                     size_t *ret_n, struct error *err);

/*
 * Reads and decodes the payload of a segment: ref->raw_bytes bytes into `payload`, which holds
 * LOG_SEGMENT_BYTES and is 8-byte aligned. ERROR_FORMAT: damaged; err says where.
 */
int log_file_read(struct log_file_reader *file, const struct log_segment_ref *ref,
                  struct pack *pack, void *payload, struct error *err);

/* Reads and decodes the samples frame at `offset` into `samples`, which holds
 * PACK_PAYLOAD_MAX_BYTES. */
int log_file_read_samples(struct log_file_reader *file, uint64_t offset, struct pack *pack,
                          struct log_sample *samples, size_t *ret_n, struct error *err);

/* True if the process that writes this raw log is alive, or if that cannot be determined. */
bool log_file_is_live(const struct log_file_reader *file);

/* True if a recorder in our PID namespace maps this raw log, or if that is unknown. For other
 * namespaces use log_file_is_locked. */
bool log_file_may_be_recorded(const struct log_file_reader *file);

/* True if a writer holds the lock of this packed file (packed_log.h, remote/receiver/store.h). */
bool log_file_is_locked(const struct log_file_reader *file);

#endif
