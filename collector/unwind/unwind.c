/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind.h"

#include "collector/log/modules.h"
#include "collector/log/stack_tree.h"
#include "collector/os/outward.h"
#include "collector/unwind/own_stacks.h"
#include "collector/unwind/unwind_cache.h"
#include "collector/unwind/unwind_full.h"
#include "collector/unwind/unwind_state.h"
#include "collector/unwind/unwind_step.h"
#include "collector/unwind/unwind_verify.h"
#include "lib/abi/attr.h"
#include "lib/abi/invariant.h"
#include "lib/abi/log_format.h"

enum {
    NEARBY_STACK_BYTES = 1 << 20 /* a stack pointer further below belongs to another stack */
};

static struct unwind_settings g_settings;

/* ---- nodes ---- */

static uint32_t wanted_root(const struct unwind_record *record, bool is_tainted)
{
    if (record->is_truncated)
        return LOG_NODE_TRUNCATED;
    return is_tainted ? LOG_NODE_GUESSED : LOG_NODE_COMPLETE;
}

/* pc, module and exact in one word; 0: they do not fit */
static inline uint64_t known_key(const struct unwind_frame *frame)
{
    uint64_t place = frame->pc >> ARCH_CODE_SHIFT;

    if (mtrace_unlikely(place >> 47 != 0 || frame->module >> 16 != 0
                        || place << ARCH_CODE_SHIFT != frame->pc))
        return 0;
    return place | (uint64_t)frame->module << 47 | (uint64_t)(frame->flags & FRAME_EXACT) << 63;
}

/* Depends only on the frame, so its cache line can be prefetched before the node of its caller is
 * known. */
static inline struct unwind_known *known_pair(struct unwind_state *state,
                                              const struct unwind_frame *frame)
{
    uint64_t hash = (frame->pc ^ frame->sp << 24) * 0x9e3779b97f4a7c15ull;

    return &state->known[(hash >> (64 - UNWIND_KNOWN_BITS)) & ~(uint64_t)1];
}

static MTRACE_NOINLINE uint32_t child_in_tree(const struct unwind_frame *frame, uint32_t parent,
                                              uint64_t key, struct unwind_known *pair)
{
    bool is_exact = (frame->flags & FRAME_EXACT) != 0;

    if (mtrace_unlikely(outward_has(frame->pc)))
        return parent;

    uint32_t node = stack_tree_next(parent, frame->pc, frame->module, is_exact);

    if (mtrace_likely(node != LOG_NODE_NONE)) {
        if (mtrace_likely(key != 0))
            pair[1] = (struct unwind_known){key, parent, node};
        return node;
    }
    node = stack_tree_search(parent, frame->pc, frame->module, is_exact);
    if (node != LOG_NODE_NONE && node != parent + 1 && key != 0) {
        pair[1] = pair[0];
        pair[0] = (struct unwind_known){key, parent, node};
    }
    return node;
}

/* Most nodes directly follow their parents; these never displace the others, in pair[0]. */
static inline uint32_t child_of(struct unwind_state *state, const struct unwind_frame *frame,
                                uint32_t parent)
{
    uint64_t key = known_key(frame);
    struct unwind_known *pair = known_pair(state, frame);

    if (pair[0].key == key && pair[0].parent == parent)
        return pair[0].node;
    if (pair[1].key == key && pair[1].parent == parent)
        return pair[1].node;
    return child_in_tree(frame, parent, key, pair);
}

static inline void intern(struct unwind_state *state, struct unwind_frame *frame, uint32_t parent)
{
    uint32_t node = child_of(state, frame, parent);

    /* no space: use the caller's node */
    frame->node = mtrace_likely(node != LOG_NODE_NONE) ? node : parent;
}

