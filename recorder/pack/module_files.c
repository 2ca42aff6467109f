/* SPDX-License-Identifier: MIT */
#include "recorder/pack/module_files.h"

#include "lib/abi/file_key.h"
#include "lib/abi/log_format.h"
#include "lib/logfile/definition_parts.h"
#include "recorder/patch/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TEXT_BYTES = LOG_DEF_MAX_BYTES - sizeof(struct log_def),
};

static const uint64_t look_every_ns = UINT64_C(5000000000);

struct module_file {
    int fd;
    struct stat status;
    char *path; /* owned */
};

struct module_files {
    struct module_file files[MODULE_FILES_MAX];
    size_t n;
    size_t n_max;
    char *unkept; /* owned */
    uint64_t room_bytes;
    uint64_t due_ns;
    uint64_t payload[LOG_SEGMENT_PAYLOAD_BYTES / 8];
};

/* Most descriptors are left to children, reports and helper processes. */
static size_t max_files(void)
{
    struct rlimit limit;
    rlim_t n = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 4 : 0;

    if (n < MODULE_FILES_MIN / 4)
        return 0;
    return n < MODULE_FILES_MAX ? (size_t)n : (size_t)MODULE_FILES_MAX;
}

struct module_files *module_files_new(uint64_t max_bytes)
{
    struct module_files *files = calloc(1, sizeof(*files)); /* large: the kernel has zeros */

    if (!files)
        return NULL;
    files->room_bytes = max_bytes;
    files->n_max = max_files();
    return files;
}

static void close_file(struct module_files *files, size_t i)
{
    close(files->files[i].fd);
    free(files->files[i].path);
    files->files[i] = files->files[--files->n];
}

