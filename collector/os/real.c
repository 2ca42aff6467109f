/* SPDX-License-Identifier: MIT */
#include "collector/os/real.h"

#include "collector/os/elf_lookup.h"
#include "collector/os/fmt.h"
#include "lib/abi/attr.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

struct real g_real; /* written by real_init */

static bool g_is_glibc_malloc;
static bool g_is_malloc_ours;
static bool g_is_new_foreign;
static const char *g_own_path = "";
static bool g_is_late;      /* the program ran already when this was loaded */
static struct real g_found; /* before `adapt` */
static bool g_is_libcs[sizeof(struct real) / sizeof(void *)]; /* by member of g_found */

/* Every member of struct real and its symbol. */
struct wanted {
    const char *name;
    size_t offset;
};

static const struct wanted g_wanted[] = {
#define WANT(member)                           \
    {                                          \
#        member, offsetof(struct real, member) \
    }
    WANT(malloc),
    WANT(free),
    WANT(calloc),
    WANT(realloc),
    WANT(posix_memalign),
    WANT(aligned_alloc),
    WANT(memalign),
    WANT(valloc),
    WANT(pvalloc),
    WANT(reallocarray),
    WANT(cfree),
    WANT(free_sized),
    WANT(free_aligned_sized),
    WANT(malloc_usable_size),
    WANT(mallocx),
    WANT(rallocx),
    WANT(dallocx),
    WANT(sdallocx),
    WANT(mallopt),
    WANT(malloc_trim),
    WANT(malloc_info),
    WANT(mallinfo2),
    WANT(mmap),
    WANT(mmap64),
    WANT(munmap),
    WANT(mremap),
    WANT(mprotect),
    WANT(pkey_mprotect),
    WANT(madvise),
    WANT(brk),
    WANT(sbrk),
    WANT(dlclose),
    WANT(dlopen),
    WANT(dlmopen),
    WANT(dlsym),
    WANT(dlvsym),
    WANT(pthread_create),
    WANT(thrd_create),
    WANT(pthread_setname_np),
    WANT(prctl),
    WANT(syscall),
    WANT(chroot),
    WANT(fork),
    WANT(_Fork),
    WANT(forkpty),
    WANT(daemon),
    WANT(execve),
    WANT(execvpe),
    WANT(fexecve),
    WANT(execveat),
    WANT(posix_spawn),
    WANT(posix_spawnp),
    WANT(quick_exit),
    WANT(abort),
    {"_exit", offsetof(struct real, exit_immediately)},
    WANT(execv),
    WANT(execvp),
    WANT(execl),
    WANT(execle),
    WANT(execlp),
#undef WANT
/* from here on only in an attached process */
#define WANT(kind, slot, name) {#name, offsetof(struct real, operators.name)},
    OPERATOR_NAMES(WANT)
#undef WANT
};

enum {
    N_WANTED_LATE = 2 * N_OPERATOR_SLOTS,
    N_WANTED = sizeof(g_wanted) / sizeof(g_wanted[0])
};