/* Stores the words that the frame found its caller from, after those of the frames outside it. */
static inline void remember_words(const struct unwind_record *record, struct unwind_frame *slot)
{
    const struct unwind_frame *outer = slot - 1;
    struct unwind_word *word = record->words + outer->n_words;
    const uintptr_t *ra = (const uintptr_t *)(outer->sp + unwind_frame_ra(slot));

    if (mtrace_unlikely(outer->n_words == 0 || slot->link <= LINK_FULL
                        || slot >= record->frames + UNWIND_WORD_FRAMES))
        return;
    *word++ = (struct unwind_word){ra, ARCH_HAS_FIXED_RA ? outer->pc : *ra}; /* it may be signed */
    if (slot->link != LINK_FP_KEPT && outer->flags & FRAME_READS_FP)
        *word++ =
            (struct unwind_word){(const uintptr_t *)unwind_at(outer->sp, slot->link), outer->fp};
    slot->n_words = (uint16_t)(word - record->words);
}

/* FRAME_READS_FP if its frame pointer matters further out (UF-4). */
static inline uint16_t inherited_flags(const struct unwind_frame *slot)
{
    if (mtrace_unlikely(slot->link <= LINK_FULL))
        return FRAME_READS_FP;
    return slot->link == LINK_FP_KEPT ? (slot - 1)->flags & FRAME_READS_FP : 0;
}

/* The outermost frame: words cannot verify that it has no caller. */
static inline void link_to_none(const struct unwind_record *record, struct unwind_frame *slot)
{
    slot->flags |= FRAME_READS_FP;
    slot->n_words = record->words != NULL;
    if (record->words != NULL)
        record->words[0] = (struct unwind_word){(const uintptr_t *)&record->words[0].at, 0};
}

/*
 * Writes a new frame into the next slot. Not copied as a whole: its last stores were narrower, and
 * wider loads would wait for them.
 */
MTRACE_INLINE uint32_t place(struct unwind_state *state, const struct unwind_frame *found,
                             uint32_t parent)
{
    struct unwind_record *record = state->record;
    struct unwind_frame *slot = &record->frames[record->n_frames++];

    slot->pc = found->pc;
    slot->sp = found->sp;
    slot->fp = found->fp;
    slot->module = found->module;
    slot->link = found->link;
    slot->flags = found->flags;
    slot->n_words = 0;
    if (!ARCH_HAS_FIXED_RA)
        slot->ra = found->ra;
    if (mtrace_likely(record->n_frames > 1))
        slot->flags |= inherited_flags(slot);
    else
        link_to_none(record, slot);
    intern(state, slot, parent);
    return slot->node;
}

static MTRACE_NOINLINE void move_below_root(struct unwind_state *state, uint32_t root)
{
    struct unwind_record *record = state->record;
    uint32_t parent = root;

    for (size_t i = 0; i < record->n_frames; i++) {
        intern(state, &record->frames[i], parent);
        parent = record->frames[i].node;
    }
    record->root = root;
}

/* On a stack with unknown bounds, frames after a guess are found again each time (US-3). */
static void distrust_behind_guess(struct unwind_state *state)
{
    const struct unwind_memory *memory = state->memory;
    struct unwind_fresh *fresh = &state->fresh;
    bool is_guessed = false;

    for (size_t i = 0; i < fresh->n_frames; i++) {
        struct unwind_frame *frame = &fresh->frames[i];
        bool is_own = frame->sp >= memory->stack_low && frame->sp < memory->stack_high;
        is_guessed |= (frame->flags & FRAME_GUESSED) != 0;
        if (is_guessed && !is_own && frame->link != LINK_FULL)
            frame->link = LINK_STEP;
    }
}

/* Marks each fresh frame whose step, or that of one outside it, was guessed. */
static bool taint_fresh(struct unwind_fresh *fresh, bool is_tainted)
{
    for (size_t i = fresh->n_frames; i-- > 0;) {
        struct unwind_frame *frame = &fresh->frames[i];
        is_tainted |= (frame->flags & FRAME_GUESSED) != 0;
        if (mtrace_unlikely(is_tainted != ((frame->flags & FRAME_TAINTED) != 0)))
            frame->flags ^= FRAME_TAINTED;
    }
    return is_tainted;
}

