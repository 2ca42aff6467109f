/* SPDX-License-Identifier: MIT */
#include "symbolizer/kept_file.h"

#include "lib/base/dynamic_array.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* A hostile log must not use up the memory. */
static const uint64_t max_bytes = UINT64_C(1) << 30;

void kept_file_done(struct kept_file *file)
{
    free(file->bytes);
    free(file->ranges);
    memset(file, 0, sizeof(*file));
}

static bool add_range(struct kept_file *file, uint64_t start, uint64_t end)
{
    struct kept_range *ranges = dynamic_array_reserve(file->ranges, &file->n_ranges_allocated,
                                                      file->n_ranges + 1, sizeof(*ranges));
    struct kept_range *last;

    if (!ranges)
        return false;
    file->ranges = ranges;
    last = file->n_ranges ? &ranges[file->n_ranges - 1] : NULL;
    if (!last || last->end < start)
        ranges[file->n_ranges++] = (struct kept_range){start, end};
    else if (last->end < end)
        last->end = end;
    return true;
}

/* Allocates zeroed memory and copies only the known ranges: unwritten pages use no memory. */
static bool reserve(struct kept_file *file, size_t n_bytes)
{
    size_t n = file->n_allocated ? file->n_allocated : 64 * (size_t)1024;
    unsigned char *grown;

    if (n_bytes <= file->n_allocated)
        return true;
    while (n < n_bytes)
        n *= 2;
    grown = calloc(1, n);
    if (!grown)
        return false;
    for (size_t i = 0; i < file->n_ranges; i++)
        memcpy(grown + file->ranges[i].start, file->bytes + file->ranges[i].start,
               file->ranges[i].end - file->ranges[i].start);
    free(file->bytes);
    file->bytes = grown;
    file->n_allocated = n;
    return true;
}

bool kept_file_add(struct kept_file *file, uint64_t offset, const void *bytes, size_t n_bytes)
{
    if (n_bytes == 0 || n_bytes > max_bytes || offset > max_bytes - n_bytes)
        return true;
    if (!reserve(file, offset + n_bytes) || !add_range(file, offset, offset + n_bytes))
        return false;
    memcpy(file->bytes + offset, bytes, n_bytes);
    if (offset + n_bytes > file->n_bytes)
        file->n_bytes = offset + n_bytes;
    return true;
}

static bool is_known(const struct kept_file *file, uint64_t offset, uint64_t n_bytes)
{
    for (size_t i = 0; i < file->n_ranges; i++)
        if (file->ranges[i].start <= offset && offset < file->ranges[i].end)
            return n_bytes <= file->ranges[i].end - offset;
    return n_bytes == 0;
}

/* For both word sizes. libelf would read the zeros as a damaged section. */
#define HIDE_UNKNOWN(bits)                                                          \
    static void hide_unknown##bits(struct kept_file *file)                          \
    {                                                                               \
        Elf##bits##_Ehdr header;                                                    \
        Elf##bits##_Shdr section;                                                   \
        memcpy(&header, file->bytes, sizeof(header));                               \
        if (header.e_shentsize != sizeof(section)                                   \
            || !is_known(file, header.e_shoff, header.e_shnum * sizeof(section))) { \
            header.e_shoff = 0;                                                     \
            header.e_shnum = header.e_shstrndx = 0;                                 \
            memcpy(file->bytes, &header, sizeof(header));                           \
            return;                                                                 \
        }                                                                           \
        for (size_t i = 0; i < header.e_shnum; i++) {                               \
            unsigned char *at = file->bytes + header.e_shoff + i * sizeof(section); \
            memcpy(&section, at, sizeof(section));                                  \
            if (section.sh_type != SHT_NULL                                         \
                && !is_known(file, section.sh_offset, section.sh_size))             \
                section.sh_type = SHT_NOBITS;                                       \
            memcpy(at, &section, sizeof(section));                                  \
        }                                                                           \
    }

HIDE_UNKNOWN(32)
HIDE_UNKNOWN(64)

void kept_file_end(struct kept_file *file)
{
    if (!is_known(file, 0, sizeof(Elf64_Ehdr)) || !file->bytes
        || memcmp(file->bytes, ELFMAG, SELFMAG) != 0) {
        kept_file_done(file);
        return;
    }
    if (file->bytes[EI_CLASS] == ELFCLASS32)
        hide_unknown32(file);
    else
        hide_unknown64(file);
}
