/* SPDX-License-Identifier: MIT */
/*
 * mtrace.h: a program reports to mtrace for which purpose it allocates memory, and when.
 *
 * Include it and link nothing. In a recorded program libmtrace.so exports one table of functions.
 * In any other program every call is a load and a branch that is never taken, and returns the value
 * given below as "absent:". Each executable and library that includes this file looks for the table
 * once, before its own constructors; earlier calls find it absent. docs/api.md has examples.
 *
 * Threads: all calls may be made in any thread. Signals: handlers may call mtrace_enter, _exit,
 * _current_group, _marker and the macros based on them. A scope left by longjmp or an exception
 * ends with the next exit of an outer scope.
 *
 * Failure: nothing aborts, and errno keeps its value. Failed calls are counted: mtrace_counters.
 *
 * Versions: within a version a program works with any later collector. An older collector has a
 * shorter table, and counts as absent. Structures passed by value, mtrace_tag and mtrace_root never
 * change (one executable may contain roots of several versions of this header, in one section).
 * Other structures may get members at their ends. So the program passes the size that it knows,
 * except for mtrace_event, of which the collector never knows less. Any other change raises the
 * version and changes the name of the table: programs of another version find it absent.
 */
#ifndef MTRACE_H
#define MTRACE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MTRACE_API_VERSION = 2
};

/* ---- groups: what memory is charged to ---- */

enum {
    MTRACE_GROUP_UNTRACKED = 0, /* charged to no group */
    MTRACE_GROUP_ROOT = 1       /* outside of any scope; groups of the program begin at 2 */
};

/* Strings with their NUL; copied. */
struct mtrace_tag {
    const char *key, *value;
};

/* Result of an enter, for its exit. Its members are private. */
struct mtrace_scope {
    uint32_t group, depth;
    uint64_t owner;
};

struct mtrace_context {
    uint32_t group;
    uint64_t parent; /* the innermost scope it was captured in, as mtrace_scope.owner; 0: none */
};

/* Failures of this process so far. */
struct mtrace_counts {
    uint64_t dropped;     /* events that are missing in the recording */
    uint64_t stale_exits; /* scopes that have ended, belong to another thread, or are no phases */
    uint64_t bad_handles; /* ids of groups and pools that no call returned, tags that are NULL */
    uint64_t refused_groups; /* groups without memory for them; they are MTRACE_GROUP_ROOT */
    uint64_t groups;         /* registered and interned */
    uint64_t
        unreported; /* frees and moves of blocks, or all events of a block, that no tracker got */
};

enum mtrace_event_kind {
    MTRACE_EVENT_ALLOC = 1,
    MTRACE_EVENT_FREE = 2,
    MTRACE_EVENT_RESIZE = 4,
    MTRACE_EVENT_MOVE = 8 /* by mtrace_move, to another group; earlier collectors report none */
};

/* An event for a tracker. Threads have the numbers of the recording's threads. Equal stacks have
 * equal numbers, which are not those of the database. 0: not known. For MOVE the thread is the
 * moving one, in whichever group it is, and stack_id is 0 because no stack is taken. */
struct mtrace_event {
    enum mtrace_event_kind kind;
    uint32_t group;         /* group of the block; RESIZE, MOVE: its group so far */
    uint32_t current_group; /* of this thread; RESIZE, MOVE: new group of the block */
    uint32_t thread_id, alloc_thread_id;
    uint32_t stack_id, alloc_stack_id;
    const void *address,
        *old_address;                /* RESIZE: both, perhaps the same; else old_address is NULL */
    size_t size_bytes, usable_bytes; /* as requested, as the allocator gave; usable 0: not known */
    size_t old_size_bytes, old_usable_bytes; /* RESIZE; else 0 */
    uint64_t time_ns;                        /* since the recording began */
};

struct mtrace_objects_api;

