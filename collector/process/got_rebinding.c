/* SPDX-License-Identifier: MIT */
#include "collector/process/got_rebinding.h"

#include "collector/arch/arch.h"
#include "collector/log/modules.h"
#include "collector/os/elf_lookup.h"
#include "collector/os/fmt.h"
#include "collector/os/loader_lock.h"
#include "collector/os/module_bounds.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

enum {
    N_BUCKETS = 256 /* twice as many as names, or more */
};

static const struct reference *g_references[GOT_REBINDING_MAX];
static size_t g_n_references;
static uint8_t g_buckets[N_BUCKETS];       /* number of a wrapper + 1; 0: none */
static const struct link_map *g_last_done; /* RF-6; used by the busy thread; NULL: none */
static uint64_t g_n_unloads_done;
static uint32_t g_n_foreign_done; /* of modules up to the last one done */
static _Atomic bool g_is_busy;
static bool g_is_to_us; /* used by the busy thread */
static _Atomic bool g_lacks_executable_slots;

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261u;

    while (*name)
        hash = (hash ^ (unsigned char)*name++) * 16777619u;
    return hash ^ hash >> 15;
}

void got_rebinding_add(const struct reference *references, size_t n)
{
    for (size_t i = 0; i < n && g_n_references < GOT_REBINDING_MAX; i++) {
        uint32_t at = hash_of(references[i].name) % N_BUCKETS;
        while (g_buckets[at])
            at = (at + 1) % N_BUCKETS;
        g_references[g_n_references++] = &references[i];
        g_buckets[at] = (uint8_t)g_n_references;
    }
}

bool got_rebinding_find_lock(void)
{
    return loader_lock_find();
}

bool got_rebinding_prepare(void)
{
    if (!module_bounds_last_at_start() || !loader_lock_find())
        return false;
    g_is_to_us = true;
    return true;
}

static const struct reference *find(const char *name)
{
    for (uint32_t at = hash_of(name) % N_BUCKETS; g_buckets[at]; at = (at + 1) % N_BUCKETS) {
        const struct reference *reference = g_references[g_buckets[at] - 1];
        if (fmt_is_equal(reference->name, name))
            return reference;
    }
    return NULL;
}

/* ---- a module -------------------------------------------------------------------------------- */

struct visit {
    struct module_bounds bounds;
    struct elf_lookup object;
    uintptr_t protected_start, protected_end; /* RELRO: by ld.so after relocation */
    uintptr_t page;                           /* that is writable now; 0: none */
    bool is_opened;                           /* by us */
    bool to_us;
    bool is_yielding;      /* only slots of functions of the program's libraries are changed */
    bool is_rebound;       /* a slot was rebound to us now */
    bool was_bound;        /* a slot led to us before */
    bool has_other_malloc; /* its malloc is neither ours nor the real one */
    bool is_through;       /* it calls operators of a library whose own calls lead to us */
    bool allocates;        /* it has slots of functions that allocate */
    bool allocates_by_us;  /* one of these slots leads to us */
};

static uintptr_t page_bytes(void)
{
    return sys_page_bytes();
}

/* Rounds as ld.so does. */
static void find_protected(struct visit *visit)
{
    for (size_t i = 0; i < visit->bounds.n_headers; i++) {
        const ElfW(Phdr) *header = &visit->bounds.headers[i];
        uintptr_t at = visit->bounds.map->l_addr + header->p_vaddr;
        if (header->p_type != PT_GNU_RELRO)
            continue;
        visit->protected_start = at & ~(page_bytes() - 1);
        visit->protected_end = (at + header->p_memsz) & ~(page_bytes() - 1);
    }
}

static void close_page(struct visit *visit)
{
    if (visit->is_opened)
        sys_protect(visit->page, page_bytes(), PROT_READ);
    visit->is_opened = false;
    visit->page = 0;
}

/* RF-3. Other hooking tools make single pages writable for good. */
static bool open_page(struct visit *visit, uintptr_t slot)
{
    uintptr_t page = slot & ~(page_bytes() - 1);

    if (page == visit->page)
        return true;
    close_page(visit);
    if (!sys_is_writable(slot)) {
        if (slot < visit->protected_start || slot >= visit->protected_end
            || sys_protect(page, page_bytes(), PROT_READ | PROT_WRITE) < 0)
            return false;
        visit->is_opened = true;
    }
    visit->page = page;
    return true;
}

