/* SPDX-License-Identifier: MIT */
#include "importer/read/stream_state.h"

#include <string.h>

void stream_state_done(struct stream_state *state)
{
    hash_map_done(&state->positions);
    memset(state, 0, sizeof *state);
}

struct segment_position *stream_state_find(const struct stream_state *state, uint64_t run_id,
                                           uint64_t sequence)
{
    struct segment_position key = {.run_id = run_id, .sequence = sequence};

    return hash_map_find(&state->positions, &key, SEGMENT_POSITION_KEY_BYTES,
                         sizeof(struct segment_position));
}

struct segment_position *stream_state_get(struct stream_state *state, uint64_t run_id,
                                          uint64_t sequence)
{
    struct segment_position key = {.run_id = run_id, .sequence = sequence};

    return hash_map_get(&state->positions, &key, SEGMENT_POSITION_KEY_BYTES,
                        sizeof(struct segment_position));
}

void stream_state_visit(struct stream_state *state, struct checkpoint_io *io)
{
    checkpoint_io_keyed(io, &state->positions, SEGMENT_POSITION_KEY_BYTES,
                        sizeof(struct segment_position));
    checkpoint_io_u64(io, &state->mark);
    checkpoint_io_u64(io, &state->last_time);
    checkpoint_io_u64(io, &state->claimed_bytes);
    checkpoint_io_u64(io, &state->n_forgotten);
    checkpoint_io_u64(io, &state->n_lost_nodes);
    checkpoint_io_u64(io, &state->n_backward);
    checkpoint_io_u64(io, &state->n_unknown);
    checkpoint_io_u64(io, &state->n_impossible);
    checkpoint_io_u64(io, &state->n_lost_parts);
    checkpoint_io_u64(io, &state->lost_bytes);
    checkpoint_io_bool(io, &state->has_begun);
    checkpoint_io_bool(io, &state->is_cut);
}
