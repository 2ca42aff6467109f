/* SPDX-License-Identifier: MIT */
#include "recorder/pack/kept_modules.h"

#include "lib/abi/file_key.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/regular_file.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_SECTIONS = 4096,
    MOST_NOTE_BYTES = 4096,
    RECORD_BYTES = LOG_DEF_MAX_BYTES,
    TEXT_BYTES = RECORD_BYTES - sizeof(struct log_def),
};

static size_t g_n_held; /* KM-2 */

void kept_modules_init(struct kept_modules *kept, uint64_t most_bytes)
{
    *kept = (struct kept_modules){.room_bytes = most_bytes};
}

static void let_go(struct kept_modules *kept, size_t i)
{
    close(kept->held[i].fd);
    free(kept->held[i].path);
    kept->held[i] = kept->held[--kept->n_held];
    g_n_held--;
}

void kept_modules_done(struct kept_modules *kept)
{
    while (kept->n_held)
        let_go(kept, kept->n_held - 1);
    free(kept->held);
    free(kept->keys);
    free(kept->payload);
    definition_parts_done(&kept->parts);
}

/* ---- the file ---- */

static bool read_at(int fd, void *bytes, size_t n, uint64_t offset)
{
    return offset < INT64_MAX && pread(fd, bytes, n, (off_t)offset) == (ssize_t)n;
}

/* Section headers, to be freed; NULL: it is no ELF file of 64 bits that has some. */
static Elf64_Shdr *read_sections(int fd, Elf64_Ehdr *ret_header)
{
    size_t n_bytes;
    Elf64_Shdr *sections;

    if (!read_at(fd, ret_header, sizeof(*ret_header), 0)
        || memcmp(ret_header->e_ident, ELFMAG, SELFMAG) != 0
        || ret_header->e_ident[EI_CLASS] != ELFCLASS64
        || ret_header->e_shentsize != sizeof(*sections) || ret_header->e_shnum == 0
        || ret_header->e_shnum > MOST_SECTIONS)
        return NULL;
    n_bytes = ret_header->e_shnum * sizeof(*sections);
    sections = malloc(n_bytes);
    if (sections && read_at(fd, sections, n_bytes, ret_header->e_shoff))
        return sections;
    free(sections);
    return NULL;
}

/* KM-1 */
static bool has_build_id(int fd, const void *build_id, size_t n)
{
    uint8_t note[MOST_NOTE_BYTES];
    Elf64_Ehdr header;
    Elf64_Shdr *sections = read_sections(fd, &header);
    bool is_found = false;

    for (unsigned i = 0; sections && !is_found && i < header.e_shnum; i++)
        is_found = sections[i].sh_type == SHT_NOTE && sections[i].sh_size <= sizeof(note)
                   && read_at(fd, note, sections[i].sh_size, sections[i].sh_offset)
                   && memmem(note, sections[i].sh_size, build_id, n);
    free(sections);
    return is_found;
}

/* ---- definitions ---- */

static uint64_t key_of(const struct kept_modules *kept, uint32_t id)
{
    for (size_t i = 0; id && i < kept->n_keys; i++)
        if (kept->keys[i].id == id)
            return kept->keys[i].key;
    return 0;
}

static bool has_parts(const struct kept_modules *kept, uint64_t key)
{
    for (size_t i = 0; i < kept->n_keys; i++)
        if (kept->keys[i].id == 0 && kept->keys[i].key == key)
            return true;
    return false;
}

