/* SPDX-License-Identifier: MIT */
/*
 * mtrace.h: a program tells mtrace whose memory it allocates, and when.
 *
 * Model:   include it and link nothing. Where the program is recorded, libmtrace.so is in it and
 *          exports one table of functions; where it is not, every call is a load, a branch that is
 *          never taken, and the value that stands here as "absent:". Each executable and library
 *          that includes this file looks for the table once, before its own constructors; calls
 *          before that find it absent. docs/api.md shows each part at work.
 * Threads: all calls, from any thread. Signals: mtrace_enter, _exit, _current_group, _marker and
 *          what is made of them may be called in handlers, and scopes left by longjmp or an
 *          exception end with the next exit further out.
 * Failure: nothing aborts, errno stays. What cannot be done is counted: mtrace_counters.
 * Versions: within a version programs work on with any later collector; an older one, with a shorter table, they find
 *          absent. Structures that are passed by value, mtrace_tag and mtrace_root (one executable may have been
 *          made with several of these headers, and its roots lie in one row) stay as they are. Others may get
 *          members at their ends, so that both sides go by the size that the program knows: it is
 *          passed along, but for mtrace_event, of which the collector never knows less. What else changes
 *          raises the version, and with it the name of the table: programs of another one find it absent.
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

/* ---- groups: who memory is charged to ---- */

enum {
    MTRACE_GROUP_UNTRACKED = 0, /* charged to nobody */
    MTRACE_GROUP_ROOT = 1       /* where no scope is open; those of the program begin at 2 */
};

/* Strings with their NUL; copied. */
struct mtrace_tag {
    const char *key, *value;
};

/* What an enter gives and its exit takes: to be passed on, not to be looked into. */
struct mtrace_scope {
    uint32_t group, depth;
    uint64_t owner;
};

struct mtrace_context {
    uint32_t group;
    uint64_t parent; /* the innermost scope it was captured in, as mtrace_scope.owner; 0: none */
};

/* What went wrong or was left out, of this process so far. */
struct mtrace_counts {
    uint64_t dropped;     /* events that are missing in the recording */
    uint64_t stale_exits; /* scopes that were ended already, or are another thread's or no phases */
    uint64_t bad_handles; /* ids of groups and pools that no call gave, tags that are NULL */
    uint64_t refused_groups; /* groups without memory for them; they are MTRACE_GROUP_ROOT */
    uint64_t groups;         /* registered and interned */
    uint64_t
        unreported; /* ends and moves of blocks, or all of a block, that no tracker was told of */
};

enum mtrace_event_kind {
    MTRACE_EVENT_ALLOC = 1,
    MTRACE_EVENT_FREE = 2,
    MTRACE_EVENT_RESIZE = 4,
    MTRACE_EVENT_MOVE = 8 /* by mtrace_move, to another group; earlier collectors tell of none */
};

/* What a tracker is told. Threads have the numbers of the recording's threads; equal stacks have equal
 * numbers, which are not those of the database. 0: not known. Of MOVE the thread is the one that moves the block,
 * in whichever group it is, and there is no stack: stack_id is 0. */
struct mtrace_event {
    enum mtrace_event_kind kind;
    uint32_t group;         /* that the block is charged to; RESIZE, MOVE: was, until now */
    uint32_t current_group; /* of this thread; RESIZE, MOVE: charged to it from now on */
    uint32_t thread_id, alloc_thread_id;
    uint32_t stack_id, alloc_stack_id;
    const void *address,
        *old_address;                /* RESIZE: both, perhaps the same; else old_address is NULL */
    size_t size_bytes, usable_bytes; /* as asked for, as the allocator gave; usable 0: not known */
    size_t old_size_bytes, old_usable_bytes; /* RESIZE; else 0 */
    uint64_t time_ns;                        /* since the recording began */
};

struct mtrace_objects_api;

/* The table that libmtrace.so exports. Later versions have more members behind these. */
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
    int (*report)(const char *question, int fd);
};

#ifndef MTRACE_TYPES_ONLY /* of those who provide the table */

/* ---- finding the table ---- */

extern const struct mtrace_api mtrace_api_2 __attribute__((weak));

