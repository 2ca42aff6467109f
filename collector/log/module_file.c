/* SPDX-License-Identifier: MIT */
#include "collector/log/module_file.h"

#include "collector/log/definition.h"
#include "collector/os/elf_lookup.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/module_bounds.h"
#include "collector/os/sys.h"
#include "lib/abi/file_key.h"

#include <elf.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum {
    RECENT_SECONDS = 600,
    HEAD_BYTES =
        4096, /* must contain the ELF header and program headers, or the file is not copied */
    DEBUG_BYTES = 256 * 1024, /* debug sections up to this size are copied, too */
    MAX_BYTES = 16 * 1024 * 1024,
    MAX_SECTIONS = 1024,
    KNOWN_KEYS = 4096, /* a power of two */
    KEY_PROBES = 16,
};

static uint64_t g_max_bytes;
static _Atomic uint64_t g_copied_bytes;
static _Atomic uint64_t g_known_keys[KNOWN_KEYS];
static _Atomic bool g_is_full;

void module_file_init(uint64_t max_bytes)
{
    g_max_bytes = max_bytes;
}

/* ---- which files were copied ---- */

static bool is_known(uint64_t key)
{
    for (unsigned i = 0; i < KEY_PROBES; i++)
        if (atomic_load_explicit(&g_known_keys[(key + i) % KNOWN_KEYS], memory_order_relaxed)
            == key)
            return true;
    return false;
}

/* False: another thread has just added it. If there is no free place, the file is copied again next
 * time. */
static bool add_key(uint64_t key)
{
    for (unsigned i = 0; i < KEY_PROBES; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong_explicit(&g_known_keys[(key + i) % KNOWN_KEYS], &found,
                                                    key, memory_order_relaxed,
                                                    memory_order_relaxed))
            return true;
        if (found == key)
            return false;
    }
    return true;
}

/* ---- parts of a file, one after the other in a buffer ---- */

struct part {
    uint64_t offset; /* in the file */
    uint64_t size_bytes;
};

struct copy {
    int fd;                /* -1: the bytes come from memory */
    unsigned char *buffer; /* of MAX_BYTES */
    size_t used_bytes;
    bool is_failed;
};

static unsigned char *begin_part(struct copy *copy, uint64_t offset, uint64_t size_bytes)
{
    struct part *part = (void *)(copy->buffer + copy->used_bytes);

    if (size_bytes > MAX_BYTES || copy->used_bytes + sizeof(*part) + size_bytes > MAX_BYTES) {
        copy->is_failed = true;
        return NULL;
    }
    *part = (struct part){offset, size_bytes};
    copy->used_bytes += (sizeof(*part) + size_bytes + 7) & ~(size_t)7;
    return (unsigned char *)(part + 1);
}

static void *copy_from_file(struct copy *copy, uint64_t offset, uint64_t size_bytes)
{
    unsigned char *bytes = begin_part(copy, offset, size_bytes);

    if (bytes && sys_pread(copy->fd, bytes, size_bytes, offset) != (long)size_bytes)
        copy->is_failed = true;
    return copy->is_failed ? NULL : bytes;
}

static void *copy_from_memory(struct copy *copy, uint64_t offset, uintptr_t address,
                              size_t size_bytes)
{
    unsigned char *bytes = begin_part(copy, offset, size_bytes);

    if (bytes && sys_copy_own(bytes, address, size_bytes) != (long)size_bytes)
        copy->is_failed = true;
    return copy->is_failed ? NULL : bytes;
}

static bool is_head(const ElfW(Ehdr) * header)
{
    return bytes_equal(header->e_ident, ELFMAG, SELFMAG)
           && header->e_phentsize == sizeof(ElfW(Phdr))
           && header->e_phoff + (uint64_t)header->e_phnum * sizeof(ElfW(Phdr)) <= HEAD_BYTES;
}

static size_t head_bytes(const ElfW(Ehdr) * header)
{
    return header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr));
}

/* ---- from the file ---- */

/* Tables that name functions, and build ids. The names of sections are among the strings. */
static bool is_table(const ElfW(Shdr) * section)
{
    return section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM
           || section->sh_type == SHT_STRTAB || section->sh_type == SHT_NOTE;
}

static bool is_debug(const ElfW(Shdr) * section)
{
    return !(section->sh_flags & SHF_ALLOC) && section->sh_type != SHT_NOBITS
           && section->sh_type != SHT_NULL;
}

static void copy_sections(struct copy *copy, const ElfW(Ehdr) * header)
{
    const ElfW(Shdr) * sections;
    uint64_t all_bytes = 0;

    copy->is_failed = header->e_shentsize != sizeof(*sections) || header->e_shnum == 0
                      || header->e_shnum > MAX_SECTIONS;
    if (copy->is_failed)
        return;
    sections = copy_from_file(copy, header->e_shoff, header->e_shnum * sizeof(*sections));
    for (unsigned i = 0; sections && i < header->e_shnum; i++)
        if ((is_table(&sections[i]) || is_debug(&sections[i]))
            && all_bytes + sections[i].sh_size > all_bytes)
            all_bytes += sections[i].sh_size;
    for (unsigned i = 0; sections && !copy->is_failed && i < header->e_shnum; i++)
        if (is_table(&sections[i]) || (all_bytes <= DEBUG_BYTES && is_debug(&sections[i])))
            copy_from_file(copy, sections[i].sh_offset, sections[i].sh_size);
}

