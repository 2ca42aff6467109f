/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_file: the checkpoint of a bounded log on disk, LOG.state (lib/logfile/log_rotation.h).
 *
 * The file is a log header, which contains the end of the checkpoint (LOG_ROTATION_STATE_END_AT),
 * then the chunks (checkpoint_io.h).
 *
 * Invariants
 *   SF-1 LOG.state is replaced by one rename, after the new file was synced. It is always complete.
 *   SF-2 A checkpoint of another run is ignored, and so is any file beside a log that is not
 *        bounded.
 *
 * Threads: one. Errors: ERROR_IO.
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

/* Close with state_writer_close, which removes an uncommitted file and accepts NULL. */
int state_writer_open(const char *log_path, struct state_writer **ret, struct error *err);

/* Reserves disk space, so that a checkpoint fits even when the disk is full. False: the space is
 * not there or the file system cannot reserve; not a failure. */
bool state_writer_reserve(struct state_writer *writer, uint64_t n_bytes);

/* Begins a file, before the first chunk; call again after a failure. header: of the log. */
int state_writer_begin(struct state_writer *writer, const struct log_header *header,
                       struct error *err);
struct checkpoint_io_sink state_writer_sink(struct state_writer *writer);
/* Makes the file the current checkpoint. *ret_has_old: the writer keeps the file of the previous
 * checkpoint with its reserved space, and may begin the next one in it. */
int state_writer_commit(struct state_writer *writer, bool *ret_has_old, struct error *err);
/* Size of the checkpoint that is being written or was committed. */
uint64_t state_writer_bytes(const struct state_writer *writer);
void state_writer_close(struct state_writer *writer);

/* ---- reading ---- */

struct state_reader;

/* Does the header say that the log is bounded? path: of the log or its live log. */
int checkpoint_file_is_bounded(const char *path, bool *ret, struct error *err);

/* path: of the log or its live log. *ret NULL: no checkpoint: none was written yet, or the log is
 * not bounded. */
int state_reader_open(const char *path, struct state_reader **ret, struct error *err);
struct checkpoint_io_source state_reader_source(struct state_reader *reader);
void state_reader_close(struct state_reader *reader);

#endif
