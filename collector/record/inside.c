/* SPDX-License-Identifier: MIT */
#include "collector/record/inside.h"

#include "collector/platform/clock.h"
#include "collector/platform/code_patch.h"
#include "collector/platform/sys.h"
#include "collector/record/record.h"
#include "collector/record/reentry.h"
#include "collector/record/state.h"
#include "common/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/single_threaded.h>

enum {
    MOST_ENTRIES = 128, /* as in recorder/entry_plan.h */
    MOST_ARGUMENTS = 5,
    NO_ARGUMENT = 255,
    PAGE_BYTES = 4096,
    ALIGNMENT_BITS = 63, /* of jemalloc's flags */
};

typedef uintptr_t word;

/* What the stubs hand over; see the shapes of recorder/entry_names.h. */
struct entry {
    word (*original)(word, word, word, word, word);
    size_t (*usable)(const void *block, int flags); /* NULL: not known */
    uint8_t size, times, alignment, flags, block, store;
    uint8_t call; /* enum log_call */
};

static struct entry g_entries[MOST_ENTRIES];      /* constant once redirected */
static struct code_patch g_patches[MOST_ENTRIES]; /* touched only where there is a plan */
static enum log_inside g_state;

/* The block that an entry recorded last: of an operator new that calls another entry for it. */
static _Thread_local const void *g_last_made __attribute__((tls_model("initial-exec")));

/* ---- what the program calls ------------------------------------------------------------------- */

static size_t size_of(const struct entry *entry, const word *arguments)
{
    size_t size = arguments[entry->size];

    if (entry->times != NO_ARGUMENT && __builtin_mul_overflow(arguments[entry->times], size, &size))
        size = SIZE_MAX;
    return size;
}

/* 0: the allocator's own. */
static size_t alignment_of(const struct entry *entry, const word *arguments)
{
    size_t alignment = 0;

    if (entry->flags != NO_ARGUMENT)
        return arguments[entry->flags] & ALIGNMENT_BITS
                   ? (size_t)1 << (arguments[entry->flags] & ALIGNMENT_BITS)
                   : 0;
    if (entry->alignment != NO_ARGUMENT)
        alignment = arguments[entry->alignment];
    else if (entry->call == LOG_CALL_VALLOC || entry->call == LOG_CALL_PVALLOC)
        return PAGE_BYTES;
    return alignment & (alignment - 1) ? 0 : alignment;
}

static size_t usable_of(const struct entry *entry, const void *block)
{
    return entry->usable && block ? entry->usable(block, 0) : 0;
}

static void record_made(const void *block, size_t size, size_t usable, const struct entry *entry,
                        size_t alignment, const struct unwind_origin *origin)
{
    g_last_made = block;
    if (mtrace_unlikely(block && state_config()->zeroes_memory))
        memset((void *)(uintptr_t)block, 0, size);
    if (mtrace_likely(block != NULL))
        record_alloc_known(block, size, usable, entry->call, alignment, origin);
    else
        record_failure(NULL, size, entry->call, errno, origin);
}

/* malloc(size), by far the most frequent one. */
static void *make_plain(size_t size, word b, word c, word d, word e, const struct entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    bool has_entered = reentry_enter();
    void *block = (void *)entry->original(size, b, c, d, e);
    size_t usable = has_entered ? usable_of(entry, block) : 0;

    reentry_leave(has_entered);
    if (has_entered)
        record_made(block, size, usable, entry, 0, &origin);
    return block;
}

static void *make(word a, word b, word c, word d, word e, const struct entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    bool has_entered = reentry_enter();
    void *block = (void *)entry->original(a, b, c, d, e);
    size_t usable = has_entered ? usable_of(entry, block) : 0;

    reentry_leave(has_entered);
    if (has_entered)
        record_made(block, entry->size == NO_ARGUMENT ? usable : size_of(entry, arguments), usable,
                    entry, alignment_of(entry, arguments), &origin);
    return block;
}

