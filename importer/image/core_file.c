/* SPDX-License-Identifier: MIT */
#include "importer/image/core_file.h"

#include "lib/base/file_io.h"
#include "lib/logfile/image_modules.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE_BYTES = IMAGE_PAGE_WORDS * 8,
    CHUNK_PAGES = 256,
    MAX_NOTE_BYTES = 1 << 28,
    /* struct elf_prstatus of 64-bit processors */
    STATUS_TID = 32,
    STATUS_REGISTERS = 112,
    /* struct elf_prpsinfo of 64-bit processors */
    INFO_PID = 24,
};

/* Which words of elf_prstatus.pr_reg are what (asm/ptrace.h of the processor). */
static const struct core_machine {
    uint16_t machine;
    uint8_t n_words, sp;
    int8_t thread_pointer; /* -1: it is the note NT_ARM_TLS */
} machines[] = {{EM_X86_64, 27, 19, 21}, {EM_AARCH64, 34, 31, -1}};

struct core {
    const char *path;
    Elf *elf;
    struct image_file *image;
    const struct core_machine *machine;
    struct error *err;
    char *paths; /* the section PATHS */
    size_t n_path_bytes, n_thread_bytes;
    size_t last_thread; /* offset in the section THREADS */
};

static int refuse(const struct core *core, const char *what)
{
    return error_set(core->err, ERROR_FORMAT, "core '%s' %s; it is ignored", core->path, what);
}

static int no_memory(const struct core *core)
{
    return error_set(core->err, ERROR_NOMEM, "no memory to read core '%s'", core->path);
}

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
    uint64_t word;

    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

static uint32_t number_at(const unsigned char *bytes, size_t offset)
{
    uint32_t number;

    memcpy(&number, bytes + offset, sizeof number);
    return number;
}

/* ---- threads ---- */

/* Appends to the section THREADS. */
static int add_thread(struct core *core, const unsigned char *status, size_t n_bytes)
{
    const struct core_machine *machine = core->machine;
    const size_t n_word_bytes = machine->n_words * sizeof(uint64_t);
    const unsigned char *words = status + STATUS_REGISTERS;
    struct image_thread thread = {.n_words = machine->n_words};
    unsigned char *raw = realloc(core->image->raw[IMAGE_THREADS],
                                 core->n_thread_bytes + sizeof thread + n_word_bytes);

    if (!raw)
        return no_memory(core);
    core->image->raw[IMAGE_THREADS] = raw;
    if (n_bytes < STATUS_REGISTERS + n_word_bytes)
        return refuse(core, "has a thread without registers");
    thread.tid = number_at(status, STATUS_TID);
    thread.sp = word_at(words, machine->sp * sizeof(uint64_t));
    if (machine->thread_pointer >= 0)
        thread.thread_pointer = word_at(words, (size_t)machine->thread_pointer * sizeof(uint64_t));
    core->last_thread = core->n_thread_bytes;
    memcpy(raw + core->n_thread_bytes, &thread, sizeof thread);
    memcpy(raw + core->n_thread_bytes + sizeof thread, words, n_word_bytes);
    core->n_thread_bytes += sizeof thread + n_word_bytes;
    return 0;
}

/* The note belongs to the thread of the NT_PRSTATUS before it. */
static void set_thread_pointer(struct core *core, const unsigned char *bytes, size_t n_bytes)
{
    unsigned char *raw = core->image->raw[IMAGE_THREADS];

    if (core->n_thread_bytes > 0 && n_bytes >= sizeof(uint64_t))
        memcpy(raw + core->last_thread + offsetof(struct image_thread, thread_pointer), bytes,
               sizeof(uint64_t));
}

/* ---- names of files ---- */

/* Adds the path to PATHS. 0: no memory. */
static uint32_t add_path(struct core *core, const char *path)
{
    size_t n = strlen(path) + 1;
    char *paths =
        core->n_path_bytes + n < UINT32_MAX ? realloc(core->paths, core->n_path_bytes + n) : NULL;

    if (!paths)
        return 0;
    core->paths = paths;
    memcpy(paths + core->n_path_bytes, path, n);
    core->n_path_bytes += n;
    return (uint32_t)(core->n_path_bytes - n);
}

