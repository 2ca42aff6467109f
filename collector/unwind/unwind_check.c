/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_check.h"

#include "collector/log/message.h"
#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/unwind/unwind_state.h"
#include "lib/abi/log_format.h"

static void append_frame(struct fmt *out, const char *who, uintptr_t pc, size_t n_frames)
{
    fmt_string(out, who);
    fmt_string(out, " 0x");
    fmt_hex(out, pc);
    fmt_string(out, " of ");
    fmt_decimal(out, n_frames);
}

static void describe(const struct unwind_frame *top, size_t n_ours, const uintptr_t *pcs,
                     size_t n_theirs, size_t index)
{
    char text[200];
    struct fmt out = FMT_BUFFER(text);

    fmt_string(&out, "at frame ");
    fmt_decimal(&out, index);
    append_frame(&out, ": ours", index < n_ours ? (top - index)->pc : 0, n_ours);
    append_frame(&out, ", libunwind's", index < n_theirs ? pcs[index] : 0, n_theirs);
    if (index > 0)
        append_frame(&out, ", inside it", (top - index + 1)->pc, n_ours);
    message(CONFIG_LEVEL_WARN, "a stack differs from libunwind's ", text, 0);
}

/* libgcc's unwinder (MIPS) ends at a frame that we found by instructions; the frames up to there
 * can be compared. On ARM libunwind guesses there, so such stacks are not compared. */
static bool is_comparable(uint32_t root)
{
    return root == LOG_NODE_COMPLETE
           || (ARCH_HAS_CODE_FRAMES && !ARCH_HAS_EXIDX && root == LOG_NODE_GUESSED);
}

void unwind_check(const struct unwind_memory *memory, const uintptr_t *pcs, const bool *is_exact,
                  size_t n_frames)
{
    struct log_file *log = segment_log();
    size_t n_ours;
    const struct unwind_frame *frames = unwind_last_frames(memory, &n_ours);
    const struct unwind_frame *top = frames + n_ours - 1;
    size_t index = 0;

    if (log == NULL || n_ours == 0 || !is_comparable(unwind_last_root(memory)))
        return;
    if (unwind_last_root(memory) != LOG_NODE_COMPLETE && n_ours > n_frames)
        n_ours = n_frames;
    atomic_fetch_add_explicit(&log->unwind_checked, 1, memory_order_relaxed);
    while (index < n_ours && index < n_frames && (top - index)->pc == pcs[index]
           && ((top - index)->flags & FRAME_EXACT) == (is_exact[index] ? FRAME_EXACT : 0))
        index++;
    if (index == n_ours && index == n_frames)
        return;
    atomic_fetch_add_explicit(&log->unwind_mismatches, 1, memory_order_relaxed);
    describe(top, n_ours, pcs, n_frames, index);
}