/* Interns the fresh frames below the verified frames of the record. */
static bool place_fresh(struct unwind_state *state)
{
    struct unwind_record *record = state->record;
    struct unwind_fresh *fresh = &state->fresh;
    size_t n_kept = record->n_frames;
    bool is_tainted = false;
    uint32_t root;
    uint32_t node;

    if (!unwind_record_reserve(record, n_kept + fresh->n_frames))
        return false;
    /* otherwise no frame walked or reached is tainted */
    if (mtrace_unlikely(!state->walk.is_trusted)) {
        distrust_behind_guess(state);
        is_tainted =
            taint_fresh(fresh, n_kept > 0 && record->frames[n_kept - 1].flags & FRAME_TAINTED);
    }
    root = wanted_root(record, is_tainted);
    if (root != record->root && n_kept > 0)
        move_below_root(state, root);
    record->root = root;
    node = n_kept > 0 ? record->frames[n_kept - 1].node : root;
    for (size_t i = fresh->n_frames; i-- > 0;) {
        /* No words for the innermost frame: it differs at most calls. */
        if (record->n_frames > 1)
            remember_words(record, &record->frames[record->n_frames - 1]);
        node = place(state, &fresh->frames[i], node);
    }
    return true;
}

/*
 * With a depth limit, for a stack that became deeper than it over several captures: the node of the
 * innermost frames, below TRUNCATED. Frames further out are remembered, but not verified.
 */
static MTRACE_NOINLINE uint32_t cut(struct unwind_state *state)
{
    const struct unwind_record *record = state->record;
    uint32_t whole = record->frames[record->n_frames - 1].node;
    struct unwind_window *window = &state->windows[whole % UNWIND_WINDOWS];
    uint32_t node = LOG_NODE_TRUNCATED;

    if (window->node == whole)
        return window->cut_node;
    for (size_t i = record->n_frames - state->n_wanted; i < record->n_frames; i++) {
        struct unwind_frame frame = record->frames[i];
        intern(state, &frame, node);
        node = frame.node;
    }
    *window = (struct unwind_window){whole, node};
    return node;
}

static inline uint32_t result(struct unwind_state *state)
{
    struct unwind_record *record = state->record;
    const struct unwind_frame *top = &record->frames[record->n_frames - 1];
    uint32_t root = wanted_root(record, (top->flags & FRAME_TAINTED) != 0);

    if (mtrace_unlikely(root != record->root))
        move_below_root(state, root);
    if (mtrace_unlikely(record->n_frames > state->n_wanted))
        return cut(state);
    return top->node;
}

/* ---- the walk ---- */

/* Removes frames inside the stack pointer, which have returned. */
static inline void drop_inner(struct unwind_record *record, uintptr_t sp)
{
    size_t n = record->n_frames;

    while (n > 0 && record->frames[n - 1].sp < sp)
        n--;
    record->n_frames = n;
}

/* No memory for frames: this stack consists of its innermost frame and is not remembered. */
static MTRACE_COLD uint32_t give_up(struct unwind_state *state)
{
    struct unwind_frame frame = {.pc = state->origin.pc};
    struct module module;

    state->record->n_frames = 0;
    modules_find(frame.pc - 1, &module);
    frame.module = module.id;
    intern(state, &frame, LOG_NODE_TRUNCATED);
    return frame.node;
}

/* Remembers where the stack of this capture begins, for the next choice of a record. */
static void note_segment(struct unwind_state *state, bool is_whole_new)
{
    struct unwind_record *record = state->record;
    const struct unwind_walk *walk = &state->walk;

    if (is_whole_new)
        record->anchor = walk->n_jumps > 0 ? walk->first_segment_sp : record->frames[0].sp;
    if (walk->n_jumps == 0 && walk->is_trusted && !walk->has_gap)
        record->proven_high = walk->high;
}

static uint32_t finish(struct unwind_state *state)
{
    bool is_whole_new = state->record->n_frames == 0;

    if (is_whole_new)
        state->record->is_truncated = state->walk.is_truncated;
    if (!place_fresh(state))
        return give_up(state);
    note_segment(state, is_whole_new);
    return result(state);
}

static void full_walk(void *state)
{
    unwind_full_walk(state);
}

