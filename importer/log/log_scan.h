/* SPDX-License-Identifier: MIT */
/*
 * log_scan: lists the segments of a log file in one pass over its headers.
 *
 * A raw file has a segment every LOG_SEGMENT_BYTES. A packed file is a chain of frames; after a
 * broken header the scan continues at the next valid one. The recorder recycles a segment after its
 * frame is written. If it is killed inside a frame, the segment is still in the live log: with the
 * live log, a cut last frame is no loss.
 *
 * Errors: ERROR_NOMEM and read errors. Damage goes into the damage report.
 */
#ifndef MTRACE_IMPORTER_LOG_SCAN_H
#define MTRACE_IMPORTER_LOG_SCAN_H

#include "importer/log/log_file.h"

struct log_segment_list {
    struct log_segment_ref *refs;
    size_t n, capacity;
};

void log_segment_list_done(struct log_segment_list *list);

/* Segments of a raw file to list; of a packed file all are listed. */
enum log_scan_part {
    LOG_SCAN_ALL,
    LOG_SCAN_EVENTS,      /* and FALLBACK */
    LOG_SCAN_DEFINITIONS, /* DEFS and NODES; damage is not reported again */
};

/* Results of a scan. */
struct log_scan {
    struct log_segment_list list;
    struct clock_map *clock; /* clock readings of the segments */
    struct log_damage_report *damage;
    struct pack *pack;
    enum log_scan_part part;
    uint64_t end_sequence; /* raw file: event segments from this one on are skipped; 0: none */
    bool is_growing;       /* the file is still being written */
    bool is_bounded;       /* bounded log: packed events may have been removed */
    bool has_live_log;     /* the packed file's live log exists, and `list` has its segments */
    bool has_time_shift;   /* a packed event segment was seen */
    unsigned time_shift;   /* of packed event segments */
};

/* Adds all segments of the file, records where its samples are, and takes the trailer as its
 * header. */
int log_scan_file(struct log_scan *scan, struct log_file_reader *file, struct error *err);

/* Adds the event segments that a packed file gained since it was listed, up to the first incomplete
 * frame. */
int log_scan_grown(struct log_file_reader *file, struct log_segment_list *list, struct error *err);

#endif