void module_files_free(struct module_files *files)
{
    while (files && files->n)
        close_file(files, files->n - 1);
    if (files)
        free(files->unkept);
    free(files);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_open(const struct module_files *files, const struct stat *status)
{
    for (size_t i = 0; i < files->n; i++)
        if (is_same_file(&files->files[i].status, status))
            return true;
    return false;
}

static void open_file(struct module_files *files, const char *path)
{
    struct module_file file = {.fd = -1};

    if (files->n >= files->n_max || stat(path, &file.status) != 0 || !S_ISREG(file.status.st_mode)
        || is_open(files, &file.status))
        return;
    file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    file.path = strdup(path);
    if (file.fd >= 0 && file.path && fstat(file.fd, &file.status) == 0) {
        files->files[files->n++] = file;
        return;
    }
    if (file.fd >= 0)
        close(file.fd);
    free(file.path);
}

void module_files_open(struct module_files *files, const char *path)
{
    char real[PATH_MAX];

    if (files->room_bytes && path && realpath(path, real))
        open_file(files, real);
}

static void open_module(struct module_files *files, const struct log_def *def)
{
    const char *text = (const char *)(def + 1);
    char path[PATH_MAX];
    size_t n = def->extra < def->text_bytes ? def->text_bytes - def->extra : 0;

    if (n == 0 || n >= sizeof(path) || text[def->extra] != '/')
        return;
    memcpy(path, text + def->extra, n);
    path[n] = '\0';
    open_file(files, path);
}

void module_files_learn(struct module_files *files, const void *payload, size_t n_bytes)
{
    const struct log_def *def;
    size_t at = 0;

    if (files->room_bytes == 0)
        return;
    while ((def = definition_parts_def(payload, n_bytes, &at)) != NULL)
        if (def->kind == LOG_DEF_MODULE)
            open_module(files, def);
}

/* ---- copying --------------------------------------------------------------------------------- */

struct copy {
    const struct module_file *file;
    const struct elf_file *elf;
    uint64_t room_bytes;
    uint64_t n_bytes; /* of all parts; more than room_bytes: nothing is copied */
    uint64_t key;
    bool has_debug;
    bool is_failed; /* the log could not be written */
    module_files_write *write;
    void *context;
    uint64_t *payload; /* of LOG_SEGMENT_PAYLOAD_BYTES */
    uint32_t n_used;   /* bytes of it */
};

/* 0: this section is no build id. */
static uint64_t key_of_note(const struct elf_file *elf, const Elf64_Shdr *section)
{
    const uint64_t id_at = sizeof(Elf64_Nhdr) + sizeof(ELF_NOTE_GNU);
    Elf64_Nhdr note;
    const void *id;

    if (section->sh_type != SHT_NOTE || !elf_file_copy(elf, section->sh_offset, &note, sizeof(note))
        || note.n_type != NT_GNU_BUILD_ID)
        return 0;
    id = elf_file_at(elf, section->sh_offset + id_at, note.n_descsz);
    return id ? file_key_of_bytes(id, note.n_descsz) : 0;
}

static uint64_t key_of_status(const struct stat *status)
{
    return file_key_of_status(status->st_dev, status->st_ino, (uint64_t)status->st_size,
                              (uint64_t)status->st_ctim.tv_sec);
}

static bool is_table(const Elf64_Shdr *section)
{
    return section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM
           || section->sh_type == SHT_STRTAB || section->sh_type == SHT_NOTE;
}

static bool is_debug(const Elf64_Shdr *section)
{
    return !(section->sh_flags & SHF_ALLOC) && section->sh_type != SHT_NOBITS
           && section->sh_type != SHT_NULL;
}

/* All sections lie inside the file, so the sum cannot overflow. MD-1 */
static void examine(struct copy *copy)
{
    Elf64_Shdr section;
    uint64_t tables = 0;
    uint64_t debug = 0;

    for (unsigned i = 0; elf_file_get_section(copy->elf, i, &section); i++) {
        if (!elf_file_at(copy->elf, section.sh_offset, section.sh_size))
            continue;
        tables += is_table(&section) ? section.sh_size : 0;
        debug += !is_table(&section) && is_debug(&section) ? section.sh_size : 0;
        copy->key = copy->key ? copy->key : key_of_note(copy->elf, &section);
    }
    copy->key = copy->key ? copy->key : key_of_status(&copy->file->status);
    copy->has_debug = tables + debug <= MODULE_FILES_DEBUG_BYTES;
    copy->n_bytes = tables + (copy->has_debug ? debug : 0);
}

static void flush_payload(struct copy *copy)
{
    if (copy->n_used && !copy->is_failed)
        copy->is_failed = !copy->write(copy->context, copy->payload, copy->n_used);
    copy->n_used = 0;
}

static void add_part(struct copy *copy, uint64_t offset, const void *bytes, size_t n)
{
    size_t n_record =
        (sizeof(struct log_def) + n + LOG_DEF_ALIGN - 1) / LOG_DEF_ALIGN * LOG_DEF_ALIGN;
    struct log_def *def;

    if (copy->n_used + n_record > LOG_SEGMENT_PAYLOAD_BYTES)
        flush_payload(copy);
    def = (struct log_def *)(void *)((char *)copy->payload + copy->n_used);
    memset(def, 0, n_record);
    def->kind = LOG_DEF_FILE_PART;
    def->text_bytes = (uint16_t)n;
    def->magic = LOG_DEF_MAGIC;
    def->a = copy->key;
    def->b = offset;
    memcpy(def + 1, bytes, n);
    copy->n_used += (uint32_t)n_record;
}

static void add_range(struct copy *copy, uint64_t offset, uint64_t n_bytes)
{
    const char *bytes = elf_file_at(copy->elf, offset, n_bytes);

    for (uint64_t done = 0, n; bytes && !copy->is_failed && done < n_bytes; done += n) {
        n = n_bytes - done < TEXT_BYTES ? n_bytes - done : (uint64_t)TEXT_BYTES;
        add_part(copy, offset + done, bytes + done, (size_t)n);
    }
}

static const char *copy_elf(const struct elf_file *elf, void *context)
{
    struct copy *copy = context;
    Elf64_Ehdr header;
    Elf64_Shdr section;

    copy->elf = elf;
    examine(copy);
    if (copy->n_bytes > copy->room_bytes || !elf_file_copy(elf, 0, &header, sizeof(header)))
        return NULL;
    add_range(copy, 0, sizeof(header));
    add_range(copy, header.e_phoff, (uint64_t)header.e_phnum * header.e_phentsize);
    add_range(copy, header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize);
    for (unsigned i = 0; elf_file_get_section(elf, i, &section); i++)
        if (is_table(&section) || (copy->has_debug && is_debug(&section)))
            add_range(copy, section.sh_offset, section.sh_size);
    flush_payload(copy);
    return NULL;
}

static bool was_overwritten(const struct module_file *file)
{
    struct stat now;

    return fstat(file->fd, &now) != 0 || now.st_size != file->status.st_size
           || now.st_mtim.tv_sec != file->status.st_mtim.tv_sec
           || now.st_mtim.tv_nsec != file->status.st_mtim.tv_nsec;
}

/* False: the log could not be written, and the file is copied later. */
static bool copy_file(struct module_files *files, const struct module_file *file,
                      module_files_write *write, void *context)
{
    struct copy copy = {.file = file,
                        .room_bytes = files->room_bytes,
                        .write = write,
                        .context = context,
                        .payload = files->payload};
    char link[64];

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
    if (!was_overwritten(file))
        (void)elf_file_read(link, copy_elf, &copy);
    if (copy.n_bytes > copy.room_bytes)
        files->unkept = files->unkept ? files->unkept : strdup(file->path);
    else if (!copy.is_failed)
        files->room_bytes -= copy.n_bytes;
    return !copy.is_failed;
}

const char *module_files_unkept(const struct module_files *files)
{
    return files->unkept;
}

static bool is_gone(const struct module_file *file)
{
    struct stat now;

    return stat(file->path, &now) != 0 || !is_same_file(&now, &file->status);
}

void module_files_flush(struct module_files *files, module_files_write *write, void *context)
{
    for (size_t i = files->n; i-- > 0;)
        if (is_gone(&files->files[i]) && copy_file(files, &files->files[i], write, context))
            close_file(files, i);
}

void module_files_step(struct module_files *files, uint64_t now_ns, module_files_write *write,
                       void *context)
{
    if (now_ns < files->due_ns)
        return;
    files->due_ns = now_ns + look_every_ns;
    module_files_flush(files, write, context);
}