/* The table that libmtrace.so exports. Later versions have more members at its end. */
struct mtrace_api {
    uint32_t version;    /* MTRACE_API_VERSION of the collector */
    uint32_t size_bytes; /* of its table */
    bool (*present)(void);
    uint32_t (*group_register)(const char *name, const struct mtrace_tag *tags, size_t n_tags);
    uint32_t (*group_intern)(const char *name, const struct mtrace_tag *tags, size_t n_tags);
    struct mtrace_scope (*enter)(uint32_t group);
    void (*exit)(struct mtrace_scope scope);
    uint32_t (*current_group)(void);
    bool (*move)(void *block, uint32_t group);
    struct mtrace_context (*context_capture)(void);
    struct mtrace_scope (*context_adopt)(struct mtrace_context context);
    void (*inherit_groups)(bool on);
    void (*tracking)(bool on);
    bool (*is_tracking)(void);
    void (*marker)(const char *text);
    struct mtrace_scope (*phase_begin)(const char *name);
    void (*phase_end)(struct mtrace_scope phase);
    void (*counters)(struct mtrace_counts *ret_counts, size_t size_bytes);
    uint32_t (*pool_create)(const char *name);
    void (*pool_alloc)(uint32_t pool, const void *address, size_t size_bytes);
    void (*pool_resize)(uint32_t pool, const void *old_address, const void *address,
                        size_t size_bytes);
    void (*pool_free)(uint32_t pool, const void *address);
    void (*pool_destroy)(uint32_t pool);
    const struct mtrace_objects_api *objects; /* of mtrace_objects.h */
    uint32_t (*group_of)(const void *block);
    int (*tracker_add)(void (*callback)(const struct mtrace_event *event, void *user), void *user,
                       unsigned kinds);
    int (*tracker_remove)(int handle, bool waits); /* 0, ENOENT; EBUSY: other threads run it */
    int (*report)(const char *request, int fd);
    int (*heap_image)(const char *name);
};

#ifndef MTRACE_TYPES_ONLY /* for the code that provides the table */

/* ---- finding the table ---- */

extern const struct mtrace_api mtrace_api_2 __attribute__((weak));

/*
 * Each executable or library has one of each, even if several of its files include this header. In
 * programs that are not position independent the linker may have resolved the reference to nothing:
 * then the table is looked up by name. Static programs have no table. In position-independent code
 * the loader has bound the reference, so dlsym, which allocates if it fails, is not called.
 */
__attribute__((weak, visibility("hidden"))) const struct mtrace_api *mtrace_found_ = NULL;

static void *mtrace_dlsym_(void *handle, const char *name) __attribute__((weakref("dlsym")));
static char *mtrace_dlerror_(void) __attribute__((weakref("dlerror")));

/* The ELF header of this executable or library, by the linker. Its type is at 16; 3: position
 * independent. */
extern const unsigned char __ehdr_start[] __attribute__((weak, visibility("hidden")));

static inline bool mtrace_is_bound_by_loader_(void)
{
    const unsigned char *volatile header = __ehdr_start;
    return header != NULL && header[16] + header[17] == 3; /* in either byte order */
}

__attribute__((weak, visibility("hidden"), constructor(101))) void mtrace_find_(void);

__attribute__((weak, visibility("hidden"), constructor(101))) void mtrace_find_(void)
{
    const struct mtrace_api *api = &mtrace_api_2;

    if (!api && mtrace_dlsym_ && !mtrace_is_bound_by_loader_()) {
        api = (const struct mtrace_api *)mtrace_dlsym_(NULL, "mtrace_api_2");
        if (!api && mtrace_dlerror_)
            mtrace_dlerror_(); /* a failed lookup must not show up as the program's error */
    }
    if (api && api->version >= MTRACE_API_VERSION && api->size_bytes >= sizeof(*api))
        mtrace_found_ = api;
}

/* Is the program recorded? absent: false; also in a child that is not followed. */
static inline bool mtrace_present(void)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->present() : false;
}

/* Version of the collector. absent: 0 */
static inline unsigned mtrace_api_version(void)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->version : 0;
}

/* ---- groups ---- */

/* Returns a new id each time; ids are never reused. absent, or no memory: MTRACE_GROUP_ROOT.
 * Name and tags may have 8000 bytes together. If they have more, the last tags are dropped, then
 * the name is cut. NULL as a name, key or value means an empty one; NULL as tags means none. */
static inline uint32_t mtrace_group_register(const char *name, const struct mtrace_tag *tags,
                                             size_t n_tags)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->group_register(name, tags, n_tags)
                                            : (uint32_t)MTRACE_GROUP_ROOT;
}

/* Returns the same id for the same name and the same tags in the same order. absent:
 * MTRACE_GROUP_ROOT */
static inline uint32_t mtrace_group_intern(const char *name, const struct mtrace_tag *tags,
                                           size_t n_tags)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->group_intern(name, tags, n_tags)
                                            : (uint32_t)MTRACE_GROUP_ROOT;
}

