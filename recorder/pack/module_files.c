/* SPDX-License-Identifier: MIT */
#include "recorder/pack/module_files.h"

#include "lib/abi/file_key.h"
#include "lib/abi/log_format.h"
#include "lib/logfile/definition_parts.h"

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
    MAX_SECTIONS = 4096,
    MAX_NOTE_BYTES = 4096,
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
    size_t n_most;
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
    files->n_most = max_files();
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

/* `name` is the path, or a link of /proc that outlives it. */
static void open_file(struct module_files *files, const char *name, const char *path)
{
    struct module_file file = {.fd = -1};

    if (files->n >= files->n_most || stat(name, &file.status) != 0 || !S_ISREG(file.status.st_mode)
        || is_open(files, &file.status))
        return;
    file.fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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
        open_file(files, real, real);
}

/* The link leads to the file even if it is deleted. */
static void open_executable(struct module_files *files, pid_t pid)
{
    static const char deleted[] = " (deleted)";
    char link[64];
    char path[PATH_MAX + sizeof(deleted)];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0 || path[0] != '/')
        return;
    path[n] = '\0';
    n -= (ssize_t)sizeof(deleted) - 1;
    if (n > 0 && strcmp(path + n, deleted) == 0)
        path[n] = '\0';
    open_file(files, link, path);
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
    open_file(files, path, path);
}

void module_files_learn(struct module_files *files, pid_t pid, const void *payload, size_t n_bytes)
{
    const struct log_def *def;
    size_t at = 0;

    if (files->room_bytes == 0)
        return;
    if (pid)
        open_executable(files, pid);
    while ((def = definition_parts_def(payload, n_bytes, &at)) != NULL)
        if (def->kind == LOG_DEF_MODULE)
            open_module(files, def);
}

/* ---- the parts of a file --------------------------------------------------------------------- */

static bool read_at(int fd, void *bytes, size_t n, uint64_t offset)
{
    return offset < INT64_MAX && pread(fd, bytes, n, (off_t)offset) == (ssize_t)n;
}

/* Section headers, to be freed; NULL: not a 64-bit ELF file that has some. */
static Elf64_Shdr *read_sections(int fd, Elf64_Ehdr *ret_header)
{
    Elf64_Shdr *sections;
    size_t n_bytes;

    if (!read_at(fd, ret_header, sizeof(*ret_header), 0)
        || memcmp(ret_header->e_ident, ELFMAG, SELFMAG) != 0
        || ret_header->e_ident[EI_CLASS] != ELFCLASS64
        || ret_header->e_shentsize != sizeof(*sections) || ret_header->e_shnum == 0
        || ret_header->e_shnum > MAX_SECTIONS)
        return NULL;
    n_bytes = ret_header->e_shnum * sizeof(*sections);
    sections = malloc(n_bytes);
    if (sections && read_at(fd, sections, n_bytes, ret_header->e_shoff))
        return sections;
    free(sections);
    return NULL;
}

/* 0: this section is not a readable note with a build id. */
static uint64_t key_of_note(int fd, const Elf64_Shdr *section)
{
    union {
        Elf64_Nhdr header;
        char bytes[MAX_NOTE_BYTES];
    } note;

    uint64_t at = sizeof(note.header) + sizeof(ELF_NOTE_GNU);

    if (section->sh_type != SHT_NOTE || section->sh_size > sizeof(note) || section->sh_size <= at
        || !read_at(fd, &note, section->sh_size, section->sh_offset)
        || note.header.n_type != NT_GNU_BUILD_ID || note.header.n_descsz > section->sh_size - at)
        return 0;
    return file_key_of_bytes(note.bytes + at, note.header.n_descsz);
}

