/* SPDX-License-Identifier: MIT */
#include "recorder/allocator.h"

#include "recorder/guarded_map.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const g_with_operators[] = {
    "libjemalloc", "libtcmalloc", "libmimalloc", "libtbbmalloc_proxy", "libsnmalloc", "librpmalloc",
    "libhoard",    "libasan.so",  "libtsan.so",  "liblsan.so",         "libclang_rt", NULL,
};

static const char *const g_first[] = {"libasan.so", "libclang_rt.asan", NULL};

/* The one that the text names, or NULL. */
static const char *names_one(const char *text, const char *const *libraries)
{
    while (*libraries && !strstr(text, *libraries))
        libraries++;
    return *libraries;
}

/* ---- what a program is linked with ----------------------------------------------------------- */

struct image {
    const uint8_t *bytes;
    size_t n_bytes;
};

/* n bytes at an offset, or NULL when the file is shorter. */
static const void *at(const struct image *image, uint64_t offset, uint64_t n)
{
    return offset <= image->n_bytes && n <= image->n_bytes - offset ? image->bytes + offset : NULL;
}

static const Elf64_Phdr *header_at(const struct image *image, unsigned i)
{
    const Elf64_Ehdr *file = at(image, 0, sizeof(*file));

    if (!file || i >= file->e_phnum || file->e_phentsize != sizeof(Elf64_Phdr)
        || file->e_phoff % 8 != 0)
        return NULL;
    return at(image, file->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
}

static const char *at_address(const struct image *image, uint64_t address)
{
    const Elf64_Phdr *header;

    for (unsigned i = 0; (header = header_at(image, i)) != NULL; i++)
        if (header->p_type == PT_LOAD && address - header->p_vaddr < header->p_filesz)
            return at(image, header->p_offset + (address - header->p_vaddr), 1);
    return NULL;
}

static const char *needs_one(const struct image *image, const Elf64_Dyn *dynamic, size_t n,
                             const char *const *libraries)
{
    const char *found = NULL;
    const char *end = (const char *)image->bytes + image->n_bytes;
    const char *names = NULL;

    for (size_t i = 0; i < n; i++)
        if (dynamic[i].d_tag == DT_STRTAB)
            names = at_address(image, dynamic[i].d_un.d_ptr);
    for (size_t i = 0; names && !found && i < n; i++) {
        uint64_t offset = dynamic[i].d_un.d_val;
        if (dynamic[i].d_tag == DT_NEEDED && offset < (uint64_t)(end - names)
            && memchr(names + offset, '\0', (size_t)(end - names) - offset))
            found = names_one(names + offset, libraries);
    }
    return found;
}

static const char *linked_one(const struct image *image, const void *libraries)
{
    const Elf64_Phdr *header;

    for (unsigned i = 0; (header = header_at(image, i)) != NULL; i++) {
        const Elf64_Dyn *dynamic = at(image, header->p_offset, header->p_filesz);
        if (header->p_type == PT_DYNAMIC && dynamic && header->p_offset % 8 == 0)
            return needs_one(image, dynamic, header->p_filesz / sizeof(*dynamic), libraries);
    }
    return NULL;
}

/* ---- what is inside it ------------------------------------------------------------------------ */

enum {
    MAX_NAME_BYTES = 64 /* longer names are nobody's here */
};

static const struct entry_point {
    const char *name; /* "*" in front: with any prefix that ends in '_', or none */
    const char *allocator;
} g_entry_points[] = {
    {"*mallocx", "jemalloc"},
    {"_rjem_malloc", "jemalloc"},
    {"je_malloc", "jemalloc"},
    {"mi_malloc", "mimalloc"},
    {"mi_malloc_aligned", "mimalloc"},
    {"tc_malloc", "tcmalloc"},
    {"TCMallocInternalMalloc", "tcmalloc"},
    {"rpmalloc", "rpmalloc"},
    {"sn_malloc", "snmalloc"},
    {"sn_rust_alloc", "snmalloc"},
    {"scudo_malloc", "Scudo"},
    {"dlmalloc", "dlmalloc"},
};

static bool is_entry_point(const char *name, const char *pattern)
{
    size_t n = strlen(name);
    size_t n_pattern = strlen(pattern + 1);

    if (*pattern != '*')
        return strcmp(name, pattern) == 0;
    return n >= n_pattern && strcmp(name + n - n_pattern, pattern + 1) == 0
           && (n == n_pattern || name[n - n_pattern - 1] == '_');
}

/* Copies a part of the file, which may be changed meanwhile; false when it ends before. */
static bool copy(const struct image *image, uint64_t offset, void *ret_part, size_t n)
{
    const void *part = at(image, offset, n);

    if (part)
        memcpy(ret_part, part, n);
    return part != NULL;
}

static bool get_section(const struct image *image, unsigned i, Elf64_Shdr *ret_section)
{
    Elf64_Ehdr file;

    return copy(image, 0, &file, sizeof(file)) && i < file.e_shnum
           && file.e_shentsize == sizeof(*ret_section) && file.e_shoff <= image->n_bytes
           && copy(image, file.e_shoff + (uint64_t)i * sizeof(*ret_section), ret_section,
                   sizeof(*ret_section));
}

static bool is_own_function(const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

/* Of the symbol; names are at [begin, end) of the file. */
static const char *allocator_of(const struct image *image, const Elf64_Sym *symbol, uint64_t begin,
                                uint64_t end)
{
    uint64_t room = symbol->st_name < end - begin ? end - begin - symbol->st_name : 0;
    char name[MAX_NAME_BYTES];
    size_t n = room < sizeof(name) ? room : sizeof(name);

    if (!n || !is_own_function(symbol) || !copy(image, begin + symbol->st_name, name, n)
        || !memchr(name, '\0', n))
        return NULL;
    for (size_t i = 0; i < sizeof(g_entry_points) / sizeof(*g_entry_points); i++)
        if (is_entry_point(name, g_entry_points[i].name))
            return g_entry_points[i].allocator;
    return NULL;
}

static const char *find_in_table(const struct image *image, const Elf64_Shdr *table)
{
    const char *found = NULL;
    Elf64_Shdr names;
    Elf64_Sym symbol;

    if (!get_section(image, table->sh_link, &names) || !at(image, names.sh_offset, names.sh_size)
        || !at(image, table->sh_offset, table->sh_size))
        return NULL;
    for (uint64_t i = 0; !found && i < table->sh_size / sizeof(symbol); i++)
        if (copy(image, table->sh_offset + i * sizeof(symbol), &symbol, sizeof(symbol)))
            found = allocator_of(image, &symbol, names.sh_offset, names.sh_offset + names.sh_size);
    return found;
}

static const char *find_inside(const struct image *image, const void *context)
{
    const char *found = NULL;
    Elf64_Shdr section;

    (void)context;
    for (unsigned i = 0; !found && get_section(image, i, &section); i++)
        if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
            found = find_in_table(image, &section);
    return found;
}

/* ---- all ------------------------------------------------------------------------------------- */

typedef const char *ask(const struct image *image, const void *context);

/* What `question` says of an ELF file of 64 bits; NULL for anything else. The path may be one that a
 * program wrote into its log. */
static const char *ask_file(const char *path, ask *question, const void *context)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct guarded_map map = {.fd = -1};
    const char *answer = NULL;
    struct stat status;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0
        && guarded_map_open(&map, fd, (size_t)status.st_size, MAP_PRIVATE) == 0) {
        const struct image image = {map.start, map.n_bytes};
        const Elf64_Ehdr *file = at(&image, 0, sizeof(*file));
        if (file && memcmp(file->e_ident, ELFMAG, SELFMAG) == 0
            && file->e_ident[EI_CLASS] == ELFCLASS64)
            answer = question(&image, context);
        guarded_map_close(&map);
    }
    close(fd);
    return answer;
}

static bool brings_one(const char *path, const char *preload, const char *const *libraries)
{
    return (preload && names_one(preload, libraries)) || ask_file(path, linked_one, libraries);
}

bool allocator_has_operators(const char *path, const char *preload)
{
    return brings_one(path, preload, g_with_operators);
}

bool allocator_wants_to_be_first(const char *path, const char *preload)
{
    return brings_one(path, preload, g_first);
}

const char *allocator_inside(const char *path)
{
    return ask_file(path, find_inside, NULL);
}