/* An operator new may throw, and run a handler of the program, through us: no guard is put up. */
static void *make_or_throw(word a, word b, word c, word d, word e, const struct entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    bool is_nested = reentry_is_inside();
    void *block;

    g_last_made = NULL;
    block = (void *)entry->original(a, b, c, d, e);
    if (!is_nested && (!block || g_last_made != block)) {
        bool has_entered = reentry_enter();
        size_t usable = usable_of(entry, block);
        reentry_leave(has_entered);
        record_made(block, size_of(entry, arguments), usable, entry, alignment_of(entry, arguments),
                    &origin);
    }
    return block;
}

static int make_and_store(word a, word b, word c, word d, word e, const struct entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    bool has_entered = reentry_enter();
    int error = (int)entry->original(a, b, c, d, e);
    void *block = error == 0 ? *(void **)arguments[entry->store] : NULL;
    size_t usable = has_entered ? usable_of(entry, block) : 0;

    reentry_leave(has_entered);
    if (!has_entered)
        return error;
    if (error != 0)
        record_failure(NULL, size_of(entry, arguments), entry->call, error, &origin);
    else if (block)
        record_made(block, size_of(entry, arguments), usable, entry, alignment_of(entry, arguments),
                    &origin);
    return error;
}

static word give_back(word a, word b, word c, word d, word e, const struct entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    bool has_entered;
    word result;

    if (a && !reentry_is_inside())
        record_free((const void *)a, &origin);
    has_entered = reentry_enter();
    result = entry->original(a, b, c, d, e);
    reentry_leave(has_entered);
    return result;
}

/* Only the result tells what size 0 means to this allocator: a block, or NULL and the old one is gone. */
static void *replace(word a, word b, word c, word d, word e, const struct entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    const void *old = (const void *)arguments[entry->block];
    size_t size = size_of(entry, arguments);
    uint64_t began_ticks = state_is_recording() ? clock_ticks_before() : 0;
    bool has_entered = reentry_enter();
    void *block = (void *)entry->original(a, b, c, d, e);
    size_t usable = has_entered ? usable_of(entry, block) : 0;

    reentry_leave(has_entered);
    if (!has_entered)
        return block;
    if (block && old)
        record_realloc_known(block, old, size, usable, entry->call, began_ticks, &origin);
    else if (block)
        record_made(block, size, usable, entry, alignment_of(entry, arguments), &origin);
    else if (size != 0 || !old)
        record_failure(old, size, entry->call, errno, &origin);
    else
        record_free(old, &origin);
    return block;
}

/* xallocx: the result is what the block can hold now, which may be what it could before. */
static size_t resize(word a, word b, word c, word d, word e, const struct entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    const void *block = (const void *)arguments[entry->block];
    size_t size = size_of(entry, arguments);
    uint64_t began_ticks = state_is_recording() ? clock_ticks_before() : 0;
    bool has_entered = reentry_enter();
    size_t before = has_entered ? usable_of(entry, block) : 0;
    size_t now = entry->original(a, b, c, d, e);

    reentry_leave(has_entered);
    if (has_entered && now >= size && now != before)
        record_realloc_known(block, block, size, now, entry->call, began_ticks, &origin);
    return now;
}

/* ---- the plan ---------------------------------------------------------------------------------- */

struct reader {
    const char *at;
    const char *end;
    bool is_bad;
};

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static uint64_t read_number(struct reader *reader)
{
    const char *begin = reader->at;
    uint64_t value = 0;

    while (reader->at < reader->end && digit_of(*reader->at) >= 0 && reader->at - begin < 16)
        value = value << 4 | (unsigned)digit_of(*reader->at++);
    reader->is_bad |= reader->at == begin;
    return value;
}