/*
 * One of each for every executable or library, whatever number of its files include this. A
 * reference that the linker has bound to nothing for good (in programs that are not position
 * independent) is asked for by name; in static programs there is nothing to ask. What can be loaded
 * anywhere has been bound by the loader, and dlsym, which allocates when it finds nothing, is not asked.
 */
__attribute__((weak, visibility("hidden"))) const struct mtrace_api *mtrace_found_ = NULL;

static void *mtrace_dlsym_(void *handle, const char *name) __attribute__((weakref("dlsym")));
static char *mtrace_dlerror_(void) __attribute__((weakref("dlerror")));

/* The ELF header of this executable or library, by the linker; its type is at 16: 3 can be loaded anywhere. */
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
            mtrace_dlerror_(); /* what was not found is nobody's error */
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

/* Of the collector. absent: 0 */
static inline unsigned mtrace_api_version(void)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->version : 0;
}

/* ---- groups ---- */

/* A new id each time, never given again. absent, or no memory: MTRACE_GROUP_ROOT. Name and tags may
 * take 8000 bytes together; of longer ones the last tags are left out, then the name is cut. NULL
 * in place of a name, key or value is an empty one, in place of tags none. */
static inline uint32_t mtrace_group_register(const char *name, const struct mtrace_tag *tags,
                                             size_t n_tags)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->group_register(name, tags, n_tags)
                                            : (uint32_t)MTRACE_GROUP_ROOT;
}

/* The same id for the same name and the same tags in the same order. absent: MTRACE_GROUP_ROOT */
static inline uint32_t mtrace_group_intern(const char *name, const struct mtrace_tag *tags,
                                           size_t n_tags)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->group_intern(name, tags, n_tags)
                                            : (uint32_t)MTRACE_GROUP_ROOT;
}

/* What this thread allocates is charged to the group until the scope is ended. Scopes nest; a group
 * may be entered twice. An id that no register gave counts as MTRACE_GROUP_ROOT. */
static inline struct mtrace_scope mtrace_enter(uint32_t group)
{
    const struct mtrace_api *api = mtrace_found_;
    struct mtrace_scope none = {0, 0, 0};
    return __builtin_expect(api != NULL, 0) ? api->enter(group) : none;
}

/* Back to what was before that enter, whatever was left open inside. A scope that was ended, or is
 * another thread's, is left alone and counted. */
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

/* From now on the block is charged to the group. True: that was written into the log, not that the block is
 * one: of what is not live mtrace-import ignores it, and counts it. false: absent, no block or group,
 * not recorded, or the log has no room. */
static inline bool mtrace_move(void *block, uint32_t group)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->move(block, group) : false;
}

/* The group the block is charged to. 0: absent, nobody's, or not a live block that was born after the
 * program first asked; so ask once at the start, with NULL. From then on each event costs more. */
static inline uint32_t mtrace_group_of(const void *block)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->group_of(block)
                                            : (uint32_t)MTRACE_GROUP_UNTRACKED;
}

/* The group entered here, to be entered elsewhere: in another thread, task or callback. */
static inline struct mtrace_context mtrace_context_capture(void)
{
    const struct mtrace_api *api = mtrace_found_;
    struct mtrace_context none = {MTRACE_GROUP_ROOT, 0};
    return __builtin_expect(api != NULL, 0) ? api->context_capture() : none;
}

/* To be ended by mtrace_exit, in the same thread. */
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

/* Of the whole process. While it is off no allocation is recorded, but the ends of recorded blocks
 * are, and their changes of size: live figures never drift. */
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

/* A named instant. */
static inline void mtrace_marker(const char *text)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->marker(text);
}

/* A named time of the process, whichever threads begin and end it. Phases may overlap; of more than
 * 1024 that are open at once the last are counted, not kept. A scope of a group ends none. */
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

/* An allocator of the program's own, which takes large blocks and gives out parts of them. 0: absent,
 * or no memory; calls for it do nothing. */
static inline uint32_t mtrace_pool_create(const char *name)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->pool_create(name) : 0;
}