/* MD-1 */
static uint64_t key_of_file(const struct module_file *file, const Elf64_Shdr *sections, unsigned n)
{
    const struct stat *status = &file->status;
    uint64_t key = 0;

    for (unsigned i = 0; key == 0 && i < n; i++)
        key = key_of_note(file->fd, &sections[i]);
    return key ? key
               : file_key_of_status(status->st_dev, status->st_ino, (uint64_t)status->st_size,
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

struct copy {
    const struct module_file *file;
    Elf64_Ehdr header;
    Elf64_Shdr *sections; /* owned */
    uint64_t key;
    bool has_debug;
    uint64_t n_bytes;
    module_files_write *write;
    void *context;
    uint64_t *payload; /* of LOG_SEGMENT_PAYLOAD_BYTES */
    uint32_t n_used;   /* bytes of it */
    bool is_failed;
};

/* All sections lie inside the file, so the sum cannot overflow. */
static bool measure(struct copy *copy)
{
    const uint64_t file_bytes = (uint64_t)copy->file->status.st_size;
    uint64_t tables = 0;
    uint64_t debug = 0;

    for (unsigned i = 0; i < copy->header.e_shnum; i++) {
        const Elf64_Shdr *section = &copy->sections[i];
        if (!is_table(section) && !is_debug(section))
            continue;
        if (section->sh_size > file_bytes)
            return false;
        *(is_table(section) ? &tables : &debug) += section->sh_size;
    }
    copy->has_debug = tables + debug <= MODULE_FILES_DEBUG_BYTES;
    copy->n_bytes = tables + (copy->has_debug ? debug : 0);
    return true;
}

/* ---- into the log ---------------------------------------------------------------------------- */

static void flush_payload(struct copy *copy)
{
    if (copy->n_used && !copy->is_failed)
        copy->is_failed = !copy->write(copy->context, copy->payload, copy->n_used);
    copy->n_used = 0;
}

/* The caller writes n bytes behind it. */
static struct log_def *add_part(struct copy *copy, uint64_t offset, size_t n)
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
    copy->n_used += (uint32_t)n_record;
    return def;
}

static void add_range(struct copy *copy, uint64_t offset, uint64_t n_bytes)
{
    for (uint64_t done = 0, n; !copy->is_failed && done < n_bytes; done += n) {
        n = n_bytes - done < TEXT_BYTES ? n_bytes - done : (uint64_t)TEXT_BYTES;
        void *bytes = add_part(copy, offset + done, (size_t)n) + 1;
        copy->is_failed |= !read_at(copy->file->fd, bytes, (size_t)n, offset + done);
    }
}

static bool was_overwritten(const struct module_file *file)
{
    struct stat now;

    return fstat(file->fd, &now) != 0 || now.st_size != file->status.st_size
           || now.st_mtim.tv_sec != file->status.st_mtim.tv_sec
           || now.st_mtim.tv_nsec != file->status.st_mtim.tv_nsec;
}

static void write_parts(struct copy *copy)
{
    const Elf64_Ehdr *header = &copy->header;

    add_range(copy, 0, sizeof(*header));
    add_range(copy, header->e_phoff, (uint64_t)header->e_phnum * header->e_phentsize);
    add_range(copy, header->e_shoff, header->e_shnum * sizeof(*copy->sections));
    for (unsigned i = 0; i < header->e_shnum; i++)
        if (is_table(&copy->sections[i]) || (copy->has_debug && is_debug(&copy->sections[i])))
            add_range(copy, copy->sections[i].sh_offset, copy->sections[i].sh_size);
    flush_payload(copy);
}

/* False: the log could not be written, and the file is copied later. */
static bool copy_file(struct module_files *files, const struct module_file *file,
                      module_files_write *write, void *context)
{
    struct copy copy = {
        .file = file, .write = write, .context = context, .payload = files->payload};

    copy.sections = was_overwritten(file) ? NULL : read_sections(file->fd, &copy.header);
    if (!copy.sections || !measure(&copy))
        goto out;
    if (copy.n_bytes > files->room_bytes) {
        files->unkept = files->unkept ? files->unkept : strdup(file->path);
        goto out;
    }
    copy.key = key_of_file(file, copy.sections, copy.header.e_shnum);
    write_parts(&copy);
    files->room_bytes -= copy.is_failed ? 0 : copy.n_bytes;
out:
    free(copy.sections);
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
