/* SPDX-License-Identifier: MIT */
/*
 * state_file: the state of a bounded log on the disk (lib/logfile/log_rotation.h): written whole or not at all, and found again.
 *
 * Model:   a log's header, which says where the state ends (LOG_ROTATION_STATE_END_AT), then each chunk of the state (checkpoint_io.h) as a frame. Frames of another kind are passed over, so that a
 *          state is also found in a log that has it among its own frames.
 * Invariants
 *   SF-1 LOG.state is replaced by one rename, of a file that is on the disk by then: at any instant it is one whole state.
 *   SF-2 A state of another recording is none, and so is what lies beside a log that is not bounded.
 * Threads: one.
 * Failure: ERROR_IO; a frame that is damaged ends the state, which state_io refuses then.
 */
#ifndef MTRACE_IMPORTER_CHECKPOINT_FILE_H
#define MTRACE_IMPORTER_CHECKPOINT_FILE_H

#include "importer/log/checkpoint_io.h"
#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- writing ---- */

struct state_writer;

/* Close with state_writer_close, which removes what was not committed, and takes NULL. */
int state_writer_open(const char *log_path, struct state_writer **ret, struct error *err);

/* Takes so much of the disk now, so that a state fits when that is full. False: it has no room for it, or cannot say so; that is no failure. */
bool state_writer_reserve(struct state_writer *writer, uint64_t n_bytes);

/* header: of the log. Before the first chunk; again after a failure. */
int state_writer_begin(struct state_writer *writer, const struct log_file *header,
                       struct error *err);
struct state_sink state_writer_sink(struct state_writer *writer);
/* *ret_has_old: the writer has the file of the state before, with what is reserved there, for the one that comes next; it may be begun. Whoever reads that
 * state sees that it is not the current one any more. */
int state_writer_commit(struct state_writer *writer, bool *ret_has_old, struct error *err);
/* Of the state that was committed, or is written. */
uint64_t state_writer_bytes(const struct state_writer *writer);
void state_writer_close(struct state_writer *writer);

/* ---- reading ---- */

struct state_reader;

/* Does the log's header say so? path: of the log, or of its pool. */
int checkpoint_file_is_bounded(const char *path, bool *ret, struct error *err);

/* path: of the log, or of its pool. *ret NULL: the log has no state, be it that all its events are still there, or that it is not bounded. */
int state_reader_open(const char *path, struct state_reader **ret, struct error *err);
struct state_source state_reader_source(struct state_reader *reader);
void state_reader_close(struct state_reader *reader);

/* Is the log's state the one that this reader has (NULL: is there none)? Looked for again by name. true, too, if that fails. */
int state_reader_is_current(const struct state_reader *reader, const char *path, bool *ret,
                            struct error *err);

#endif