static void add_key(struct kept_modules *kept, uint32_t id, uint64_t key)
{
    struct kept_key *keys;

    if (id ? key_of(kept, id) == key : has_parts(kept, key))
        return;
    keys = dynamic_array_reserve(kept->keys, &kept->keys_capacity, kept->n_keys + 1, sizeof(*keys));
    if (!keys)
        return;
    kept->keys = keys;
    keys[kept->n_keys++] = (struct kept_key){id, key};
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size
           && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_held(const struct kept_modules *kept, const struct stat *status)
{
    for (size_t i = 0; i < kept->n_held; i++)
        if (is_same_file(&kept->held[i].status, status))
            return true;
    return false;
}

static bool is_recorded(int fd, const struct stat *status, const struct log_def *def, uint64_t key)
{
    if (def->extra)
        return has_build_id(fd, def + 1, def->extra);
    return key
           && key
                  == file_key_of_status(status->st_dev, status->st_ino, status->st_size,
                                        status->st_ctim.tv_sec);
}

static void hold(struct kept_modules *kept, const struct log_def *def)
{
    const char *text = (const char *)(def + 1) + def->extra;
    uint64_t key = def->extra ? file_key_of_bytes(def + 1, def->extra) : key_of(kept, def->id);
    struct kept_module module = {.id = def->id, .key = key, .fd = -1};
    struct kept_module *held;
    char real[PATH_MAX];

    if (g_n_held >= KEPT_MODULES_MOST || has_parts(kept, key))
        return;
    module.path = strndup(text, def->text_bytes - def->extra);
    held = dynamic_array_reserve(kept->held, &kept->held_capacity, kept->n_held + 1, sizeof(*held));
    if (held)
        kept->held = held;
    if (held && module.path && realpath(module.path, real))
        regular_file_open_foreign(real, &module.fd, &module.status);
    if (module.fd >= 0 && !is_held(kept, &module.status)
        && is_recorded(module.fd, &module.status, def, key)) {
        held[kept->n_held++] = module;
        g_n_held++;
        return;
    }
    if (module.fd >= 0)
        close(module.fd);
    free(module.path);
}

static bool may_go(const struct log_def *def)
{
    const char *path = (const char *)(def + 1) + def->extra;
    size_t n = def->extra < def->text_bytes ? def->text_bytes - def->extra : 0;

    return n > 1 && path[0] == '/' && !(n > 5 && memcmp(path, "/usr/", 5) == 0)
           && !(n > 4 && memcmp(path, "/lib", 4) == 0);
}

/* Keys come before the modules that have them, but may be in a later segment. True: modules came or went. */
static bool learn(struct kept_modules *kept, size_t n_bytes, bool is_of_modules)
{
    const struct log_def *def;
    bool is_any = false;
    size_t at = 0;

    while ((def = definition_parts_def(kept->payload, n_bytes, &at)) != NULL) {
        is_any |= def->kind == LOG_DEF_MODULE || def->kind == LOG_DEF_MODULE_END;
        if (is_of_modules && def->kind == LOG_DEF_MODULE && may_go(def))
            hold(kept, def);
        else if (!is_of_modules && def->kind == LOG_DEF_FILE)
            add_key(kept, def->id, def->a);
        else if (!is_of_modules && def->kind == LOG_DEF_FILE_PART)
            add_key(kept, 0, def->a);
    }
    return is_any;
}

/* True: modules came or went. */
static bool read_new(struct kept_modules *kept, const struct live_log *live)
{
    struct log_segment segment;
    bool is_any = false;

    if (!definition_parts_find(&kept->parts, live))
        return false;
    for (int is_of_modules = 0; is_of_modules < 2; is_of_modules++) {
        for (size_t i = 0; i < kept->parts.n; i++) {
            struct definition_part *part = &kept->parts.parts[i];
            struct definition_part before = *part;
            uint32_t first;
            uint32_t end;
            if (part->kind != LOG_SEGMENT_DEFS || !definition_parts_next(live, part, &first, &end))
                continue;
            definition_parts_copy(live, part, first, end, &segment, kept->payload);
            is_any |= learn(kept, end - first, is_of_modules);
            if (!is_of_modules)
                *part = before;
        }
    }
    return is_any;
}

/* ---- into the log ---- */

struct writing {
    struct kept_modules *kept;
    const struct kept_module *module;
    kept_modules_write *write;
    void *context;
    uint32_t n_bytes; /* of the payload so far */
    bool is_failed;
};

static void flush(struct writing *writing)
{
    if (writing->n_bytes && !writing->is_failed)
        writing->is_failed =
            !writing->write(writing->context, writing->kept->payload, writing->n_bytes);
    writing->n_bytes = 0;
}

/* Room for a definition with n bytes of text, which are to be written behind it. */
static struct log_def *add_definition(struct writing *writing, enum log_def_kind kind, size_t n)
{
    size_t n_record =
        (sizeof(struct log_def) + n + LOG_DEF_ALIGN - 1) / LOG_DEF_ALIGN * LOG_DEF_ALIGN;
    struct log_def *def;

    if (writing->n_bytes + n_record > LOG_SEGMENT_PAYLOAD_BYTES)
        flush(writing);
    def = (struct log_def *)(void *)((uint8_t *)writing->kept->payload + writing->n_bytes);
    memset(def, 0, n_record);
    def->kind = (uint8_t)kind;
    def->text_bytes = (uint16_t)n;
    def->magic = LOG_DEF_MAGIC;
    def->a = writing->module->key;
    writing->n_bytes += (uint32_t)n_record;
    return def;
}

static void add_range(struct writing *writing, uint64_t offset, uint64_t n_bytes)
{
    for (uint64_t done = 0; !writing->is_failed && done < n_bytes;) {
        size_t n = n_bytes - done < TEXT_BYTES ? (size_t)(n_bytes - done) : (size_t)TEXT_BYTES;
        struct log_def *def = add_definition(writing, LOG_DEF_FILE_PART, n);
        def->b = offset + done;
        writing->is_failed |= !read_at(writing->module->fd, def + 1, n, offset + done);
        done += n;
    }
}

static bool is_table(const Elf64_Shdr *section)
{
    return section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM
           || section->sh_type == SHT_STRTAB || section->sh_type == SHT_NOTE;
}

static uint64_t table_bytes(const Elf64_Ehdr *header, const Elf64_Shdr *sections)
{
    uint64_t n_bytes = sizeof(*header) + header->e_shnum * sizeof(*sections)
                       + (uint64_t)header->e_phnum * header->e_phentsize;

    for (unsigned i = 0; i < header->e_shnum; i++)
        if (is_table(&sections[i]))
            n_bytes = sections[i].sh_size < UINT64_MAX - n_bytes ? n_bytes + sections[i].sh_size
                                                                 : UINT64_MAX;
    return n_bytes;
}

/* False: it is to be tried again. */
static bool write_module(struct writing *writing)
{
    struct kept_modules *kept = writing->kept;
    Elf64_Ehdr header;
    Elf64_Shdr *sections = read_sections(writing->module->fd, &header);
    uint64_t n_bytes = sections ? table_bytes(&header, sections) : UINT64_MAX;

    if (n_bytes <= kept->room_bytes) {
        add_definition(writing, LOG_DEF_FILE, 0)->id = writing->module->id;
        add_range(writing, 0, sizeof(header));
        add_range(writing, header.e_phoff, (uint64_t)header.e_phnum * header.e_phentsize);
        add_range(writing, header.e_shoff, header.e_shnum * sizeof(*sections));
        for (unsigned i = 0; i < header.e_shnum; i++)
            if (is_table(&sections[i]))
                add_range(writing, sections[i].sh_offset, sections[i].sh_size);
        flush(writing);
        kept->room_bytes -= n_bytes;
    }
    free(sections);
    return !writing->is_failed;
}

void kept_modules_look(struct kept_modules *kept, const struct live_log *live, bool is_last,
                       kept_modules_write *write, void *context)
{
    if (kept->room_bytes == 0)
        return;
    if (!kept->payload)
        kept->payload = malloc(LOG_SEGMENT_PAYLOAD_BYTES);
    if (!kept->payload || (!read_new(kept, live) && !is_last))
        return;
    for (size_t i = kept->n_held; i-- > 0;) {
        struct writing writing = {
            .kept = kept, .module = &kept->held[i], .write = write, .context = context};
        struct stat now;
        if (stat(kept->held[i].path, &now) == 0 && is_same_file(&now, &kept->held[i].status))
            continue;
        if (write_module(&writing) || is_last)
            let_go(kept, i);
    }
}