/* RF-1 */
static void change(struct visit *visit, uintptr_t slot, uintptr_t from, uintptr_t to)
{
    if (open_page(visit, slot)
        && __atomic_compare_exchange_n((uintptr_t *)slot, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED))
        visit->is_rebound = visit->to_us;
}

/* RF-5: a library opened with RTLD_DEEPBIND may have an allocator among its dependencies. */
static bool has_other_definition(const char *name, uintptr_t behind)
{
    /* The executable is not a dependency. */
    for (const struct link_map *map = _r_debug.r_map->l_next; map; map = map->l_next) {
        struct elf_lookup object;
        const ElfW(Sym) * symbol;
        if (map->l_ld == _DYNAMIC || map->l_addr == _r_debug.r_ldbase)
            continue;
        object = elf_lookup_open(map);
        symbol = elf_lookup_find(&object, name);
        if (symbol && map->l_addr + symbol->st_value != behind)
            return true;
    }
    return false;
}

static bool is_inside(const struct visit *visit, const elf_lookup_relocation *relocation,
                      uintptr_t value)
{
    return elf_lookup_type(relocation) == ARCH_RELOCATION_CALL && value >= visit->bounds.start
           && value < visit->bounds.end;
}

/* RF-2: an unresolved slot that ld.so has relocated leads into the module itself, to code that
 * calls ld.so. */
static bool is_unresolved(const struct visit *visit, const elf_lookup_relocation *relocation,
                          const ElfW(Sym) * symbol, uintptr_t value)
{
    return symbol->st_shndx == SHN_UNDEF && is_inside(visit, relocation, value);
}

/* True if the slot contains the real function, or will. */
static bool is_to_behind(const struct visit *visit, const elf_lookup_relocation *relocation,
                         const ElfW(Sym) * symbol, uintptr_t value, uintptr_t behind)
{
    return value == behind
           || (is_unresolved(visit, relocation, symbol, value)
               && !(module_bounds_last_at_start()
                    && has_other_definition(visit->object.strings + symbol->st_name, behind)));
}

/* A library of the program, not libc, has the first definition of the name: it may take other
 * arguments than libc's function. */
static bool has_library_function(const struct reference *reference)
{
    void *behind = reference->is_common ? real_behind(reference->offset) : NULL;
    const void *first;

    if (!behind || real_is_libcs(reference->offset))
        return false;
    first = real_find_first(reference->name);
    return (first == behind || first == reference->ours) /* else the executable's */
           && !(reference->is_of_allocator && behind == real_find_beside_malloc(reference->name));
}

/* The module was linked with the function of a library that has versions, such as libc. */
static bool is_versioned(const struct visit *visit, size_t symbol)
{
    const unsigned version_mask = 0x7fff;
    const unsigned first_version = 2;

    return visit->object.versions
           && (visit->object.versions[symbol] & version_mask) >= first_version;
}

static bool is_allocation(const struct reference *reference)
{
    return reference->offset == offsetof(struct real, malloc)
           || reference->offset == offsetof(struct real, calloc)
           || reference->offset == offsetof(struct real, realloc)
           || reference->offset - offsetof(struct real, operators)
                  < sizeof(((struct real *)0)->operators);
}

static void note_allocation(struct visit *visit, uintptr_t slot, uintptr_t ours)
{
    visit->allocates = true;
    visit->allocates_by_us |= __atomic_load_n((const uintptr_t *)slot, __ATOMIC_RELAXED) == ours;
}