/* True if the first page of the mapping equals that of the file; nothing is relocated there. */
static bool is_loaded_file(struct copy *copy, const struct module_file *file)
{
    unsigned char *loaded = copy->buffer;
    unsigned char *now = loaded + HEAD_BYTES;
    long n = sys_copy_own(loaded, file->start, HEAD_BYTES);
    long n_now = sys_pread(copy->fd, now, HEAD_BYTES, 0);
    const ElfW(Ehdr) *header = (const void *)loaded;
    const ElfW(Phdr) * programs;
    size_t n_same = HEAD_BYTES;

    if (n != HEAD_BYTES || n_now < (long)sizeof(*header) || !is_head(header))
        return false;
    programs = (const void *)(loaded + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (programs[i].p_type == PT_LOAD && programs[i].p_offset == 0
            && programs[i].p_filesz < n_same)
            n_same = programs[i].p_filesz;
    return (long)n_same <= n_now && bytes_equal(loaded, now, n_same);
}

static void copy_file(struct copy *copy)
{
    ElfW(Ehdr) *header = copy_from_file(copy, 0, sizeof(*header));

    if (header && head_bytes(header) > sizeof(*header))
        copy_from_file(copy, sizeof(*header), head_bytes(header) - sizeof(*header));
    if (header && !copy->is_failed)
        copy_sections(copy, header);
}

/* ---- from memory ---- */

/* Restores the values of the file: ld.so adds the load address to some entries, on some processors
 * to none. */
static void restore_dynamic(const struct module_file *file, ElfW(Dyn) * dynamic, size_t n,
                            uint64_t *ret_strings_end)
{
    uint64_t strings = 0;
    uint64_t n_strings = 0;

    for (size_t i = 0; i < n && dynamic[i].d_tag != DT_NULL; i++) {
        ElfW(Dyn) *entry = &dynamic[i];
        if (entry->d_un.d_ptr >= file->start && entry->d_un.d_ptr < file->end)
            entry->d_un.d_ptr -= file->map->l_addr;
        if (entry->d_tag == DT_STRTAB)
            strings = entry->d_un.d_ptr;
        else if (entry->d_tag == DT_STRSZ)
            n_strings = entry->d_un.d_val;
    }
    *ret_strings_end = strings + n_strings;
}

/* All linkers put the strings after the other tables of dynamic symbols. */
static void copy_memory(struct copy *copy, const struct module_file *file)
{
    ElfW(Ehdr) *header = copy_from_memory(copy, 0, file->start, HEAD_BYTES);
    const ElfW(Phdr) *first = NULL;
    const ElfW(Phdr) *dynamic = NULL;
    uint64_t end = 0;
    void *entries;

    if (!header || !is_head(header)) {
        copy->is_failed = true;
        return;
    }
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const ElfW(Phdr) *program =
            (const ElfW(Phdr) *)(void *)((char *)header + header->e_phoff) + i;
        if (program->p_type == PT_LOAD && program->p_offset == 0)
            first = program;
        else if (program->p_type == PT_DYNAMIC)
            dynamic = program;
    }
    if (!first || !dynamic || !(first->p_flags & PF_R)) {
        copy->is_failed = true;
        return;
    }
    entries =
        copy_from_memory(copy, dynamic->p_offset, (uintptr_t)file->map->l_ld, dynamic->p_filesz);
    if (!entries)
        return;
    restore_dynamic(file, entries, dynamic->p_filesz / sizeof(ElfW(Dyn)), &end);
    if (end <= first->p_vaddr || end - first->p_vaddr > first->p_filesz) {
        copy->is_failed = true;
        return;
    }
    end -= first->p_vaddr;
    if (end > HEAD_BYTES)
        copy_from_memory(copy, HEAD_BYTES, file->start + HEAD_BYTES, (size_t)end - HEAD_BYTES);
}

/* ---- into the log ---- */

static bool write_parts(const struct copy *copy, uint64_t key)
{
    const size_t most = LOG_DEF_MAX_BYTES - sizeof(struct log_def);
    const struct part *part;

    for (size_t at = 0; at < copy->used_bytes;
         at += (sizeof(*part) + part->size_bytes + 7) & ~(size_t)7) {
        part = (const void *)(copy->buffer + at);
        for (size_t done = 0, n; done < part->size_bytes; done += n) {
            struct log_def def = {.kind = LOG_DEF_FILE_PART, .a = key, .b = part->offset + done};
            n = part->size_bytes - done < most ? part->size_bytes - done : most;
            if (!definition_write(&def, (const char *)(part + 1) + done, n, NULL, 0))
                return false;
        }
    }
    return true;
}

static bool has_room(size_t size_bytes)
{
    uint64_t before = atomic_fetch_add_explicit(&g_copied_bytes, size_bytes, memory_order_relaxed);

    if (before + size_bytes <= g_max_bytes)
        return true;
    atomic_fetch_sub_explicit(&g_copied_bytes, size_bytes, memory_order_relaxed);
    return false;
}