static struct link_map *find_own(void)
{
    for (struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        if (map->l_ld == _DYNAMIC)
            return map;
    return NULL;
}

/* By a reserved name: a program may define gnu_get_libc_version. */
static bool is_libc(const struct link_map *map)
{
    struct elf_lookup object = elf_lookup_open(map);

    return elf_lookup_find(&object, "__errno_location") != NULL;
}

static void *find_in(const struct link_map *map, const char *name)
{
    struct elf_lookup object = elf_lookup_open(map);
    const ElfW(Sym) *symbol = elf_lookup_find(&object, name);

    return symbol ? elf_lookup_resolve(&object, symbol) : NULL;
}

/* The first object from `map` on, except our own, that `is_accepted` accepts (NULL: all) and
 * that defines the name, and the definition; NULL if there is none. Rejected objects are not
 * searched. */
static const struct link_map *find_from(const struct link_map *map, const char *name,
                                        bool (*is_accepted)(const struct link_map *map),
                                        void **ret_address)
{
    for (; map; map = map->l_next) {
        struct elf_lookup object;
        const ElfW(Sym) * symbol;
        if (map->l_ld == _DYNAMIC || (is_accepted && !is_accepted(map)))
            continue;
        object = elf_lookup_open(map);
        symbol = elf_lookup_find(&object, name);
        if (!symbol)
            continue;
        if (ret_address)
            *ret_address = elf_lookup_resolve(&object, symbol);
        return map;
    }
    return NULL;
}

/* Where the objects after ours begin. */
static const struct link_map *first_behind(const struct link_map *own)
{
    return g_is_late ? _r_debug.r_map : own->l_next;
}

static const struct link_map *find_definer(const struct link_map *own, const char *name)
{
    return find_from(first_behind(own), name, NULL, NULL);
}

static void *find_behind(const struct link_map *own, const char *name)
{
    void *address = NULL;

    find_from(first_behind(own), name, NULL, &address);
    return address;
}

static bool is_not_ours(const struct link_map *map)
{
    struct elf_lookup object = elf_lookup_open(map);

    return !elf_lookup_find(&object, "mtrace_detach");
}

/* One of our libraries that the program was started with passes calls on to it. */
static const struct link_map *find_allocator(const struct link_map *own)
{
    return find_from(first_behind(own), "malloc", is_not_ours, NULL);
}

static bool needs_cxx(const struct link_map *map)
{
    const char *strings = elf_lookup_open(map).strings;

    for (const ElfW(Dyn) *at = map->l_ld; strings && at && at->d_tag != DT_NULL; at++)
        if (at->d_tag == DT_NEEDED
            && (fmt_after_prefix(strings + at->d_un.d_val, "libstdc++.so")
                || fmt_after_prefix(strings + at->d_un.d_val, "libc++.so")))
            return true;
    return false;
}

/*
 * The allocator's library defines operator new, before the C++ library and without calling malloc
 * by name; and another module uses C++.
 */
static bool has_own_operators(const struct link_map *own, const struct link_map *allocator)
{
    struct elf_lookup object = elf_lookup_open(own);

    if (elf_lookup_find(&object, "_Znwm") || find_definer(own, "_Znwm") != allocator)
        return false;
    if (g_is_late) /* a C++ library may be loaded later */
        return true;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        if (map != allocator && needs_cxx(map))
            return true;
    return false;
}

/*
 * The allocator is a sanitizer's. While such a runtime initializes, it serves malloc, but not
 * malloc_usable_size, which uses tables that do not exist yet.
 */
static bool is_sanitizer(const struct link_map *map)
{
    static const char *const inits[] = {"__asan_init", "__tsan_init", "__lsan_init", "__msan_init",
                                        "__hwasan_init"};
    struct elf_lookup object = elf_lookup_open(map);

    for (size_t i = 0; i < sizeof(inits) / sizeof(inits[0]); i++)
        if (elf_lookup_find(&object, inits[i]))
            return true;
    return false;
}

/* The program's own references bind to the first definition in load order. */
static bool is_first_definition(const struct link_map *own, const char *name)
{
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        struct elf_lookup object = elf_lookup_open(map);
        if (elf_lookup_find(&object, name))
            return map == own;
    }
    return false;
}

/* Like find_behind for each name, but opens each object once. */
static void find_wanted(const struct link_map *own, struct real *found)
{
    const size_t n = N_WANTED - (g_is_late ? 0 : N_WANTED_LATE);

    for (const struct link_map *map = first_behind(own); map; map = map->l_next) {
        const struct elf_lookup object = elf_lookup_open(map);
        const bool is_libcs = is_libc(map);
        for (size_t i = 0; map->l_ld != _DYNAMIC && i < n; i++) {
            void **slot = (void **)((char *)found + g_wanted[i].offset);
            const ElfW(Sym) *symbol = *slot ? NULL : elf_lookup_find(&object, g_wanted[i].name);
            if (!symbol)
                continue;
            *slot = elf_lookup_resolve(&object, symbol);
            g_is_libcs[g_wanted[i].offset / sizeof(void *)] = is_libcs;
        }
    }
}

bool real_init(void (*adapt)(struct real *found))
{
    const struct link_map *own = find_own();
    const struct link_map *allocator;
    struct real found = {0};

    if (!own)
        return false;
    g_own_path = own->l_name;
    allocator = find_allocator(own);
    g_is_malloc_ours = g_is_late ? allocator != _r_debug.r_map : is_first_definition(own, "malloc");
    g_is_glibc_malloc = allocator && is_libc(allocator);
    g_is_new_foreign = allocator && !g_is_glibc_malloc
                       && (has_own_operators(own, allocator)
                           || has_own_operators(own, find_definer(own, "malloc")));
    find_wanted(own, &found);
    if (!g_is_new_foreign)
        memset(&found.operators, 0, sizeof(found.operators));
    if (allocator && !g_is_glibc_malloc && is_sanitizer(allocator))
        found.malloc_usable_size = NULL;
    g_found = found;
    if (adapt && !g_is_glibc_malloc)
        adapt(&found);
    /* malloc, the first member, is stored last: it tells other callers that all are set. */
    memcpy((char *)&g_real + sizeof(found.malloc), (char *)&found + sizeof(found.malloc),
           sizeof(found) - sizeof(found.malloc));
    atomic_thread_fence(memory_order_release);
    g_real.malloc = found.malloc;
    return found.malloc != NULL;
}

void real_search_all(void)
{
    g_is_late = true;
}