static void name_ranges(struct image_range *ranges, size_t n, const uint64_t *mapped,
                        uint64_t page_bytes, uint32_t path, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        struct image_range *range = &ranges[i];

        if (range->start < mapped[0] || range->start >= mapped[1])
            continue;
        range->path = path;
        range->file_offset = mapped[2] * page_bytes + (range->start - mapped[0]);
        range->flags |= (image_module_is_own(text) ? IMAGE_OWN : 0)
                        | (image_module_is_shared_memory(text) ? IMAGE_SHARED : 0);
    }
}

/* NT_FILE: count, bytes of a page, then start, end and page offset of each, then the names. */
static int read_files(struct core *core, const unsigned char *note, size_t n_bytes)
{
    uint64_t n = n_bytes >= 16 ? word_at(note, 0) : 0;
    uint64_t page_bytes = n_bytes >= 16 ? word_at(note, 8) : 0;

    if (n_bytes < 16 || n > (n_bytes - 16) / 24 || (n > 0 && note[n_bytes - 1] != '\0'))
        return refuse(core, "has a damaged list of files");
    size_t at = 16 + (size_t)n * 24;
    uint32_t path = 0;

    for (size_t i = 0; i < n && at < n_bytes; i++) {
        const char *text = (const char *)note + at;
        uint64_t mapped[3];

        /* one path for all parts of a file */
        if (path == 0 || strcmp(core->paths + path, text) != 0)
            path = add_path(core, text);
        if (path == 0)
            return no_memory(core);
        memcpy(mapped, note + 16 + i * 24, sizeof mapped);
        name_ranges(core->image->raw[IMAGE_RANGES], core->image->n_ranges, mapped, page_bytes, path,
                    text);
        at += strlen(text) + 1;
    }
    return 0;
}

/* Where the collector's module ends that begins with this range; 0: unknown. */
static uint64_t end_of_module(const struct core *core, const struct image_range *range)
{
    const struct image_file *image = core->image;
    unsigned char bytes[PAGE_BYTES];
    size_t n = 0;

    for (size_t i = 0; i < image->n_loads; i++)
        if (image->loads[i].start == range->start
            && file_io_read(image->fd, bytes, sizeof bytes, image->loads[i].file_offset, &n) == 0)
            return image_module_end(bytes, n, range->start);
    return 0;
}

/* The collector's .bss follows its file as anonymous memory, to which the kernel may have joined
 * later mappings of the program: then it is a range of its own. */
static int split_own_bss(struct core *core)
{
    struct image_file *image = core->image;
    const struct image_range *old = image->raw[IMAGE_RANGES];
    struct image_range *split = malloc((2 * image->n_ranges + 1) * sizeof *split);
    uint64_t own_end = 0;
    size_t n = 0;

    if (!split)
        return no_memory(core);
    for (size_t i = 0; i < image->n_ranges; i++) {
        struct image_range range = old[i];

        if ((range.flags & IMAGE_OWN) && range.file_offset == 0)
            own_end = end_of_module(core, &range);
        if (range.path == 0 && range.start < own_end) {
            split[n] = range;
            split[n].flags |= IMAGE_OWN;
            if (range.end > own_end)
                split[n].end = own_end;
            range.start = split[n++].end;
        }
        if (range.start < range.end)
            split[n++] = range;
    }
    free(image->raw[IMAGE_RANGES]);
    image->ranges = image->raw[IMAGE_RANGES] = split;
    image->n_ranges = n;
    return 0;
}

/* ---- notes ---- */

static int read_note(struct core *core, const GElf_Nhdr *note, const unsigned char *bytes)
{
    struct image_file *image = core->image;

    switch (note->n_type) {
    case NT_PRSTATUS:
        return add_thread(core, bytes, note->n_descsz);
    case NT_PRPSINFO:
        if (note->n_descsz < INFO_PID + 4)
            return refuse(core, "does not say of which process it is");
        image->header.pid = number_at(bytes, INFO_PID);
        return 0;
    case NT_ARM_TLS:
        set_thread_pointer(core, bytes, note->n_descsz);
        return 0;
    case NT_FILE:
        return read_files(core, bytes, note->n_descsz);
    default:
        return 0;
    }
}

