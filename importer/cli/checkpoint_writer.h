/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_writer: takes the events of a bounded log in, puts what they amount to on the disk, and removes them (lib/logfile/log_rotation.h).
 *
 * Model:   a state is written when the generations of the log have grown by log_rotation_bytes, or by as much as the last state has,
 *          whichever is more: so no more is written for states than was for events. Then those generations go of which nothing
 *          lies behind the mark of the state. Where there is more, as we were held up or the program is faster, it is taken in in pieces of so
 *          much, or of a quarter of what there is, the oldest first, with a state after each.
 * Invariants
 *   SK-1 A generation is removed only after a state that has all of it is on the disk under its name: so each event is in a generation,
 *        in the pool, or in the state, at every instant, whoever is killed.
 *   SK-2 Generations are removed in their order, which the state says; the last one that was seen only if its log has an end: its recorder may
 *        be writing to it.
 *   SK-3 The log has, beside what is defined and the state, 2 x the bytes of the Model, and what comes while a look lasts.
 *   SK-4 The next state has its room on the disk, so that generations can go when the disk is full: half as much again as the last one. It is that of the state
 *        before the last one, which is not given back in between: who waits for room would have it at once. Where there is little room left, states are taken sooner.
 *   SK-5 Where so much is left that a state would be due, as the mark was too old, there is another look, though nothing more comes, when the mark can be
 *        behind all that was there: what a program wrote before it was stopped goes, too. Only where such looks remove nothing they come ever less often.
 * Threads: one. Failure: nothing is removed; the next look tries again.
 */
#ifndef MTRACE_IMPORTER_CHECKPOINT_WRITER_H
#define MTRACE_IMPORTER_CHECKPOINT_WRITER_H

#include "importer/cli/incremental_import.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint_writer {
    const char *log_path;
    uint64_t state_bytes;      /* of the last state */
    uint64_t left_bytes;       /* that were in generations after the last look */
    uint64_t seen_bytes;       /* that are in them, as of the last time that was counted */
    struct state_writer *next; /* SK-4; NULL: it is still to be opened */
    struct state_writer
        *spare;      /* what comes after the first one, which replaces none; NULL: none */
    bool is_behind;  /* the last advance left something */
    bool is_hurried; /* what is due is so by hurry_ns alone */
    uint64_t
        hurry_ns; /* when the next state is due because there is little room, or much is left */
    uint64_t hurry_pause_ns; /* between two of those */
};

/* Before the first advance: from the state that the log has, if it has one. */
int checkpoint_writer_begin(struct checkpoint_writer *follower, const char *log_path,
                            struct incremental_import *incremental, struct error *err);

/* Is there so much, or so little room, that a look is due? */
bool checkpoint_writer_is_due(struct checkpoint_writer *follower);

/* As much as an advance may take in at once. */
uint64_t checkpoint_writer_piece_bytes(const struct checkpoint_writer *follower);

/* After an advance: writes the state, and removes what it has. May be tried again. */
int checkpoint_writer_save(struct checkpoint_writer *follower,
                           struct incremental_import *incremental, struct error *err);

/* All zero is fine. */
void checkpoint_writer_done(struct checkpoint_writer *follower);

#endif
