/* SPDX-License-Identifier: MIT */
#include "collector/log/modules.h"

#include "collector/log/definition.h"
#include "collector/log/module_file.h"
#include "collector/log/module_table.h"
#include "collector/log/segment.h"
#include "collector/os/elf_lookup.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/module_bounds.h"
#include "collector/os/sys.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

enum {
    MAX_BUILD_ID_BYTES = 64,
    UNREPORTED_BITS = 1 << 16,
};

_Atomic uint32_t g_modules_epoch = 1; /* 0 is not an epoch */
static _Atomic uint32_t
    g_n_unloads; /* unloads in progress; never decreases if a destructor does not return */
static _Thread_local uint32_t g_n_own_unloads __attribute__((tls_model("initial-exec")));
static _Atomic bool g_has_overflown;
static _Atomic uint64_t
    g_unreported[UNREPORTED_BITS / 64]; /* by hash of the module's identity: counted before */
uintptr_t g_modules_loader_start, g_modules_loader_bytes;

void modules_init(void)
{
    struct dl_find_object loader;

    if (_dl_find_object((void *)_r_debug.r_ldbase, &loader) != 0)
        return;
    g_modules_loader_start = (uintptr_t)loader.dlfo_map_start;
    g_modules_loader_bytes = (uintptr_t)loader.dlfo_map_end - g_modules_loader_start;
}

void modules_bump_epoch(void)
{
    atomic_fetch_add_explicit(&g_modules_epoch, 1, memory_order_acq_rel);
}

void modules_begin_unload(void)
{
    g_n_own_unloads++;
    atomic_fetch_add(&g_n_unloads, 1);
    modules_bump_epoch();
}

void modules_end_unload(void)
{
    modules_bump_epoch();
    atomic_fetch_sub(&g_n_unloads, 1);
    g_n_own_unloads--;
}

void modules_forget_unloads(void)
{
    atomic_store(&g_n_unloads, g_n_own_unloads);
}

bool modules_are_unloading(void)
{
    return atomic_load(&g_n_unloads) != 0;
}

void modules_forget(void)
{
    module_table_forget();
    for (unsigned i = 0; i < UNREPORTED_BITS / 64; i++)
        atomic_store_explicit(&g_unreported[i], 0, memory_order_relaxed);
    modules_bump_epoch();
}

static struct module_identity identity_of(const struct dl_find_object *object)
{
    const struct link_map *map = object->dlfo_link_map;

    return (struct module_identity){
        .start = (uintptr_t)object->dlfo_map_start,
        .end = (uintptr_t)object->dlfo_map_end,
        .link_map = (uintptr_t)map,
        .dynamic = map ? (uintptr_t)map->l_ld : 0,
        .eh_frame = (uintptr_t)object->dlfo_eh_frame,
    };
}

/* ---- definitions ---- */

struct build_id {
    const unsigned char *bytes;
    uint32_t n_bytes;
};

static struct build_id find_in_notes(const unsigned char *at, const unsigned char *end)
{
    while (end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        const unsigned char *name = at + sizeof(*note);
        const unsigned char *bytes = name + ((note->n_namesz + 3u) & ~3u);
        if (bytes > end || note->n_descsz > (size_t)(end - bytes))
            break;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && bytes_equal(name, "GNU", 4))
            return (struct build_id){bytes, note->n_descsz};
        at = bytes + ((note->n_descsz + 3u) & ~3u);
    }
    return (struct build_id){NULL, 0};
}

/* True if bytes of the file are mapped there readable. There may be gaps between segments. */
static bool is_loaded(const ElfW(Phdr) * programs, size_t n, const ElfW(Phdr) * part)
{
    for (size_t i = 0; i < n; i++)
        if (programs[i].p_type == PT_LOAD && (programs[i].p_flags & PF_R)
            && part->p_vaddr >= programs[i].p_vaddr && part->p_memsz <= programs[i].p_filesz
            && part->p_vaddr - programs[i].p_vaddr <= programs[i].p_filesz - part->p_memsz)
            return true;
    return false;
}

static struct build_id find_build_id(const struct module_identity *identity, uintptr_t load_address)
{
    struct module_bounds bounds;

    if (!module_bounds_find(identity->start, &bounds))
        return (struct build_id){NULL, 0};
    for (size_t i = 0; i < bounds.n_headers; i++) {
        uintptr_t at = load_address + bounds.headers[i].p_vaddr;
        struct build_id id;
        if (bounds.headers[i].p_type != PT_NOTE
            || !is_loaded(bounds.headers, bounds.n_headers, &bounds.headers[i]))
            continue;
        id = find_in_notes((const void *)at, (const void *)(at + bounds.headers[i].p_memsz));
        if (id.n_bytes && id.n_bytes <= MAX_BUILD_ID_BYTES)
            return id;
    }
    return (struct build_id){NULL, 0};
}

static void append_path(const struct link_map *map, struct fmt *out)
{
    size_t room_bytes = out->capacity_bytes - 1;
    long length = 0;

    if (elf_lookup_is_vdso(map)) {
        fmt_string(out, "[vdso]");
        return;
    }
    if (map->l_name[0] == '\0') {
        length = sys_readlink("/proc/self/exe", out->text, room_bytes);
        out->size_bytes = length > 0 ? (size_t)length : 0;
        return;
    }
    if (map->l_name[0] != '/' && (length = sys_getcwd(out->text, room_bytes)) > 0) {
        out->size_bytes = (size_t)length - 1; /* the kernel counts the NUL */
        fmt_char(out, '/');
    }
    fmt_string(out, map->l_name);
}

