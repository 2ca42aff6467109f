/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_io: serializes the state of an import. The same functions save and load it.
 *
 * Every structure has one visitor, `X_visit`, that copies its members to the bytes or from them, so
 * both directions agree. The bytes are split into chunks of at most CHECKPOINT_CHUNK_BYTES: struct
 * checkpoint_io_chunk, then zstd data. Structures without pointers are copied as they are in
 * memory, with their size. Equal string pointers are written once; loaded strings are in the arena.
 *
 * Invariants
 *   SV-1 After a failure nothing is written and all values that are read are zero.
 *   SV-2 Loading allocates memory for bytes that it has read, not for what a count promises.
 *   SV-3 Another version, a missing end and a bad checksum are refused.
 *
 * Notes: A checkpoint is private data of one user and machine. Values behind a right checksum are
 * believed, but for numbers that the log defines (stable_ids.c).
 *
 * Threads: one at a time.
 * Errors: ERROR_NOMEM, those of the sink or source, ERROR_FORMAT not a checkpoint, ERROR_VERSION of
 * another version of mtrace.
 */
#ifndef MTRACE_IMPORTER_CHECKPOINT_IO_H
#define MTRACE_IMPORTER_CHECKPOINT_IO_H

#include "importer/log/text_arena.h"
#include "lib/abi/attr.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHECKPOINT_CHUNK_BYTES = 48 * 1024, /* with its header */
    CHECKPOINT_VERSION = 8,             /* of all visitors */
};

#define CHECKPOINT_MAX UINT32_MAX /* limit of counts that have no other */

/* Header of a chunk. */
struct checkpoint_io_chunk {
    uint32_t magic, version;          /* CHECKPOINT_VERSION */
    uint32_t raw_bytes, stored_bytes; /* stored_bytes follow */
    uint64_t checksum; /* XXH64 (seed 0) over this struct with this field 0, and what follows */
};

/* Receives the chunks in order. */
struct checkpoint_io_sink {
    int (*put)(void *context, const void *chunk, size_t n_bytes, struct error *err);
    void *context;
};

/* Returns the next chunk, valid until the next call; *ret_bytes 0: there are no more. */
struct checkpoint_io_source {
    int (*next)(void *context, const void **ret_chunk, size_t *ret_bytes, struct error *err);
    void *context;
};

struct checkpoint_io;

/* Copy the sink or source. The arena receives the strings. Close with checkpoint_io_close. */
int checkpoint_io_save(const struct checkpoint_io_sink *sink, struct checkpoint_io **ret,
                       struct error *err);
int checkpoint_io_load(const struct checkpoint_io_source *source, struct text_arena *arena,
                       struct checkpoint_io **ret, struct error *err);

/* Completes the checkpoint. Errors go to the err that save or load was given. io may be NULL. */
int checkpoint_io_end(struct checkpoint_io *io);
void checkpoint_io_close(struct checkpoint_io *io);

int checkpoint_io_code(const struct checkpoint_io *io);
bool checkpoint_io_is_loading(const struct checkpoint_io *io);

/* Fail because the data is invalid or cannot be saved. The text ends the message. No effect after a
 * failure. */
void checkpoint_io_refuse(struct checkpoint_io *io, enum error_code code, const char *format, ...)
    MTRACE_PRINTF(3, 4);
void checkpoint_io_check(struct checkpoint_io *io, bool makes_sense, const char *what);
void checkpoint_io_no_memory(struct checkpoint_io *io);

/* Copies bytes as they are in memory. */
void checkpoint_io_bytes(struct checkpoint_io *io, void *bytes, size_t n_bytes);
void checkpoint_io_u64(struct checkpoint_io *io, uint64_t *value);
void checkpoint_io_u32(struct checkpoint_io *io, uint32_t *value);
void checkpoint_io_bool(struct checkpoint_io *io, bool *value);

/* At most `most`; 0 after a failure. */
void checkpoint_io_count(struct checkpoint_io *io, size_t *n, size_t most);

/* Copies a struct: CHECKPOINT_IMAGE(io, &one). Another size is ERROR_VERSION. Pointers in it are
 * invalid. */
void checkpoint_io_image(struct checkpoint_io *io, void *object, size_t n_bytes);
#define CHECKPOINT_IMAGE(io, object) checkpoint_io_image(io, object, sizeof *(object))

/* Copies a dynamic array (dynamic_array.h) of at most `most` elements. */
void *checkpoint_io_array(struct checkpoint_io *io, void *elements, size_t *n, size_t *capacity,
                          size_t most, size_t element_bytes);

void checkpoint_io_keyed(struct checkpoint_io *io, struct hash_map *keyed, size_t key_bytes,
                         size_t element_bytes);

/* Copies pairs (lib/totals/pair_totals.h); loads them into an empty map. */
void checkpoint_io_pairs(struct checkpoint_io *io, struct hash_map *pairs);

/* *text may be NULL. n_bytes: NULL for a string that ends at its first NUL. */
void checkpoint_io_text(struct checkpoint_io *io, const char **text, size_t *n_bytes);

#endif
