/* SPDX-License-Identifier: MIT */
/*
 * log_file: one file of a log, raw or packed: what kind of file it is, where its segments are, and
 * their bytes.
 *
 * Model:   opening recognises the file by its first bytes; log_scan.h walks it once and lists
 *          its segments; log_file_read brings the payload of one.
 *          Everything in the file is doubted: a segment is listed only when its header makes sense.
 * Invariants
 *   FR-1 A listed segment lies inside the file: offset + stored bytes <= size_bytes, but for the
 *        last one of a raw file, whose missing end reads as zeros.
 *   FR-2 raw_bytes <= LOG_SEGMENT_PAYLOAD_BYTES, and a multiple of 8.
 *   FR-3 Nothing is mapped: a file that is cut while it is read gives short reads, never SIGBUS.
 * Threads: log_file_read from one thread at a time.
 */
#ifndef MTRACE_IMPORTER_LOG_FILE_H
#define MTRACE_IMPORTER_LOG_FILE_H

#include "importer/log/clock_map.h"
#include "importer/log/log_damage.h"
#include "importer/log/text_arena.h"
#include "lib/abi/log_format.h"
#include "lib/base/error.h"
#include "lib/logfile/pack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the bytes of a segment, or of a part of one, are. */
struct log_segment_ref {
    uint64_t sequence;
    uint64_t offset; /* raw: of the segment; packed: of the frame */
    uint64_t base_ticks;
    uint32_t raw_bytes;  /* payload that can be read */
    uint32_t file_bytes; /* that the segment or frame takes in its file */
    uint32_t first_byte; /* DEFS, NODES of a packed file: place of the part in the payload */
    uint32_t first_node; /* NODES */
    uint32_t thread;     /* EVENTS */
    uint32_t n_events;   /* packed only, as the frame says */
    uint32_t copy;       /* of log_input.copies, from 1 on; 0: none was made. Set by its owner */
    uint16_t file;       /* of the log; set by its owner */
    uint8_t kind;        /* enum log_segment_kind */
    bool is_packed;
    bool is_filling;  /* raw only: the program was to write more into it */
    bool is_complete; /* nothing will be added to it */
};

struct log_file_reader {
    const char *path;
    int fd; /* -1: opened for each read, because the set has very many files */
    uint64_t size_bytes;
    uint64_t scanned_bytes;        /* of a packed file: where the frames end that were listed */
    struct log_file header;        /* of a packed file with a trailer: the trailer */
    bool has_trailer;              /* it is finished */
    uint32_t generation;           /* its number; 0: it is none */
    uint64_t n_losses, lost_bytes; /* of a generation: what its frames could not be read for */
    uint64_t *samples;             /* offsets of LOG_FRAME_SAMPLES frames */
    size_t n_samples, samples_capacity;
};

/*
 * Opens a log, or says what else the file is: a directory, empty, text, a database, a heaptrack
 * recording, a log of a newer mtrace. The path is kept in
 * `arena`. Close with log_file_close; `ret` is set on success only.
 */
int log_file_open(const char *path, struct text_arena *arena, struct log_file_reader **ret,
                  struct error *err);
void log_file_close(struct log_file_reader *file);

/* Takes the size that the file has by now. */
int log_file_refresh(struct log_file_reader *file, struct error *err);

/* From now on the file is opened for each read; for sets of very many files. */
void log_file_rest(struct log_file_reader *file);

/* Reads up to n_bytes at offset; fewer only at the end of the file. Several threads may read at
 * once. */
int log_file_read_at(struct log_file_reader *file, void *bytes, size_t n_bytes, uint64_t offset,
                     size_t *ret_n, struct error *err);

/*
 * Reads and decodes the payload of a segment: ref->raw_bytes bytes into `payload`, which has room
 * for LOG_SEGMENT_BYTES and is 8-byte aligned. ERROR_FORMAT: damaged; err says where.
 */
int log_file_read(struct log_file_reader *file, const struct log_segment_ref *ref,
                  struct pack *pack, void *payload, struct error *err);

/* Reads and decodes the samples frame at `offset`: n of them into `samples`, room for
 * PACK_PAYLOAD_MAX_BYTES. */
int log_file_read_samples(struct log_file_reader *file, uint64_t offset, struct pack *pack,
                          struct log_sample *samples, size_t *ret_n, struct error *err);

/* Is the file mapped by its own process at this moment? Then that still runs. */
bool log_file_is_live(const struct log_file_reader *file);

/* Does a recorder of our own pid namespace have this raw log mapped, to pack it? Of another one log_file_is_locked tells. */
bool log_file_is_packed(const struct log_file_reader *file);

/* Does somebody hold the lock of a packed file that is written (packed_log.h, remote/receiver/store.h)? */
bool log_file_is_locked(const struct log_file_reader *file);

#endif