static void rebind_slot(struct visit *visit, const elf_lookup_relocation *relocation)
{
    const size_t number = elf_lookup_symbol(relocation);
    const ElfW(Sym) *symbol = &visit->object.symbols[number];
    const struct reference *reference = find(visit->object.strings + symbol->st_name);
    uintptr_t slot = visit->bounds.map->l_addr + relocation->r_offset;
    uintptr_t behind = reference ? (uintptr_t)real_behind(reference->offset) : 0;
    uintptr_t ours = reference ? (uintptr_t)reference->ours : 0;
    uintptr_t value;

    visit->is_through |= reference && !behind;
    if (!behind || slot % sizeof(slot) != 0 || slot < visit->bounds.start
        || slot >= visit->bounds.end)
        return;
    value = __atomic_load_n((const uintptr_t *)slot, __ATOMIC_RELAXED);
    if (has_library_function(reference)
        && !(reference->is_followed && is_versioned(visit, number))) {
        /* a slot of the library itself may be unresolved, too */
        if (value == ours || is_inside(visit, relocation, value))
            change(visit, slot, value, behind);
        return;
    }
    if (visit->is_yielding)
        return;
    visit->was_bound |= value == ours;
    if (!visit->to_us && value == ours)
        change(visit, slot, ours, behind);
    else if (visit->to_us && is_to_behind(visit, relocation, symbol, value, behind))
        change(visit, slot, value, ours);
    else if (value != ours && reference->offset == offsetof(struct real, malloc))
        visit->has_other_malloc = true;
    if (is_allocation(reference))
        note_allocation(visit, slot, ours);
}

static void rebind_table(struct visit *visit, const elf_lookup_relocation *relocations, size_t n)
{
    for (size_t i = 0; relocations && i < n; i++) {
        unsigned type = elf_lookup_type(&relocations[i]);
        if (elf_lookup_symbol(&relocations[i]) != 0 && elf_lookup_addend(&relocations[i]) == 0
            && (type == ARCH_RELOCATION_CALL || type == ARCH_RELOCATION_DATA
                || type == ARCH_RELOCATION_WORD))
            rebind_slot(visit, &relocations[i]);
    }
}

/* ld.so has no relocations for these words: it looked the functions up itself. */
static void rebind_loader(struct visit *visit)
{
    static const char *const names[] = {"malloc", "free", "calloc", "realloc"};
    uintptr_t at = visit->protected_start;

    for (; at < visit->protected_end; at += sizeof(at))
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            const struct reference *reference = find(names[i]);
            uintptr_t behind = (uintptr_t)real_behind(reference->offset);
            uintptr_t ours = (uintptr_t)reference->ours;
            uintptr_t from = visit->to_us ? behind : ours;
            if (from && *(const uintptr_t *)at == from)
                change(visit, at, from, visit->to_us ? ours : behind);
        }
}

/* False: the module has no slots, or they cannot be found. */
static bool rebind_tables(struct visit *visit, const struct link_map *map)
{
    visit->object = elf_lookup_open(map);
    if (!visit->object.symbols || !visit->object.strings || visit->bounds.n_headers == 0)
        return false;
    find_protected(visit);
    rebind_table(visit, visit->object.relocations, visit->object.n_relocations);
    rebind_table(visit, visit->object.plt_relocations, visit->object.n_plt_relocations);
    return true;
}

/* Calls of a malloc that the module defines itself need no slot. */
static bool lacks_slots(const struct visit *visit)
{
    return (visit->allocates || elf_lookup_find(&visit->object, "malloc"))
           && !visit->allocates_by_us && !visit->is_through;
}

/* Leaves modules alone that ld.so is still loading or has unloaded (RF-3). When restoring, none of
 * these leads to us. */
static bool rebind_module(const struct link_map *map, bool to_us, struct got_rebinding_found *found)
{
    struct visit visit = {.to_us = to_us};

    if (!module_bounds_find_all(map, &visit.bounds))
        return !to_us;
    if (!rebind_tables(&visit, map))
        return true;
    if (map->l_addr == _r_debug.r_ldbase)
        rebind_loader(&visit);
    close_page(&visit);
    if (map == _r_debug.r_map)
        atomic_store(&g_lacks_executable_slots, to_us && lacks_slots(&visit));
    found->n_bound += visit.is_rebound && !visit.was_bound;
    found->n_foreign += visit.has_other_malloc;
    return true;
}

/* Handles the modules after `last` in the list; NULL: all. Skips this library, whose calls go to
 * the real functions. */
static bool rebind_after(const struct link_map *last, bool to_us, struct got_rebinding_found *found)
{
    const struct link_map *map = last ? last->l_next : _r_debug.r_map;
    bool is_all = true;

    for (; map; last = map, map = map->l_next) {
        found->n_new++;
        if (map->l_ld != _DYNAMIC)
            is_all &= rebind_module(map, to_us, found);
    }
    found->n_foreign += g_n_foreign_done;
    if (is_all) {
        g_last_done = last;
        g_n_foreign_done = found->n_foreign;
    }
    return is_all;
}