static void report_full(const char *path)
{
    if (!atomic_exchange_explicit(&g_is_full, true, memory_order_relaxed))
        message(CONFIG_LEVEL_WARN,
                "the limit of --keep-symbols is reached; no symbols are kept of ", path, 0);
}

static uint64_t write_copy(const struct module_file *file, const struct copy *copy, uint64_t key)
{
    if (key == 0)
        key = file_key_of_bytes(copy->buffer, copy->used_bytes);
    if (is_known(key))
        return key;
    if (!has_room(copy->used_bytes)) {
        report_full(file->path);
        return 0;
    }
    return !add_key(key) || write_parts(copy, key) ? key : 0;
}

/* True if the file probably exists when the log is imported: it is not a plugin, belongs to a
 * package, or is old. A fresh build is often run many times; copies of its executable would fill
 * the logs. */
static bool stays(const struct module_file *file, const struct sys_file_id *id)
{
    int64_t now = (int64_t)(sys_clock_ns(CLOCK_REALTIME) / 1000000000u);

    return module_bounds_is_initial(file->map) || fmt_after_prefix(file->path, "/usr/")
           || fmt_after_prefix(file->path, "/lib/") || fmt_after_prefix(file->path, "/lib64/")
           || now - id->change_seconds > RECENT_SECONDS;
}

/* Without a build id, modules of one file are recognized by its status. */
static uint64_t key_of_status(const struct module_file *file, const struct sys_file_id *id)
{
    return file->build_id ? 0
                          : file_key_of_status(id->device, id->inode, (uint64_t)id->size_bytes,
                                               (uint64_t)id->change_seconds);
}

/* The first segment of a module is one mapping. */
static int open_mapping(const struct copy *copy, const struct module_file *file)
{
    const ElfW(Ehdr) *header = (const void *)copy->buffer;
    const ElfW(Phdr) * programs;
    char path[64];
    struct fmt out = FMT_BUFFER(path);
    uint64_t end = 0;

    if (sys_copy_own(copy->buffer, file->start, HEAD_BYTES) != HEAD_BYTES || !is_head(header))
        return -1;
    programs = (const void *)(copy->buffer + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum && !end; i++)
        if (programs[i].p_type == PT_LOAD)
            end = file->map->l_addr + programs[i].p_vaddr + programs[i].p_filesz;
    end = (end + sys_page_bytes() - 1) & ~(uint64_t)(sys_page_bytes() - 1);
    fmt_string(&out, "/proc/self/map_files/");
    fmt_hex(&out, file->start);
    fmt_char(&out, '-');
    fmt_hex(&out, end);
    return (int)sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

static void fill_copy(struct copy *copy, const struct module_file *file)
{
    int path_fd = copy->fd;

    if (path_fd < 0 || !is_loaded_file(copy, file))
        copy->fd = open_mapping(copy, file);
    if (copy->fd >= 0 && (copy->fd == path_fd || is_loaded_file(copy, file)))
        copy_file(copy);
    else
        copy_memory(copy, file);
    if (copy->fd >= 0 && copy->fd != path_fd)
        sys_close(copy->fd);
}

/* Copies from the file at its path, or as module_file.h says. */
static uint64_t copy_module(const struct module_file *file, int fd, uint64_t key)
{
    struct copy copy = {.fd = fd, .buffer = memory_map(MAX_BYTES)};

    if (!copy.buffer)
        return 0;
    fill_copy(&copy, file);
    key = copy.is_failed ? 0 : write_copy(file, &copy, key);
    memory_unmap(copy.buffer, MAX_BYTES);
    return key;
}

static uint64_t keep_file(const struct module_file *file, uint64_t key)
{
    const char *path = file->map->l_name[0] ? file->path : "/proc/self/exe";
    int fd = (int)sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    struct sys_file_id id = {0};
    bool is_there = fd >= 0 && sys_file_id(fd, &id) == 0;

    if (g_max_bytes && !(is_there && stays(file, &id)))
        key = copy_module(file, fd, key);
    else
        key = is_there ? key_of_status(file, &id) : 0;
    if (fd >= 0)
        sys_close(fd);
    return key;
}

static uint64_t key_of_build_id(const struct module_file *file)
{
    return file->build_id ? file_key_of_bytes(file->build_id, file->build_id_bytes) : 0;
}

static bool is_ours(const struct module_file *file)
{
    uintptr_t own = (uintptr_t)&g_max_bytes;

    return own >= file->start && own < file->end;
}

void module_file_keep(const struct module_file *file)
{
    struct log_def def = {.kind = LOG_DEF_FILE, .id = file->id, .a = key_of_build_id(file)};

    if (elf_lookup_is_vdso(file->map) || is_ours(file) || (g_max_bytes == 0 && file->build_id))
        return;
    if (def.a == 0 || !is_known(def.a))
        def.a = keep_file(file, def.a);
    if (def.a)
        definition_write(&def, NULL, 0, NULL, 0);
}
