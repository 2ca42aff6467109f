/* SPDX-License-Identifier: MIT */
#include "collector/events/draft.h"

bool g_draft_has_chunk_headers;

void draft_alloc(struct draft *draft, const void *block, const struct draft_extent *extent,
                 size_t alignment)
{
    uint64_t *words = draft->words;

    words[1] = draft_address(block);
    if (extent->is_narrow && alignment == 0) {
        words[0] = LOG_ALLOC;
        words[2] = extent->narrow_word;
        draft->n_words = 3;
        return;
    }
    words[0] = LOG_ALLOC_WIDE;
    words[2] = extent->flags
               | (alignment ? (uint64_t)__builtin_ctzll((unsigned long long)alignment) << 8 : 0);
    words[3] = extent->size_bytes;
    words[4] = extent->usable_bytes;
    draft->n_words = 5;
}

void draft_realloc(struct draft *draft, const void *block, const void *old,
                   const struct draft_extent *extent, uint64_t took_ticks)
{
    uint64_t *words = draft->words;

    words[1] = draft_address(block);
    if (extent->is_narrow && took_ticks >> LOG_DURATION_BITS == 0) {
        words[0] = LOG_REALLOC;
        words[2] = extent->narrow_word;
        words[3] = draft_address(old) | took_ticks << LOG_ADDRESS_BITS;
        draft->n_words = 4;
        return;
    }
    words[0] = LOG_REALLOC_WIDE;
    words[2] = extent->flags | took_ticks << 8;
    words[3] = draft_address(old);
    words[4] = extent->size_bytes;
    words[5] = extent->usable_bytes;
    draft->n_words = 6;
}