static bool rebind_all(bool to_us, struct got_rebinding_found *found)
{
    g_n_foreign_done = 0;
    if (!rebind_after(module_bounds_last_at_start(), to_us, found))
        return false;
    g_n_unloads_done =
        loader_lock_count_unloads(); /* the lock is held: none since the walk began */
    return true;
}

/* RF-6 */
static bool rebind_new(struct got_rebinding_found *found)
{
    bool is_all;

    if (g_last_done && g_n_unloads_done == loader_lock_count_unloads())
        return rebind_after(g_last_done, true, found);
    is_all = rebind_all(true, found);
    found->n_new = 0; /* unknown */
    return is_all;
}

/* Each namespace has an entry for the same ld.so. An executable may have a shorter copy of
 * _r_debug. */
static uint32_t count_elsewhere(void)
{
    const struct r_debug_extended *space = (const struct r_debug_extended *)&_r_debug;
    uint32_t n = 0;

    if (_r_debug.r_version < 2 || !modules_is_loader((uintptr_t)&_r_debug))
        return 0;
    while ((space = space->r_next) != NULL)
        for (const struct link_map *map = space->base.r_map; map; map = map->l_next)
            n += map->l_addr != _r_debug.r_ldbase;
    return n;
}

/* Signals are blocked: a handler that does not return would leave ld.so locked. signals_block_begin
 * is not used because it tests whether this process records, which may begin a fork child's log.
 * Slots are restored also where there is no log. */
struct look {
    struct sys_signals mask;
    bool is_blocked;
};

static bool enter(struct look *ret_look)
{
    ret_look->is_blocked = sys_block_signals(&ret_look->mask) >= 0;
    if (!atomic_exchange_explicit(&g_is_busy, true, memory_order_acquire)) {
        if (loader_lock_try())
            return true;
        atomic_store_explicit(&g_is_busy, false, memory_order_release);
    }
    if (ret_look->is_blocked)
        sys_unblock_signals(ret_look->mask);
    return false;
}

static void leave(const struct look *look)
{
    loader_lock_leave();
    atomic_store_explicit(&g_is_busy, false, memory_order_release);
    if (look->is_blocked)
        sys_unblock_signals(look->mask);
}

static void yield_module(const struct link_map *map)
{
    struct visit visit = {.is_yielding = true};

    if (map->l_ld == _DYNAMIC || !module_bounds_find_all(map, &visit.bounds))
        return;
    (void)rebind_tables(&visit, map);
    close_page(&visit);
}

bool got_rebinding_restore_own_names(void)
{
    bool is_any = false;
    struct look look;

    for (size_t i = 0; i < g_n_references; i++)
        is_any |= has_library_function(g_references[i]);
    if (!is_any || !loader_lock_find() || !enter(&look))
        return false;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        yield_module(map);
    leave(&look);
    return true;
}

bool got_rebinding_set(bool to_us)
{
    struct got_rebinding_found unused = {.is_busy = false};
    struct look look;
    bool is_all;

    if (!enter(&look))
        return false;
    g_is_to_us = to_us;
    is_all = rebind_all(to_us, &unused);
    g_last_done = NULL; /* RF-1: another thread may be storing the real function after us */
    leave(&look);
    return is_all;
}

bool got_rebinding_follow(struct got_rebinding_found *ret_found)
{
    struct look look;
    bool is_all;

    *ret_found = (struct got_rebinding_found){.is_busy = !enter(&look)};
    if (ret_found->is_busy)
        return false;
    is_all = !g_is_to_us || rebind_new(ret_found);
    if (!module_bounds_last_at_start()) /* ld.so binds none of them to us */
        ret_found->n_bound = ret_found->n_foreign = 0;
    ret_found->n_elsewhere = count_elsewhere();
    leave(&look);
    return is_all;
}

bool got_rebinding_lacks_executable(void)
{
    return atomic_load(&g_lacks_executable_slots);
}

void got_rebinding_forget(void)
{
    loader_lock_forget();
    atomic_store(&g_is_busy, false);
}