/* Not inlined: its frame is where the interpreter begins, and it must outlive the walk. */
static MTRACE_COLD uint32_t capture_full(struct unwind_state *state)
{
    arch_capture(&state->registers);
    unwind_stack_run(state, full_walk);
    state->record->n_frames = 0;
    return finish(state);
}

/* Verified frames [i, n) get another caller, so they will be placed again. */
static bool take_back(struct unwind_state *state, size_t i)
{
    struct unwind_record *record = state->record;

    for (size_t k = record->n_frames; k-- > i;)
        if (!unwind_fresh_push(&state->fresh, &record->frames[k]))
            return false;
    record->n_frames = i;
    return true;
}

/*
 * Tries to end the walk with remembered frames. VERDICT_DIFFERS: continue from the current frame,
 * which is not in the record.
 */
static inline enum unwind_verdict join(struct unwind_state *state)
{
    struct unwind_record *record = state->record;
    const struct unwind_frame *at = &state->fresh.frames[state->fresh.n_frames];
    enum unwind_verdict verdict;
    size_t i;

    drop_inner(record, at->sp);
    if (record->n_frames == 0 || !unwind_is_same_frame(&record->frames[record->n_frames - 1], at)
        || mtrace_unlikely(!state->walk.is_trusted && !state->walk.is_own_stack)) /* US-3 */
        return VERDICT_DIFFERS;
    i = record->n_frames - 1;
    if (record->frames[i].flags & FRAME_TAINTED)
        state->walk.is_trusted = false;
    verdict = unwind_verify(state, record->frames, &i);
    if (mtrace_likely(verdict != VERDICT_DIFFERS))
        return verdict;
    unwind_verify_find_fp(record->frames, record->n_frames - 1, i);
    if (!take_back(state, i))
        return VERDICT_FULL; /* without memory the walk also ends there */
    state->fresh.n_frames--;
    return VERDICT_DIFFERS;
}

/* Steps to the caller; the current frame becomes fresh. */
static inline enum unwind_step step_on(struct unwind_state *state)
{
    struct unwind_walk *walk = &state->walk;
    struct unwind_frame *at;

    if (!unwind_fresh_reserve(&state->fresh))
        return STEP_FULL;
    at = &state->fresh.frames[state->fresh.n_frames++];
    if (mtrace_unlikely(at->sp < walk->low || at->sp >= walk->high))
        unwind_enter_segment(state, at->sp);
    __builtin_prefetch(known_pair(state, at));
    return unwind_step_compact(state, at, at + 1);
}

/* Walks outwards from the current frame to the first one from which the record is verified. */
static MTRACE_NOINLINE uint32_t walk_on(struct unwind_state *state)
{
    state->walk.has_gap = false;
    state->walk.proven_page = 0;
    for (;;) {
        enum unwind_verdict verdict = join(state);
        enum unwind_step step;

        if (verdict == VERDICT_WHOLE)
            return finish(state);
        step = verdict == VERDICT_FULL ? STEP_FULL : step_on(state);
        if (step == STEP_FULL)
            return capture_full(state);
        if (mtrace_unlikely(step != STEP_CALLER || state->fresh.n_frames >= state->n_wanted)) {
            state->walk.is_truncated = step != STEP_END;
            state->record->n_frames = 0;
            return finish(state);
        }
    }
}

/* ---- the most common stacks ----
 * A wrong guess here costs only that another walk finds the frames again. */

/* All remembered frames except the innermost n_left are verified, and none is guessed. */
MTRACE_INLINE bool is_proven(struct unwind_state *state, size_t innermost)
{
    struct unwind_record *record = state->record;
    size_t i = innermost;

    if (mtrace_unlikely(record->frames[i].flags & FRAME_TAINTED))
        return false;
    return unwind_verify(state, record->frames, &i) == VERDICT_WHOLE;
}