/* Charges allocations of this thread to the group until the scope ends. Scopes nest; a group
 * may be entered twice. An unknown id counts as MTRACE_GROUP_ROOT. */
static inline struct mtrace_scope mtrace_enter(uint32_t group)
{
    const struct mtrace_api *api = mtrace_found_;
    struct mtrace_scope none = {0, 0, 0};
    return __builtin_expect(api != NULL, 0) ? api->enter(group) : none;
}

/* Restores the group before that enter, even if inner scopes are still open. A scope that has
 * ended, or belongs to another thread, is counted and otherwise ignored. */
static inline void mtrace_exit(struct mtrace_scope scope)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->exit(scope);
}

/* absent: MTRACE_GROUP_ROOT */
static inline uint32_t mtrace_current_group(void)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->current_group() : (uint32_t)MTRACE_GROUP_ROOT;
}

/* Charges the block to the group from now on. true: the move was logged; mtrace-import ignores and
 * counts moves of blocks that are not live. false: absent, no block or group, not recorded, or the
 * log has no room. */
static inline bool mtrace_move(void *block, uint32_t group)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->move(block, group) : false;
}

/* Returns the group of the block. 0: absent, untracked, or not a live block that was allocated
 * after the first call. So call it once at the start, with NULL. From then on each event costs
 * more. */
static inline uint32_t mtrace_group_of(const void *block)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->group_of(block)
                                            : (uint32_t)MTRACE_GROUP_UNTRACKED;
}

/* Captures the current group, to be adopted in another thread, task or callback. */
static inline struct mtrace_context mtrace_context_capture(void)
{
    const struct mtrace_api *api = mtrace_found_;
    struct mtrace_context none = {MTRACE_GROUP_ROOT, 0};
    return __builtin_expect(api != NULL, 0) ? api->context_capture() : none;
}

/* Enters a captured group. End the scope by mtrace_exit, in the same thread. */
static inline struct mtrace_scope mtrace_context_adopt(struct mtrace_context context)
{
    const struct mtrace_api *api = mtrace_found_;
    struct mtrace_scope none = {0, 0, 0};
    return __builtin_expect(api != NULL, 0) ? api->context_adopt(context) : none;
}

/* Threads that pthread_create and thrd_create make from now on begin in their creator's group,
 * not in MTRACE_GROUP_ROOT. */
static inline void mtrace_inherit_groups(bool on)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->inherit_groups(on);
}

/* ---- when ---- */

/* Switches recording of the whole process. While it is off, no allocation is recorded. Frees and
 * reallocs of recorded blocks still are, so live bytes stay right. */
static inline void mtrace_tracking(bool on)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->tracking(on);
}

/* absent: false */
static inline bool mtrace_is_tracking(void)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->is_tracking() : false;
}

/* Marks a time with a name. */
static inline void mtrace_marker(const char *text)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->marker(text);
}

/* Begins a named phase of the process; any thread may end it. Phases may overlap. If more than 1024
 * are open at the same time, the last ones are only counted. mtrace_exit does not end a phase. */
static inline struct mtrace_scope mtrace_phase_begin(const char *name)
{
    const struct mtrace_api *api = mtrace_found_;
    struct mtrace_scope none = {0, 0, 0};
    return __builtin_expect(api != NULL, 0) ? api->phase_begin(name) : none;
}

static inline void mtrace_phase_end(struct mtrace_scope phase)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->phase_end(phase);
}

/* ---- pools: blocks inside blocks ---- */

/* Announces an allocator inside the program, which gives out parts of large blocks. 0: absent,
 * or no memory; calls with it do nothing. */
static inline uint32_t mtrace_pool_create(const char *name)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->pool_create(name) : 0;
}

/* Call it after the pool gave out a block. NULL: the pool failed, and nothing is recorded. */
static inline void mtrace_pool_alloc(uint32_t pool, const void *address, size_t size_bytes)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->pool_alloc(pool, address, size_bytes);
}

/* Call it after a block was resized: it is now at address. This is one event. old_address NULL:
 * as mtrace_pool_alloc. address NULL: resizing failed, and the block stays. */
static inline void mtrace_pool_resize(uint32_t pool, const void *old_address, const void *address,
                                      size_t size_bytes)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->pool_resize(pool, old_address, address, size_bytes);
}

/* Call it before another thread can get the block. mtrace-import ignores and counts an address that
 * is no block of the pool. */
static inline void mtrace_pool_free(uint32_t pool, const void *address)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->pool_free(pool, address);
}

