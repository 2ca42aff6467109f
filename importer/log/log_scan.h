/* SPDX-License-Identifier: MIT */
/*
 * log_scan: the segments of a log file, found by one walk over its headers.
 *
 * Model:   a raw file has a segment every LOG_SEGMENT_BYTES; a packed one a chain of frames, where
 *          a broken header is passed by looking for the next sound one.
 *          A segment goes back to the pool behind its frame, so that who was killed in the midst of a frame has left
 *          the segment there: with the pool, a frame that the file ends in is no loss.
 * Failure: what makes no sense is counted in the damage report; errors are memory and reading.
 */
#ifndef MTRACE_IMPORTER_LOG_SCAN_H
#define MTRACE_IMPORTER_LOG_SCAN_H

#include "importer/log/log_file.h"

struct log_segment_list {
    struct log_segment_ref *refs;
    size_t n, capacity;
};

void log_segment_list_done(struct log_segment_list *list);

/* Which segments of a raw file are listed; of a packed one all are. */
enum log_scan_part {
    LOG_SCAN_ALL,
    LOG_SCAN_EVENTS,      /* and SIDE */
    LOG_SCAN_DEFINITIONS, /* DEFS and NODES; what is damaged is not told again */
};

/* What a scan adds to. */
struct log_scan {
    struct log_segment_list list;
    struct clock_map *clock; /* pairs of clock readings of the segments */
    struct log_damage_report *damage;
    struct pack *pack;
    enum log_scan_part part;
    uint64_t
        end_sequence; /* of a raw file no segment of events from this one on is listed; 0: all are */
    bool is_growing;  /* somebody writes to the file */
    bool is_ring;     /* what was packed of it may be gone: log_rotation.h */
    bool has_pool;    /* the live pool of the packed file is there, and `list` has its segments */
    bool has_time_shift; /* there is a packed segment of events */
    unsigned time_shift; /* that it was packed with */
};

/* Adds all segments of the file; notes where its samples are and takes the trailer for its header.
 */
int log_scan_file(struct log_scan *scan, struct log_file_reader *file, struct error *err);

/* Adds the segments of events that a packed file got since it was listed; up to the first frame
 * that is not whole yet. */
int log_scan_grown(struct log_file_reader *file, struct log_segment_list *list, struct error *err);

#endif