/* The same call of the same function. */
static inline bool is_as_before(struct unwind_state *state, const struct unwind_origin *origin)
{
    struct unwind_record *record = state->record;
    struct unwind_frame *frame;

    drop_inner(record, origin->cfa);
    if (mtrace_unlikely(record->n_frames == 0))
        return false;
    frame = &record->frames[record->n_frames - 1];
    if (frame->pc != origin->pc || frame->sp != origin->cfa || frame->flags & FRAME_EXACT)
        return false;
    if (frame->fp != origin->fp) {
        if (frame->flags & FRAME_READS_FP)
            return false;
        frame->fp = origin->fp;
    }
    return is_proven(state, record->n_frames - 1);
}

/* The return address of a frame, where it may be outside the bounds; false if it is. */
static inline bool find_pc(const struct unwind_walk *walk, const struct unwind_rule *rule,
                           uintptr_t cfa, uintptr_t *pc)
{
    uintptr_t address = unwind_at(cfa, unwind_rule_ra(rule));

    if (!ARCH_HAS_FIXED_RA && (address < walk->low || address > walk->high - sizeof(uintptr_t)))
        return false;
    *pc = arch_code_address(*(const uintptr_t *)address);
    return true;
}

/* The frame pointer of the caller of `frame`; false if its word may be unreadable. */
static inline bool find_fp(const struct unwind_walk *walk, const struct unwind_rule *rule,
                           uintptr_t cfa, uintptr_t *fp)
{
    uintptr_t address = unwind_at(cfa, unwind_rule_fp(rule));

    if (rule->fp_kind == UNWIND_FP_KEPT)
        return true;
    if (address < walk->low || address > walk->high - sizeof(uintptr_t))
        return false;
    *fp = *(const uintptr_t *)address;
    return true;
}

/* The first step, if the frame has an ordinary rule; false: it has not, nothing is changed. */
static inline bool first_step(struct unwind_state *state, struct unwind_frame *frame,
                              struct unwind_frame *caller)
{
    struct unwind_rule rule;
    uintptr_t cfa;

    if (!unwind_cache_find(frame->pc - 1, state->epoch, &rule) || rule.kind > UNWIND_RULE_FP
        || rule.fp_kind == UNWIND_FP_AT_FP)
        return false;
    cfa = unwind_at(rule.kind == UNWIND_RULE_SP ? frame->sp : frame->fp, rule.cfa_offset);
    caller->fp = frame->fp;
    if (cfa < frame->sp + sizeof(uintptr_t) || cfa > state->walk.high
        || !find_fp(&state->walk, &rule, cfa, &caller->fp)
        || !find_pc(&state->walk, &rule, cfa, &caller->pc))
        return false;
    caller->sp = cfa;
    caller->flags = 0;
    unwind_set_link(frame, &rule);
    frame->module = rule.module;
    return caller->pc != 0;
}

/*
 * Another call of the same function, or of one that the same caller has called since. If neither,
 * the walk continues from the frame's caller.
 */
static inline bool is_sibling(struct unwind_state *state)
{
    struct unwind_record *record = state->record;
    struct unwind_frame *frame = &state->fresh.frames[0];
    struct unwind_frame *remembered;

    if (!first_step(state, frame, frame + 1))
        return false;
    state->fresh.n_frames = 1;
    drop_inner(record, frame[1].sp);
    if (record->n_frames == 0 || record->n_frames == record->capacity
        || record->root != LOG_NODE_COMPLETE)
        return false;
    remembered = &record->frames[record->n_frames - 1];
    if (!unwind_is_same_frame(remembered, frame + 1) || !is_proven(state, record->n_frames - 1))
        return false;
    if (mtrace_unlikely(remembered->n_words == 0) && record->n_frames > 1)
        remember_words(record, remembered);
    place(state, frame, remembered->node);
    return true;
}

/* ---- which record ---- */

/* OS-3: parts of other stacks may be unreadable now. */
static void forget_other_stacks(struct unwind_state *state, uint32_t generation)
{
    for (unsigned i = 1; i < UNWIND_RECORDS; i++)
        unwind_record_reset(&state->records[i]);
    state->generation = generation;
}

