/* SPDX-License-Identifier: MIT */
#include "importer/events/stream_state.h"

#include <string.h>

void stream_state_done(struct stream_state *state)
{
    keyed_done(&state->positions);
    memset(state, 0, sizeof *state);
}

struct segment_position *stream_state_find(const struct stream_state *state, uint64_t run_id,
                                           uint64_t sequence)
{
    struct segment_position key = {.run_id = run_id, .sequence = sequence};

    return keyed_find(&state->positions, &key, SEGMENT_POSITION_KEY_BYTES,
                      sizeof(struct segment_position));
}

struct segment_position *stream_state_get(struct stream_state *state, uint64_t run_id,
                                          uint64_t sequence)
{
    struct segment_position key = {.run_id = run_id, .sequence = sequence};

    return keyed_get(&state->positions, &key, SEGMENT_POSITION_KEY_BYTES,
                     sizeof(struct segment_position));
}