void *real_behind(size_t offset)
{
    void *function;

    memcpy(&function, (const char *)&g_found + offset, sizeof(function));
    return function;
}

bool real_is_libcs(size_t offset)
{
    return g_is_libcs[offset / sizeof(void *)];
}

void *real_find(const char *name)
{
    const struct link_map *own = find_own();

    return own ? find_behind(own, name) : NULL;
}

void *real_find_first(const char *name)
{
    void *address = NULL;

    find_from(_r_debug.r_map, name, NULL, &address);
    return address;
}

void *real_find_if(const char *name, bool (*is_accepted)(const struct link_map *map))
{
    const struct link_map *own = find_own();
    void *address = NULL;

    find_from(own ? own->l_next : NULL, name, is_accepted, &address);
    return address;
}

void *real_find_beside_malloc(const char *name)
{
    const struct link_map *own = find_own();
    const struct link_map *map = own ? find_definer(own, "malloc") : NULL;

    return map ? find_in(map, name) : NULL;
}

void *real_find_in_libc(const char *name)
{
    static const struct link_map *_Atomic found; /* libc is never unloaded */
    const struct link_map *libc = atomic_load_explicit(&found, memory_order_relaxed);

    if (!libc) {
        for (libc = _r_debug.r_map; libc && !is_libc(libc);)
            libc = libc->l_next;
        atomic_store_explicit(&found, libc, memory_order_relaxed);
    }
    return libc ? find_in(libc, name) : NULL;
}

/* Not by a relocation: the linker adds the names `environ` and `_environ` to a reference to
 * `__environ`. */
char ***real_environ(void)
{
    static char **none;
    static char ***_Atomic found;
    char ***variable = atomic_load_explicit(&found, memory_order_relaxed);

    if (variable)
        return variable;
    for (const struct link_map *map = _r_debug.r_map; map && !variable; map = map->l_next)
        variable = find_in(map, "__environ");
    if (!variable)
        variable = &none;
    atomic_store_explicit(&found, variable, memory_order_relaxed);
    return variable;
}

bool real_is_glibc_malloc(void)
{
    return g_is_glibc_malloc;
}

/* In an attached process their GOT slots are rebound like malloc's. */
bool real_is_new_foreign(void)
{
    return g_is_new_foreign && !g_is_late;
}

bool real_has_operators(void)
{
    return g_real.operators._Znwm != NULL;
}

bool real_is_malloc_ours(void)
{
    return g_is_malloc_ours;
}

const char *real_own_path(void)
{
    return g_own_path;
}

void *real_find_in_vdso(const char *name)
{
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        if (elf_lookup_is_vdso(map))
            return find_in(map, name);
    return NULL;
}

/* ---- before ld.so has relocated this object ---------------------------------------------------
 * Nothing here may use the global offset table: only hidden symbols, reached relative to the pc. */
enum {
    BOOTSTRAP_HEADER_BYTES = 16
};

static const volatile void *const volatile g_relocated = &g_relocated;
_Alignas(64) unsigned char g_real_bootstrap[REAL_BOOTSTRAP_BYTES];
static _Atomic size_t g_bootstrap_used;

bool real_is_bootstrap(void)
{
    return g_relocated != &g_relocated;
}

void *real_bootstrap_allocate(size_t alignment, size_t size_bytes)
{
    size_t used = atomic_load_explicit(&g_bootstrap_used, memory_order_relaxed);
    size_t start;

    if (alignment < BOOTSTRAP_HEADER_BYTES)
        alignment = BOOTSTRAP_HEADER_BYTES;
    if (size_bytes > REAL_BOOTSTRAP_BYTES || alignment > 64)
        return NULL;
    do {
        start = (used + BOOTSTRAP_HEADER_BYTES + alignment - 1) & ~(alignment - 1);
        if (start + size_bytes > REAL_BOOTSTRAP_BYTES)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&g_bootstrap_used, &used, start + size_bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    memcpy(g_real_bootstrap + start - sizeof(size_bytes), &size_bytes, sizeof(size_bytes));
    return g_real_bootstrap + start;
}

bool real_has_bootstrap_blocks(void)
{
    return atomic_load_explicit(&g_bootstrap_used, memory_order_relaxed) != 0;
}

void *real_bootstrap_reallocate(void *block, size_t size_bytes)
{
    void *moved =
        g_real.malloc ? g_real.malloc(size_bytes) : real_bootstrap_allocate(16, size_bytes);
    size_t old_bytes;

    if (!moved || !block)
        return moved;
    memcpy(&old_bytes, (unsigned char *)block - sizeof(old_bytes), sizeof(old_bytes));
    memcpy(moved, block, old_bytes < size_bytes ? old_bytes : size_bytes);
    return moved;
}
