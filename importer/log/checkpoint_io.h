/* SPDX-License-Identifier: MIT */
/*
 * state_io: the state of an import as bytes, written and read by the same functions.
 *
 * Model:   a state is a sequence of parts, each of a kind and a version, in the order in which they are visited. Each structure has one
 *          function that visits what it holds, `X_state`, which copies it into the bytes or takes it from them: so what is written
 *          and what is read cannot differ. The bytes go out and come in as chunks of STATE_CHUNK_BYTES at most, each of which
 *          belongs to one part and says so: struct state_chunk, then its bytes through zstd.
 *          Structures without pointers are copied as they lie in memory, with their size; texts are told apart by where
 *          they lie, written once, and lie in an arena of the reader's.
 * Invariants
 *   SV-1 After a failure nothing is written, and all that is read is zero; checkpoint_io_code tells of the first one.
 *   SV-2 Reading takes memory for what was read, and not for what a count says that will come.
 *   SV-3 A part or a version that is not known, one that is missing, or a chunk whose checksum does not hold, is refused with one line.
 * Threads: one user at a time.
 * Failure: memory, what the sink or the source returned, ERROR_FORMAT for bytes that are no state, ERROR_VERSION for those of another mtrace.
 */
#ifndef MTRACE_IMPORTER_CHECKPOINT_IO_H
#define MTRACE_IMPORTER_CHECKPOINT_IO_H

#include "importer/log/state_memo.h"
#include "importer/log/text_arena.h"
#include "lib/abi/attr.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STATE_CHUNK_BYTES = 48 * 1024, /* with its header: less than a frame of a packed log holds */
};

#define STATE_MOST UINT32_MAX /* a count that says nothing of what it counts */

/* In the order of a state. */
enum state_part {
    STATE_END, /* nothing: the state is whole */
    STATE_HEAD,
    STATE_STREAM,
    STATE_NUMBERS,
    STATE_FACTS,
    STATE_PAIRING,
    STATE_TOTALS,
    STATE_GROUPS,
    STATE_POOLS,
    STATE_WALKS,
    STATE_HEAPS,
    STATE_SNAPSHOTS,
    STATE_SAMPLES,
    STATE_MOMENTS,
    STATE_KEPT,
    STATE_PARTS
};

/* What a chunk begins with. */
struct state_chunk {
    uint32_t magic;
    uint16_t part, version;
    uint32_t raw_bytes, stored_bytes; /* stored_bytes follow */
    uint64_t checksum; /* XXH64 (seed 0) over this struct with this field 0, and what follows */
};

/* Takes a chunk of a state, in order. */
struct state_sink {
    int (*put)(void *context, const void *chunk, size_t n_bytes, struct error *err);
    void *context;
};

/* The next chunk, which stays until the next call; *ret_bytes 0: there is none. */
struct state_source {
    int (*next)(void *context, const void **ret_chunk, size_t *ret_bytes, struct error *err);
    void *context;
};

struct checkpoint_io;

/* Sinks and sources are copied. The arena takes the texts. The memo is of what was saved last to the same end, and lives longer; NULL: there is none. Close with
 * checkpoint_io_close. */
int checkpoint_io_save(const struct state_sink *sink, struct state_memo *memo,
                       struct checkpoint_io **ret, struct error *err);
int checkpoint_io_load(const struct state_source *source, struct text_arena *arena,
                       struct checkpoint_io **ret, struct error *err);

/* Ends the state: all was written, or read. What failed before is told into err of the beginning. NULL is fine. */
int checkpoint_io_end(struct checkpoint_io *io);
void checkpoint_io_close(struct checkpoint_io *io);

int checkpoint_io_code(const struct checkpoint_io *io);
bool checkpoint_io_is_loading(const struct checkpoint_io *io);

/* All that follows is of this part. */
void state_part(struct checkpoint_io *io, enum state_part part, unsigned version);

/* What was read makes no sense, or cannot be saved: `what` is the rest of the line. Nothing happens after a failure. */
void state_refuse(struct checkpoint_io *io, enum error_code code, const char *format, ...)
    MTRACE_PRINTF(3, 4);
void state_check(struct checkpoint_io *io, bool makes_sense, const char *what);
/* Of a bool that was copied with what it lies in. */
void state_check_bool(struct checkpoint_io *io, const bool *value);
void state_no_memory(struct checkpoint_io *io);

/* As it lies in memory. */
void state_bytes(struct checkpoint_io *io, void *bytes, size_t n_bytes);
void state_u64(struct checkpoint_io *io, uint64_t *value);
void state_u32(struct checkpoint_io *io, uint32_t *value);
void state_bool(struct checkpoint_io *io, bool *value);

/* At most `most`; 0 after a failure. */
void state_count(struct checkpoint_io *io, size_t *n, size_t most);

/* A copy of a struct, as STATE_IMAGE(io, &one): what is of another size was written by another mtrace. Pointers in it are worth nothing. */
void state_image(struct checkpoint_io *io, void *object, size_t n_bytes);
#define STATE_IMAGE(io, object) state_image(io, object, sizeof *(object))

/* An array that grows (dynamic_array.h), of up to `most` elements: copies of them. */
void *state_array(struct checkpoint_io *io, void *elements, size_t *n, size_t *capacity,
                  size_t most, size_t element_bytes);

void state_keyed(struct checkpoint_io *io, struct hash_map *keyed, size_t key_bytes,
                 size_t element_bytes);

/* NULL is one, too. n_bytes: NULL for what ends at the first NUL. */
void state_text(struct checkpoint_io *io, const char **text, size_t *n_bytes);

#endif