static int read_notes(struct core *core, const GElf_Phdr *header)
{
    Elf_Data *data = header->p_filesz <= MAX_NOTE_BYTES ? elf_getdata_rawchunk(
                         core->elf, (int64_t)header->p_offset, header->p_filesz, ELF_T_NHDR)
                                                        : NULL;
    size_t at = 0, name, desc;
    GElf_Nhdr note;
    int code = 0;

    if (!data)
        return refuse(core, "is cut off before its notes end");
    while (code == 0 && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0)
        code = read_note(core, &note, (const unsigned char *)data->d_buf + desc);
    return code;
}

/* ---- memory ---- */

static int by_start(const void *a, const void *b)
{
    const struct image_range *left = a, *right = b;

    return left->start < right->start ? -1 : left->start > right->start;
}

static int add_memory(struct core *core, const GElf_Phdr *header)
{
    struct image_file *image = core->image;
    struct image_range *ranges = image->raw[IMAGE_RANGES];
    struct image_load *load = &image->loads[image->n_loads];
    bool is_scanned = header->p_filesz > 0 && !(header->p_flags & PF_X);

    if (header->p_memsz == 0)
        return 0;
    if (header->p_vaddr % PAGE_BYTES || header->p_vaddr + header->p_memsz < header->p_vaddr
        || header->p_filesz > header->p_memsz)
        return refuse(core, "has a damaged list of memory");
    ranges[image->n_ranges++] = (struct image_range){
        .start = header->p_vaddr,
        .end = header->p_vaddr + header->p_memsz,
        .flags = (header->p_flags & PF_R ? IMAGE_READ : 0)
                 | (header->p_flags & PF_W ? IMAGE_WRITE : 0)
                 | (header->p_flags & PF_X ? IMAGE_EXECUTE : 0) | (is_scanned ? IMAGE_SCANNED : 0)};
    if (is_scanned) {
        *load = (struct image_load){header->p_vaddr, header->p_filesz, header->p_offset};
        image->n_loads++;
    }
    return 0;
}

/* All memory, then all notes: a name in a note is that of a range. */
static int read_headers(struct core *core)
{
    struct image_file *image = core->image;
    GElf_Phdr header;
    size_t n;
    int code = 0;

    if (elf_getphdrnum(core->elf, &n) != 0)
        return refuse(core, "has no program headers");
    image->raw[IMAGE_RANGES] = calloc(n + 1, sizeof(struct image_range));
    image->loads = calloc(n + 1, sizeof *image->loads);
    if (!image->raw[IMAGE_RANGES] || !image->loads)
        return no_memory(core);
    for (size_t i = 0; code == 0 && i < n; i++)
        if (gelf_getphdr(core->elf, (int)i, &header) && header.p_type == PT_LOAD)
            code = add_memory(core, &header);
    image->ranges = image->raw[IMAGE_RANGES];
    qsort(image->raw[IMAGE_RANGES], image->n_ranges, sizeof *image->ranges, by_start);
    qsort(image->loads, image->n_loads, sizeof *image->loads,
          by_start); /* begins with start, too */
    for (size_t i = 0; code == 0 && i < n; i++)
        if (gelf_getphdr(core->elf, (int)i, &header) && header.p_type == PT_NOTE)
            code = read_notes(core, &header);
    for (size_t i = 1; code == 0 && i < image->n_ranges; i++)
        if (image->ranges[i].start < image->ranges[i - 1].end)
            return refuse(core, "has a damaged list of memory");
    return code ? code : split_own_bss(core);
}

static int check(struct core *core)
{
    GElf_Ehdr header;

    if (!core->elf || !gelf_getehdr(core->elf, &header) || header.e_type != ET_CORE)
        return refuse(core, "is no core of a process");
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == machines[i].machine)
            core->machine = &machines[i];
    return core->machine ? 0
                         : refuse(core, "is of a processor whose cores are not read (only those of "
                                        "x86-64 and AArch64 are)");
}

/* ---- words ---- */

struct scanner {
    const struct image_file *image;
    const struct image_range *last; /* that contained the last pointer */
};

static bool is_pointer(struct scanner *scanner, uint64_t value)
{
    const struct image_file *image = scanner->image;
    const struct image_range *range = scanner->last;

    if (value < image->ranges[0].start || value > image->ranges[image->n_ranges - 1].end)
        return false;
    if (range && value >= range->start && value <= range->end)
        return true;
    range = image_file_range(image, value);
    if (!range)
        return image_file_range(image, value - 1) != NULL;
    scanner->last = range;
    return true;
}

