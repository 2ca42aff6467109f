/* SPDX-License-Identifier: MIT */
#include "recorder/allocator.h"

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

static bool names_one(const char *text, const char *const *libraries)
{
    for (; *libraries; libraries++)
        if (strstr(text, *libraries))
            return true;
    return false;
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

static bool needs_one(const struct image *image, const Elf64_Dyn *dynamic, size_t n,
                      const char *const *libraries)
{
    const char *end = (const char *)image->bytes + image->n_bytes;
    const char *names = NULL;

    for (size_t i = 0; i < n; i++)
        if (dynamic[i].d_tag == DT_STRTAB)
            names = at_address(image, dynamic[i].d_un.d_ptr);
    for (size_t i = 0; names && i < n; i++) {
        uint64_t offset = dynamic[i].d_un.d_val;
        if (dynamic[i].d_tag == DT_NEEDED && offset < (uint64_t)(end - names)
            && memchr(names + offset, '\0', (size_t)(end - names) - offset)
            && names_one(names + offset, libraries))
            return true;
    }
    return false;
}

static bool is_linked_with_one(const struct image *image, const char *const *libraries)
{
    const Elf64_Ehdr *file = at(image, 0, sizeof(*file));
    const Elf64_Phdr *header;

    if (!file || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0
        || file->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; (header = header_at(image, i)) != NULL; i++) {
        const Elf64_Dyn *dynamic = at(image, header->p_offset, header->p_filesz);
        if (header->p_type == PT_DYNAMIC && dynamic && header->p_offset % 8 == 0)
            return needs_one(image, dynamic, header->p_filesz / sizeof(*dynamic), libraries);
    }
    return false;
}

static bool brings_one(const char *path, const char *preload, const char *const *libraries)
{
    struct stat status;
    struct image image;
    void *mapped = MAP_FAILED;
    bool answer;
    int fd;

    if (preload && names_one(preload, libraries))
        return true;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && status.st_size > 0)
        mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        return false;
    image = (struct image){mapped, (size_t)status.st_size};
    answer = is_linked_with_one(&image, libraries);
    munmap(mapped, image.n_bytes);
    return answer;
}

bool allocator_has_operators(const char *path, const char *preload)
{
    return brings_one(path, preload, g_with_operators);
}

bool allocator_wants_to_be_first(const char *path, const char *preload)
{
    return brings_one(path, preload, g_first);
}