static bool is_next(struct reader *reader, char c)
{
    if (reader->at == reader->end || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

static void skip(struct reader *reader, char c)
{
    if (!is_next(reader, c))
        reader->is_bad = true;
}

static uint8_t read_bytes(struct reader *reader, uint8_t *ret_bytes, size_t most)
{
    size_t n = 0;

    for (; reader->end - reader->at >= 2 && digit_of(*reader->at) >= 0; reader->at += 2) {
        int low = digit_of(reader->at[1]);
        if (n == most || low < 0) {
            reader->is_bad = true;
            break;
        }
        ret_bytes[n++] = (uint8_t)(digit_of(*reader->at) << 4 | low);
    }
    return (uint8_t)n;
}

/* Arguments in order, up to the comma. */
static void read_shape(struct reader *reader, struct entry *entry)
{
    uint8_t ignored;

    for (uint8_t i = 0; reader->at < reader->end && *reader->at != ','; i++) {
        char letter = *reader->at++;
        uint8_t *argument = letter == 's'   ? &entry->size
                            : letter == 'n' ? &entry->times
                            : letter == 'a' ? &entry->alignment
                            : letter == 'f' ? &entry->flags
                            : letter == 'p' ? &entry->block
                            : letter == 'r' ? &entry->store
                                            : &ignored;
        reader->is_bad |= i >= MOST_ARGUMENTS || (argument == &ignored && letter != '-');
        *argument = i;
    }
}

static void read_fixes(struct reader *reader, uintptr_t base, struct code_patch *patch)
{
    while (is_next(reader, ',')) {
        uint64_t at = read_number(reader);
        uint64_t end = (skip(reader, '.'), read_number(reader));
        uint64_t target = (skip(reader, '.'), read_number(reader));
        if (patch->n_fixes == CODE_PATCH_MAX_FIXES || end > patch->n_moved || at + 4 > end) {
            reader->is_bad = true;
            return;
        }
        patch->fixes[patch->n_fixes].at = (uint8_t)at;
        patch->fixes[patch->n_fixes].end = (uint8_t)end;
        patch->fixes[patch->n_fixes++].target = base + target;
    }
}

static uintptr_t hook_of(char kind, const struct entry *entry)
{
    bool is_plain = entry->size == 0 && entry->times == NO_ARGUMENT
                    && entry->alignment == NO_ARGUMENT && entry->flags == NO_ARGUMENT
                    && entry->call == LOG_CALL_MALLOC;

    switch (kind) {
    case '+':
        return entry->call == LOG_CALL_NEW ? (uintptr_t)make_or_throw
               : is_plain                  ? (uintptr_t)make_plain
                                           : (uintptr_t)make;
    case '@':
        return entry->store != NO_ARGUMENT && entry->size != NO_ARGUMENT ? (uintptr_t)make_and_store
                                                                         : 0;
    case '-':
        return entry->block == 0 ? (uintptr_t)give_back : 0;
    case '=':
        return entry->block != NO_ARGUMENT && entry->size != NO_ARGUMENT ? (uintptr_t)replace : 0;
    case 'x':
        return entry->block != NO_ARGUMENT && entry->size != NO_ARGUMENT ? (uintptr_t)resize : 0;
    default:
        return 0;
    }
}

static void read_entry(struct reader *reader, uintptr_t base, struct entry *entry,
                       struct code_patch *patch)
{
    char kind = reader->at < reader->end ? *reader->at++ : '\0';

    *entry = (struct entry){NULL,        entry->usable, NO_ARGUMENT,
                            NO_ARGUMENT, NO_ARGUMENT,   NO_ARGUMENT,
                            NO_ARGUMENT, NO_ARGUMENT,   0};
    *patch = (struct code_patch){.argument = (uintptr_t)entry};
    read_shape(reader, entry);
    skip(reader, ',');
    entry->call = (uint8_t)(read_number(reader) & LOG_CALL_MASK);
    skip(reader, ',');
    patch->address = base + read_number(reader);
    skip(reader, ',');
    patch->n_expected = read_bytes(reader, patch->expected, sizeof(patch->expected));
    skip(reader, ',');
    patch->n_moved = read_bytes(reader, patch->moved, sizeof(patch->moved));
    read_fixes(reader, base, patch);
    patch->hook = hook_of(kind, entry);
    reader->is_bad |= !patch->hook || patch->n_expected < ARCH_JUMP_BYTES;
}

/* ";u,0,address": what the entries behind it ask. The first one of an allocator holds; 0 ends it. */
static bool read_usable(struct reader *reader, uintptr_t base, uintptr_t *usable)
{
    uint64_t address;

    if (!is_next(reader, 'u'))
        return false;
    skip(reader, ',');
    (void)read_number(reader);
    skip(reader, ',');
    address = read_number(reader);
    if (address == 0)
        *usable = 0;
    else if (*usable == 0)
        *usable = base + address;
    return true;
}

/* How many entries; 0: the plan makes no sense. */
static size_t read_entries(struct reader *reader, uintptr_t base)
{
    uintptr_t usable = 0;
    size_t n = 0;

    while (!reader->is_bad && is_next(reader, ';')) {
        if (read_usable(reader, base, &usable))
            continue;
        if (n == MOST_ENTRIES)
            return 0;
        g_entries[n].usable = (size_t(*)(const void *, int))usable;
        read_entry(reader, base, &g_entries[n], &g_patches[n]);
        n++;
    }
    return reader->is_bad || reader->at != reader->end ? 0 : n;
}

/* ---- redirecting ------------------------------------------------------------------------------- */

/* Device, inode and size of the file that the plan is about. */
static bool is_about_us(struct reader *reader)
{
    struct sys_file_id own = {0};
    long fd = sys_open("/proc/self/exe", O_PATH, 0);
    bool is_known = fd >= 0 && sys_file_id((int)fd, &own) >= 0;

    if (fd >= 0)
        sys_close((int)fd);
    is_known &= read_number(reader) == own.device;
    skip(reader, ',');
    is_known &= read_number(reader) == own.inode;
    skip(reader, ',');
    is_known &= read_number(reader) == (uint64_t)own.size_bytes;
    skip(reader, ',');
    return is_known && !reader->is_bad;
}

/* The lowest address of the executable. */
static uintptr_t find_start(uintptr_t base)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t n = headers ? getauxval(AT_PHNUM) : 0;
    uintptr_t start = 0;

    for (size_t i = 0; i < n; i++)
        if (headers[i].p_type == PT_LOAD && (start == 0 || base + headers[i].p_vaddr < start))
            start = base + headers[i].p_vaddr;
    return start;
}

static enum log_inside redirect(struct reader *reader)
{
    uintptr_t base = _r_debug.r_map->l_addr;
    enum log_inside state;
    bool is_partial;
    size_t n;

    if (!is_about_us(reader))
        return LOG_INSIDE_NO_PLAN;
    if (!__libc_single_threaded)
        return LOG_INSIDE_THREADS;
    is_partial = read_number(reader) != 0;
    n = read_entries(reader, base);
    if (n == 0)
        return LOG_INSIDE_CHANGED;
    state = code_patch_apply(g_patches, n, find_start(base));
    for (size_t i = 0; state == LOG_INSIDE_RECORDED && i < n; i++)
        g_entries[i].original = (word(*)(word, word, word, word, word))g_patches[i].original;
    return state == LOG_INSIDE_RECORDED && is_partial ? LOG_INSIDE_PARTLY : state;
}

void inside_redirect(const char *plan, size_t n_bytes)
{
    struct reader reader = {plan, plan + n_bytes, false};
    uint64_t mask;

    if (!plan || sys_block_signals(&mask) < 0)
        return;
    g_state = redirect(&reader);
    sys_unblock_signals(mask);
}

enum log_inside inside_state(void)
{
    return g_state;
}