static int scan_page(struct scanner *scanner, uint64_t address, const uint64_t *words,
                     image_page_function *page, void *context, struct error *err)
{
    uint64_t mask[IMAGE_PAGE_WORDS / 64] = {0};
    uint64_t values[IMAGE_PAGE_WORDS];
    size_t n = 0;

    for (size_t i = 0; i < IMAGE_PAGE_WORDS; i++)
        if (words[i] != 0 && is_pointer(scanner, words[i])) {
            mask[i / 64] |= UINT64_C(1) << i % 64;
            values[n++] = words[i];
        }
    return n ? page(context, address, mask, values, err) : 0;
}

static int scan_load(struct scanner *scanner, const struct image_load *load, uint64_t *words,
                     image_page_function *page, void *context, struct error *err)
{
    int code = 0;

    for (uint64_t at = 0; code == 0 && at < load->n_bytes; at += CHUNK_PAGES * PAGE_BYTES) {
        uint64_t left = load->n_bytes - at;
        size_t n = left < CHUNK_PAGES * PAGE_BYTES ? (size_t)left : CHUNK_PAGES * PAGE_BYTES;
        size_t n_read = 0;

        code = file_io_read(scanner->image->fd, words, n, load->file_offset + at, &n_read);
        if (code || n_read < n)
            return error_set(err, ERROR_FORMAT, "core '%s' is cut off; it is ignored",
                             scanner->image->path);
        memset((char *)words + n, 0, CHUNK_PAGES * PAGE_BYTES - n);
        for (size_t i = 0; code == 0 && i < n; i += PAGE_BYTES)
            code = scan_page(scanner, load->start + at + i, words + i / 8, page, context, err);
    }
    return code;
}

static int read_words(const struct image_file *image, image_page_function *page, void *context,
                      struct error *err)
{
    struct scanner scanner = {.image = image};
    uint64_t *words = malloc(CHUNK_PAGES * PAGE_BYTES);
    int code = words ? 0 : error_set(err, ERROR_NOMEM, "no memory to read core '%s'", image->path);

    for (size_t i = 0; code == 0 && i < image->n_loads; i++)
        code = scan_load(&scanner, &image->loads[i], words, page, context, err);
    free(words);
    return code;
}

/* ---- opening ---- */

static int read_core(struct core *core, int64_t n_file_bytes)
{
    struct image_file *image = core->image;
    int code = check(core);

    if (code == 0)
        code = read_headers(core);
    image->paths = image->raw[IMAGE_PATHS] = core->paths;
    image->n_path_bytes = core->n_path_bytes;
    if (code == 0 && (core->n_thread_bytes == 0 || image->header.pid == 0))
        code = refuse(core, "does not say of which process it is");
    if (code == 0)
        code = image_file_take_threads(image, core->n_thread_bytes, core->err);
    for (size_t i = 0; code == 0 && i < image->n_loads; i++)
        if (image->loads[i].file_offset + image->loads[i].n_bytes > (uint64_t)n_file_bytes)
            code = refuse(core, "is cut off (see ulimit -c)");
    return code;
}

int core_file_open(const char *path, struct image_file *image, uint64_t *ret_unix_ns,
                   struct error *err)
{
    struct core core = {.path = path, .image = image, .err = err};
    struct stat status;

    *image = (struct image_file){.fd = -1, .path = strdup(path), .core_words = read_words};
    image->header = (struct image_header){
        .cause = IMAGE_CAUSE_CORE, .method = IMAGE_METHOD_CORE, .page_bytes = PAGE_BYTES};
    core.paths = calloc(1, 1);
    core.n_path_bytes = 1;
    if (!image->path || !core.paths || elf_version(EV_CURRENT) == EV_NONE) {
        free(core.paths);
        return no_memory(&core);
    }
    int code = file_io_open_regular(path, ERROR_FORMAT, &image->fd, &status, err);
    if (code == 0) {
        core.elf = elf_begin(image->fd, ELF_C_READ, NULL);
        *ret_unix_ns = (uint64_t)status.st_mtim.tv_sec * UINT64_C(1000000000)
                       + (uint64_t)status.st_mtim.tv_nsec;
        code = read_core(&core, status.st_size);
        elf_end(core.elf);
    } else {
        free(core.paths);
    }
    return code;
}