/* The pool gave out a block: to be called after it did. NULL: it failed, and nothing is recorded. */
static inline void mtrace_pool_alloc(uint32_t pool, const void *address, size_t size_bytes)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->pool_alloc(pool, address, size_bytes);
}

/* One event: the block is now at address and has another size; after it happened. old_address NULL:
 * as mtrace_pool_alloc. address NULL: it failed, the block stays. */
static inline void mtrace_pool_resize(uint32_t pool, const void *old_address, const void *address,
                                      size_t size_bytes)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->pool_resize(pool, old_address, address, size_bytes);
}

/* To be called before another thread can be given the block. An address that is no block of the pool is
 * ignored by mtrace-import, and counted there. */
static inline void mtrace_pool_free(uint32_t pool, const void *address)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api != NULL, 0))
        api->pool_free(pool, address);
}

/* Ends all blocks in the pool, before the memory below them is given back; it may be used on. A block
 * below that is freed ends those in it, too. */
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
 * From now on `callback` is called on each event of the kinds (enum mtrace_event_kind, added up), in
 * the thread that causes it: of an allocation before the program has the block, of a free before the
 * allocator has it back, of a move before mtrace_move returns; a realloc is one event. A block's end is
 * told if its beginning was, and so are its moves, to whoever is a tracker then. What the callback itself
 * allocates, frees and moves is not told to anyone, nor is what is allocated for nobody. It may take locks
 * that nobody holds while it allocates or moves, and must return. The handle, > 0; absent, or more than 16 at once: 0.
 */
static inline int mtrace_tracker_add(void (*callback)(const struct mtrace_event *event, void *user),
                                     void *user, unsigned kinds)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->tracker_add(callback, user, kinds) : 0;
}

/* When it returns no thread runs the callback, and none will: `user` may go. So it waits for those who do, and
 * the caller holds no lock that the callback takes. Not so from inside of any callback: there it never
 * waits, and false says that another thread may run it still: to be called once more, from outside, before `user`
 * goes; true, that none but the caller does. Else false: absent, or no such tracker (any more). Not in
 * handlers of signals. */
static inline bool mtrace_tracker_remove(int handle)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->tracker_remove(handle, true) == 0 : false;
}

/* ---- live reports ---- */

/*
 * Asks mtrace-record what mtrace-query would answer about this process, as of this instant, and writes it to
 * fd: "threads --csv", "by-group --json", "groups --size-min 4KiB", "export --to flamegraph.pl --measure live --at end", "sql 'SELECT …'". The words are split and
 * quoted as by a shell, which puts nothing in; they name no files, and are 1535 bytes at most. Waits for the answer, while other threads go on. 0, or an errno
 * value, and where it has something to say a line of it on fd: ENOTCONN: absent, or recorded without mtrace-record; EINVAL: not understood; E2BIG: too long; ERANGE: the rule of
 * --fail-if holds, the answer is there all the same; ENOSPC: the log has no room for the question; ETIMEDOUT: it took more than 30 s of a processor, or than its --time-limit; EPIPE: nobody reads what was
 * written to fd, and no signal says so; others: docs/api.md. "report" writes its page of HTML to fd. Not from handlers. Numbers of stacks and call sites hold within
 * one answer: the next one numbers them anew. Under --aggregate totals are of all blocks, rows ("allocations", what has filters) of those that live.
 */
static inline int mtrace_report(const char *question, int fd)
{
    const struct mtrace_api *api = mtrace_found_;
    return __builtin_expect(api != NULL, 0) ? api->report(question, fd) : ENOTCONN;
}

/* ---- scopes that end with their block ---- */

static inline void mtrace_scope_cleanup_(struct mtrace_scope *scope)
{
    mtrace_exit(*scope);
}

#    define MTRACE_JOIN_(a, b)   a##b
#    define MTRACE_UNIQUE_(a, b) MTRACE_JOIN_(a, b)

/* Charges to the group up to the end of the block this stands in. */
#    define MTRACE_SCOPE(group)                                     \
        struct mtrace_scope MTRACE_UNIQUE_(mtrace_scope_, __LINE__) \
            __attribute__((cleanup(mtrace_scope_cleanup_), unused)) = mtrace_enter(group)

#endif

#ifdef __cplusplus
}
#endif

#endif