/* Of the stacks that are not the thread's own: the one that begins closest above sp. */
static MTRACE_NOINLINE struct unwind_record *choose_record(struct unwind_state *state, uintptr_t sp)
{
    struct unwind_record *nearest = NULL;
    struct unwind_record *oldest = &state->records[1];
    uint32_t generation = own_stacks_generation();

    if (mtrace_unlikely(state->generation != generation))
        forget_other_stacks(state, generation);

    for (struct unwind_record *record = &state->records[1];
         record < &state->records[UNWIND_RECORDS]; record++) {
        if (record->anchor >= sp && record->anchor - sp < NEARBY_STACK_BYTES
            && (nearest == NULL || record->anchor < nearest->anchor))
            nearest = record;
        if (record->last_used < oldest->last_used)
            oldest = record;
    }
    if (nearest == NULL) {
        nearest = oldest;
        nearest->proven_high = 0;
    }
    nearest->last_used = ++state->clock;
    return nearest;
}

/* Chooses the record and the bounds of the segment that contains sp; sp itself is certainly
 * readable. */
static inline void begin(struct unwind_state *state, uintptr_t sp)
{
    const struct unwind_memory *memory = state->memory;
    struct unwind_walk *walk = &state->walk;

    walk->low = sp;
    walk->n_jumps = 0;
    walk->is_trusted = true;
    walk->is_own_stack = sp >= memory->stack_low && sp < memory->stack_high;
    state->fresh.n_frames = 0;
    if (mtrace_likely(walk->is_own_stack)) {
        state->record = &state->records[0];
        walk->high = memory->stack_high;
    } else {
        state->record = choose_record(state, sp);
        walk->high = (sp | 4095) + 1;
        if (walk->high < state->record->proven_high)
            walk->high = state->record->proven_high;
    }
    state->last_record = state->record;
}

/* ---- the interface ---- */

void unwind_init(const struct unwind_settings *settings)
{
    g_settings = *settings;
    unwind_cache_init();
    unwind_state_init();
    own_stacks_forget_others();
}

/* The thread's state, made or emptied as needed; NULL without memory. */
static MTRACE_COLD struct unwind_state *prepare(struct unwind_memory *memory, uint32_t epoch)
{
    struct unwind_state *state = memory->state;

    if (state == NULL)
        state = unwind_state_new(memory);
    if (state == NULL || !unwind_fresh_reserve(&state->fresh))
        return NULL;
    state->n_wanted = g_settings.max_depth != 0 ? g_settings.max_depth : SIZE_MAX;
    state->records[0].words = state->words;
    state->stack_end = own_stacks_refresh(memory);
    unwind_state_reset(state, epoch);
    return state;
}

/* Costs about 10 ns and 0.5 ns per frame while the stack is unchanged or has a sibling as its
 * innermost frame, and 10 ns more per new frame. */
uint32_t unwind_capture(struct unwind_memory *memory, const struct unwind_origin *origin)
{
    struct unwind_state *state = memory->state;
    uint32_t epoch = modules_epoch();
    struct unwind_frame *innermost;

    unwind_cache_prefetch(origin->pc - 1);
    if (mtrace_unlikely(state == NULL || state->epoch != epoch)) {
        state = prepare(memory, epoch);
        if (state == NULL)
            return LOG_NODE_NONE;
    }
    begin(state, origin->cfa);
    innermost = &state->fresh.frames[0];
    innermost->pc = origin->pc;
    innermost->sp = origin->cfa;
    innermost->fp = origin->fp;
    innermost->flags = 0;
    __builtin_prefetch(known_pair(state, innermost));
    if (is_as_before(state, origin))
        return result(state);
    if (mtrace_likely(is_sibling(state)))
        return result(state);
    state->origin = *origin;
    return walk_on(state);
}

void unwind_memory_done(struct unwind_memory *memory)
{
    if (memory->state != NULL)
        unwind_state_free(memory->state);
    memory->state = NULL;
}

void unwind_memory_distrust(struct unwind_memory *memory)
{
    if (memory->state != NULL)
        unwind_state_distrust(memory->state);
}

void unwind_memory_forget(struct unwind_memory *memory)
{
    memory->state = NULL;
}