/* Ends all blocks of the pool; call it before their memory is freed. The pool may be used again.
 * Freeing the memory below pool blocks ends them, too. */
static inline void mtrace_pool_destroy(uint32_t pool)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->pool_destroy(pool);
}

/* absent: all zero */
static inline struct mtrace_counts mtrace_counters(void)
{
    const struct mtrace_api *api = mtrace_found_;
    struct mtrace_counts counts = {0, 0, 0, 0, 0, 0};
    if (__builtin_expect(api != NULL, 0))
        api->counters(&counts, sizeof(counts));
    return counts;
}

/* ---- trackers: functions that are called on each event ---- */

/*
 * Calls `callback` on each event of the kinds (a sum of enum mtrace_event_kind) from now on, in the
 * thread that causes it: before the program has an allocated block, before the allocator has a
 * freed one, before mtrace_move returns. A realloc is one event. The free and the moves of a block
 * are reported if its allocation was, to all trackers of that time. Events of the callback itself
 * are not reported, nor are those of untracked blocks. The callback must return, and may take only
 * locks that no thread holds while it allocates or moves. Returns a handle > 0; absent, or more
 * than 16 trackers: 0.
 */
static inline int mtrace_tracker_add(void (*callback)(const struct mtrace_event *event, void *user),
                                     void *user, unsigned kinds)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->tracker_add(callback, user, kinds) : 0;
}

/* Removes a tracker and waits until no thread runs its callback; then `user` may be freed. The
 * caller must hold no lock that the callback takes. Inside of any callback it does not wait:
 * false then means that another thread may still run the callback, so call it again, from
 * outside, before `user` is freed; true means that only the caller does. Otherwise false means
 * absent, or no such tracker. Not for signal handlers. */
static inline bool mtrace_tracker_remove(int handle)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->tracker_remove(handle, true) == 0 : false;
}

/* ---- live reports ---- */

/*
 * Runs a command of mtrace-query on this process as of this moment, and writes the answer to fd.
 * Examples: "threads --csv", "by-group --json", "groups --size-min 4KiB", "sql 'SELECT …'",
 * "export --to flamegraph.pl --measure live --at end", "report" (a page of HTML).
 * The command is split and quoted like in a shell, without substitutions. It has at most 1535 bytes
 * and names no files. The calling thread waits for the answer; other threads continue. Not for
 * signal handlers.
 *
 * Returns 0 or an errno value, and may write a line about an error to fd:
 *   ENOTCONN   absent, or recorded without mtrace-record
 *   EINVAL     invalid command
 *   E2BIG      the command is too long
 *   ERANGE     the rule of --fail-if holds; the answer is complete
 *   ENOSPC     the log has no room for the request
 *   ETIMEDOUT  it took more than 30 s of a processor, or than its --time-limit
 *   EPIPE      the reader of fd has closed it (without a signal)
 *   others     see docs/api.md
 *
 * Ids of stacks and call sites are valid within one answer. Under --aggregate totals include all
 * blocks; rows ("allocations", reports with filters) are only those of live blocks.
 */
static inline int mtrace_report(const char *request, int fd)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->report(request, fd) : ENOTCONN;
}

/*
 * Notes which blocks the program can reach now, for "mtrace-query lost", "held" and "why". All
 * threads stand still while mtrace-record copies their memory, for about 0.5 s for each GiB. name:
 * at most 63 bytes; NULL: none. Returns 0 or an errno value.
 *   ENOTCONN   absent, or recorded without mtrace-record
 *   EIO        there is no image; mtrace-record has printed why
 *   E2BIG      the name is too long
 *   others     as of mtrace_report
 */
static inline int mtrace_heap_image(const char *name)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->heap_image(name) : ENOTCONN;
}

/* ---- scopes that end with their block ---- */

static inline void mtrace_scope_cleanup_(struct mtrace_scope *scope)
{
    mtrace_exit(*scope);
}

#    define MTRACE_JOIN_(a, b)   a##b
#    define MTRACE_UNIQUE_(a, b) MTRACE_JOIN_(a, b)

/* Charges allocations to the group up to the end of the enclosing block. */
#    define MTRACE_SCOPE(group)                                     \
        struct mtrace_scope MTRACE_UNIQUE_(mtrace_scope_, __LINE__) \
            __attribute__((cleanup(mtrace_scope_cleanup_), unused)) = mtrace_enter(group)

#endif

#ifdef __cplusplus
}
#endif

#endif