/* The contents of a definition. */
struct description {
    struct build_id build_id;
    struct fmt path; /* in borrowed memory */
};

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_file(const struct description *file)
{
    uint64_t hash = 0xcbf29ce484222325u;

    if (file->build_id.n_bytes == 0)
        return 0;
    hash = hash_bytes(hash, file->build_id.bytes, file->build_id.n_bytes);
    return hash_bytes(hash, file->path.text, file->path.size_bytes);
}

static bool define(uint32_t id, const struct module_identity *identity,
                   const struct description *file)
{
    struct log_def def = {
        .kind = LOG_DEF_MODULE,
        .id = id,
        .extra = file->build_id.n_bytes,
        .a = ((const struct link_map *)identity->link_map)->l_addr,
        .b = identity->start,
        .c = identity->end - identity->start,
    };

    return definition_write(&def, file->build_id.bytes, file->build_id.n_bytes, file->path.text,
                            file->path.size_bytes);
}

/* A truncated path names no file. */
static void keep_file(uint32_t id, const struct module_identity *identity,
                      const struct description *file)
{
    if (!file->path.is_cut)
        module_file_keep(&(struct module_file){.id = id,
                                               .start = identity->start,
                                               .end = identity->end,
                                               .map = (const void *)identity->link_map,
                                               .path = file->path.text,
                                               .build_id = file->build_id.bytes,
                                               .build_id_bytes = file->build_id.n_bytes});
}

/* Counts each module once. Two modules with the same hash count as one. */
static void count_unreported(const struct module_identity *identity)
{
    uint32_t hash = (uint32_t)(hash_bytes(0xcbf29ce484222325u, identity, sizeof(*identity)) >> 20)
                    % UNREPORTED_BITS;
    uint64_t bit = (uint64_t)1 << hash % 64;
    struct log_header *log = segment_log();

    if (log
        && !(atomic_fetch_or_explicit(&g_unreported[hash / 64], bit, memory_order_relaxed) & bit))
        atomic_fetch_add_explicit(&log->n_unreported_modules, 1, memory_order_relaxed);
}

static void report_overflow(const struct module_identity *identity)
{
    count_unreported(identity);
    if (!atomic_exchange_explicit(&g_has_overflown, true, memory_order_relaxed))
        message(CONFIG_LEVEL_WARN,
                "too many libraries are loaded at the same time: code of the others has no "
                "names, and its stacks are slow",
                NULL, 0);
}

/* MO-1. If two threads define a module at the same time, it gets two ids, and both are right. */
static uint32_t add_unblocked(const struct module_identity *identity)
{
    const struct link_map *map = (const void *)identity->link_map;
    struct description file = {find_build_id(identity, map->l_addr),
                               {memory_borrow(), MEMORY_BORROWED_BYTES, 0, false}};
    struct module_slot *slot;
    uint32_t id = 0;

    if (!file.path.text)
        return 0;
    append_path(map, &file.path);
    slot = module_table_claim(identity, hash_file(&file));
    if (slot) {
        bool is_settled = module_table_is_settled(slot);
        bool is_defined;
        if (!is_settled)
            keep_file(module_table_id(slot), identity, &file);
        is_defined = is_settled || define(module_table_id(slot), identity, &file);
        id = is_defined ? module_table_id(slot) : 0;
        module_table_publish(slot, is_defined);
    } else {
        report_overflow(identity);
    }
    memory_return(file.path.text);
    return id;
}

/* Signals are blocked: a handler that leaves by siglongjmp would leak a slot or the borrowed
 * buffer. */
static uint32_t add(const struct module_identity *identity)
{
    struct sys_signals mask;
    bool is_blocked = sys_block_signals(&mask) >= 0;
    uint32_t id = add_unblocked(identity);

    if (is_blocked)
        sys_unblock_signals(mask);
    return id;
}

bool modules_find(uintptr_t address, struct module *ret_module)
{
    struct dl_find_object object;
    struct module_identity identity;

    *ret_module = (struct module){.id = 0};
    if (_dl_find_object((void *)address, &object) != 0 || !object.dlfo_link_map)
        return false;
    identity = identity_of(&object);
    ret_module->start = identity.start;
    ret_module->end = identity.end;
    ret_module->load_address = object.dlfo_link_map->l_addr;
    ret_module->eh_frame_hdr = object.dlfo_eh_frame;
#if DLFO_STRUCT_HAS_EH_COUNT
    ret_module->n_entries = (uint32_t)object.dlfo_eh_count;
#endif
    ret_module->id = module_table_find(&identity);
    if (ret_module->id == 0)
        ret_module->id = add(&identity);
    return true;
}

static bool is_there(const struct module_identity *identity)
{
    struct dl_find_object object;
    struct module_identity now;

    if (_dl_find_object((void *)identity->start, &object) != 0 || !object.dlfo_link_map)
        return false;
    now = identity_of(&object);
    return now.start == identity->start && now.end == identity->end
           && now.link_map == identity->link_map && now.dynamic == identity->dynamic
           && now.eh_frame == identity->eh_frame;
}

static void write_end(uint32_t id)
{
    struct log_def def = {.kind = LOG_DEF_MODULE_END, .id = id};

    definition_write(&def, NULL, 0, NULL, 0);
}

void modules_check_unloaded(void)
{
    if (module_table_end(is_there, write_end))
        modules_bump_epoch(); /* last: later lookups see the module ended */
}
